// Promises of rules/approvals: who may decide what, until when, and that an approval binds one prepared call and no other.
import { Random } from '../../src/testing/random';
import { asks, evidence, given, prepared, returned, said, saw, toolStep, type GivenRun } from '../../src/testing/scenario';

const HOUR = 3_600_000;
const asked = (policy = asks()): GivenRun => given({ steps: [toolStep('s', 'pay')] }).when(prepared('s', { of: 's' }, { policy }));
const idOf = (run: GivenRun): string => Object.keys(run.state.approvals)[0] ?? '';
const approve = (run: GivenRun, who = 'ann', more = {}): GivenRun => run.when(said(who, { kind: 'approve', approvalId: idOf(run) }, more));

test('an approval is asked for the prepared call, bound to tool, version, arguments, resource and plan', () => {
  const run = given({ steps: [toolStep('s', 'pay')] }).when(prepared('s', { of: 's' }, { policy: asks(), resourceVersion: 'v3' }));
  run.then('CallPrepared', 'ApprovalRequested').thenNeeds(`timer:approval:${idOf(run)}@${run.now + HOUR}`);
  expect(run.state.approvals[idOf(run)]?.binding).toMatchObject({ tool: 'pay', version: '1.0.0', resourceVersion: 'v3', planVersion: 1 });
});

test('one who may approves, and the call goes out quoting the approval', () => {
  const run = asked();
  approve(run).then(['ApprovalGranted', { final: true }], ['ToolCallRequested', { approvalId: idOf(run) }]).thenHears('granted');
});

test('the owner of the run may not approve its own call unless policy says so', () => {
  approve(asked(), 'olga').then('MessageRejected').thenHears('refused');
  approve(asked(asks({ approval: { quorum: 1, approvers: [], ownerMay: true, rule: 'r' } })), 'olga').thenHears('granted');
});

test('only the approvers that the rule names may decide', () => {
  const run = asked(asks({ approval: { quorum: 1, approvers: ['boss'], ownerMay: false, rule: 'r' } }));
  approve(run, 'ann').thenHears('refused');
  run.when(said('ann', { kind: 'reject', approvalId: idOf(run), reason: '' })).thenHears('refused');
  approve(run, 'boss').thenHears('granted');
});

test('a quorum counts different people', () => {
  const run = asked(asks({ approval: { quorum: 2, approvers: [], ownerMay: false, rule: 'r' } }));
  const one = approve(run).then(['ApprovalGranted', { final: false }]).thenHears('counted');
  approve(one, 'ann').thenHears('already-decided').then('MessageRejected');
  approve(one, 'bob').then(['ApprovalGranted', { final: true }], 'ToolCallRequested').thenHears('granted');
});

test.each([['another case', 'Ann'], ['other letters of the same look', '\uff41nn'], ['what nobody sees', 'a\u200bnn'], ['fillers', 'ann\u3164'], ['a variation selector', 'ann\ufe0f'], ['the blank of Braille', 'ann\u2800']])('R6.3 one person under another spelling is one person: %s', (_how, spelt) => {
  const two = asks({ approval: { quorum: 2, approvers: [], ownerMay: false, rule: 'r' } });
  approve(approve(asked(two)), spelt).thenHears('already-decided');
  const own = given({ steps: [toolStep('s', 'pay')], owner: { id: 'ann', via: 'cli', assurance: 'local-user' } }).when(prepared('s', { of: 's' }, { policy: asks() }));
  approve(own, spelt).thenHears('refused');
  approve(asked(asks({ approval: { quorum: 1, approvers: ['ann'], ownerMay: false, rule: 'r' } })), spelt).thenHears('refused');
});

test('two approvers at once: one counts, and the other hears who was first', () => {
  const run = asked();
  const both = run.when(said('ann', { kind: 'approve', approvalId: idOf(run) }), said('bob', { kind: 'approve', approvalId: idOf(run) }));
  both.then('ApprovalGranted', 'MessageRejected', 'ToolCallRequested').thenHears('already-decided');
  expect(both.answers[1]?.text).toContain('ann');
});

test('a rejected call never goes out; the reason reaches its step', () => {
  const run = asked();
  const no = run.when(said('ann', { kind: 'reject', approvalId: idOf(run), reason: 'too dear' }));
  no.then('ApprovalRejected', ['ToolCallFailed', { sent: false, final: true }], 'StepFailed', ['RunCompleted', { outcome: 'partial' }]).thenHears('rejected');
  expect(no.state.steps[0]?.failure?.message).toContain('too dear');
});

test('an approval that expires cancels the run by default, and says so to who comes late', () => {
  const run = asked();
  const over = run.after(HOUR).when().then('ApprovalExpired', 'CancelRequested', 'ToolCallFailed', 'RunCancelled');
  over.when(said('ann', { kind: 'approve', approvalId: idOf(run) })).then().thenHears('closed');
});

test.each([
  ['fail-step', { then: 'fail-step' as const }, ['ApprovalExpired', 'ToolCallFailed', 'StepFailed', 'RunBlocked']],
  ['ask-again', { then: 'ask-again' as const }, ['ApprovalExpired', 'ApprovalRequested']],
  ['escalate', { then: 'escalate' as const, escalateTo: ['boss'] }, ['ApprovalExpired', 'ApprovalRequested']],
])('at the deadline with %s the law does what it says', (_name, onDeadline, types) => {
  const run = asked(asks({ onDeadline })).after(HOUR).when();
  expect(run.events.map((event) => event.type)).toEqual(types);
});

test('an escalated approval asks the named people, once more for the same time, and then cancels', () => {
  const run = asked(asks({ onDeadline: { then: 'escalate', escalateTo: ['boss'] } })).after(HOUR).when();
  expect(run.state.approvals[idOf(run)]).toMatchObject({ rule: { approvers: ['boss'] }, onDeadline: { then: 'cancel-run' }, expiresAt: run.now + HOUR });
});

test('a decision in the very ms of the deadline counts, one ms later it does not', () => {
  approve(asked().after(HOUR)).thenHears('granted');
  approve(asked(asks({ onDeadline: { then: 'fail-step' } })).after(HOUR + 1)).thenHears('expired');
});

test('a decision that an authenticated door received in time counts within the grace time, as long as no expiry is written', () => {
  const late = asked().after(HOUR + 60_000);
  const receivedAt = late.now - 120_000;
  approve(late, 'ann', { receivedAt }).thenHears('granted').then(['ApprovalGranted', { until: late.now - 60_000 + 600_000 }], 'ToolCallRequested');
  approve(late, 'ann', { receivedAt, assurance: 'claimed' }).thenHears('expired');
  approve(asked().after(HOUR + 11 * 60_000), 'ann', { receivedAt }).thenHears('expired');
});

test('a double click hears the same answer and counts once', () => {
  const run = asked();
  const click = said('ann', { kind: 'approve', approvalId: idOf(run) }, { id: 'click' });
  const both = run.when(click, click);
  both.then('ApprovalGranted', 'ToolCallRequested');
  expect(both.answers[0]).toEqual(both.answers[1]);
  expect(both.when(click).then().answers[0]).toEqual(both.answers[0]);
});

test('a granted approval that is over before the call begins is void, and the step is prepared and asked anew', () => {
  const run = asked();
  const paused = run.when(said('ann', { kind: 'pause', reason: '' }));
  const granted = approve(paused).then('ApprovalGranted');
  const over = granted.after(HOUR).when(said('ann', { kind: 'resume' }));
  over.then('RunResumed', 'ApprovalVoided').thenNeeds('prepare:s#2');
});

test('a call that a person refused is not asked again in the same run', () => {
  const run = given({ agent: { maxRejectedPlans: 2 } });
  const plan = (id: string) => ({ add: [toolStep(id, 'pay')], drop: [] });
  const propose = (at: GivenRun, callId: string, id: string): GivenRun =>
    at.when({ type: 'ModelReturned', callId, attempt: 1, result: { kind: 'succeeded', usage: { calls: 1, tokens: 1, microUsd: 0, failures: 0 }, text: '', patch: plan(id) } });
  const first = propose(run, 'c1', 'a').when(prepared('a', { same: 1 }, { policy: asks() }));
  const refused = first.when(said('ann', { kind: 'reject', approvalId: idOf(first), reason: 'no' }));
  const again = propose(refused, 'c3', 'b').when(prepared('b', { same: 1 }, { policy: asks() }));
  again.then('CallPrepared', ['ToolCallFailed', { final: true, sent: false }], 'StepFailed', 'ModelCallRequested');
  const third = propose(again, 'c5', 'c').when(prepared('c', { same: 1 }, { policy: asks() }));
  third.then('CallPrepared', 'ToolCallFailed', 'StepFailed', 'RunBlocked');
  expect(third.state.blocked?.why).toContain('asked 3 times');
});

test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('I7 an approval, question or call named %s leads to nothing', (name) => {
  const run = asked();
  run.when(said('ann', { kind: 'approve', approvalId: name })).thenHears('unknown');
  run.when(said('ann', { kind: 'reject', approvalId: name, reason: '' })).thenHears('unknown');
  run.when(said('ann', { kind: 'answer', questionId: name, answer: { value: 1 } })).thenHears('unknown');
  run.when(said('ann', { kind: 'resolve', callId: name, verdict: 'give-up' })).thenHears('unknown');
});

test('an approval is checked once more after a doubt: expired means ask again, never send', () => {
  const run = approve(asked(asks({ expiresInMs: 1_000 }))).when(returned('c1', 1, { kind: 'unknown', why: '?' }));
  run.after(2_000).when(saw('c1', 1, evidence({ ledger: { state: 'released' } }))).then(['RecoveryChecked', { decision: 'ask-again' }], 'ApprovalVoided').thenNeeds('prepare:s#2');
});

test('ids of approvals are of one run only and never repeat in it', () => {
  const ids = new Set<string>();
  for (const runId of ['run-1', 'run-2']) {
    const run = given({ steps: [toolStep('s', 'pay')], runId }).when(prepared('s', { of: 's' }, { policy: asks({ onDeadline: { then: 'ask-again' } }) }));
    ids.add(idOf(run));
    ids.add(idOf(run.after(HOUR).when()));
  }
  expect(ids.size).toBe(4);
});

test('in 100 random orders, together or one by one, each decision reaches its own call', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const all = given({ steps: names.map((name) => toolStep(name, 'post')), agent: { maxParallel: 6 } }).when(...names.map((name) => prepared(name, { of: name }, { policy: asks() })));
  const ids = Object.fromEntries(Object.values(all.state.approvals).map((one) => [one.stepId, one.approvalId]));
  for (let seed = 1; seed <= 100; seed += 1) {
    const random = new Random(seed);
    const wanted = Object.fromEntries(names.map((name) => [name, random.pick(['approve', 'reject'] as const)]));
    const decisions = random.shuffled(names).map((name) => said('ann', wanted[name] === 'approve' ? { kind: 'approve', approvalId: ids[name] ?? '' } : { kind: 'reject', approvalId: ids[name] ?? '', reason: `not ${name}` }));
    let run = all;
    while (decisions.length > 0) run = run.when(...decisions.splice(0, random.int(1, 6)));
    for (const { id, status, failure } of run.state.steps) expect([id, status, failure?.message]).toEqual(wanted[id] === 'approve' ? [id, 'active', undefined] : [id, 'failed', `ann rejected it: not ${id}`]);
    for (const event of run.journal) if (event.type === 'ToolCallRequested') expect(run.state.steps.find(({ callId }) => callId === event.data.callId)?.id).toBe(event.data.stepId);
  }
});
