// Promises of rules/cancellation: nothing new starts, what runs hears it, what may be taken back is taken back in reverse
// order, and the report names what finished, what was undone, what nobody knows and what needs a person.
import { LAST_LOOKS_MS } from '../../src/core/lookups';
import { tookEffect } from '../../src/core/folds/calls';
import { CAPS } from '../../src/core/folds/parts';
import { CANCEL_DEADLINE_MS, cancelProgress } from '../../src/core/rules/cancellation';
import type { State } from '../../src/core/state';
import { asks, cancelled, evidence, given, modelSaid, prepared, proposes, returned, said, saw, succeeded, toolStep, type GivenRun } from '../../src/testing/scenario';

const sent = (tool = 'mail'): GivenRun => given({ steps: [toolStep('s', tool)] }).when(prepared('s'));
const failure = { class: 'network' as const, code: 'x', message: 'x' };

describe('a cancel finds a call', () => {
  test('not prepared yet: the run is over at once', () => {
    given({ steps: [toolStep('s', 'mail')] }).when(cancelled()).then('CancelRequested', 'RunCancelled').thenNeeds();
  });
  test('waiting for its approval: the approval is void', () => {
    const run = given({ steps: [toolStep('s', 'mail')] }).when(prepared('s', { of: 's' }, { policy: asks() }));
    run.when(cancelled()).then('CancelRequested', 'ApprovalVoided', 'RunCancelled');
  });
  test('waiting for another attempt: it is not made', () => {
    const run = sent().when(returned('c1', 1, { kind: 'failed', failure: { ...failure, class: 'timeout-before-send' }, sent: false }));
    run.when(cancelled()).then('CancelRequested', ['ToolCallFailed', { sent: false, final: true }], 'RunCancelled');
  });
  test('under way: it hears the signal, and the run waits for what it says', () => {
    const run = sent().when(cancelled()).then('CancelRequested');
    run.thenNeeds(`timer:cancel@${run.now + CANCEL_DEADLINE_MS}`);
    run.when(returned('c1', 1, { kind: 'not-sent', why: 'cancelled' })).then(['ToolCallFailed', { sent: false }], 'StepFailed', 'RunCancelled');
  });
  test('that ignores the signal and succeeds: recorded as finished, and the run is cancelled all the same', () => {
    const run = sent().when(cancelled()).when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', 'RunCancelled');
    expect(run.state.end).toMatchObject({ status: 'cancelled', report: { finished: ['mail c1 (s)'], unknown: [] } });
  });
  test('that fails after the cancel: not tried again', () => {
    given({ steps: [toolStep('s', 'read')] }).when(cancelled()).when(returned('c1', 1, { kind: 'failed', failure, sent: true })).then(['ToolCallFailed', { final: true }], 'StepFailed', 'RunCancelled');
  });
  test('that says nothing until the deadline: with an effect the gate looks once more, without one it is over', () => {
    const run = sent().when(cancelled()).after(CANCEL_DEADLINE_MS).when().then('ToolCallUnknown').thenNeeds('gate:c1#1', `timer:looks@${sent().now + CANCEL_DEADLINE_MS + LAST_LOOKS_MS}`);
    // A gate that never answers does not hold the cancel: what nobody found out stands in the report.
    run.after(LAST_LOOKS_MS).when().then('ToolCallUnknown', ['RunCancelled', { report: { finished: [], undone: [], unknown: ['mail c1'], needsPerson: ['mail c1: find out whether it happened'] } }]);
    const over = run.when(saw('c1', 1, evidence({ ledger: { state: 'live', leaseUntil: run.now + 5_000 }, now: run.now })));
    over.then(['RecoveryChecked', { decision: 'stop' }], 'ToolCallUnknown', 'RunCancelled');
    expect(over.state.end?.report).toMatchObject({ unknown: ['mail c1'], needsPerson: ['mail c1: find out whether it happened'] });
    given({ steps: [toolStep('s', 'read')] }).when(cancelled()).after(CANCEL_DEADLINE_MS).when().then('ToolCallFailed', 'RunCancelled');
  });
  test('in doubt, and the outside knows it: recorded as finished', () => {
    const run = sent('stage').when(returned('c1', 1, { kind: 'unknown', why: '?' })).when(cancelled());
    run.when(saw('c1', 1, evidence({ ledger: { state: 'done', output: { value: 1 }, summary: '' } }))).then('RecoveryChecked', 'ToolCallSucceeded', 'StepCompleted', 'ToolCallRequested');
  });
  test('that a person was asked about: unknown in the report', () => {
    const run = sent().when(returned('c1', 1, { kind: 'unknown', why: '?' })).when(saw('c1', 1, evidence({ ledger: { state: 'dead', fence: 1, firstClaimedAt: 0, sendWindowUntil: 0, ownerGone: true }, lookUp: { kind: 'none' } })));
    const over = run.then('RecoveryChecked', 'HumanDecisionRequested').when(cancelled()).then('CancelRequested', 'ToolCallUnknown', 'RunCancelled');
    expect(over.state.end?.report?.unknown).toEqual(['mail c1']);
  });
  test('that was turned away when it was about to start: it is over, not tried again', () => {
    sent().when(cancelled()).when(returned('c1', 1, { kind: 'busy', why: 'full', retryAfterMs: 100 })).then('RetryScheduled', 'ToolCallFailed', 'RunCancelled');
  });
  test('of a model: its answer is recorded and not acted upon', () => {
    given().when(cancelled()).when(modelSaid('c1', 1, proposes({ add: [toolStep('s', 'mail')], drop: [] }))).then('ModelCallSucceeded', 'RunCancelled');
  });
});

describe('undo', () => {
  const two = (): GivenRun => {
    const run = given({ steps: [toolStep('a', 'stage'), toolStep('b', 'reserve', { dependsOn: ['a'] }), toolStep('c', 'mail', { dependsOn: ['b'] })] });
    return run.when(prepared('a')).when(returned('c1', 1, succeeded('first'))).when(prepared('b')).when(returned('c2', 1, succeeded('second')));
  };
  test('takes reversible effects back in reverse order, one at a time, under keys of their own', () => {
    const first = two().when(cancelled()).then('CancelRequested', ['ToolCallRequested', { callId: 'c3', undoOf: 'c2', tool: 'reserve' }]);
    expect(first.needs[0]).toMatchObject({ undoOf: { callId: 'c2', output: { value: 'second' } } });
    const second = first.when(returned('c3', 1, succeeded())).then('ToolCallSucceeded', ['ToolCallRequested', { callId: 'c4', undoOf: 'c1' }]);
    const over = second.when(returned('c4', 1, succeeded())).then('ToolCallSucceeded', 'RunCancelled');
    expect(over.state.end?.report).toEqual({ finished: [], undone: ['stage c1 (a)', 'reserve c2 (b)'], unknown: [], needsPerson: [] });
  });
  test('is tried again like any call, also in a run that is being cancelled', () => {
    const first = two().when(cancelled()).when(returned('c3', 1, { kind: 'failed', failure: { ...failure, class: 'timeout-before-send' }, sent: false })).then('ToolCallFailed', 'RetryScheduled');
    const dueAt = first.state.calls.c3?.dueAt ?? 0;
    expect(first.needs.map((need) => need.id)).toContain(`timer:retry:c3@${dueAt}`);
    first.after(dueAt - first.now).when().then(['ToolCallRequested', { callId: 'c3', attempt: 2 }]);
  });
  test('that fails for good is named for a person, and the others are still taken back', () => {
    const run = two().when(cancelled()).when(returned('c3', 1, { kind: 'failed', failure: { ...failure, class: 'permission' }, sent: false })).then('ToolCallFailed', ['ToolCallRequested', { undoOf: 'c1' }]);
    const over = run.when(returned('c4', 1, succeeded()));
    expect(over.state.end?.report).toMatchObject({ finished: ['reserve c2 (b)'], undone: ['stage c1 (a)'], needsPerson: ['reserve c2 (b): could not be undone'] });
  });
  test('whose outcome nobody knows is named for a person', () => {
    const run = two().when(cancelled()).when(returned('c3', 1, { kind: 'unknown', why: '?' })).then('ToolCallUnknown').thenNeeds('gate:c3#1', `timer:cancel@${two().now + CANCEL_DEADLINE_MS}`, `timer:looks@${two().now + CANCEL_DEADLINE_MS + LAST_LOOKS_MS}`);
    const next = run.when(saw('c3', 1, evidence({ ledger: { state: 'dead', fence: 1, firstClaimedAt: 0, sendWindowUntil: 0, ownerGone: true }, lookUp: { kind: 'none' } })));
    next.then(['RecoveryChecked', { decision: 'stop' }], 'ToolCallUnknown', ['ToolCallRequested', { undoOf: 'c1' }]);
  });
  test('does not wait for a budget that is used up', () => {
    const run = given({ steps: [toolStep('a', 'stage')], budget: { calls: 1 } }).when(prepared('a'));
    run.when(cancelled()).when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', ['ToolCallRequested', { undoOf: 'c1' }]);
  });
});

test('a second cancel changes nothing and hears who was first', () => {
  const run = sent().when(said('ann', { kind: 'cancel', reason: 'enough' })).thenHears('done');
  run.when(cancelled()).then();
  run.when(said('bob', { kind: 'cancel', reason: 'me too' })).then().thenHears('done');
});

test('I6 a tool that answers after the cancel does not complete the run', () => {
  const run = sent().when(cancelled());
  expect(run.when(returned('c1', 1, succeeded())).state.end?.status).toBe('cancelled');
});

test('I6 after the end nothing is written any more, whatever comes', () => {
  const over = given({ steps: [toolStep('s', 'mail')] }).when(cancelled());
  over.when(returned('c1', 1, succeeded()), cancelled(), { type: 'Restore', epoch: 9, executionId: 'x', why: '' }, { type: 'Malformed', messageId: 'x', why: 'x', actor: { id: 'x', via: 'cli', assurance: 'claimed' } }).then();
  over.when(said('ann', { kind: 'resume' })).then().thenHears('closed');
});

test('a cancel wins over a pause, a block and a used-up budget', () => {
  sent().when(said('ann', { kind: 'pause', reason: '' })).when(cancelled()).when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', 'RunCancelled');
});

test('a reader of a restored run that is being cancelled is over at once', () => {
  given({ steps: [toolStep('s', 'read')] }).when(cancelled()).when({ type: 'Restore', epoch: 2, executionId: 'x2', why: '' }).then('RunRestored', 'ToolCallFailed', 'RunCancelled');
});

test('open questions end with the cancel, and who answers later hears that', () => {
  const run = given({ steps: [{ id: 'q', title: 'q', dependsOn: [], uses: [], action: { type: 'question', question: '?' } }, toolStep('s', 'mail')] }).when(prepared('s'));
  const id = Object.keys(run.state.questions)[0] ?? '';
  const cancelling = run.when(cancelled()).then('CancelRequested', 'QuestionExpired');
  cancelling.when(said('ann', { kind: 'answer', questionId: id, answer: { value: 1 } })).thenHears('expired');
});

test('R7.4 effects beyond what is kept at hand are counted in the report; what can be taken back is kept longest', () => {
  const run = given({ steps: [toolStep('s', 'mail')] }).when(prepared('s'));
  const call = Object.values(run.state.calls)[0]!;
  const many = (tool: string, effect: 'manual' | 'reversible', count: number, state: State): State =>
    Array.from({ length: count }, (_, i) => i).reduce((now, i) => tookEffect(now, { ...call, callId: `${tool}${i}`, tool, effect }, { value: i }), state);
  const mixed = many('mail', 'manual', 200, many('stage', 'reversible', 100, run.state));
  expect([mixed.effects.length, mixed.effects.filter(({ tool }) => tool === 'stage').length, mixed.effectsBefore]).toEqual([CAPS.effects, 100, { standing: 300 - CAPS.effects, undoable: 0 }]);
  const full = many('stage', 'reversible', 300, run.state);
  expect(full.effectsBefore).toEqual({ standing: 300 - CAPS.effects, undoable: 300 - CAPS.effects });
  const over = { ...full, calls: {}, effects: full.effects.map((done) => ({ ...done, undone: 'failed' as const })), cancel: { actor: run.state.owner, reason: 'enough', deadline: 0, report: { finished: [], undone: [], unknown: [], needsPerson: [] } } };
  const [end] = cancelProgress(over, run.now);
  expect(end?.type === 'RunCancelled' && [end.data.report.finished[0], end.data.report.needsPerson[0]]).toEqual([
    '44 earlier effects, which stand in the journal', '44 of the earlier effects could be taken back and were not: they are too many to be kept at hand',
  ]);
});

test('who cancels a cancelled run again has what was asked for; of a run that ended otherwise it is told how', () => {
  const again = said('bob', { kind: 'cancel', reason: 'enough' });
  given({ steps: [toolStep('s', 'read')] }).when(cancelled()).when(returned('c1', 1, { kind: 'failed', failure, sent: false })).when(again).then().thenHears('done');
  given({ steps: [toolStep('s', 'read')] }).when(returned('c1', 1, succeeded())).when(again).then().thenHears('closed');
});
