// The simulator itself: it repeats exactly, plays a good day as a good day, and notices deliberate bugs in every part.
import type { PolicyVerdict } from '../../src/core/events';
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
  const awaited = new Set<string>(['RunRestored', 'ToolCallUnknown', 'RetryScheduled', 'HumanDecided', 'ApprovalVoided', 'ApprovalExpired', 'RunCancelled', 'RunBlocked', 'BudgetExhausted', 'QuestionExpired', 'CallEdited', 'EditRefused', 'GrantGiven', 'GrantRevoked', 'WaitReminded', 'a step that waited is dropped',
    ...['record', 'send', 'retry', 'wait', 'ask-person', 'stop', 'ask-again'].map((decision) => `RecoveryChecked ${decision}`)]);
  for (let seed = 1; seed <= 250 && awaited.size > 0; seed += 1) {
    for (const event of simulate({ seed, mode: 'safety' }).events) awaited.delete(event.type === 'RecoveryChecked' ? `${event.type} ${event.data.decision}` : event.type === 'PlanAccepted' && event.data.drop.length > 0 ? 'a step that waited is dropped' : event.type);
  }
  expect([...awaited]).toEqual([]);
});

const storm = (more: Partial<SimulatedScenario> = {}): SimulatedScenario => scenario({
  agent: agentManifest({ maxParallel: 8 }),
  plan: { goal: 'much at once', drop: [], add: ['stage', 'post', 'ship', 'mail', 'reserve', 'pay', 'stage', 'post', 'mail', 'ship'].map((tool, i) => toolStep(`s${i}`, tool)) }, ...more,
});
const ask: PolicyVerdict = { decision: 'ask', rule: 'r', why: 'w', approval: { quorum: 1, approvers: [], ownerMay: true, rule: 'r' }, expiresInMs: 30_000, onDeadline: { then: 'ask-again' } };
const scenarios = { storm: storm(), 'storm with approvals': storm({ policy: Object.fromEntries(['stage', 'post', 'ship', 'mail', 'reserve', 'pay'].map((tool) => [tool, ask])) }) };

test.each(Object.entries(scenarios))('ten effects at once under faults: nothing twice, nothing denied that happened (%s)', (_name, played) => {
  for (let seed = 1; seed <= 30; seed += 1) expect([seed, ...simulate({ seed, mode: 'safety', scenario: played }).violations]).toEqual([seed]);
}, 60_000);

/** In which scenario and from which seed on it is caught, and what the finding is about. */
const mutants: [string, Mutant, keyof typeof scenarios, number, RegExp][] = [
  ['a conductor that takes "diverged" for "appended"', 'ignore-diverged', 'storm', 1, /I10|I3/],
  ['a conductor that starts needs before its batch is in the journal', 'start-before-append', 'storm', 1, /I2/],
  ['a conductor that answers before its batch is in the journal', 'answer-before-append', 'storm with approvals', 1, /I2/],
  ['a journal that lets an old epoch append', 'journal-unfenced', 'storm', 1, /I4/],
  ['a ledger that lets an old epoch or a given-up attempt claim', 'claims-unfenced', 'storm with approvals', 220, /C1|C2/],
  ['a ledger that gives a dead owner\'s claim away without the gate', 'deals-dead-claims', 'storm', 90, /C1|C2/],
  ['hands that send without a claim', 'claim-skipped', 'storm', 1, /C1|C2/],
  ['hands that never settle', 'settle-ignored', 'storm', 1, /C2/],
  ['hands that make a new key for each attempt', 'key-by-attempt', 'storm', 1, /C3/],
  ['hands that take an unknown outcome for a failure', 'unknown-is-failed', 'storm with approvals', 1, /C1|C2/],
  ['hands that do not look at the approval before the send', 'approval-unchecked', 'storm with approvals', 1, /C4/],
  ['hands that try again beside a living owner', 'held-is-busy', 'storm with approvals', 1, /C1|C2/],
  ['hands that take an attempt which is not awaited for one that nobody made', 'standing-is-nothing', 'storm', 520, /C1|C2/],
  ['hands that do not withdraw what they do not send', 'not-withdrawn', 'storm with approvals', 35, /C1|C2/],
  ['a gate that never looks', 'gate-skipped', 'storm', 1, /C1|C2/],
];

test.each(mutants)('%s is caught (%s)', (_what, mutant, played, from, finding) => {
  for (let seed = from; seed < from + 200; seed += 1) {
    const { violations } = simulate({ seed, mode: 'safety', mutant, scenario: scenarios[played] });
    if (violations.length > 0) return expect([seed, violations[0]]).toEqual([seed, expect.stringMatching(finding)]);
  }
  throw new Error(`200 seeds did not notice ${mutant}.`);
}, 120_000);
