// The simulator itself: it repeats exactly, plays a good day as a good day, and notices deliberate bugs in every part.
import { simulate, type Mutant, type SimulatedScenario } from '../../src/testing/simulator';
import { agentManifest, toolStep } from '../../src/testing/scenario';

const scenario = (more: Partial<SimulatedScenario> = {}): SimulatedScenario => ({
  name: 'report', agent: agentManifest(), proposals: [], policy: {}, budget: {}, people: ['ann'], oneHost: true, owner: { id: 'olga', via: 'cli', assurance: 'local-user' },
  plan: { goal: 'a report', drop: [], add: [toolStep('collect', 'read'), toolStep('publish', 'pay', { dependsOn: ['collect'] }), toolStep('tell', 'mail', { dependsOn: ['publish'] })] }, ...more,
});

test('the same seed gives the same run, event for event', () => {
  for (const seed of [1, 2, 3, 40, 500]) {
    const [a, b] = [simulate({ seed, mode: 'safety', trace: true }), simulate({ seed, mode: 'safety', trace: true })];
    expect(a.trace).toEqual(b.trace);
    expect(a.events).toEqual(b.events);
  }
});

test('different seeds give different runs', () => {
  expect(new Set([1, 2, 3, 4, 5].map((seed) => JSON.stringify(simulate({ seed, mode: 'safety' }).events))).size).toBe(5);
});

test('on a good day a run completes with one effect a step', () => {
  const { violations, state, effects } = simulate({ seed: 1, mode: 'liveness', calm: true, scenario: scenario() });
  expect(violations).toEqual([]);
  expect(state.end).toMatchObject({ status: 'completed', outcome: 'full' });
  expect(effects.map((effect) => effect.tool)).toEqual(['pay', 'mail']);
});

test('a scenario of one\'s own is played under faults', () => {
  for (let seed = 1; seed <= 20; seed += 1) expect(simulate({ seed, mode: 'liveness', scenario: scenario() }).violations).toEqual([]);
});

test('the faults are there: over some seeds every kind of recovery takes place', () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 250; seed += 1) {
    for (const event of simulate({ seed, mode: 'safety' }).events) seen.add(event.type === 'RecoveryChecked' ? `${event.type} ${event.data.decision}` : event.type);
  }
  for (const kind of ['RunRestored', 'ToolCallUnknown', 'RetryScheduled', 'HumanDecided', 'ApprovalVoided', 'ApprovalExpired', 'RunCancelled', 'RunBlocked', 'BudgetExhausted', 'QuestionExpired',
    ...['record', 'send', 'retry', 'wait', 'ask-person', 'stop', 'ask-again'].map((decision) => `RecoveryChecked ${decision}`)]) expect(seen).toContain(kind);
});

/** From which seed on it is caught, and what the finding is about. */
const mutants: [Mutant, number, RegExp, string][] = [
  ['ignore-diverged', 1, /I10|I3/, 'a conductor that takes "diverged" for "appended"'],
  ['start-before-append', 1, /I2/, 'a conductor that starts needs before its batch is in the journal'],
  ['answer-before-append', 1, /I2/, 'a conductor that answers before its batch is in the journal'],
  ['journal-unfenced', 1, /I4/, 'a journal that lets an old epoch append'],
  ['claims-unfenced', 540, /C1|C2/, 'a ledger that lets an old epoch or a given-up attempt claim'],
  ['deals-dead-claims', 550, /C1|C2/, 'a ledger that gives a dead owner\'s claim away without the gate'],
  ['claim-skipped', 1, /C1|C2/, 'hands that send without a claim'],
  ['settle-ignored', 1, /C2/, 'hands that never settle'],
  ['gate-skipped', 1, /C1|C2/, 'a gate that never looks'],
  ['key-by-attempt', 1, /C3/, 'hands that make a new key for each attempt'],
  ['unknown-is-failed', 20, /C1|C2/, 'hands that take an unknown outcome for a failure'],
  ['approval-unchecked', 40, /C4/, 'hands that do not look at the approval before the send'],
];

test.each(mutants)('%s is caught (from seed %d, %s): %s', (mutant, from, finding) => {
  for (let seed = from; seed < from + 600; seed += 1) {
    const { violations } = simulate({ seed, mode: 'safety', mutant });
    if (violations.length > 0) return expect(violations[0]).toMatch(finding);
  }
  throw new Error(`600 seeds did not notice ${mutant}.`);
}, 60_000);
