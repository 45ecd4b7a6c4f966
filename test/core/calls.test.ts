// Promises of rules/calls: how a call is prepared, requested, recorded, tried again and failed.
import { digestOf } from '../../src/core/canonical';
import type { RunEvent } from '../../src/core/events';
import { callKey } from '../../src/core/keys';
import { checkPatch } from '../../src/core/rules/planning';
import { asks, given, prepared, returned, said, succeeded, toolStep } from '../../src/testing/scenario';

const mail = () => given({ steps: [toolStep('s', 'mail')] });
const sent = () => mail().when(prepared('s'));
const failure = (cls: 'network' | 'timeout-before-send' | 'permission' | 'business-refusal' | 'tool-missing' | 'server', more: object = {}) => ({ class: cls, code: cls, message: cls, ...more });

test('a step with an effect is prepared before anything is requested', () => {
  mail().thenNeeds('prepare:s#1').then('RunCreated', 'PlanAccepted');
});

test('a reader is requested at once, without preparing and without a key', () => {
  given({ steps: [toolStep('s', 'read')] }).then('RunCreated', 'PlanAccepted', ['ToolCallRequested', { callId: 'c1', attempt: 1, key: '' }]).thenNeeds('call:c1#1');
});

test('an allowed call is requested under the key of its place in the run, quoting the digest that was prepared', () => {
  sent().then('CallPrepared', ['ToolCallRequested', { key: callKey('run-1', 1, 'mail', 1), argsDigest: digestOf({ of: 's' }) }]);
});

test('I2 every model and call need that is handed out has its request in the journal', () => {
  const run = given({ steps: [toolStep('a', 'read'), toolStep('b', 'mail'), toolStep('c', 'pay')], agent: { maxParallel: 5 } }).when(prepared('b'), prepared('c'));
  for (const need of run.needs) {
    expect(need.begun).toBe(true);
    if (need.kind === 'call') expect(run.journal.some((event) => event.type === 'ToolCallRequested' && event.data.callId === need.callId && event.data.attempt === need.attempt)).toBe(true);
  }
  expect(run.needs.filter((need) => need.kind === 'call')).toHaveLength(3);
});

test('a result completes its step, and the last step completes the run', () => {
  sent().when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', ['RunCompleted', { outcome: 'full' }]);
});

test('artifacts and facts of a result stand in the journal after it', () => {
  const ref = { sha256: 'a'.repeat(64), bytes: 3, mediaType: 'text/plain', summary: 'x' };
  sent().when(returned('c1', 1, { ...succeeded(), kind: 'succeeded', artifacts: [{ ref, role: 'report' }], facts: [{ key: 'price', value: 3 }] } as never))
    .then('ToolCallSucceeded', 'ArtifactProduced', ['FactConfirmed', { key: 'price', source: 'c1' }], 'StepCompleted', 'RunCompleted');
});

test('a call that policy denies never goes out, and the step says which rule', () => {
  mail().when(prepared('s', {}, { policy: { decision: 'deny', rule: 'no-mail', why: 'not here' } }))
    .then('CallPrepared', ['ToolCallFailed', { sent: false, final: true }], ['StepFailed', { failure: { class: 'policy', code: 'no-mail', message: 'not here' } }], 'RunBlocked');
});

test('no more calls are in flight than the agent allows', () => {
  const steps = ['a', 'b', 'c', 'd'].map((id) => toolStep(id, 'read'));
  const run = given({ steps, agent: { maxParallel: 2 } }).thenNeeds('call:c1#1', 'call:c2#1');
  run.when(returned('c1', 1, succeeded())).thenNeeds('call:c2#1', 'call:c3#1');
});

test('an unknown outcome of an effect goes to the gate; of a reader it is tried again', () => {
  sent().when(returned('c1', 1, { kind: 'unknown', why: 'no answer' })).then('ToolCallUnknown').thenNeeds('gate:c1#1');
  given({ steps: [toolStep('s', 'read')] }).when(returned('c1', 1, { kind: 'unknown', why: 'no answer' })).then('ToolCallFailed', 'RetryScheduled');
});

test('a claim of a dead owner goes to the gate, and no attempt counts as failed', () => {
  const run = sent().when(returned('c1', 1, { kind: 'in-doubt', why: 'dead owner' })).then('ToolCallUnknown').thenNeeds('gate:c1#1');
  expect(run.state.calls.c1?.failures).toBe(0);
});

test('a call that was turned away is requested again later, and no attempt counts as failed', () => {
  const run = sent().when(returned('c1', 1, { kind: 'busy', why: 'full', retryAfterMs: 700 })).then(['RetryScheduled', { delayMs: 700, class: 'rate-limited' }]);
  expect(run.state.calls.c1?.failures).toBe(0);
  run.after(699).when().then();
  run.after(700).when().then(['ToolCallRequested', { attempt: 2 }]);
});

test('a result of an attempt that is not the last one changes nothing', () => {
  const run = sent().when(returned('c1', 1, { kind: 'busy', why: 'full', retryAfterMs: 1 })).after(100).when().then('ToolCallRequested');
  run.when(returned('c1', 1, { kind: 'failed', failure: failure('permission'), sent: false })).then();
  run.when(returned('c9', 1, succeeded())).then();
});

test('an effect that took place after all is recorded, also while a person is asked', () => {
  const asked = sent().when(returned('c1', 1, { kind: 'unknown', why: 'no answer' }));
  asked.when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', 'RunCompleted');
});

test('a refusal by the business is final at once', () => {
  sent().when(returned('c1', 1, { kind: 'failed', failure: failure('business-refusal'), sent: true }))
    .then(['ToolCallFailed', { final: true }], 'StepFailed', 'RunBlocked');
});

test('what was prepared for is asked for again when the hands find it changed', () => {
  const run = sent().when(returned('c1', 1, { kind: 'not-sent', why: 'approval' })).then(['ApprovalVoided', { approvalId: null }]).thenNeeds('prepare:s#2');
  run.when(prepared('s', { of: 's' }, { n: 2, policy: asks() })).then(['CallPrepared', { callId: 'c2', key: callKey('run-1', 2, 'mail', 1) }], 'ApprovalRequested');
});

test('R4.4 people approve the version that the worker has; another one at the call makes the approval void, and the step is asked for again', () => {
  const asked = mail().when(prepared('s', { of: 's' }, { policy: asks(), version: '1.2.0' })).then(['CallPrepared', { version: '1.2.0', key: callKey('run-1', 1, 'mail', 1) }], 'ApprovalRequested');
  const [approval] = Object.values(asked.state.approvals);
  expect(approval?.binding).toMatchObject({ tool: 'mail', version: '1.2.0' });
  const requested = asked.when(said('bob', { kind: 'approve', approvalId: approval?.approvalId ?? '' })).then('ApprovalGranted', ['ToolCallRequested', { version: '1.2.0' }]);
  requested.when(returned('c1', 1, { kind: 'not-sent', why: 'approval', fault: 'mail 1.2.0 was approved, and 1.3.0 would run' }))
    .then(['ApprovalVoided', { why: 'mail 1.2.0 was approved, and 1.3.0 would run' }]).thenNeeds('prepare:s#2');
});

test('R4.4 a patch elsewhere in the plan voids nothing: what was approved before or after it is sent', () => {
  const asked = given({ steps: [toolStep('s', 'mail'), toolStep('later', 'read', { dependsOn: ['s'] })] }).when(prepared('s', { of: 's' }, { policy: asks() }));
  const last = asked.journal.at(-1)!;
  const patch = { ...last, seq: last.seq + 1, type: 'PlanAccepted', data: { planVersion: 2, by: 'c9', goal: '', add: [toolStep('other', 'read', { dependsOn: ['s'] })], drop: ['later'] } } as unknown as RunEvent;
  const run = given([...asked.journal, patch]);
  expect([run.state.plan.version, run.state.approvals]).toEqual([2, asked.state.approvals]);
  run.when(said('bob', { kind: 'approve', approvalId: Object.keys(run.state.approvals)[0] ?? '' })).then('ApprovalGranted', ['ToolCallRequested', { callId: 'c1' }]);
});

test('R4.4 a plan cannot replace or repeat a step under its own id, nor drop what an open approval hangs on', () => {
  const { state } = given({ steps: [toolStep('base', 'read'), toolStep('s', 'mail', { dependsOn: ['base'] })] }).when(returned('c1', 1, succeeded())).when(prepared('s', { of: 's' }, { policy: asks() }));
  for (const id of ['base', 's']) {
    expect(checkPatch(state, { add: [], drop: [id] }).join()).toMatch(/cannot be dropped: it is (done|under way)/);
    expect(checkPatch(state, { add: [toolStep(id, 'read')], drop: [id] }).join()).toContain('takes the id of an earlier step');
  }
  expect(checkPatch(state, { add: [toolStep('other', 'read')], drop: [] })).toEqual([]);
});

test('R4.4 an approved call waits for a step that its own hangs on and that a person has set to be done again', () => {
  const asked = given({ steps: [toolStep('base', 'read', { optional: true }), toolStep('s', 'mail', { dependsOn: ['base'] })] })
    .when(returned('c1', 1, { kind: 'failed', failure: failure('business-refusal'), sent: false })).when(prepared('s', { of: 's' }, { policy: asks() }));
  const last = asked.journal.at(-1)!;
  const retry = { ...last, seq: last.seq + 1, type: 'RunUnblocked', data: { as: 'retry', steps: ['base'], actor: last.actor } } as unknown as RunEvent;
  const approved = given([...asked.journal, retry]).when(said('bob', { kind: 'approve', approvalId: Object.keys(asked.state.approvals)[0] ?? '' }))
    .then('ApprovalGranted', ['ToolCallRequested', { stepId: 'base' }]);
  const again = approved.needs.find((need) => need.kind === 'call');
  approved.when(returned(again?.kind === 'call' ? again.callId : '', 1, succeeded())).then('ToolCallSucceeded', ['StepCompleted', { stepId: 'base' }], ['ToolCallRequested', { stepId: 's' }]);
});

test('a worker that shuts down before the send gives the call back', () => {
  sent().when(returned('c1', 1, { kind: 'not-sent', why: 'shutdown' })).then(['RetryScheduled', { delayMs: 0 }], ['ToolCallRequested', { attempt: 2 }]);
});

test('preparing is tried again when the network fails, and fails its step when the arguments do not fit', () => {
  const lost = mail().when({ type: 'PrepareReturned', stepId: 's', n: 1, result: { kind: 'failed', failure: failure('network') } }).then(['RetryScheduled', { stepId: 's' }]);
  lost.thenNeeds(`timer:step:s@${String(lost.state.steps[0]?.wakeAt)}`);
  lost.after(60_000).when().thenNeeds('prepare:s#2');
  mail().when({ type: 'PrepareReturned', stepId: 's', n: 1, result: { kind: 'failed', failure: { class: 'argument', code: 'schema', message: 'no' } } }).then('StepFailed', 'RunBlocked');
});

test('an answer about a step that is prepared already changes nothing', () => {
  sent().when(prepared('s')).then();
  sent().when(prepared('s', { other: 1 }, { n: 2 })).then();
});
