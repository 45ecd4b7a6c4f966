// crashEverywhere, the public door over the simulator: it plays every boundary and many seeds, its table adds up, it says which
// tools need a person, and it notices a runtime with a bug.
import { crashes } from '../../examples/first-agent/crashes';
import { crashEverywhere, type CrashRow, type CrashScenario } from '../../src/testing';
import { STRIKES } from '../../src/testing/simulator-types';

const step = (id: string, tool: string, dependsOn: string[] = []) => ({ id, dependsOn, action: { type: 'tool', tool, args: { of: id } } });
const kinds: CrashScenario = {
  tools: [
    { name: 'read', version: '1.0.0', effect: 'none' }, { name: 'asks', version: '1.0.0', effect: 'manual', lookUp: true },
    { name: 'keyed', version: '1.0.0', effect: 'manual', honoursKey: true }, { name: 'blind', version: '1.0.0' },
  ],
  policy: { asks: 'allow', keyed: 'allow', blind: 'allow' },
  plan: { goal: 'One of each kind', steps: [step('a', 'read'), step('b', 'asks', ['a']), step('c', 'keyed', ['a']), step('d', 'blind', ['b'])] },
};
const struckBy = (rows: CrashRow[], crash: string): CrashRow => rows.find((row) => row.crash === crash)!;

test('R9.5 the first agent is crashed at every boundary and under many seeds: nothing doubled, nothing lost', () => {
  const { rows, problems, runs, table } = crashes();
  expect(problems).toEqual([]);
  expect(rows.map((row) => row.crash)).toEqual([...STRIKES, 'random faults without end', 'random faults that stop']);
  for (const row of rows) expect(row).toMatchObject({ doubled: 0, lost: 0, runs: expect.any(Number) });
  for (const row of rows.slice(0, STRIKES.length)) expect([row.crash, row.runs > 0, row.seen]).toEqual([row.crash, true, row.expected]);
  expect(runs).toBeGreaterThan(250);
  expect(table).toMatch(/^all +\d+ +\d+ +\d+ +\d+ +0 +0$/m);
});

test('R4.3 one crash anywhere: only the tool with neither look-up nor keys needs a person', () => {
  const { rows, tools, problems } = crashEverywhere(kinds, { seeds: 0 });
  expect(problems).toEqual([]);
  const asked = Object.fromEntries(tools.map((tool) => [tool.tool, tool.asked > 0]));
  expect(asked).toEqual({ asks: false, keyed: false, blind: true });
  expect(struckBy(rows, 'worker killed').asked).toBeGreaterThan(0);
  expect(struckBy(rows, 'task lost after its append').asked).toBe(0);
});

test.each(['unknown-is-failed', 'claim-skipped', 'settle-ignored', 'ignore-diverged', 'start-before-append'] as const)('a runtime with the bug %s is noticed', (mutant) => {
  const { problems } = crashEverywhere(kinds, { seeds: 400, mutant, firstProblem: true });
  expect(problems[0]).toMatch(/^(strike \{.*\}|seed \d+ \((safety|liveness)\)): /);
}, 60_000);

test('a problem can be played again: its seed gives the same problem', () => {
  const [first] = crashEverywhere(kinds, { seeds: 20, mutant: 'settle-ignored', firstProblem: true }).problems;
  const [again] = crashEverywhere(kinds, { seeds: 20, mutant: 'settle-ignored', firstProblem: true }).problems;
  expect([typeof first, again]).toEqual(['string', first]);
});

test.each([
  ['a plan that cannot be read', { ...kinds, plan: { goal: 'x', steps: [step('a', 'made_up')] } }, /^The plan cannot be read: .*made_up/],
  ['a plan that refers to what no tool answers', { ...kinds, plan: { goal: 'x', steps: [step('a', 'read'), { id: 'b', action: { type: 'tool', tool: 'asks', args: { x: { $from: 'a.total' } } } }] } }, /does not complete even without a crash.*outputs/],
])('%s is refused in one sentence', (_what, scenario, words) => {
  expect(() => crashEverywhere(scenario)).toThrow(words);
});
