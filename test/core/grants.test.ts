// Promises of rules/grants: an approval for a kind of call covers that kind, that person's say, that time, and no more.
import type { Command } from '../../src/core/commands';
import { faultOfMessage } from '../../src/messages';
import type { GrantTerms } from '../../src/core/message';
import { fitsTerms } from '../../src/core/rules/grants';
import { asks, given, prepared, returned, said, succeeded, toolManifest, toolStep, type GivenRun } from '../../src/testing/scenario';

const HOUR = 3_600_000;
const KINDS = [toolManifest('post', { effect: 'manual' }), toolManifest('pay'), toolManifest('mail', { effect: 'manual' })];
const steps = [toolStep('a', 'post'), toolStep('b', 'post', { dependsOn: ['a'] }), toolStep('c', 'mail', { dependsOn: ['a'] })];
const policy = asks();
const begin = (verdict = policy): GivenRun => given({ steps, agent: { tools: KINDS } }).when(prepared('a', { of: 'a' }, { policy: verdict }));
const idOf = (run: GivenRun): string => Object.keys(run.state.approvals)[0] ?? '';
const grantOf = (run: GivenRun): string => run.state.grants?.[0]?.grantId ?? '';
const grant = (run: GivenRun, terms: GrantTerms = {}, who = 'ann'): GivenRun => run.when(said(who, { kind: 'approve', approvalId: idOf(run), grant: terms }));
/** The first call was approved for the rest of the run and has succeeded. */
const granted = (terms: GrantTerms = {}): GivenRun => grant(begin(), terms).when(returned('c1', 1, succeeded()));

test('an approval for the rest of the run lets later calls of the kind go, each naming the grant', () => {
  const first = grant(begin()).then('ApprovalGranted', ['GrantGiven', { tool: 'post', major: 1, until: null }], 'ToolCallRequested').thenHears('granted');
  expect(first.answers[0]?.text).toContain(`longhaul approvals revoke ${grantOf(first)}`);
  const next = first.when(returned('c1', 1, succeeded())).when(prepared('b', { of: 'b' }, { policy }));
  next.then('CallPrepared', 'ApprovalRequested', ['ApprovalGranted', { final: true, grantId: grantOf(first) }], 'ToolCallRequested');
  expect(next.state.grants?.[0]?.uses).toBe(1);
});

test('another tool, another major version or another run is asked for all the same', () => {
  granted().when(prepared('c', { of: 'c' }, { policy })).then('CallPrepared', 'ApprovalRequested');
  const other = granted();
  const newer = { ...other.state, agent: { ...other.state.agent, tools: [toolManifest('post', { effect: 'manual', version: '2.0.0' })] } };
  expect(given([]).when().state.grants).toBeUndefined();
  const asked = Object.assign(Object.create(Object.getPrototypeOf(other) as object), other, { state: newer }) as GivenRun;
  asked.when(prepared('b', { of: 'b' }, { policy })).then('CallPrepared', 'ApprovalRequested');
});

test('a grant ends at its time, and what it allowed is not sent after it', () => {
  const run = granted({ forMs: HOUR / 2 });
  run.after(HOUR / 2).when(prepared('b', { of: 'b' }, { policy })).then('CallPrepared', 'ApprovalRequested');
  const paused = run.when(said('bob', { kind: 'pause', reason: '' })).when(prepared('b', { of: 'b' }, { policy })).then('CallPrepared', 'ApprovalRequested', 'ApprovalGranted');
  paused.after(HOUR / 2).when(said('bob', { kind: 'resume' })).then('RunResumed', 'ApprovalVoided');
});

test('terms on arguments are held against what was prepared; the hands say which grants fit', () => {
  const run = granted({ where: { of: 'b' } });
  const need = run.needs.find((one) => one.id === 'prepare:b#1');
  expect(need).toMatchObject({ grants: [{ grantId: grantOf(run), where: { of: 'b' } }] });
  run.when(prepared('b', { of: 'b' }, { policy, fits: [grantOf(run)] })).then('CallPrepared', 'ApprovalRequested', 'ApprovalGranted', 'ToolCallRequested');
  run.when(prepared('b', { of: 'x' }, { policy })).then('CallPrepared', 'ApprovalRequested');
});

test.each<[unknown, Record<string, string>, boolean]>([
  [{ to: 'ann' }, { to: 'ann' }, true], [{ to: 'bob' }, { to: 'ann' }, false], [{ to: 'anna' }, { to: 'ann' }, false], [{ n: 5, ok: true }, { n: '5', ok: 'true' }, true],
  [{ path: 'out/a.md' }, { path: 'out/*' }, true], [{ path: 'out/../etc/passwd' }, { path: 'out/*' }, false], [{ path: 'out\\..\\x' }, { path: 'out*' }, false],
  [{ file: { path: 'out/a' } }, { 'file.path': 'out/*' }, true], [{}, { to: 'ann' }, false], [{ to: ['ann'] }, { to: 'ann' }, false], [{ to: { $artifact: {} } }, { to: '*' }, false], ['text', { to: '*' }, false],
])('arguments %j under the terms %j: %s', (args, where, fit) => {
  expect(fitsTerms(args as never, where)).toBe(fit);
});

test('an approval with terms in which a hand has found a fault approves nothing', () => {
  const run = given({ steps: [toolStep('s', 'pay')] }).when(prepared('s', { of: 's' }, { policy: asks() }));
  const approvalId = Object.keys(run.state.approvals)[0] ?? '';
  run.when({ ...said('ann', { kind: 'approve', approvalId, grant: { where: { off: 'x' } } }) as Extract<Command, { type: 'Message' }>, fault: 'pay has no argument off.' }).then('MessageRejected').thenHears('refused');
});

test('irreversible calls are approved one by one, unless policy allows a grant; nor does a grant cover them later', () => {
  const irreversible = given({ steps: [toolStep('s', 'pay')], agent: { tools: KINDS } }).when(prepared('s', {}, { policy }));
  grant(irreversible).then('MessageRejected').thenHears('refused');
  const approval = { quorum: 1, approvers: [], ownerMay: false, rule: 'r' };
  const allowed = given({ steps: [toolStep('s', 'pay')], agent: { tools: KINDS } }).when(prepared('s', {}, { policy: asks({ approval: { ...approval, mayGrant: true } }) }));
  grant(allowed).then('ApprovalGranted', 'GrantGiven', 'ToolCallRequested');
  grant(begin(asks({ approval: { ...approval, mayGrant: false } }))).thenHears('refused');
  granted().when(prepared('b', {}, { policy: asks({ approval: { ...approval, mayGrant: false } }) })).then('CallPrepared', 'ApprovalRequested');
});

test('a grant is its giver\'s approval and no more: one of a quorum, and only where that person may decide', () => {
  const rule = (more: object) => asks({ approval: { quorum: 1, approvers: [], ownerMay: false, rule: 'r', ...more } });
  const one = granted().when(prepared('b', {}, { policy: rule({ quorum: 2 }) })).then('CallPrepared', 'ApprovalRequested', ['ApprovalGranted', { final: false }]);
  one.when(said('ann', { kind: 'approve', approvalId: idOf(one) })).thenHears('already-decided');
  one.when(said('bob', { kind: 'approve', approvalId: idOf(one) })).then(['ApprovalGranted', { final: true }], 'ToolCallRequested');
  granted().when(prepared('b', {}, { policy: rule({ approvers: ['boss'] }) })).then('CallPrepared', 'ApprovalRequested');
  const deny = granted().when(prepared('b', {}, { policy: { decision: 'deny', rule: 'no', why: 'no' } }));
  deny.then('CallPrepared', 'ToolCallFailed', 'StepFailed');
});

test('revoked, it covers nothing more, and what it allowed and was not requested yet is asked for anew', () => {
  const run = granted();
  const revoke = said('bob', { kind: 'revoke', grantId: grantOf(run) });
  const ended = run.when(revoke).then(['GrantRevoked', { grantId: grantOf(run) }]).thenHears('done');
  ended.when(prepared('b', {}, { policy })).then('CallPrepared', 'ApprovalRequested');
  ended.when(said('bob', { kind: 'revoke', grantId: grantOf(run) })).then('MessageRejected').thenHears('unknown');
  const waiting = run.when(said('bob', { kind: 'pause', reason: '' })).when(prepared('b', {}, { policy })).when(revoke).then('GrantRevoked', 'ApprovalVoided');
  waiting.when(said('bob', { kind: 'resume' })).thenNeeds('prepare:b#2', 'prepare:c#1');
});

test.each([
  ['met a full tool', { kind: 'busy' as const, why: 'full', retryAfterMs: 60_000 }],
  ['was certainly not sent', { kind: 'failed' as const, sent: false, failure: { class: 'network' as const, code: 'x', message: 'x' } }],
])('R10.1 revoked while an attempt is under way that then %s: no later attempt is made by it', (_what, result) => {
  const run = granted().when(prepared('b', {}, { policy }));
  const revoked = run.when(said('ann', { kind: 'revoke', grantId: grantOf(run) })).then('GrantRevoked');
  const later = revoked.when(returned('c2', 1, result)).after(60_000).when();
  expect(later.journal.slice(revoked.journal.length).map(({ type }) => type)).toContain('ApprovalVoided');
  expect(later.journal.filter(({ type, data }) => type === 'ToolCallRequested' && (data as { callId: string }).callId === 'c2')).toHaveLength(1);
});

test('a grant does not touch what is open already: that is decided by its own id', () => {
  const both = given({ steps: [toolStep('a', 'post'), toolStep('b', 'post')], agent: { tools: KINDS } }).when(prepared('a', { of: 'a' }, { policy }), prepared('b', { of: 'b' }, { policy }));
  const run = grant(both).then('ApprovalGranted', 'GrantGiven', 'ToolCallRequested');
  expect(Object.keys(run.state.approvals)).toHaveLength(1);
});

test('a run has at most 32 grants in force', () => {
  const full = begin();
  const grants = Array.from({ length: 32 }, (_, i) => ({ grantId: `g-${i}`, tool: 'x', major: 1, by: { id: 'ann', via: 'cli' as const, assurance: 'local-user' as const }, givenAt: 0, until: null, uses: 0 }));
  const run = Object.assign(Object.create(Object.getPrototypeOf(full) as object), full, { state: { ...full.state, grants } }) as GivenRun;
  grant(run).thenHears('refused');
});

test.each([{ forMs: 0 }, { forMs: '2h' }, { where: {} }, { where: { a: 1 } }, { where: [] }, { until: 5 }, 'yes', null])('terms of the wrong shape are refused at the door: %j', (terms) => {
  expect(faultOfMessage({ messageId: 'm', actor: { id: 'a', via: 'cli', assurance: 'claimed' }, body: { kind: 'approve', approvalId: 'a', grant: terms } })).toContain('approve');
});

describe('a word given beforehand, as one of two', () => {
  const two = asks({ approval: { quorum: 2, approvers: [], ownerMay: false, rule: 'r' } });
  const counted = (terms: GrantTerms = {}): GivenRun => granted(terms).when(prepared('b', {}, { policy: two })).then('CallPrepared', 'ApprovalRequested', ['ApprovalGranted', { final: false }]);
  const approve = (run: GivenRun, who: string): GivenRun => run.when(said(who, { kind: 'approve', approvalId: idOf(run) }));

  test('R10.1 is taken back with its grant while the approval is open: it is void, and both are asked', () => {
    const run = counted();
    const revoked = run.when(said('ann', { kind: 'revoke', grantId: grantOf(run) })).then('GrantRevoked', ['ApprovalVoided', { approvalId: idOf(run) }]);
    approve(run, 'bob').thenHears('granted');
    revoked.when(said('bob', { kind: 'approve', approvalId: idOf(run) })).thenHears('expired');
    const asked = revoked.when(prepared('b', {}, { policy: two, n: 2 })).then('CallPrepared', 'ApprovalRequested');
    approve(asked, 'bob').then(['ApprovalGranted', { final: false }]);
  });

  test('R10.1 counts no longer than it was given for: the one who comes later is one of two, and its giver may come again', () => {
    const later = counted({ forMs: HOUR / 4 }).after(HOUR / 4);
    const bob = approve(later, 'bob').then(['ApprovalGranted', { final: false }]).thenHears('counted');
    approve(bob, 'ann').then(['ApprovalGranted', { final: true }], 'ToolCallRequested');
    expect(bob.state.approvals[idOf(bob)]).toMatchObject({ granted: [{ id: 'bob' }] });
  });

  test('R10.1 ends what both allowed at its own end, and takes it back when it is revoked before the call is made', () => {
    const paused = counted({ forMs: HOUR / 4 }).when(said('bob', { kind: 'pause', reason: '' }));
    const ready = approve(paused, 'bob').then(['ApprovalGranted', { final: true }]);
    ready.when(said('ann', { kind: 'revoke', grantId: grantOf(ready) })).then('GrantRevoked', 'ApprovalVoided');
    ready.after(HOUR / 4).when(said('bob', { kind: 'resume' })).then('RunResumed', ['ApprovalVoided', { why: 'it expired before the call was made' }]);
  });

  test('R10.1 of two such words each takes back what both allowed', () => {
    const steady = given({ steps: [...steps, toolStep('d', 'post', { dependsOn: ['b'] })], agent: { tools: KINDS } });
    let run = grant(steady.when(prepared('a', { of: 'a' }, { policy }))).when(returned('c1', 1, succeeded())).when(prepared('b', {}, { policy: two }));
    run = run.when(said('bob', { kind: 'approve', approvalId: idOf(run), grant: {} })).when(returned('c2', 1, succeeded())).when(said('bob', { kind: 'pause', reason: '' }));
    run = run.when(prepared('d', {}, { policy: two })).then('CallPrepared', 'ApprovalRequested', ['ApprovalGranted', { final: false }], ['ApprovalGranted', { final: true }]);
    for (const grantId of (run.state.grants ?? []).map((one) => one.grantId)) run.when(said('eve', { kind: 'revoke', grantId })).then('GrantRevoked', ['ApprovalVoided', { why: `eve revoked grant ${grantId}` }]);
  });
});
