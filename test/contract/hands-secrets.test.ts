// R2.4 at the hands: a tool, a model or an outside that gives a secret back in whatever way is heard without it, and nothing of
// it is stored. Real stores; after each test every file of theirs is searched.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { makeHands, type HandsDeps } from '../../src/activities';
import { guardedModel, quiet } from '../../src/activities/guard';
import { KnownSecrets } from '../../src/adapters/secrets/known';
import { resolveAgents } from '../../src/adapters/config/resolve';
import { canonical, digestOf, type Json } from '../../src/core/canonical';
import { ToolError } from '../../src/core/failure';
import { toWire } from '../../src/core/wire';
import type { CallNeed, GateNeed, PrepareNeed, PrepareResult } from '../../src/core/world';
import type { RunInput, RunSpec } from '../../src/core/run';
import { installRedactor } from '../../src/ports/redaction';
import type { ModelRequest } from '../../src/ports/model';
import type { ToolDefinition } from '../../src/ports/tool';
import { handsOver, RUN, toolFor, type HandsRig } from '../rig/hands';

/** The value that the rig has under the name `key`. */
const CANARY = 'canary-0451';
const forms = [CANARY, Buffer.from(`user:${CANARY}`).toString('base64'), Buffer.from(CANARY).toString('base64'), encodeURIComponent(`?${CANARY}&`)];
const leak = (text = ''): Json => ({ text, plain: CANARY, [CANARY]: 1, list: [forms[1] as string, `https://host/${CANARY}/x?t=${CANARY}`], summary: `done with ${CANARY}` });

let rig: HandsRig;
let logged: string[];
let uninstall: () => void;
beforeAll(() => {
  const known = new KnownSecrets();
  known.add('key', CANARY);
  uninstall = installRedactor(known);
});
afterAll(() => uninstall());
afterEach(async () => {
  expect(filesWith(rig.folder)).toEqual([]);
  await rig.close();
});

function filesWith(folder: string): string[] {
  return readdirSync(folder, { recursive: true }).map((name) => path.join(folder, String(name)))
    .filter((file) => statSync(file).isFile() && forms.some((form) => readFileSync(file).includes(form)));
}

async function over(tools: ToolDefinition[], more: Partial<HandsDeps> = {}) {
  logged = [];
  rig = await handsOver(tools, { log: (message, about) => void logged.push(`${message} ${canonical(about ?? {})}`), ...more });
  const hands = makeHands(rig.deps);
  const input = { runId: RUN, epoch: 0 } as RunInput;
  return {
    call: (need: Partial<CallNeed> = {}, args?: Json) => rig.environment().run((asked: Parameters<typeof hands.call>[0]) => hands.call(asked), toWire(input, rig.need(need, args).need as CallNeed)),
    prepare: async (args: Json = { text: 'x' }): Promise<PrepareResult> => {
      const need: PrepareNeed = { kind: 'prepare', id: 'prepare:a#1', begun: true, local: false, n: 1, stepId: 'a', tool: 'act', version: '1.0.0', effect: 'manual', owner: 'ann', agent: 'a', callId: 'c1', key: 'k1:x', call: { args, inputs: {} }, summary: '' };
      return rig.environment().run((asked: Parameters<typeof hands.prepare>[0]) => hands.prepare(asked), toWire(input, need));
    },
    gate: (more: Partial<GateNeed> = {}) => {
      const { need } = rig.need();
      const gate: GateNeed = { kind: 'gate', id: 'gate:c1#1', begun: true, callId: 'c1', n: 1, tool: 'act', version: '1.0.0', effect: 'manual', key: need.key, call: need.call, argsDigest: '', ledgerIncarnation: 'of another', resourceVersion: null, premises: [], undo: false, summary: '', ...more };
      return rig.environment().run((asked: Parameters<typeof hands.gate>[0]) => hands.gate(asked), toWire(input, gate));
    },
    hands,
  };
}

const clean = (answer: unknown): string => {
  const text = canonical(answer);
  for (const form of forms) expect(text).not.toContain(form);
  return text;
};

test.each([['small', ''], ['large', 'x'.repeat(9_000)]])('R2.4 a %s result with the value in it is answered, settled and stored without it', async (_size, text) => {
  const { call } = await over([toolFor(async () => leak(text))]);
  expect(clean(await call())).toContain('done with [secret key]');
  const rows = clean(await rig.deps.ledger.byRun(RUN));
  expect(rows).toContain('done with [secret key]');
  for await (const sha256 of rig.deps.artifacts.list()) clean(Buffer.from(await rig.deps.artifacts.read(sha256)).toString());
});

test.each<[string, (secret: string) => unknown]>([
  ['a refusal', (secret) => new ToolError('business-refusal', `no-${secret}`, `${secret} is not allowed`)],
  ['an address with it', (secret) => new TypeError(`fetch failed: GET https://api/${encodeURIComponent(secret)}/x?key=${secret}`)],
  ['a header with it', (secret) => new ToolError('permission', 'http-401', `401 for Authorization: Basic ${Buffer.from(`user:${secret}`).toString('base64')}`)],
  ['its text alone', (secret) => secret],
  ['an object', (secret) => ({ code: secret, message: { toString: () => secret } })],
])('R2.4 an error that is %s is told without the value', async (_what, thrown) => {
  const { call } = await over([toolFor(async (_args, about) => { throw thrown(about.secret('key')); })]);
  clean(await call());
  clean(await rig.deps.ledger.byRun(RUN));
});

test('R2.4 what a tool logs and stores by itself is kept without the value', async () => {
  const { call } = await over([toolFor(async (_args, about) => {
    about.log(`calling with ${about.secret('key')}, Authorization: Bearer other-secret-1`);
    const text = await about.artifacts.write(`# Report\n${CANARY}`, { mediaType: 'text/markdown', summary: `of ${CANARY}`, name: `${CANARY}.md` });
    const bytes = await about.artifacts.write(Buffer.concat([Buffer.from([255, 0]), Buffer.from(CANARY)]), { mediaType: 'image/png', summary: 'p' });
    return { text, bytes } as unknown as Json;
  })]);
  expect(clean(await call())).toContain('[secret key].md');
  expect(clean(logged)).not.toContain('other-secret-1');
  expect(logged.join()).toContain('calling with [secret key]');
});

test('R2.4 a preview, a resource version and the words of policy are kept without the value', async () => {
  const policy = { describe: () => ({ name: 'p', text: '' }), decide: async () => ({ decision: 'ask' as const, rule: 'r', why: `since ${CANARY}` }) };
  const { prepare } = await over([toolFor(async () => null, { preview: async (_args, about) => `will send ${about.secret('key')}`, resourceVersion: async () => `v-${CANARY}` })], { policy });
  const answer = await prepare({ text: 'x', secret: { $secret: 'key' } });
  expect(answer).toMatchObject({ kind: 'prepared', resourceVersion: 'v-[secret key]', policy: { why: 'since [secret key]' } });
  clean(answer);
  if (answer.kind !== 'prepared' || !answer.previewRef) throw new Error('no preview');
  expect(Buffer.from(await rig.deps.artifacts.read(answer.previewRef.sha256)).toString()).toBe('will send [secret key]');
});

test('R2.4 what an outside answers when it is looked up is kept without the value', async () => {
  const { gate } = await over([toolFor(async () => null, { lookUp: async () => ({ found: true, output: leak(), reference: `ref ${CANARY}` }), resourceVersion: async () => CANARY })], { resources: { doc: async () => `at ${CANARY}` } });
  const evidence = await gate({ resourceVersion: 'v1', premises: [{ resource: 'doc:a', version: 'at' }] });
  expect(evidence).toMatchObject({ lookUp: { kind: 'found', reference: 'ref [secret key]' }, resourceVersion: '[secret key]', premises: [{ now: 'at [secret key]' }] });
  clean(evidence);
  const again = await over([toolFor(async () => null, { lookUp: async () => { throw new Error(`no answer from https://x/${CANARY}`); } })]);
  expect(clean(await again.gate())).toContain('[secret key]');
});

test('R2.4 arguments that hold the value are refused before anything is stored, claimed or sent, and the sentence shows the reference', async () => {
  let sent = 0;
  const { call, prepare } = await over([toolFor(async () => { sent += 1; return null; }), toolFor(async () => { sent += 1; return null; }, { name: 'reader', effect: 'none' })]);
  const refused = { class: 'argument', code: 'secret', message: 'The arguments hold the value of the secret key: write {"$secret": "key"} in the plan in its place.' };
  expect(await prepare({ text: `x ${CANARY}` })).toEqual({ kind: 'failed', failure: refused });
  expect(await call({ tool: 'reader', effect: 'none', key: '', argsDigest: undefined }, { text: encodeURIComponent(CANARY) })).toEqual({ kind: 'failed', failure: refused, sent: false });
  expect([sent, await rig.deps.ledger.byRun(RUN)]).toEqual([0, []]);
  expect(await call({}, { text: 'x', secret: { $secret: 'key' } })).toMatchObject({ kind: 'succeeded' });
});

test('R2.4 a run that was given the value is opened only to fail, with a sentence, and its title and owner are clean', async () => {
  const agents = resolveAgents({ agents: [{ name: 'a', version: '1.0.0', planner: 'declared' }], tools: [] }, null);
  const { hands } = await over([toolFor(async () => null)], { agents: new Map(agents) });
  const opened = async (given: Partial<RunSpec>, runId: string) => {
    const spec: RunSpec = { v: 1, agent: 'a', input: null, plan: { goal: 'g', steps: [{ id: 'a', title: 'A', action: { type: 'question', question: 'q' } }] }, budget: {}, owner: { id: 'ann', via: 'cli', assurance: 'local-user' }, ...given };
    const bytes = Buffer.from(canonical(spec));
    const inputRef = await rig.deps.artifacts.write(bytes, { mediaType: 'application/json', summary: 'input' });
    const row = await rig.deps.journal.row(RUN);
    if (!row) throw new Error('no row');
    await rig.deps.journal.accept({ ...row, runId, title: `about ${CANARY}`, inputDigest: digestOf(spec), inputRef });
    return hands.open({ v: 1, runId, epoch: 0, inputDigest: digestOf(spec), inputRef });
  };
  const answer = await opened({ input: { token: CANARY } }, 'given');
  expect(answer).toMatchObject({ kind: 'fresh', fresh: { plan: null, title: 'about [secret key]', refused: { class: 'argument', code: 'secret', message: expect.stringContaining('{"$secret": "key"}') } } });
  clean(answer);
  expect(await opened({ input: { token: { $secret: 'key' } } }, 'named')).toMatchObject({ kind: 'fresh', fresh: { plan: { add: [{ id: 'a' }] } } });
  // What a client stored and accepted without knowing better stays, and the sentence names it.
  expect(filesWith(rig.folder).map((file) => path.basename(file))).toEqual(expect.arrayContaining([expect.stringMatching(/^[0-9a-f]{62}$/)]));
  rmSync(rig.folder, { recursive: true });
  mkdirSync(rig.folder);
});

test('R2.4 a secret in the run\'s input is filled in for tools, and one that is not set stays a name', async () => {
  let input: Json = null;
  const { call } = await over([toolFor(async (_args, about) => { input = about.input; return null; })]);
  await rig.giveInput({ a: { $secret: 'key' }, list: [{ $secret: 'none' }], both: { $secret: 'key', more: 1 } });
  expect(await call()).toMatchObject({ kind: 'succeeded' });
  expect(input).toEqual({ a: CANARY, list: [{ $secret: 'none' }], both: { $secret: 'key', more: 1 } });
});

test('R2.4 a model is told no value, what it says of one is taken out, and a call with one is not made', async () => {
  rig = await handsOver([]);
  let heard: ModelRequest | undefined;
  const model = guardedModel({ id: 'm', generate: async (request) => {
    heard = request;
    return { text: `I know ${CANARY}`, finish: 'tool-calls', usage: { tokens: 1, microUsd: 0 }, calls: [{ id: '1', tool: 'act', args: { text: forms[1] as string } }, { id: '2', tool: 'act', args: { text: 'fine' } }] };
  } });
  const answer = await model.generate({ messages: [{ role: 'user', text: `Use ${CANARY}` }, { role: 'tool', id: '1', tool: 'act', result: leak() }], tools: [], maxOutputTokens: 9, signal: new AbortController().signal });
  clean(heard?.messages);
  clean(answer);
  expect(answer).toMatchObject({ text: 'I know [secret key]', calls: [{ args: {}, error: expect.stringContaining('leave it out') }, { args: { text: 'fine' } }] });
});

test('R2.4 what a hand throws reaches history without value, stack and cause', async () => {
  rig = await handsOver([]);
  const error = await quiet(async () => { throw new Error(`no ${CANARY}`, { cause: new Error(CANARY) }); })(null).catch((thrown: unknown) => thrown as Error);
  expect(error).toMatchObject({ message: 'no [secret key]', stack: 'Error: no [secret key]', cause: undefined });
});
