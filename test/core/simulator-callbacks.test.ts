// Results that come later in the simulation: the same faults as everywhere, and an outside that accepts and calls back, early, late,
// twice and in any order. Nothing that it accepted is done twice, no event counts twice, and every run ends.
import type { PendingTerms } from '../../src/core/pending';
import { Random } from '../../src/testing/random';
import { simulate, type SimulatedScenario, type SimulationReport } from '../../src/testing/simulator';
import { agentManifest, randomScenario, toolStep } from '../../src/testing/simulator-scenarios';
import { fault } from './support/simulations';

const SEEDS = process.env.LONGHAUL_EXHAUSTIVE ? 2_000 : 120;
const TOOLS = ['stage', 'reserve', 'post', 'pay', 'ship', 'mail'];

/** A scenario by chance in which most tools are told later. */
function scenario(seed: number): SimulatedScenario {
  const random = new Random(seed + 1_000_000);
  const terms = (): PendingTerms => ({
    expect: random.chance(0.5) ? null : random.int(1, 6), deadlineMs: random.int(5_000, 400_000),
    onDeadline: random.pick<PendingTerms['onDeadline']>([{ then: 'fail-step' }, { then: 'continue', default: 'nothing came', remindEveryMs: 20_000 }, { then: 'continue', default: null }, { then: 'cancel-run' }]),
  });
  return { ...randomScenario(random), later: Object.fromEntries(TOOLS.filter(() => random.chance(0.7)).map((name) => [name, terms()])) };
}

const seen = new Map<string, number>();
const count = (what: string): void => { seen.set(what, (seen.get(what) ?? 0) + 1); };

/** Plays a seed and counts what took place; the fault, or ''. */
function play(seed: number, mode: 'safety' | 'liveness'): string {
  const { events, violations } = simulate({ seed, mode, scenario: scenario(seed) });
  const open = new Set<string>();
  for (const { type, data } of events) {
    if (type === 'CallbackAwaited') open.add(data.callbackId);
    if (type === 'CallbackReceived') count(open.has(data.callbackId) ? 'in time' : 'early');
    if (type === 'CallbackExpired') count(`${data.why}${data.partial ? ' in part' : ''}`);
    if (type === 'ToolCallPending' || (type === 'ToolCallSucceeded' && (data.via === 'callback' || data.via === 'default'))) count(`${type} ${data.via}`);
  }
  return violations.length === 0 ? '' : fault({ seed, mode, scenario: scenario(seed) });
}

test.each(['safety', 'liveness'] as const)('R5.2 under any faults what was accepted is done once, every event counts once, and each run ends: %s', (mode) => {
  for (let seed = 1; seed <= SEEDS; seed += 1) expect(play(seed, mode)).toBe('');
}, 300_000);

test('the faults are there: over some seeds results come early, are found again in every way, and end at their deadline in every way', () => {
  expect([...seen.keys()].sort()).toEqual([
    'ToolCallPending callback', 'ToolCallPending ledger', 'ToolCallPending look-up', 'ToolCallPending sent', 'ToolCallSucceeded callback', 'ToolCallSucceeded default',
    'deadline', 'deadline in part', 'early', 'ended', 'in time',
  ]);
});

const calm = (terms: PendingTerms): SimulationReport => simulate({ seed: 3, mode: 'liveness', calm: true, scenario: {
  name: 'calm', agent: agentManifest(), plan: { goal: 'g', add: [toolStep('s', 'ship')], drop: [] }, proposals: [], policy: {}, budget: {}, owner: { id: 'olga', via: 'cli', assurance: 'local-user' }, people: ['ann'], oneHost: true, later: { ship: terms },
} });

test.each<[string, PendingTerms]>([
  ['one result', { expect: null, deadlineMs: null, onDeadline: { then: 'fail-step' } }], ['a batch', { expect: 4, deadlineMs: null, onDeadline: { then: 'fail-step' } }],
])('on a good day %s comes by callbacks, and the run is whole', (_, terms) => {
  const { violations, state, events, effects } = calm(terms);
  expect([violations, state.end?.outcome, effects.length, events.filter(({ type }) => type === 'CallbackReceived').length]).toEqual([[], 'full', 1, terms.expect ?? 1]);
});
