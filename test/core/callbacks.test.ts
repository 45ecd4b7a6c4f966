// Callbacks in the law: a call that was accepted waits for its result and holds nothing; every event of the outside counts once,
// early and late ones too; a batch ends when all came, or at its deadline with what is there.
import { callbackIdOf, callbackMessageId } from '../../src/core/keys';
import type { Command } from '../../src/core/commands';
import type { Json } from '../../src/core/canonical';
import type { PendingTerms } from '../../src/core/pending';
import type { StepOutline } from '../../src/core/plan';
import { matterOf } from '../../src/core/rules/authority';
import { parsePlan } from '../../src/core/rules/planning';
import { pageOf, rowOf } from '../../src/core/summary';
import type { CallResult } from '../../src/core/world';
import { cancelled, evidence, given, prepared, returned, said, saw, signed, succeeded, toolStep, GivenRun } from '../../src/testing/scenario';

const HOUR = 3_600_000;
const ID = callbackIdOf('run-1', 'c1');
const terms = (more: Partial<PendingTerms> = {}): PendingTerms => ({ expect: null, deadlineMs: null, onDeadline: { then: 'fail-step' }, ...more });
const pending = (more: Partial<PendingTerms> = {}): CallResult => ({ kind: 'pending', output: { value: { job: 7 } }, summary: 'accepted', via: 'sent', settled: true, terms: terms(more) });
/** The outside calls back with this event. */
const calls = (eventId: string, payload: Json = { ok: eventId }, more: { item?: string; callbackId?: string } = {}): Command => {
  const { callbackId = ID, item } = more;
  return said('outside', { kind: 'callback', callbackId, eventId, ...(item === undefined ? {} : { item }), payload: { value: payload } }, { id: callbackMessageId(callbackId, eventId), assurance: 'claimed' });
};
/** A run whose only call, with this tool, has been sent. */
const sent = (tool = 'ship'): GivenRun => given({ steps: [toolStep('s', tool), toolStep('next', 'read', { dependsOn: ['s'], uses: ['s'] })] }).when(prepared('s'));
const waiting = (more: Partial<PendingTerms> = {}, tool = 'ship'): GivenRun => sent(tool).when(returned('c1', 1, pending(more)));
const collected = (items: Json = []): Command => ({ type: 'CollectReturned', callbackId: ID, result: { output: { value: items }, summary: 'items' } });

test('R5.1 a call that was accepted waits for its result, holds nothing, and has its effect listed', () => {
  const run = waiting().then('ToolCallPending', ['CallbackAwaited', { callbackId: ID, callId: 'c1', expect: null, expiresAt: null }]).thenNeeds();
  expect(run.state.calls['c1']).toMatchObject({ phase: 'waiting', reserved: { calls: 0 } });
  expect([run.state.effects.map(({ callId }) => callId), run.state.spent.calls]).toEqual([['c1'], 1]);
  const over = run.after(HOUR).when(calls('e1', { paid: true })).thenHears('done');
  over.then(['CallbackReceived', { callbackId: ID, eventId: 'e1' }], ['ToolCallSucceeded', { callId: 'c1', output: { value: { paid: true } }, via: 'callback' }], ['StepCompleted', { stepId: 's', output: { value: { paid: true } } }], 'ToolCallRequested');
  expect([over.state.effects.length, over.state.spent.calls, over.state.callbacks]).toEqual([1, 1, {}]);
});
test('R5.5 it says what it waits for, until when, what then, and the command', () => {
  const { state } = waiting({ expect: 3, deadlineMs: HOUR, onDeadline: { then: 'continue', default: null } }).when(calls('e1'));
  expect(rowOf(state)).toMatchObject({ status: 'waiting', waits: [{ waitId: ID, kind: 'callback', what: 'the result of ship (ship for s): 1 of 3 items have come', then: 'goes on with what has come', until: state.at + HOUR, risk: 'irreversible', command: `longhaul callback ${ID} --event-id ID --item KEY --payload JSON` }] });
  expect(pageOf(state)).toContain(`npx longhaul callback ${ID}`);
});
test('R5.2 the same event again answers the same and acts once; the same id with other content is refused', () => {
  const once = waiting({ expect: 2 }).when(calls('e1', 1)).then('CallbackReceived').thenHears('counted');
  once.when(calls('e1', 1)).then().thenHears('counted');
  expect(once.when(calls('e1', 2)).then().thenHears('refused').answers[0]?.text).toMatch(/^Event e1 was told before with something else in it/);
  once.when(calls('e2', 5, { item: 'e1' })).then('MessageRejected').thenHears('already-decided');
});
test('a batch is put together when all its items have come, in whatever order', () => {
  const full = waiting({ expect: 2 }).when(calls('e2', 2, { item: 'b' })).when(calls('e1', 1, { item: 'a' })).then('CallbackReceived').thenHears('done').thenNeeds(`collect:${ID}`);
  expect(rowOf(full.state).status).toBe('running');
  full.when(calls('e3', 3, { item: 'c' })).then().thenHears('closed');
  full.when(collected([1, 2])).then(['ToolCallSucceeded', { output: { value: [1, 2] }, via: 'callback' }], 'StepCompleted', 'ToolCallRequested').when(collected([9])).then();
});
test.each<[string, PendingTerms['onDeadline'], string[]]>([
  ['fail-step', { then: 'fail-step' }, ['CallbackExpired', 'ToolCallFailed', 'StepFailed', 'RunBlocked']],
  ['continue', { then: 'continue', default: 'nothing' }, ['CallbackExpired', 'ToolCallSucceeded', 'StepCompleted', 'ToolCallRequested']],
  ['cancel-run', { then: 'cancel-run' }, ['CancelRequested', 'CallbackExpired', 'ToolCallFailed', 'RunCancelled']],
])('R5.3 when nobody calls back in time, %s does what it says', (_, onDeadline, types) => {
  const run = waiting({ deadlineMs: HOUR, onDeadline }).thenNeeds(`timer:callback:${ID}@${waiting().now + HOUR}`).after(HOUR).when();
  expect(run.events.map(({ type }) => type)).toEqual(types);
  expect(run.state.effects.map(({ callId }) => callId)).toEqual(['c1']);
});
test('a batch goes on at its deadline with the items that came, where its policy says so', () => {
  const run = waiting({ expect: 3, deadlineMs: HOUR, onDeadline: { then: 'continue', default: null } }).when(calls('e1')).after(HOUR).when().then(['CallbackExpired', { came: 1, partial: true }]).thenNeeds(`collect:${ID}`);
  run.when(calls('e2')).then().thenHears('closed');
  run.when(collected(['e1'])).then(['ToolCallSucceeded', { output: { value: ['e1'] } }], 'StepCompleted', 'ToolCallRequested');
  const failed = waiting({ expect: 3, deadlineMs: HOUR }).when(calls('e1')).after(HOUR).when();
  expect(failed.events.find(({ type }) => type === 'StepFailed')?.data).toMatchObject({ failure: { class: 'expired', code: 'no-callback', message: 'ship was accepted, but 1 of 3 items came in time.' } });
});
test('what was accepted is not tried again because its result did not come', () => {
  const blocked = waiting({ deadlineMs: HOUR }).after(HOUR).when();
  expect(blocked.when(said('ann', { kind: 'settle', as: 'retry' })).thenHears('refused').answers[0]?.text).toContain('a second time');
  blocked.when(said('ann', { kind: 'settle', as: 'partial' })).thenHears('done');
});
test('an event that comes before the answer of its call is kept, and counts when the call says what it waits for', () => {
  const early = sent().when(calls('e1', { paid: 1 })).then('CallbackReceived').thenHears('counted');
  expect(rowOf(early.state).waits).toEqual([]);
  const run = early.when(returned('c1', 1, pending())).then('ToolCallPending', 'CallbackAwaited').thenNeeds(`collect:${ID}`);
  expect(run.needs[0]).toMatchObject({ since: early.state.version - 1, count: 1, expect: null });
  sent().when(calls('e1')).when(returned('c1', 1, pending({ expect: 2 }))).thenNeeds().when(calls('e2')).thenNeeds(`collect:${ID}`);
});
test('an early event does not stand in the way of the attempt that is awaited, and is dropped with a call that ends otherwise', () => {
  const early = sent().when(calls('e1'));
  expect(Object.keys(early.events[0]?.data ?? {})).not.toContain('callId');
  const done = early.when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', 'ToolCallRequested');
  expect(done.state.callbacks).toEqual({});
  done.when(calls('e2')).then().thenHears('closed');
});
test('a late event hears that it is over, however long ago that was; an id of nobody is unknown', () => {
  const over = waiting().when(calls('e1'));
  over.when(calls('e2')).then().thenHears('closed');
  new GivenRun({ ...over.state, closed: [] }, over.now, over.journal).when(calls('e9')).then().thenHears('closed');
  over.when(calls('e1', 1, { callbackId: 'cb-nobody' })).then('MessageRejected').thenHears('unknown');
});
test('B40 a batch of five hundred items keeps digests of them in state, and no payload', () => {
  let run = waiting({ expect: 500 });
  const payload = 'x'.repeat(400);
  for (let i = 0; i < 499; i += 1) run = run.when(calls(`event-${i}`, payload));
  expect(JSON.stringify(run.state.callbacks).length).toBeLessThan(12_000);
  expect(JSON.stringify(run.state.callbacks)).not.toContain('xxxx');
});
test('a cancel ends the wait: the effect is reported, what can be taken back is, and what comes late is closed', () => {
  const run = waiting().when(cancelled()).then('CancelRequested', ['CallbackExpired', { why: 'ended' }], ['ToolCallFailed', { sent: true, final: true }], 'RunCancelled');
  expect(run.state.end?.report?.finished).toEqual(['ship c1 (s)']);
  run.when(calls('e1')).thenHears('closed');
  const undone = waiting({}, 'stage').when(cancelled());
  expect(undone.needs[0]).toMatchObject({ kind: 'call', tool: 'stage', undoOf: { callId: 'c1', output: { value: { job: 7 } } } });
});
test('a call that is accepted after the cancel does not wait: it is recorded and reported', () => {
  const run = sent().when(cancelled()).when(returned('c1', 1, pending())).then('ToolCallPending', 'ToolCallFailed', 'RunCancelled');
  expect(run.state.end?.report?.finished).toEqual(['ship c1 (s)']);
});
test('what takes an effect back is given the result once it has come', () => {
  const run = waiting({}, 'stage').when(calls('e1', { paymentId: 9 }));
  expect(run.state.effects).toMatchObject([{ callId: 'c1', output: { value: { paymentId: 9 } } }]);
});

describe('when the worker is lost after the outside has accepted', () => {
  const doubt = (tool = 'ship'): GivenRun => sent(tool).when(returned('c1', 1, { kind: 'unknown', why: 'lost' })).then('ToolCallUnknown');
  const dead = { state: 'dead' as const, fence: 1, firstClaimedAt: 0, sendWindowUntil: 0, ownerGone: true };
  test('the ledger may know, and the look-up may: the call waits as it would have', () => {
    doubt().when(saw('c1', 1, evidence({ ledger: { state: 'done', output: { value: 7 }, summary: 'x', pending: terms({ expect: 2 }) } })))
      .then('RecoveryChecked', ['ToolCallPending', { via: 'ledger' }], ['CallbackAwaited', { expect: 2 }]);
    doubt().when(saw('c1', 1, evidence({ ledger: dead, lookUp: { kind: 'found', output: { value: 7 }, summary: 'x', reference: 'x', pending: terms() } })))
      .then('RecoveryChecked', ['ToolCallPending', { via: 'look-up' }], 'CallbackAwaited');
  });
  test('one that is called back was accepted, also when nobody can look it up', () => {
    const back = doubt('mail').when(calls('e1', 'sent')).then('CallbackReceived').thenHears('counted');
    back.when(saw('c1', 1, evidence({ ledger: dead, lookUp: { kind: 'none' } }))).then('RecoveryChecked', ['ToolCallPending', { via: 'callback' }], 'CallbackAwaited').thenNeeds(`collect:${ID}`);
  });
  test('a person who was asked whether it happened need not answer any more', () => {
    const asked = doubt('mail').when(saw('c1', 1, evidence({ ledger: dead, lookUp: { kind: 'none' } }))).then('RecoveryChecked', 'HumanDecisionRequested');
    const back = asked.when(calls('e1')).then('CallbackReceived', ['ToolCallPending', { via: 'callback' }], 'CallbackAwaited').thenHears('done').thenNeeds(`collect:${ID}`);
    expect(back.state.decisions).toEqual({});
    back.when(said('ann', { kind: 'resolve', callId: 'c1', verdict: 'not-happened' })).thenHears('already-decided');
  });
  test('R10.8 where decisions must be signed, a callback that nobody signed settles no doubt, and nothing is sent again', () => {
    const unsure = given({ mode: 'production', steps: [toolStep('s', 'mail')] }).when(prepared('s')).when(returned('c1', 1, { kind: 'unknown', why: 'lost' }));
    const asked = unsure.when(calls('e1')).thenHears('counted').when(saw('c1', 1, evidence({ ledger: dead, lookUp: { kind: 'none' }, honoursKey: true }))).then(['RecoveryChecked', { decision: 'ask-person' }], 'HumanDecisionRequested');
    asked.when(calls('e2')).then('CallbackReceived').thenHears('counted');
    // What was told before is not the result of what is sent once a person has said that nothing had happened.
    const { about, binding } = matterOf(asked.state, 'c1')!;
    const no = signed('ann', { kind: 'resolve', callId: 'c1', verdict: 'not-happened' }, { jti: 't1', run: 'run-1', about, binding, may: ['resolve'], exp: asked.now + HOUR });
    const sentAgain = asked.when(no).then('HumanDecided', 'ToolCallRequested');
    expect(sentAgain.state.callbacks).toEqual({});
    const again = sentAgain.when(returned('c1', 2, pending())).then('ToolCallPending', 'CallbackAwaited');
    again.when(calls('e3', 3)).then('CallbackReceived', 'ToolCallSucceeded', 'StepCompleted', 'RunCompleted');
  });
  test('a person is not believed that it did not happen once the outside has called back for it', () => {
    const asked = doubt('pay').when(calls('e1', 1, { item: 'a' })).when(saw('c1', 1, evidence({ ledger: dead, lookUp: { kind: 'none' }, honoursKey: true })));
    asked.when(said('n1', { kind: 'resolve', callId: 'c1', verdict: 'not-happened' })).then('MessageRejected').thenHears('refused');
    asked.when(said('n2', { kind: 'resolve', callId: 'c1', verdict: 'give-up' })).thenHears('done');
  });
  test('it is never sent again once items have come: a person is asked how many there are', () => {
    doubt('pay').when(calls('e1', 1, { item: 'a' })).when(saw('c1', 1, evidence({ ledger: dead, lookUp: { kind: 'none' }, honoursKey: true }))).then(['RecoveryChecked', { decision: 'ask-person' }], 'HumanDecisionRequested');
  });
});

describe('a step of the plan that waits to be called back', () => {
  const step = (more: object = {}): StepOutline => ({ id: 'w', title: 'Wait', dependsOn: [], uses: [], action: { type: 'wait', callback: 'the bank', ...more } });
  const callbackId = callbackIdOf('run-1', 'w#1');
  test('is opened, says what it waits for, and has the payload as its output', () => {
    const run = given({ steps: [step()] }).then('RunCreated', 'PlanAccepted', ['CallbackAwaited', { callbackId, stepId: 'w', expect: null, expiresAt: null }]).thenNeeds();
    expect(rowOf(run.state).waits).toMatchObject([{ waitId: callbackId, what: 'the bank', then: 'nothing' }]);
    run.when(calls('e1', 'paid', { callbackId })).then('CallbackReceived', 'WaitSatisfied', ['StepCompleted', { output: { value: 'paid' } }], 'RunCompleted').thenHears('done');
  });
  test('fails, goes on or cancels at its deadline, and is opened under another id when a person has it tried again', () => {
    const blocked = given({ steps: [step({ deadlineMs: HOUR })] }).after(HOUR).when().then('CallbackExpired', 'StepFailed', 'RunBlocked');
    const again = blocked.when(said('ann', { kind: 'settle', as: 'retry' })).then('RunUnblocked', ['CallbackAwaited', { callbackId: callbackIdOf('run-1', 'w#2') }]);
    again.when(calls('e1', 1, { callbackId })).thenHears('closed');
    given({ steps: [step({ deadlineMs: HOUR, onDeadline: { then: 'continue', default: 'none' } })] }).after(HOUR).when().then('CallbackExpired', 'WaitSatisfied', ['StepCompleted', { output: { value: 'none' } }], 'RunCompleted');
    given({ steps: [step({ deadlineMs: HOUR, onDeadline: { then: 'cancel-run' } })] }).after(HOUR).when().then('CancelRequested', 'CallbackExpired', 'RunCancelled');
  });
  const read = (action: Json) => parsePlan({ goal: 'g', steps: [{ id: 'w', action: { type: 'wait', ...action as object } }] }, []);
  test('is read from a plan, with its deadline and its items', () => {
    expect(read({ callback: 'the bank', deadline: '2d', expect: 3, onDeadline: 'fail-step' })).toMatchObject({ patch: { add: [{ action: { type: 'wait', callback: 'the bank', expect: 3, deadlineMs: 172_800_000, onDeadline: { then: 'fail-step' } } }] } });
  });
  test.each<[Json, RegExp]>([
    [{ callback: 7 }, /needs a callback: a text/], [{ callback: ' ' }, /empty callback/], [{ callback: 'x', for: '2h' }, /unknown member "for"/], [{ callback: 'x', expect: 501 }, /from 1 to 500/],
    [{ callback: 'x', onDeadline: 'fail-step' }, /has no deadline/], [{ callback: 'x', deadline: '1h', onDeadline: 'ask-again' }, /nobody can be asked/], [{}, /or for what/],
  ])('a step that says it wrongly is refused by name: %j', (action, reason) => {
    const { reasons = [] } = read(action) as { reasons?: string[] };
    expect(reasons.join(' ')).toMatch(reason);
  });
  test('may remind, and takes a batch', () => {
    const run = given({ steps: [step({ deadlineMs: HOUR, expect: 2, onDeadline: { then: 'continue', default: null, remindEveryMs: 60_000 } })] });
    run.after(60_000).when().then(['WaitReminded', { waitId: callbackId, n: 1 }]);
    run.when(calls('a', 1, { callbackId }), calls('b', 2, { callbackId })).then('CallbackReceived', 'CallbackReceived').thenNeeds(`collect:${callbackId}`)
      .when({ type: 'CollectReturned', callbackId, result: { output: { value: [1, 2] }, summary: 'x' } }).then('WaitSatisfied', 'StepCompleted', 'RunCompleted');
  });
});
