// Promises of activities/terms: what a person writes about arguments is held against the tool's schema before anything is decided.
import { z } from 'zod';
import { makeTerms } from '../../src/activities/terms';
import { handsOver, RUN, toolFor, type HandsRig } from '../rig/hands';

let rig: HandsRig;
let terms: ReturnType<typeof makeTerms>;
beforeAll(async () => {
  // A schema that drops what it does not know, as zod's objects do unless they are strict.
  rig = await handsOver([toolFor(async () => null, { input: z.object({ text: z.string().max(20), to: z.object({ name: z.string() }).optional() }) as never, sensitive: ['text'] })]);
  terms = makeTerms(rig.deps);
});
afterAll(() => rig.close());

const act = { runId: RUN, tool: 'act', version: '1.0.0' };

test.each<[string, unknown, RegExp | null]>([
  ['arguments that fit', { text: 'hello', to: { name: 'ann' } }, null],
  ['a secret by name', { text: { $secret: 'key' } }, null],
  ['a member that the schema would drop', { text: 'hello', cc: 'bob' }, /^The arguments do not fit act: it knows no cc\. Its arguments are text, to\.$/],
  ['one that it would drop further down', { text: 'hello', to: { name: 'ann', nmae: 'x' } }, /knows no to\.nmae/],
  ['a value that does not fit, which is not repeated where it is sensitive', { text: 'x'.repeat(30) }, /^The arguments do not fit act: text: does not fit\.$/],
  ['a secret that is not set', { text: { $secret: 'other' } }, /The secret other is not set/],
  ['a reference that nobody would follow', { text: { $from: 'a.b' } }, /\$from is not looked up/],
  ['no object', ['text'], /object with named members/],
])('R10.1 edited arguments are held against the schema before anything is decided: %s', async (_name, value, fault) => {
  const found = await terms({ ...act, args: { value: value as never } });
  expect(found.fault).toEqual(fault === null ? null : expect.stringMatching(fault));
});

test('large arguments are read from their artifact, and one that the store does not have is a fault', async () => {
  const ref = await rig.deps.artifacts.write(Buffer.from(JSON.stringify({ text: 'hello', cc: 'bob' })), { mediaType: 'application/json', summary: 'args' });
  expect(await terms({ ...act, args: { ref } })).toEqual({ fault: expect.stringContaining('knows no cc') as unknown });
  expect(await terms({ ...act, args: { ref: { ...ref, sha256: '0'.repeat(64) } } })).toEqual({ fault: expect.any(String) as unknown });
});

test.each([65, 2_500, 200_000])('R10.1 edited arguments that are nested %i deep are a fault, and no failure of this worker', async (deep) => {
  const ref = await rig.deps.artifacts.write(Buffer.from(`{"text":${'['.repeat(deep)}${']'.repeat(deep)}}`), { mediaType: 'application/json', summary: 'args' });
  expect(await terms({ ...act, args: { ref } })).toEqual({ fault: 'The edited arguments cannot be used: nested deeper than 64 levels.' });
});

test('terms of an approval for later calls name arguments that the tool has', async () => {
  expect(await terms({ ...act, where: { text: 'a*', 'to.name': 'ann' } })).toEqual({ fault: null });
  expect(await terms({ ...act, where: { text: 'a*', 'to.nmae': 'ann', cc: 'x' } })).toEqual({ fault: 'act has no argument to.nmae, cc, so that no call would ever fit. Its arguments are text, to.' });
});

test('a tool that this worker does not have, or has in another major version, is not judged here', async () => {
  expect(await terms({ ...act, tool: 'nobody', args: { value: { any: 1 } } })).toEqual({ fault: null });
  expect(await terms({ ...act, version: '2.0.0', where: { any: '1' } })).toEqual({ fault: null });
});
