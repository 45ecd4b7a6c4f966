// Promises of rules/steering: what people say to a run that only waits is heard at once, the planner may take back what waits, and nothing
// that was asked for before is done then.
import type { PlanPatch } from '../../src/core/plan';
import type { ModelResult } from '../../src/core/world';
import { asks, evidence, given, modelSaid, prepared, proposes, returned, said, saw, succeeded, toolStep, used, type GivenRun } from '../../src/testing/scenario';

const lastCall = (run: GivenRun): string => `c${run.state.callSeq}`;
const plans = (run: GivenRun, result: ModelResult): GivenRun => run.when(modelSaid(lastCall(run), run.state.calls[lastCall(run)]?.attempt ?? 1, result));
const patch = (steps: PlanPatch['add'], drop: string[] = []): ModelResult => proposes({ add: steps, drop });
const note = (text: string) => said('ann', { kind: 'note', text: { value: text } });
const words: ModelResult = { kind: 'succeeded', usage: used(), text: 'It stays.', patch: { add: [], drop: [], done: { outcome: 'full', summary: 'It stays.' } } };
/** A planner's run whose only step waits for its approval, as call c2. */
const parked = (): GivenRun => plans(given(), patch([toolStep('s', 'mail')])).when(prepared('s', { of: 's' }, { policy: asks() }));
const approvalOf = (run: GivenRun): string => Object.keys(run.state.approvals)[0] ?? '';
const question = toolStep('q', 'read', { action: { type: 'question', question: 'Well?' } });

test('R10.2 a note to a run that only waits asks its planner at once, told that steps wait; the approval stays open meanwhile', () => {
  const run = parked().when(note('Not to the board.')).then('UserMessageReceived', ['ModelCallRequested', { purpose: 'plan', midway: true }]);
  expect(run.needs.filter(({ kind }) => kind === 'model')).toEqual([expect.objectContaining({ midway: true, upTo: run.state.version - 1 })]);
  expect(Object.keys(run.state.approvals)).toHaveLength(1);
});

test('R10.2 words alone leave the plan as it is, and do not end the run', () => {
  const run = plans(parked().when(note('Well done.')), words).then('ModelCallSucceeded');
  expect([run.state.end, run.state.plan.version, run.needs.map(({ kind }) => kind)]).toEqual([null, 1, ['timer']]);
  run.when(said('bob', { kind: 'approve', approvalId: approvalOf(run) })).then('ApprovalGranted', ['ToolCallRequested', { stepId: 's' }]);
});

test('R4.4 R10.2 a step that waits for its approval may be dropped: the approval is void, nothing is executed, and what replaces it is asked for anew', () => {
  const before = parked().when(note('To the team instead.'));
  const run = plans(before, patch([toolStep('t', 'mail')], ['s'])).then('ModelCallSucceeded', ['ApprovalVoided', { why: 'the planner has dropped its step' }], ['PlanAccepted', { drop: ['s'] }]);
  expect(run.state.steps.map(({ id, status }) => [id, status])).toEqual([['t', 'pending']]);
  run.when(said('bob', { kind: 'approve', approvalId: approvalOf(before) })).thenHears('expired');
  const asked = run.when(prepared('t', { of: 't' }, { policy: asks() })).then('CallPrepared', 'ApprovalRequested');
  expect(approvalOf(asked)).not.toBe(approvalOf(before));
});

test('R4.4 a patch elsewhere voids nothing: what is added begins beside the approval that is open', () => {
  const before = parked().when(note('Look at the logs too.'));
  const run = plans(before, patch([toolStep('look', 'read')])).then('ModelCallSucceeded', 'PlanAccepted', ['ToolCallRequested', { stepId: 'look' }]);
  expect(run.state.approvals).toEqual(before.state.approvals);
  run.when(said('bob', { kind: 'approve', approvalId: approvalOf(run) })).then('ApprovalGranted', ['ToolCallRequested', { stepId: 's' }]);
});

test.each([
  ['a question', question, 'QuestionExpired'],
  ['a wait for time', toolStep('q', 'read', { action: { type: 'wait', forMs: 60_000 } }), null],
  ['a wait for the outside', toolStep('q', 'read', { action: { type: 'wait', callback: 'the printer' } }), 'CallbackExpired'],
] as const)('R10.2 %s may be dropped: nothing of it is left, and the planner is asked what now', (_what, step, closing) => {
  const run = plans(plans(given(), patch([step])).when(note('Never mind.')), patch([], ['q']))
    .then('ModelCallSucceeded', ...(closing ? [closing] : []), 'PlanAccepted', ['ModelCallRequested', { purpose: 'plan' }]);
  expect([run.state.steps, run.state.questions, run.state.callbacks ?? {}, run.needs.map(({ kind }) => kind)]).toEqual([[], {}, {}, ['model']]);
});

test('a late answer to what was dropped hears that it is void, and why', () => {
  const asked = plans(given(), patch([question]));
  const questionId = Object.keys(asked.state.questions)[0] ?? '';
  const { answers } = plans(asked.when(note('Never mind.')), patch([], ['q'])).when(said('bob', { kind: 'answer', questionId, answer: { value: 'yes' } })).thenHears('expired');
  expect(answers[0]?.text).toBe('The question is void: the planner has dropped its step.');
});

test('R10.2 what is under way is not touched: a note waits for it, and a drop of what was sent meanwhile is refused and told', () => {
  plans(given(), patch([toolStep('a', 'read')])).when(note('Hurry.')).then('UserMessageReceived');
  const both = parked().when(note('Not that.')).when(said('bob', { kind: 'approve', approvalId: approvalOf(parked()) })).then('ApprovalGranted', ['ToolCallRequested', { stepId: 's' }]);
  const planCall = Object.values(both.state.calls).find(({ kind }) => kind === 'model')!;
  const refused = both.when(modelSaid(planCall.callId, 1, patch([], ['s']))).then('ModelCallSucceeded', ['PlanRejected', { reasons: ['Step s cannot be dropped: it is under way.'], again: true }]);
  refused.when(returned('c2', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', ['ModelCallRequested', { purpose: 'plan' }]);
});

test('words alone are no end either where what waited was done while the planner was asked', () => {
  const both = parked().when(note('Hm.')).when(said('bob', { kind: 'approve', approvalId: approvalOf(parked()) })).when(returned('c2', 1, succeeded()));
  const run = plans(both, words).then('ModelCallSucceeded', ['ModelCallRequested', { purpose: 'plan' }]);
  expect([run.state.end, run.state.calls[lastCall(run)]?.midway]).toEqual([null, undefined]);
});

test('a planner that is refused while steps wait is asked again, as often as the agent allows; then what waits goes on without it, until people speak again', () => {
  let run = parked().when(note('Not that.'));
  const limit = run.state.agent.maxRejectedPlans;
  for (let n = 1; n < limit; n += 1) run = plans(run, patch([], ['nobody'])).then('ModelCallSucceeded', 'PlanRejected', ['ModelCallRequested', { midway: true }]);
  run = plans(run, patch([], ['nobody'])).then('ModelCallSucceeded', 'PlanRejected');
  expect(run.needs.map(({ kind }) => kind)).toEqual(['timer']);
  run.when(note('Well?')).then('UserMessageReceived', ['ModelCallRequested', { midway: true }]);
  run.when(said('bob', { kind: 'approve', approvalId: approvalOf(run) })).then('ApprovalGranted', ['ToolCallRequested', { stepId: 's' }]);
});

test('a model that cannot be reached while steps wait blocks nothing: the plan stands', () => {
  const fails: ModelResult = { kind: 'failed', failure: { class: 'model-output', code: 'model-output', message: 'model-output' }, usage: used() };
  const run = plans(parked().when(note('Hm.')), fails).then(['ModelCallFailed', { final: true }]);
  expect([run.state.blocked, run.needs.map(({ kind }) => kind)]).toEqual([null, ['timer']]);
});

test('a paused run hears when it goes on, and every note is heard once however many come', () => {
  const paused = parked().when(said('ann', { kind: 'pause', reason: 'wait' })).when(note('One.')).then('UserMessageReceived').when(note('Two.')).then('UserMessageReceived');
  const run = paused.when(said('ann', { kind: 'resume' })).then('RunResumed', ['ModelCallRequested', { midway: true }]);
  plans(run, words).then('ModelCallSucceeded');
  plans(run.when(note('Three.')).then('UserMessageReceived'), words).then('ModelCallSucceeded', ['ModelCallRequested', { midway: true }]);
});

test('a note does not use up what the run needs to go on: where no call would be left it is heard with the next turn', () => {
  const of = (calls: number): GivenRun => plans(given({ budget: { calls } }), patch([toolStep('s', 'mail')])).when(prepared('s', { of: 's' }, { policy: asks() })).when(note('Hm.'));
  of(3).then('UserMessageReceived', ['ModelCallRequested', { midway: true }]);
  const run = of(2).then('UserMessageReceived');
  run.when(said('bob', { kind: 'approve', approvalId: approvalOf(run) })).then('ApprovalGranted', ['ToolCallRequested', { stepId: 's' }]);
});

test('a note waits while a call is in doubt: nobody could tell the planner what became of it', () => {
  const unsure = plans(given(), patch([toolStep('s', 'mail')])).when(prepared('s')).when(returned('c2', 1, { kind: 'unknown', why: 'lost' }));
  const looked = unsure.when(saw('c2', 1, evidence({ ledger: { state: 'live', leaseUntil: unsure.now + 9_000 } }))).then(['RecoveryChecked', { decision: 'wait' }]);
  looked.when(note('And?')).then('UserMessageReceived');
});
