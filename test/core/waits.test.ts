// Promises of rules/waits: questions to people with each deadline policy, waits for time, and messages that come too early.
import type { OnDeadline, StepOutline } from '../../src/core/plan';
import { given, prepared, returned, said, succeeded, toolStep, type GivenRun } from '../../src/testing/scenario';

const question = (onDeadline?: OnDeadline, more: Partial<StepOutline> = {}): StepOutline => ({
  id: 'q', title: 'ask', dependsOn: [], uses: [], ...more,
  action: { type: 'question', question: 'Which quarter?', ...(onDeadline ? { deadlineMs: 1_000, onDeadline } : {}) },
});
const idOf = (run: GivenRun): string => Object.keys(run.state.questions)[0] ?? '';

test('a question is opened when its step is due, and an answer is the output of the step', () => {
  const run = given({ steps: [question()] }).then('RunCreated', 'PlanAccepted', 'QuestionOpened');
  const done = run.when(said('ann', { kind: 'answer', questionId: idOf(run), answer: { value: 'Q3' } }));
  done.then(['QuestionAnswered', { by: 'person' }], ['StepCompleted', { output: { value: 'Q3' } }], 'RunCompleted').thenHears('done');
});

test('an answer hands its value to the step that refers to it', () => {
  const run = given({ steps: [question(), toolStep('s', 'read', { dependsOn: ['q'], uses: ['q'], action: { type: 'tool', tool: 'read', args: { which: { $from: 'q' } } } })] });
  const next = run.when(said('ann', { kind: 'answer', questionId: idOf(run), answer: { value: 'Q3' } }));
  expect(next.needs[0]).toMatchObject({ kind: 'call', call: { inputs: { q: { value: 'Q3' } } } });
});

test.each<[string, OnDeadline, string[]]>([
  ['cancel-run', { then: 'cancel-run' }, ['CancelRequested', 'QuestionExpired', 'RunCancelled']],
  ['fail-step', { then: 'fail-step' }, ['StepFailed', 'QuestionExpired', 'RunBlocked']],
  ['ask-again', { then: 'ask-again' }, ['QuestionExpired', 'QuestionOpened']],
  ['escalate', { then: 'escalate', escalateTo: ['boss'] }, ['QuestionExpired', 'QuestionOpened']],
  ['continue', { then: 'continue', default: 'Q1' }, ['QuestionAnswered', 'StepCompleted', 'RunCompleted']],
])('when nobody answers in time, %s does what it says', (_name, onDeadline, types) => {
  const run = given({ steps: [question(onDeadline)] });
  run.thenNeeds(`timer:question:${idOf(run)}@${run.now + 1_000}`);
  run.after(999).when().then();
  expect(run.after(1_000).when().events.map((event) => event.type)).toEqual(types);
});

test('the default of a question that nobody answered is marked as a default', () => {
  const run = given({ steps: [question({ then: 'continue', default: 'Q1' })] }).after(1_000).when();
  run.then(['QuestionAnswered', { by: 'default', answer: { value: 'Q1' } }], 'StepCompleted', 'RunCompleted');
});

test('a second answer hears who was first; an answer after the deadline hears that it is too late', () => {
  const run = given({ steps: [question({ then: 'ask-again' }), toolStep('s', 'mail')] });
  const first = run.when(said('ann', { kind: 'answer', questionId: idOf(run), answer: { value: 1 } }));
  first.when(said('bob', { kind: 'answer', questionId: idOf(run), answer: { value: 2 } })).thenHears('already-decided');
  run.after(5_000).when(said('bob', { kind: 'answer', questionId: idOf(run), answer: { value: 2 } })).thenHears('expired');
  const again = run.after(1_000).when();
  again.when(said('bob', { kind: 'answer', questionId: idOf(run), answer: { value: 2 } })).thenHears('expired');
});

test('messages that come before their wait step, between and after it are all recorded, and the run goes on as soon as it can', () => {
  const steps = [toolStep('a', 'read'), question(undefined, { dependsOn: ['a'] })];
  const early = given({ steps }).when(said('ann', { kind: 'note', text: { value: 'it is Q3' } })).then('UserMessageReceived');
  const opened = early.when(returned('c1', 1, succeeded()), said('ann', { kind: 'note', text: { value: 'again' } }));
  opened.then('ToolCallSucceeded', 'StepCompleted', 'UserMessageReceived', 'QuestionOpened');
});

test('several steps that follow each other without the world open and pass in one turn', () => {
  const wait = (id: string, dependsOn: string[]): StepOutline => ({ id, title: id, dependsOn, uses: [], action: { type: 'wait', forMs: 10 } });
  const run = given({ steps: [wait('a', []), wait('b', []), question(undefined, { dependsOn: ['a', 'b'] })] });
  run.after(10).when().then('WaitSatisfied', 'StepCompleted', 'WaitSatisfied', 'StepCompleted', 'QuestionOpened');
});

test('a wait for time holds nothing but a timer, and ends at its time also when the clock comes late', () => {
  const run = given({ steps: [{ id: 'w', title: 'wait', dependsOn: [], uses: [], action: { type: 'wait', forMs: 5_000 } }] });
  run.thenNeeds(`timer:step:w@${run.now + 5_000}`);
  run.after(4_999).when({ type: 'TimerFired', name: 'step:w', dueAt: 0 }).then();
  run.after(9_000).when().then('WaitSatisfied', 'StepCompleted', 'RunCompleted');
});

test('a wait goes on through a pause, and what follows waits for the resume', () => {
  const run = given({ steps: [{ id: 'w', title: 'wait', dependsOn: [], uses: [], action: { type: 'wait', forMs: 5_000 } }, toolStep('s', 'read', { dependsOn: ['w'] })] });
  const paused = run.when(said('ann', { kind: 'pause', reason: '' })).after(6_000).when().then('WaitSatisfied', 'StepCompleted');
  paused.when(said('ann', { kind: 'resume' })).then('RunResumed', 'ToolCallRequested');
});

test('while people are waited for, the wall clock of the budget stands still', () => {
  const run = given({ steps: [question(), toolStep('s', 'mail', { dependsOn: ['q'] })], budget: { wallMs: 1_000 } });
  const answered = run.after(3_600_000).when(said('ann', { kind: 'answer', questionId: idOf(run), answer: { value: 1 } }));
  expect(answered.state.activeMs).toBe(0);
  answered.after(2_000).when(prepared('s')).then('CallPrepared', ['BudgetExhausted', { kind: 'wallMs' }]);
});
