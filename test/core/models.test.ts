// Promises of rules/models and the planner by model: proposals accepted, refused with reasons, failures and their limits.
import type { ErrorClass } from '../../src/core/failure';
import type { PlanPatch } from '../../src/core/plan';
import type { ModelResult } from '../../src/core/world';
import { cancelled, given, modelSaid, prepared, proposes, returned, said, succeeded, toolStep, used, type GivenRun } from '../../src/testing/scenario';

const add = (...ids: string[]): PlanPatch => ({ add: ids.map((id) => toolStep(id, 'read')), drop: [] });
const end: PlanPatch = { add: [], drop: [], done: { outcome: 'full', summary: 'All done.' } };
const fails = (cls: ErrorClass): ModelResult => ({ kind: 'failed', failure: { class: cls, code: cls, message: cls }, usage: { calls: 1, tokens: 0, microUsd: 0, failures: 1 } });
const madeUp: PlanPatch = { add: [toolStep('x', 'made-up')], drop: [] };
const lastCall = (run: GivenRun): string => `c${run.state.callSeq}`;
/** The next answer of the planner. */
const plans = (run: GivenRun, result: ModelResult): GivenRun => run.when(modelSaid(lastCall(run), run.state.calls[lastCall(run)]?.attempt ?? 1, result));

test('a planner by model is asked first, and its request stands in the journal before it is asked', () => {
  given().then('RunCreated', ['ModelCallRequested', { purpose: 'plan', reserved: { calls: 1, tokens: 5_000, microUsd: 0, failures: 0 } }]).thenNeeds('model:c1#1');
});

test('a good proposal becomes the plan, and its steps begin in the same turn', () => {
  plans(given(), proposes(add('a', 'b'))).then('ModelCallSucceeded', ['PlanAccepted', { planVersion: 1, by: 'c1' }], 'ToolCallRequested', 'ToolCallRequested');
});

test('when nothing of the plan is open any more the planner is asked again, until it says that the work is done', () => {
  const run = plans(given(), proposes(add('a'))).when(returned('c2', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', 'ModelCallRequested');
  plans(run, proposes(end)).then('ModelCallSucceeded', ['PlanAccepted', { planVersion: 2 }], ['RunCompleted', { summary: 'All done.' }]);
});

test('a proposal that cannot be is refused with reasons, which the next request carries to the model', () => {
  const run = plans(given(), proposes(madeUp)).then('ModelCallSucceeded', 'PlanRejected', 'ModelCallRequested');
  expect(run.needs[0]).toMatchObject({ kind: 'model', rejected: [expect.stringContaining('made-up')] });
});

test('a planner that is refused too often in a row blocks the run, and a person may let it try again', () => {
  let run = given({ agent: { maxRejectedPlans: 3 } });
  for (let i = 0; i < 2; i += 1) run = plans(run, proposes(madeUp));
  run = plans(run, proposes(madeUp)).then('ModelCallSucceeded', 'PlanRejected', 'RunBlocked');
  run.when(said('ann', { kind: 'settle', as: 'retry' })).then('RunUnblocked', 'ModelCallRequested');
});

test('a good proposal ends the row of refusals', () => {
  const run = plans(plans(given(), proposes(madeUp)), proposes(add('a')));
  expect(run.state.plan).toMatchObject({ rejections: 0, rejected: [] });
});

test('an answer with good calls and bad ones: the good ones become steps, the model hears of the others', () => {
  const run = plans(given(), proposes(add('a'), ['Call 2 was cut off.'])).then('ModelCallSucceeded', 'PlanAccepted', 'PlanRejected', 'ToolCallRequested');
  const next = run.when(returned('c2', 1, succeeded()));
  expect(next.needs[0]).toMatchObject({ kind: 'model', rejected: ['Call 2 was cut off.'] });
});

test('an answer without any step and without an end is refused', () => {
  plans(given(), { kind: 'succeeded', usage: used(), text: 'hm' }).then('ModelCallSucceeded', ['PlanRejected', { reasons: ['The answer holds no step and no end.'] }], 'ModelCallRequested');
});

test.each<ErrorClass>(['network', 'server', 'rate-limited', 'timeout-before-send', 'unknown'])('%s of a model is tried again five times, and then the run is blocked', (cls) => {
  let run = given();
  for (let i = 1; i < 5; i += 1) {
    run = plans(run, fails(cls)).then('ModelCallFailed', ['RetryScheduled', { attempt: i }]).after(120_000).when().then(['ModelCallRequested', { attempt: i + 1 }]);
  }
  plans(run, fails(cls)).then(['ModelCallFailed', { final: true }], 'RunBlocked');
});

test('a retry sees the journal up to the same version as the first attempt', () => {
  const run = given();
  const first = run.needs[0];
  const again = plans(run, fails('network')).when(said('ann', { kind: 'note', text: { value: 'hello' } })).after(60_000).when();
  expect(again.needs[0]).toMatchObject({ upTo: first?.kind === 'model' ? first.upTo : -1 });
});

test('a key that the provider refuses before its first success fails the run at once; later it blocks it', () => {
  plans(given(), fails('model-key')).then('ModelCallFailed', ['RunFailed', { failure: { class: 'model-key', code: 'model-key', message: 'model-key' } }]);
  const later = plans(given(), proposes(add('a'))).when(returned('c2', 1, succeeded()));
  plans(later, fails('model-key')).then('ModelCallFailed', 'RunBlocked');
});

test('a key that is refused while an effect is under way does not end the run over it', () => {
  const run = given({ steps: [toolStep('s', 'mail'), toolStep('m', 'read', { action: { type: 'model', prompt: 'p' } })] }).when(prepared('s'));
  run.when(modelSaid('c1', 1, fails('model-key'))).then('ModelCallFailed', 'StepFailed', 'RunBlocked');
});

test('a failed proposal of the model blocks the run when trying again cannot help', () => {
  plans(given(), fails('argument')).then(['ModelCallFailed', { final: true }], 'RunBlocked');
});

test('a model step has its text as its output, and fails its step when the model fails for good', () => {
  const steps = [toolStep('m', 'read', { action: { type: 'model', prompt: 'write.md' } })];
  given({ steps }).thenNeeds('model:c1#1').when(modelSaid('c1', 1, { kind: 'succeeded', usage: used(), text: 'a letter' })).then('ModelCallSucceeded', ['StepCompleted', { output: { value: 'a letter' } }], 'RunCompleted');
  given({ steps }).when(modelSaid('c1', 1, fails('model-output'))).then('ModelCallFailed', 'StepFailed', 'RunBlocked');
});

test('a large answer of a model step is an artifact of the run', () => {
  const ref = { sha256: 'a'.repeat(64), bytes: 9_000, mediaType: 'text/markdown', summary: 'a letter' };
  const run = given({ steps: [toolStep('m', 'read', { action: { type: 'model', prompt: 'p' } })] });
  run.when(modelSaid('c1', 1, { kind: 'succeeded', usage: used(), text: '', output: { ref } })).then('ModelCallSucceeded', 'ArtifactProduced', 'StepCompleted', ['RunCompleted', { artifacts: [ref.sha256] }]);
});

test('a late answer of an attempt that was given up changes nothing', () => {
  const run = plans(given(), fails('network'));
  run.when(modelSaid('c1', 1, proposes(add('a')))).then();
});

test('steps that failed are left to the planner: it is asked again, and what hung on them is skipped', () => {
  const run = plans(given(), proposes({ add: [toolStep('a', 'read'), toolStep('b', 'read', { dependsOn: ['a'] })], drop: [] }));
  run.when(returned('c2', 1, { kind: 'failed', failure: { class: 'not-found', code: 'x', message: 'x' }, sent: true })).then('ToolCallFailed', 'StepFailed', ['StepSkipped', { stepId: 'b' }], 'ModelCallRequested');
});

test('R8.5 a provider that has its fill is asked again later: no attempt has failed, and nothing is set aside meanwhile', () => {
  let run = given();
  for (let n = 1; n <= 8; n += 1) {
    run = plans(run, { kind: 'busy', why: 'full', retryAfterMs: 2_000 }).then(['RetryScheduled', { attempt: n, class: 'rate-limited', delayMs: 2_000 }]);
    expect([run.state.reserved.tokens, run.state.spent, run.state.calls[lastCall(run)]?.failures]).toEqual([0, { calls: 0, tokens: 0, microUsd: 0, failures: 0 }, 0]);
    run.after(1_999).when().then();
    run = run.after(2_000).when().then(['ModelCallRequested', { attempt: n + 1 }]);
  }
  plans(run, proposes(end)).then('ModelCallSucceeded', 'PlanAccepted', 'RunCompleted');
  plans(run.when(cancelled()), { kind: 'busy', why: 'full', retryAfterMs: 2_000 }).then(['ModelCallFailed', { final: true }], 'RunCancelled');
});
