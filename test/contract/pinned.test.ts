// What a run is pinned to is used as long as it lives, whatever the configuration holds by now: its policy, and its tools by major
// version, of which several stand in one configuration.
import { Admission } from '../../src/activities/admission';
import { makeCall } from '../../src/activities/call';
import { makePolicy } from '../../src/activities/pinned-policy';
import { resolveAgents, toolsByContract, toolsByName } from '../../src/adapters/config/resolve';
import { faultOfConfig } from '../../src/adapters/config/check';
import { policyOf, tablePolicy } from '../../src/adapters/policy/table';
import { defineTool } from '../../src/adapters/tools/define-tool';
import type { Config } from '../../src/config';
import type { RunEvent } from '../../src/core/events';
import type { PolicyPort, PolicyQuestion } from '../../src/ports/policy';
import { z } from '../../src/index';
import { handsOver } from '../rig/hands';

const tool = (version: string, name = 'send') => defineTool({ name, version, description: 'sends', effect: 'none', input: z.object({}).loose(), execute: async () => ({ by: version }) });
const question = (over: Partial<PolicyQuestion> = {}): PolicyQuestion => ({ runId: 'r', agent: 'a', owner: 'olga', tool: 'send', version: '1.0.0', effect: 'manual', argsDigest: 'd', args: {}, ...over });
const table = (name: string, decision: 'allow' | 'ask' | 'deny') => tablePolicy({ name, rules: [{ name, tool: 'send', decision }] });

/** The policy for a run that was created under `pinned`, in a worker that has `today`. */
async function answering(pinned: PolicyPort | null, today: PolicyPort) {
  const rig = await handsOver([], { policy: today });
  const { name, text } = (pinned ?? today).describe();
  const policy = await rig.deps.artifacts.write(Buffer.from(text), { mediaType: 'text/plain', summary: name });
  const created = { type: 'RunCreated', data: { pins: { policy } } } as unknown as RunEvent;
  let reads = 0;
  const journal = { ...rig.deps.journal, read: async () => { reads += 1; return { events: pinned ? [created] : [], more: false }; } };
  return { decide: makePolicy({ ...rig.deps, journal }), reads: () => reads, close: () => rig.close() };
}

test.each([
  ['allow', 'ask', 'ask', 'today'], ['ask', 'allow', 'ask', 'pinned'], ['ask', 'deny', 'deny', 'today'], ['deny', 'allow', 'deny', 'pinned'], ['ask', 'ask', 'ask', 'pinned'],
] as const)('R9.1 a run that began under "%s" keeps it under a configuration that says "%s", unless that is stricter: %s', async (pinned, today, decision, rule) => {
  const { decide, reads, close } = await answering(table('pinned', pinned), table('today', today));
  expect([await decide(question()), await decide(question())]).toEqual([expect.objectContaining({ decision, rule }), expect.objectContaining({ decision, rule })]);
  expect(reads()).toBe(1);
  await close();
});

test('R9.1 the built-in rules are pinned with the table, and the policy that comes back says of itself what the first said', () => {
  const first = table('mine', 'ask');
  const again = policyOf(first.describe().text);
  expect(again?.describe()).toEqual(first.describe());
  const text = JSON.stringify({ ...JSON.parse(first.describe().text) as object, then: [{ name: 'older', effect: 'none', decision: 'deny' }, { name: 'nothing-fits', decision: 'deny' }] });
  return expect(Promise.all([policyOf(text)?.decide(question({ tool: 'other', effect: 'none' })), policyOf(text)?.decide(question({ tool: 'other' }))])).resolves.toEqual([
    expect.objectContaining({ decision: 'deny', rule: 'older' }), expect.objectContaining({ decision: 'deny', rule: 'nothing-fits' }),
  ]);
});

test('R9.1 a policy that is code cannot be loaded, so that today\'s answers; nor is one whose text is no table', async () => {
  const code: PolicyPort = { describe: () => ({ name: 'code', text: 'my own rules, version 7' }), decide: async () => ({ decision: 'deny', rule: 'code', why: 'no' }) };
  const { decide, close } = await answering(code, table('today', 'allow'));
  expect(await decide(question())).toMatchObject({ decision: 'allow', rule: 'today' });
  await close();
  expect(['', '{}', 'null', '{"name":"x","rules":[],"then":7}', '{"name":"x","rules":[{"nme":"y"}],"then":[]}'].map(policyOf)).toEqual([null, null, null, null, null]);
});

test('R9.1 a run whose first turn is not in the journal yet is about to be pinned to the policy of this worker', async () => {
  const { decide, reads, close } = await answering(null, table('today', 'ask'));
  expect([await decide(question()), await decide(question())].map(({ rule }) => rule)).toEqual(['today', 'today']);
  expect(reads()).toBe(2);
  await close();
});

const config = (tools: Config['tools'], names?: string[]): Config => ({ agents: [{ name: 'a', version: '1.0.0', planner: 'declared', ...(names ? { tools: names } : {}) }], tools });
const pinnedOf = (made: Config): string[] => (resolveAgents(made, null).get('a')?.manifest.tools ?? []).map(({ name, version }) => `${name} ${version}`).filter((one) => one.startsWith('send'));

test('R9.1 several major versions of a tool stand in one configuration: a new run gets the newest, or the one that its agent names', () => {
  const two = [tool('1.4.0'), tool('2.0.0'), tool('1.0.0', 'other')];
  expect(faultOfConfig(config(two))).toBeNull();
  expect([...toolsByContract(config(two)).keys()].slice(0, 3)).toEqual(['send@1', 'send@2', 'other@1']);
  expect([...toolsByName(config([tool('2.0.0'), tool('1.4.0')]))][0]?.[1].version).toBe('2.0.0');
  expect([pinnedOf(config(two)), pinnedOf(config(two, ['send'])), pinnedOf(config(two, ['send@1'])), pinnedOf(config(two, ['other']))]).toEqual([['send 2.0.0'], ['send 2.0.0'], ['send 1.4.0'], []]);
});

test.each([
  [[tool('1.0.0'), tool('1.2.0')], undefined, /Two tools are called send@1; .*another major version/],
  [[tool('1.0.0'), tool('2.0.0')], ['send@3'], /uses the tool "send@3", which is not among/],
  [[tool('1.0.0'), tool('2.0.0')], ['send@1', 'send'], /uses the tool "send" twice; name one major version/],
] as const)('what cannot be told apart is refused: %#', (tools, names, fault) => {
  expect(faultOfConfig(config([...tools], names && [...names]))).toMatch(fault);
});

test('R9.1 a call is made by the major version that its run began with, and where that is missing nothing is sent', async () => {
  const rig = await handsOver([tool('1.0.0'), tool('2.0.0')], { admission: new Admission() });
  const call = async (version: string) => rig.environment().run(makeCall(rig.deps), rig.need({ version, argsDigest: undefined }));
  expect([await call('1.0.7'), await call('2.9.9')]).toMatchObject([{ kind: 'succeeded', output: { value: { by: '1.0.0' } } }, { kind: 'succeeded', output: { value: { by: '2.0.0' } } }]);
  expect(await call('3.0.0')).toMatchObject({ kind: 'failed', sent: false, failure: { class: 'tool-missing', message: expect.stringContaining('the tool send@3') } });
  await rig.close();
});
