// Promises of the recovery gate (rules/recovery): every cell of its table. What happened is recorded; what certainly did not may
// be sent; what is harmless may be repeated under its key; the rest goes to a person. Nothing is given up as not done on a guess.
import type { GateEvidence } from '../../src/core/world';
import { asks, cancelled, evidence, given, prepared, returned, said, saw, succeeded, toolStep, type GivenRun } from '../../src/testing/scenario';

/** A call of this tool whose outcome is unknown. */
const doubt = (tool: string, more: Parameters<typeof prepared>[2] = {}, step = {}): GivenRun =>
  given({ steps: [toolStep('s', tool, step)] }).when(prepared('s', { of: 's' }, more)).when(returned('c1', 1, { kind: 'unknown', why: 'no answer' }));

type Ledger = GateEvidence['ledger'];
const { now } = doubt('mail');
const dead = (more: object = {}): Ledger => ({ state: 'dead', fence: 4, firstClaimedAt: now, sendWindowUntil: now + 15_000, ownerGone: false, ...more });
const found: GateEvidence['lookUp'] = { kind: 'found', output: { value: 'seen' }, summary: 'found', reference: 'r' };
const look = (run: GivenRun, more: Partial<GateEvidence>, n = 1): GivenRun => run.when(saw('c1', n, evidence({ now: run.now, ...more })));

describe('what the ledger knows', () => {
  test('done: recorded, whatever else is so', () => {
    const done: Ledger = { state: 'done', output: { value: 1 }, summary: 'done' };
    look(doubt('mail'), { ledger: done }).then(['RecoveryChecked', { decision: 'record' }], ['ToolCallSucceeded', { via: 'ledger', output: { value: 1 } }], 'StepCompleted', 'RunCompleted');
    look(doubt('mail').when(cancelled()), { ledger: done }).then('RecoveryChecked', 'ToolCallSucceeded', 'StepCompleted', 'RunCancelled');
  });
  test('refused: recorded as the refusal', () => {
    look(doubt('mail'), { ledger: { state: 'refused', failure: { class: 'business-refusal', code: 'no', message: 'no' } } }).then('RecoveryChecked', ['ToolCallFailed', { final: true, sent: true }], 'StepFailed', 'RunBlocked');
  });
  test.each(['none', 'released'] as const)('%s in the same ledger: never sent, so it is sent', (state) => {
    look(doubt('mail'), { ledger: { state } }).then(['RecoveryChecked', { decision: 'send' }], ['ToolCallRequested', { attempt: 2 }]);
  });
  test.each(['none', 'released'] as const)('%s in another ledger proves nothing: a person is asked, or the outside, once nothing can be sent any more', (state) => {
    look(doubt('mail'), { ledger: { state }, incarnation: 'ledger-1', lookUp: { kind: 'none' } }).then(['RecoveryChecked', { decision: 'ask-person' }], 'HumanDecisionRequested');
    const absent = { ledger: { state }, incarnation: 'ledger-1', lookUp: { kind: 'absent' as const } };
    const first = look(doubt('stage'), absent).then(['RecoveryChecked', { decision: 'wait', againAt: now + 16_250, absent: 1 }]);
    look(first.after(16_250).when(), absent, 2).then(['RecoveryChecked', { decision: 'retry' }], ['ToolCallRequested', { attempt: 2, ledgerIncarnation: 'ledger-1' }]);
  });
  test('R4.2 a call of a run that began under another ledger may have been made before: it is looked up before its first send', () => {
    const born = (tool: string): GivenRun => given({ steps: [toolStep('s', tool)] }).when(prepared('s', { of: 's' }, { ledgerIncarnation: 'ledger-1' }));
    born('stage').then('CallPrepared', ['ToolCallUnknown', { attempt: 0 }]).thenNeeds('gate:c1#1');
    look(born('stage'), { incarnation: 'ledger-1', lookUp: found }).then(['RecoveryChecked', { decision: 'record' }], ['ToolCallSucceeded', { via: 'look-up' }], 'StepCompleted', 'RunCompleted');
    look(born('mail'), { incarnation: 'ledger-1', lookUp: { kind: 'none' } }).then(['RecoveryChecked', { decision: 'ask-person' }], 'HumanDecisionRequested');
    const first = look(born('stage'), { incarnation: 'ledger-1', lookUp: { kind: 'absent' } }).then(['RecoveryChecked', { decision: 'wait', absent: 1 }]);
    look(first.after(16_250).when(), { incarnation: 'ledger-1', lookUp: { kind: 'absent' } }, 2).then(['RecoveryChecked', { decision: 'retry' }], ['ToolCallRequested', { attempt: 1, ledgerIncarnation: 'ledger-1' }]);
    look(born('pay'), { incarnation: 'ledger-1', lookUp: { kind: 'none' }, honoursKey: true }).then(['RecoveryChecked', { decision: 'retry', unsure: true }], ['ToolCallRequested', { attempt: 1 }]);
  });
  test('R4.4 a premise that no longer holds just before the send: the step fails and the plan has to change', () => {
    const premise = { resource: 'doc:a', expected: 'v1', now: 'v2', holds: false };
    const run = given({ steps: [toolStep('s', 'stage')] }).when(prepared('s', { of: 's' }));
    run.when(returned('c1', 1, { kind: 'not-sent', why: 'premise', premise })).then(['ToolCallFailed', { final: true, sent: false, failure: { class: 'policy', code: 'premise-changed', message: 'doc:a was v1 and is v2' } }], 'StepFailed', 'RunBlocked');
  });
  test('a live owner: the gate looks again soon, ever more seldom, and at the latest when the lease has ended', () => {
    const run = look(doubt('mail'), { ledger: { state: 'live', leaseUntil: now + 9_000 } });
    run.then(['RecoveryChecked', { decision: 'wait', againAt: now + 1_000 }]).thenNeeds(`timer:look:c1@${now + 1_000}`);
    run.after(1_000).when().thenNeeds('gate:c1#2');
    look(doubt('mail'), { ledger: { state: 'live', leaseUntil: now + 300 } }).then(['RecoveryChecked', { decision: 'wait', againAt: now + 550 }]);
  });
});

describe('a claim of a dead owner', () => {
  test('found outside, also when a person did it meanwhile: recorded', () => {
    look(doubt('stage'), { ledger: dead(), lookUp: found }).then(['RecoveryChecked', { decision: 'record' }], ['ToolCallSucceeded', { via: 'look-up', output: { value: 'seen' } }], 'StepCompleted', 'RunCompleted');
  });
  test('the look-up cannot say: a person', () => {
    look(doubt('stage'), { ledger: dead({ ownerGone: true }), lookUp: { kind: 'cannot-say', why: 'down' } }).then(['RecoveryChecked', { decision: 'ask-person' }], ['HumanDecisionRequested', { why: 'down' }]);
  });
  test('neither look-up nor keys: a person, always', () => {
    look(doubt('mail'), { ledger: dead({ ownerGone: true }), lookUp: { kind: 'none' } }).then(['RecoveryChecked', { decision: 'ask-person' }], 'HumanDecisionRequested');
  });
  test('the outside honours keys: sent again under the same key, and the earlier attempt stays in mind', () => {
    const run = look(doubt('pay'), { ledger: dead(), lookUp: { kind: 'none' }, honoursKey: true });
    run.then(['RecoveryChecked', { decision: 'retry', fence: 4, unsure: true }], ['ToolCallRequested', { attempt: 2 }]);
    expect(run.needs[0]).toMatchObject({ takeOver: 4 });
    expect(run.journal.flatMap((event) => (event.type === 'ToolCallRequested' ? [event.data.key] : []))).toHaveLength(2);
    expect(new Set(run.journal.flatMap((event) => (event.type === 'ToolCallRequested' ? [event.data.key] : []))).size).toBe(1);
  });
  test('absent while the old attempt may still send: the gate waits for the window, and then looks a second time', () => {
    const early = look(doubt('stage'), { ledger: dead(), lookUp: { kind: 'absent' } }).then(['RecoveryChecked', { decision: 'wait', againAt: now + 15_250 }]);
    const first = look(early.after(15_250).when(), { ledger: dead(), lookUp: { kind: 'absent' } }, 2).then(['RecoveryChecked', { decision: 'wait', absent: 1 }]);
    look(first.after(1_000).when(), { ledger: dead(), lookUp: { kind: 'absent' } }, 3).then(['RecoveryChecked', { decision: 'retry' }], ['ToolCallRequested', { attempt: 2 }]);
  });
  test('absent, and the owner is known to be dead: what it sent may be on its way, so there is a second look, without waiting for the window', () => {
    const first = look(doubt('stage'), { ledger: dead({ ownerGone: true }), lookUp: { kind: 'absent' } }).then(['RecoveryChecked', { decision: 'wait', againAt: now + 1_000, absent: 1 }]);
    look(first.after(1_000).when(), { ledger: dead({ ownerGone: true }), lookUp: { kind: 'absent' } }, 2).then(['RecoveryChecked', { decision: 'retry' }], ['ToolCallRequested', { attempt: 2 }]);
  });
  test('its process still exists: it may wake up, so the gate waits past the time-out of the call and then asks a person', () => {
    const stopped = { ledger: dead({ ownerLives: true }), lookUp: { kind: 'absent' as const } };
    const first = look(doubt('stage').after(20_000), stopped).then(['RecoveryChecked', { decision: 'wait' }]);
    look(first.after(600_000).when(), stopped, 2).then(['RecoveryChecked', { decision: 'ask-person' }], 'HumanDecisionRequested');
    look(first.after(600_000).when(), { ledger: dead({ ownerLives: true }), lookUp: found }, 2).then(['RecoveryChecked', { decision: 'record' }], 'ToolCallSucceeded', 'StepCompleted', 'RunCompleted');
  });
  test('a living owner that runs long after the time of its call: a person is asked', () => {
    look(doubt('stage').after(600_000), { ledger: { state: 'live', leaseUntil: now + 609_000 } }).then(['RecoveryChecked', { decision: 'ask-person' }], 'HumanDecisionRequested');
  });
  test('each attempt has two looks of its own', () => {
    const first = look(doubt('stage').after(20_000), { ledger: dead(), lookUp: { kind: 'absent' } });
    const second = look(first.after(1_000).when(), { ledger: dead(), lookUp: { kind: 'absent' } }, 2).then('RecoveryChecked', 'ToolCallRequested');
    const again = second.when(returned('c1', 2, { kind: 'unknown', why: '?' })).after(60_000);
    look(again, { ledger: dead({ fence: 5 }), lookUp: { kind: 'absent' } }, 3).then(['RecoveryChecked', { decision: 'wait', absent: 1 }]);
  });
  test('found at the second look: recorded, not repeated', () => {
    const first = look(doubt('stage').after(20_000), { ledger: dead(), lookUp: { kind: 'absent' } }).then(['RecoveryChecked', { decision: 'wait' }]);
    look(first.after(1_000).when(), { ledger: dead(), lookUp: found }, 2).then(['RecoveryChecked', { decision: 'record' }], 'ToolCallSucceeded', 'StepCompleted', 'RunCompleted');
  });
});

describe('may it be sent now?', () => {
  const unsent = { ledger: { state: 'released' } } as const;
  test('the approval has expired: asked again, under another key', () => {
    const run = given({ steps: [toolStep('s', 'pay')] }).when(prepared('s', { of: 's' }, { policy: asks({ expiresInMs: 500 }) }));
    const sent = run.when(said('ann', { kind: 'approve', approvalId: Object.keys(run.state.approvals)[0] ?? '' })).when(returned('c1', 1, { kind: 'unknown', why: '?' }));
    look(sent.after(501), unsent).then(['RecoveryChecked', { decision: 'ask-again' }], 'ApprovalVoided').thenNeeds('prepare:s#2');
  });
  test('the thing that it changes has another version: prepared and asked anew', () => {
    look(doubt('pay', { resourceVersion: 'v1' }), { ...unsent, resourceVersion: 'v2' }).then(['RecoveryChecked', { decision: 'ask-again' }], ['ApprovalVoided', { approvalId: null }]).thenNeeds('prepare:s#2');
    look(doubt('pay', { resourceVersion: 'v1' }), { ...unsent, resourceVersion: 'v1' }).then(['RecoveryChecked', { decision: 'send' }], 'ToolCallRequested');
  });
  test('R4.4 the tool has another version than the approved one: asked again, or left to a person where a repeat was the only way; without an approval it is sent', () => {
    const run = given({ steps: [toolStep('s', 'pay')] }).when(prepared('s', { of: 's' }, { policy: asks() }));
    const sent = run.when(said('ann', { kind: 'approve', approvalId: Object.keys(run.state.approvals)[0] ?? '' })).when(returned('c1', 1, { kind: 'unknown', why: '?' }));
    look(sent, { ...unsent, version: '1.1.0' }).then(['RecoveryChecked', { decision: 'ask-again' }], ['ApprovalVoided', { why: 'pay 1.0.0 was approved, and 1.1.0 would run' }]).thenNeeds('prepare:s#2');
    const ledger = { state: 'unknown', fence: 1, firstClaimedAt: 0, sendWindowUntil: 0, ownerGone: true } as const;
    look(sent, { ledger, honoursKey: true, version: '1.1.0' }).then(['RecoveryChecked', { decision: 'ask-person' }], 'HumanDecisionRequested');
    look(doubt('pay'), { ...unsent, version: '1.1.0' }).then(['RecoveryChecked', { decision: 'send' }], 'ToolCallRequested');
  });
  test('a version that cannot be read does not stop a call that was never sent', () => {
    look(doubt('pay', { resourceVersion: 'v1' }), { ...unsent, resourceVersion: { error: 'down' } }).then(['RecoveryChecked', { decision: 'send' }], 'ToolCallRequested');
  });
  test('a premise is broken: the step fails and the plan has to change', () => {
    const broken = { premises: [{ resource: 'r', expected: '1', now: '2', holds: false }] };
    look(doubt('mail', {}, { premises: [{ resource: 'r', version: '1' }] }), { ...unsent, ...broken }).then(['RecoveryChecked', { decision: 'replan' }], ['ToolCallFailed', { sent: false }], 'StepFailed', 'RunBlocked');
  });
  test('the run was cancelled: it stays unsent, and that is said', () => {
    look(doubt('mail').when(cancelled()), unsent).then(['RecoveryChecked', { decision: 'stop' }], ['ToolCallFailed', { sent: false }], 'StepFailed', 'RunCancelled');
  });
});

describe('what may have happened is never given up for another key', () => {
  const keyed = { ledger: dead(), lookUp: { kind: 'none' }, honoursKey: true } as const;
  test('the effect itself has changed the version: a person is asked', () => {
    look(doubt('pay', { resourceVersion: 'v1' }), { ...keyed, resourceVersion: 'v2' }).then(['RecoveryChecked', { decision: 'ask-person' }], 'HumanDecisionRequested');
  });
  test('a premise is broken meanwhile: a person is asked', () => {
    look(doubt('pay'), { ...keyed, premises: [{ resource: 'r', expected: '1', now: '2', holds: false }] }).then(['RecoveryChecked', { decision: 'ask-person' }], 'HumanDecisionRequested');
  });
  test('the run is cancelled: the report says unknown, not "never sent"', () => {
    const run = look(doubt('pay').when(cancelled()), keyed).then(['RecoveryChecked', { decision: 'stop' }], 'ToolCallUnknown', 'RunCancelled');
    expect(run.state.end?.report?.unknown).toEqual(['pay c1']);
  });
  test('a later attempt fails for good: a person is asked about the first', () => {
    const again = look(doubt('pay'), keyed);
    again.when(returned('c1', 2, { kind: 'failed', failure: { class: 'permission', code: 'x', message: 'x' }, sent: false })).then(['ToolCallFailed', { final: false }], 'HumanDecisionRequested');
  });
  test('the approval ends before the repetition: the gate looks again instead of asking for a new approval', () => {
    const run = given({ steps: [toolStep('s', 'pay')] }).when(prepared('s', { of: 's' }, { policy: asks({ expiresInMs: 5_000 }) }));
    const sent = run.when(said('ann', { kind: 'approve', approvalId: Object.keys(run.state.approvals)[0] ?? '' })).when(returned('c1', 1, { kind: 'unknown', why: '?' }), said('ann', { kind: 'pause', reason: '' }));
    const held = look(sent, keyed).then(['RecoveryChecked', { decision: 'retry' }]);
    held.after(6_000).when(said('ann', { kind: 'resume' })).then('RunResumed', 'ToolCallUnknown').thenNeeds('gate:c1#2');
  });
});

describe('a person decides', () => {
  const asked = (): GivenRun => look(doubt('mail'), { ledger: dead(), lookUp: { kind: 'none' } });
  const resolve = (verdict: 'happened' | 'not-happened' | 'give-up', reference?: string): GivenRun =>
    asked().when(said('ann', { kind: 'resolve', callId: 'c1', verdict, ...(reference ? { reference } : {}) }));
  test('it happened: recorded with the reference', () => {
    resolve('happened', 'receipt 7').then('HumanDecided', ['ToolCallSucceeded', { via: 'person', output: { value: { reference: 'receipt 7' } } }], 'StepCompleted', 'RunCompleted').thenHears('done');
  });
  test('it did not: sent again under the same key, taking the dead claim over', () => {
    const run = resolve('not-happened').then('HumanDecided', ['ToolCallRequested', { attempt: 2 }]);
    expect(run.needs[0]).toMatchObject({ takeOver: 4 });
  });
  test('give up: the step fails as unknown', () => {
    resolve('give-up').then('HumanDecided', ['ToolCallFailed', { failure: { class: 'unknown', code: 'given-up', message: 'Nobody knows whether it happened; a person gave it up.' } }], 'StepFailed', 'RunBlocked');
    // Another try would go under a new key, so that it could happen twice: a word like `retry` is not enough for that.
    resolve('give-up').when(said('ann', { kind: 'settle', as: 'retry' })).then('MessageRejected').thenHears('refused');
  });
  test('a second answer hears who was first', () => {
    resolve('happened', 'x').when(said('bob', { kind: 'resolve', callId: 'c1', verdict: 'give-up' })).thenHears('closed');
    const two = given({ steps: [toolStep('s', 'mail'), toolStep('t', 'mail')] }).when(prepared('s')).when(returned('c1', 1, { kind: 'unknown', why: '?' }));
    const done = look(two, { ledger: dead(), lookUp: { kind: 'none' } }).when(said('ann', { kind: 'resolve', callId: 'c1', verdict: 'happened', reference: 'x' }));
    done.when(said('bob', { kind: 'resolve', callId: 'c1', verdict: 'give-up' })).thenHears('already-decided');
  });
  test('the decision may be named by its own id', () => {
    const id = Object.keys(asked().state.decisions)[0] ?? '';
    asked().when(said('ann', { kind: 'resolve', callId: id, verdict: 'give-up' })).thenHears('done');
  });
  test('news of the effect that comes first closes the question', () => {
    const run = asked().when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', 'RunCompleted');
    expect(run.state.decisions).toEqual({});
  });
});

test('all five questions are answered in writing, in order, each time', () => {
  const run = look(doubt('pay', { resourceVersion: 'v1' }), { ledger: { state: 'released' }, resourceVersion: 'v1' });
  const findings = run.events.flatMap((event) => (event.type === 'RecoveryChecked' ? event.data.findings : []));
  expect(findings.map(({ question, verdict }) => [question, verdict])).toEqual([[1, 'not cancelled'], [2, 'not needed'], [3, 'unchanged'], [4, 'send'], [5, 'hold']]);
});

test('an answer of an older look changes nothing', () => {
  const run = look(doubt('mail'), { ledger: { state: 'live', leaseUntil: now + 9_000 } });
  look(run, { ledger: { state: 'none' } }, 1).then();
  look(run, { ledger: { state: 'none' } }, 5).then();
});

test('a restored run has its requests with an effect looked up, and makes the others again', () => {
  const run = given({ steps: [toolStep('s', 'mail'), toolStep('r', 'read'), toolStep('m', 'read', { action: { type: 'model', prompt: 'p' } })] }).when(prepared('s'));
  const restored = run.when({ type: 'Restore', epoch: 2, executionId: 'x2', why: 'gone' });
  restored.then('RunRestored', ['ToolCallRequested', { attempt: 2 }], ['ModelCallRequested', { attempt: 2 }]);
  expect(restored.needs.map((need) => need.id)).toContain('gate:c3#1');
});

test('claims that were lost with an older ledger are never taken for not sent, also at later looks', () => {
  const keyed = look(doubt('pay'), { ledger: { state: 'none' }, incarnation: 'ledger-1', lookUp: { kind: 'none' }, honoursKey: true }).then(['RecoveryChecked', { decision: 'retry', unsure: true }], 'ToolCallRequested');
  const again = keyed.when(returned('c1', 2, { kind: 'unknown', why: '?' })).when(cancelled());
  expect(again.needs[0]).toMatchObject({ kind: 'gate', ledgerIncarnation: '' });
  look(again, { ledger: { state: 'released' }, incarnation: 'ledger-1', lookUp: { kind: 'none' }, honoursKey: true }, 2).then(['RecoveryChecked', { decision: 'stop' }], 'ToolCallUnknown', 'RunCancelled');
});

test('after a look at a new ledger, no claim in that ledger means not sent since', () => {
  const asked = look(doubt('mail'), { ledger: { state: 'none' }, incarnation: 'ledger-1', lookUp: { kind: 'none' } }).then(['RecoveryChecked', { incarnation: 'ledger-1' }], 'HumanDecisionRequested');
  const sent = asked.when(said('ann', { kind: 'resolve', callId: 'c1', verdict: 'not-happened' }));
  expect(sent.needs[0]).toMatchObject({ kind: 'call', ledgerIncarnation: 'ledger-1' });
  const again = sent.when(returned('c1', 2, { kind: 'in-doubt', why: '?' }));
  look(again, { ledger: { state: 'none' }, incarnation: 'ledger-1' }, 2).then(['RecoveryChecked', { decision: 'send' }], 'ToolCallRequested');
});
