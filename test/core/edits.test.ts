// Promises of rules/edits: a person who changes the arguments of a call gets a new call with a new key, checked and asked anew.
import type { Command } from '../../src/core/commands';
import { digestOf } from '../../src/core/canonical';
import { asks, given, prepared, said, saw, evidence, returned, succeeded, toolStep, type GivenRun } from '../../src/testing/scenario';

const asked = (policy = asks()): GivenRun => given({ steps: [toolStep('s', 'pay')] }).when(prepared('s', { of: 's' }, { policy }));
const idOf = (run: GivenRun): string => Object.keys(run.state.approvals)[0] ?? '';
const edit = (run: GivenRun, who = 'ann', value: unknown = { of: 'less' }): GivenRun => run.when(said(who, { kind: 'edit', approvalId: idOf(run), args: { value: value as never } }));
const again = (run: GivenRun, args: Record<string, string> = { of: 'less' }, more: Parameters<typeof prepared>[2] = {}): GivenRun => run.when(prepared('s', args, { n: 2, policy: asks(), ...more }));

test('an edit voids what was asked, and the step is prepared anew with the new arguments', () => {
  const run = edit(asked()).then(['CallEdited', { actor: { id: 'ann', via: 'cli', assurance: 'local-user' } }], 'ApprovalVoided').thenHears('done').thenNeeds('prepare:s#2');
  expect(run.needs[0]).toMatchObject({ kind: 'prepare', edited: true, call: { args: { of: 'less' }, inputs: {} } });
});

test('the editor has approved exactly what was edited: a new call under a new key goes out, and the old key never does', () => {
  const before = asked();
  const run = again(edit(before));
  run.then(['CallPrepared', { callId: 'c2', edited: { approvalId: idOf(before), by: { id: 'ann', via: 'cli', assurance: 'local-user' } } }], 'ApprovalRequested', ['ApprovalGranted', { final: true }], ['ToolCallRequested', { callId: 'c2', argsDigest: digestOf({ of: 'less' }) }]);
  const keys = run.journal.flatMap((event) => (event.type === 'CallPrepared' ? [event.data.key] : []));
  expect(new Set(keys).size).toBe(2);
  run.when(said('bob', { kind: 'approve', approvalId: idOf(before) })).thenHears('expired');
  expect(run.when(said('bob', { kind: 'approve', approvalId: idOf(before) })).answers[0]?.text).toContain('ann changed the arguments');
});

test('of an edit and an approval in one moment the first counts, and the other hears of it', () => {
  const run = asked();
  const [approve, change] = [said('bob', { kind: 'approve', approvalId: idOf(run) }), said('ann', { kind: 'edit', approvalId: idOf(run), args: { value: { of: 'x' } } })];
  run.when(approve, change).then('ApprovalGranted', 'MessageRejected', 'ToolCallRequested').thenHears('already-decided');
  run.when(change, approve).then('CallEdited', 'ApprovalVoided', 'MessageRejected').thenHears('expired');
});

test('where two must approve, the editor is one of them', () => {
  const two = asks({ approval: { quorum: 2, approvers: [], ownerMay: false, rule: 'two' } });
  const run = again(edit(asked(two)), { of: 'less' }, { policy: two }).then('CallPrepared', 'ApprovalRequested', ['ApprovalGranted', { final: false }]);
  run.when(said('ann', { kind: 'approve', approvalId: idOf(run) })).thenHears('already-decided');
  run.when(said('bob', { kind: 'approve', approvalId: idOf(run) })).then(['ApprovalGranted', { final: true }], 'ToolCallRequested');
});

test('who asked for the run may edit, and somebody else must approve; a stranger to the rule may do neither', () => {
  const bossOnly = asks({ approval: { quorum: 1, approvers: ['boss'], ownerMay: false, rule: 'boss' } });
  edit(asked(bossOnly), 'mallory').then('MessageRejected').thenHears('refused');
  const run = again(edit(asked(bossOnly), 'olga'), { of: 'less' }, { policy: bossOnly }).then('CallPrepared', 'ApprovalRequested');
  run.when(said('boss', { kind: 'approve', approvalId: idOf(run) })).then('ApprovalGranted', 'ToolCallRequested');
});

test('the edited arguments are asked about under the policy that they fall under', () => {
  again(edit(asked()), { of: 'less' }, { policy: { decision: 'allow', rule: 'small', why: 'small' } }).then(['CallPrepared', { policy: { decision: 'allow', rule: 'small', why: 'small' } }], 'ToolCallRequested');
  const boss = asks({ approval: { quorum: 1, approvers: ['boss'], ownerMay: false, rule: 'large' } });
  const run = again(edit(asked()), { of: 'less' }, { policy: boss }).then('CallPrepared', 'ApprovalRequested');
  run.when(said('ann', { kind: 'approve', approvalId: idOf(run) })).thenHears('refused');
});

const faultyEdit = (run: GivenRun): Command => ({ ...said('ann', { kind: 'edit', approvalId: idOf(run), args: { value: {} } }) as Extract<Command, { type: 'Message' }>, fault: 'of: a text is needed.' });

test('arguments in which a hand has found a fault are refused at once, the same to everybody, and the approval stays as it is', () => {
  const run = asked();
  const faulty = faultyEdit(run);
  const refused = run.when(faulty).then('MessageRejected').thenHears('refused');
  expect([refused.answers[0]?.text, refused.state.approvals]).toEqual([`of: a text is needed. ${idOf(run)} is open as before.`, run.state.approvals]);
  expect(refused.when(faulty).events).toEqual([]);
  // Who may not decide learns nothing about the arguments.
  const stranger = asked(asks({ approval: { quorum: 1, approvers: ['boss'], ownerMay: false, rule: 'boss' } }));
  expect(stranger.when(faultyEdit(stranger)).answers[0]?.text).toContain('may not decide');
});

test('edited arguments that do not fit are refused with the reason, and the call is asked for as it was', () => {
  const failed = edit(asked()).when({ type: 'PrepareReturned', stepId: 's', n: 2, result: { kind: 'failed', failure: { class: 'argument', code: 'schema', message: 'of: a text is needed' } } });
  failed.then(['EditRefused', { stepId: 's', failure: { class: 'argument', code: 'schema', message: 'of: a text is needed' } }]).thenNeeds('prepare:s#3');
  expect(failed.needs[0]).not.toHaveProperty('edited');
  failed.when(prepared('s', { of: 's' }, { n: 3, policy: asks() })).then('CallPrepared', 'ApprovalRequested');
});

test('edited arguments that policy denies, or that a person has rejected before, change nothing', () => {
  again(edit(asked()), { of: 'less' }, { policy: { decision: 'deny', rule: 'never', why: 'never that' } }).then('EditRefused').thenNeeds('prepare:s#3');
});

test('preparing an edit is tried again where that may help', () => {
  const failed = edit(asked()).when({ type: 'PrepareReturned', stepId: 's', n: 2, result: { kind: 'failed', failure: { class: 'network', code: 'x', message: 'away' } } }).then('RetryScheduled');
  expect(failed.after(60_000).when().needs[0]).toMatchObject({ id: 'prepare:s#3', edited: true });
});

test('what changes after an edit voids it too, and the edited arguments are asked for, not approved by themselves', () => {
  const sent = again(edit(asked()), { of: 'less' }, { resourceVersion: 'v1' });
  const voided = sent.when(returned('c2', 1, { kind: 'not-sent', why: 'approval' })).then('ApprovalVoided').thenNeeds('prepare:s#3');
  expect(voided.needs[0]).toMatchObject({ edited: true, call: { args: { of: 'less' } } });
  voided.when(prepared('s', { of: 'less' }, { n: 3, policy: asks() })).then('CallPrepared', 'ApprovalRequested');
});

test('a rejected edit is not asked for again, and its reason stands', () => {
  const run = again(edit(asked(), 'olga'));
  run.when(said('bob', { kind: 'reject', approvalId: idOf(run), reason: 'still too dear' })).then('ApprovalRejected', 'ToolCallFailed', 'StepFailed', 'RunCompleted');
  expect(run.when(said('bob', { kind: 'reject', approvalId: idOf(run), reason: 'still too dear' })).state.refused[0]).toMatchObject({ argsDigest: digestOf({ of: 'less' }) });
});

test('an edit after the deadline is too late, and of nothing is unknown', () => {
  edit(asked(asks({ onDeadline: { then: 'fail-step' } })).after(3_600_001)).thenHears('expired');
  asked().when(said('ann', { kind: 'edit', approvalId: 'a-none', args: { value: {} } })).thenHears('unknown');
});

test('an edited call in doubt is looked up under its own key', () => {
  const sent = again(edit(asked())).when(returned('c2', 1, { kind: 'unknown', why: '?' }));
  sent.when(saw('c2', 1, evidence({ ledger: { state: 'done', output: { value: 1 }, summary: '' } }))).then(['RecoveryChecked', { decision: 'record' }], 'ToolCallSucceeded', 'StepCompleted', 'RunCompleted');
  again(edit(asked())).when(returned('c2', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', 'RunCompleted');
});
