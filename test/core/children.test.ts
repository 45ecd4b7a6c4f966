// Runs that a run starts, in the law: what is set aside for one and given back, how many there are at once, when one is looked at,
// what its end means to the call, and what a cancel does. The child's own journal is read outside; here its answers are given.
import type { Command } from '../../src/core/commands';
import { callbackIdOf, callbackMessageId, childRunIdOf } from '../../src/core/keys';
import type { PendingTerms } from '../../src/core/pending';
import type { Budget } from '../../src/core/run';
import { RUN_ID } from '../../src/core/run';
import { rowOf } from '../../src/core/summary';
import type { CallResult, CollectResult } from '../../src/core/world';
import { agentManifest, cancelled, evidence, given, prepared, returned, said, saw, succeeded, toolManifest, toolStep, GivenRun } from '../../src/testing/scenario';

const MINUTE = 60_000;
const CHILD = childRunIdOf('run-1', 'c1');
const ID = callbackIdOf('run-1', 'c1');
const terms: PendingTerms = { expect: null, deadlineMs: null, onDeadline: { then: 'fail-step' }, child: CHILD };
const pending: CallResult = { kind: 'pending', output: { value: { runId: CHILD } }, summary: 'started', via: 'sent', settled: true, terms };
const tool = toolManifest('hand', { effect: 'reversible', hasUndo: true, honoursKey: true, hasLookUp: true, carves: true });
const agent = { tools: [...agentManifest().tools, tool] };
const steps = [toolStep('s', 'hand'), toolStep('next', 'read', { dependsOn: ['s'], uses: ['s'] })];
const sent = (budget: Budget = {}, wants?: Budget): GivenRun => given({ agent, budget, steps }).when(prepared('s', { of: 's' }, wants ? { wants } : {}));
const waiting = (budget: Budget = {}, wants?: Budget): GivenRun => sent(budget, wants).when(returned('c1', 1, pending));
const calls = (): Command => said('child', { kind: 'callback', callbackId: ID, eventId: 'ended', payload: { value: { anything: 'goes' } } }, { id: callbackMessageId(ID, 'ended'), assurance: 'claimed' });
const saw1 = (n: number, result: Partial<CollectResult>): Command => ({ type: 'CollectReturned', callbackId: ID, n, result: { output: { value: null }, summary: '', ...result } });
const used = { calls: 3, tokens: 40, microUsd: 5, failures: 1 };
const LOOK = { open: true as const };

test('R10.4 a call that starts a run waits without holding anything, and says for which run', () => {
  const run = waiting().then('ToolCallPending', ['CallbackAwaited', { callbackId: ID, child: CHILD }]).thenNeeds(`timer:child:${ID}@${waiting().now + MINUTE}`);
  expect(rowOf(run.state)).toMatchObject({ status: 'waiting', waits: [{ waitId: ID, kind: 'run', run: CHILD, what: `the end of run ${CHILD} (hand for s)`, command: `longhaul runs show ${CHILD}` }] });
});
test('R10.4 what the child may use up is set aside with the request: what the call names, at most what is left, else half of it', () => {
  const budget = { calls: 11, tokens: 100, microUsd: 50 };
  const run = sent(budget, { tokens: 30, microUsd: 500 }).then('CallPrepared', ['ToolCallRequested', { carved: { calls: 5, tokens: 30, microUsd: 50 }, reserved: { calls: 6, tokens: 30, microUsd: 50, failures: 0 } }]);
  expect(run.needs[0]).toMatchObject({ id: 'call:c1#1', carved: { calls: 5, tokens: 30, microUsd: 50 } });
  const open = run.when(returned('c1', 1, pending));
  expect([open.state.reserved, open.state.spent.calls]).toEqual([{ calls: 5, tokens: 30, microUsd: 50, failures: 0 }, 1]);
  const over = open.when(calls()).when(saw1(2, { output: { value: { done: true } }, usage: used }));
  over.then(['ToolCallSucceeded', { callId: 'c1', via: 'callback', usage: used, output: { value: { done: true } } }], 'StepCompleted', 'ToolCallRequested');
  expect([over.state.reserved.tokens, over.state.reserved.calls, over.state.spent]).toEqual([0, 1, { ...used, calls: 4 }]);
});
test('R10.4 where a call and one more are not left, nothing is started and a person is asked', () => {
  sent({ calls: 1 }).then('CallPrepared', ['BudgetExhausted', { kind: 'calls' }]);
  sent({ calls: 2 }).then('CallPrepared', ['ToolCallRequested', { carved: { calls: 1 } }]);
});
test('another attempt at the same call sets aside what the first did', () => {
  const again = sent({ tokens: 100 }, { tokens: 60 }).when(returned('c1', 1, { kind: 'failed', failure: { class: 'timeout-before-send', code: 'x', message: 'x' }, sent: false })).then('ToolCallFailed', 'RetryScheduled');
  expect(again.state.reserved.tokens).toBe(0);
  again.after(MINUTE).when().then(['ToolCallRequested', { attempt: 2, carved: { tokens: 60 } }]);
});
test('R10.4 at most as many runs at once as the agent may have calls; the next starts when one is over', () => {
  const two = ['a', 'b', 'c'].map((id) => toolStep(id, 'hand'));
  const run = given({ agent: { ...agent, maxParallel: 2 }, steps: two }).when(prepared('a'), prepared('b')).when(returned('c1', 1, pending), returned('c2', 1, { ...pending, terms: { ...terms, child: childRunIdOf('run-1', 'c2') } })).when(prepared('c'));
  expect(run.events.map(({ type }) => type)).toEqual(['CallPrepared']);
  expect(run.state.calls['c3']?.phase).toBe('ready');
  run.when(calls()).when(saw1(2, {})).then('ToolCallSucceeded', 'StepCompleted', ['ToolCallRequested', { callId: 'c3' }]);
});
test('R10.4 what is called back only says that it is time to look: the end is what the look shows', () => {
  const told = waiting().when(calls()).then(['CallbackReceived', { eventId: 'ended' }]).thenHears('counted').thenNeeds(`collect:${ID}#2`);
  expect(told.needs[0]).toMatchObject({ child: CHILD, n: 2 });
  told.when(calls()).then().thenHears('counted');
  told.when(saw1(2, LOOK)).then(['ChildChecked', { callbackId: ID, n: 2, againAt: told.now + 4 * MINUTE }]).thenNeeds(`timer:child:${ID}@${told.now + 4 * MINUTE}`);
});
test('R5.2 a look that began before the child called counts only when it saw the end', () => {
  const looking = waiting().after(MINUTE).when().thenNeeds(`collect:${ID}#1`);
  const told = looking.when(calls()).thenNeeds(`collect:${ID}#2`);
  told.when(saw1(1, LOOK)).then().thenNeeds(`collect:${ID}#2`);
  told.when(saw1(1, { output: { value: 1 } })).then('ToolCallSucceeded', 'StepCompleted', 'ToolCallRequested').when(saw1(2, { output: { value: 1 } })).then();
});
test('R10.4 a child that never calls is looked at all the same, ever more seldom', () => {
  let run = waiting();
  const pauses: number[] = [];
  for (let n = 1; n <= 9; n += 1) {
    run = new GivenRun(run.state, Object.values(run.state.callbacks ?? {})[0]?.lookAt ?? 0, run.journal).when().thenNeeds(`collect:${ID}#${n}`).when(saw1(n, LOOK)).then('ChildChecked');
    pauses.push(((Object.values(run.state.callbacks ?? {})[0]?.lookAt ?? 0) - run.now) / MINUTE);
  }
  expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60, 60, 60]);
});
test('R1.3 a restored run looks at its children at once', () => {
  waiting().when({ type: 'Restore', epoch: 2, executionId: 'e2', why: 'x' }).then('RunRestored').thenNeeds(`collect:${ID}#2`);
});
test('R10.4 a child that ends before its parent waits is seen when the parent does', () => {
  sent().when(calls()).then('CallbackReceived').when(returned('c1', 1, pending)).then('ToolCallPending', 'CallbackAwaited').thenNeeds(`collect:${ID}#1`);
});
test('R10.4 a child that came to nothing is a failed call with its class; what it used up counts, what it made is kept', () => {
  const ref = { sha256: 'a'.repeat(64), bytes: 5, mediaType: 'text/plain', summary: 'half a report' };
  const run = waiting({ tokens: 100 }).when(calls()).when(saw1(2, { failure: { class: 'business-refusal', code: 'child-failed', message: 'no' }, usage: used, artifacts: [{ ref, role: 'report' }] }));
  run.then(['ArtifactProduced', { ref, callId: 'c1' }], ['ToolCallFailed', { final: true, usage: used }], 'StepFailed', 'RunBlocked');
  expect([run.state.spent, run.state.reserved.tokens]).toEqual([{ ...used, calls: 4, failures: 2 }, 0]);
});
test('I2 a start that may have happened is looked up: found, it waits for that run; absent, it is started again under the same id', () => {
  const doubt = sent().when(returned('c1', 1, { kind: 'unknown', why: 'lost' })).then('ToolCallUnknown');
  const dead = { state: 'dead' as const, fence: 1, firstClaimedAt: 0, sendWindowUntil: 0, ownerGone: true };
  doubt.when(saw('c1', 1, evidence({ ledger: dead, honoursKey: true, lookUp: { kind: 'found', output: { value: { runId: CHILD } }, summary: 's', reference: CHILD, pending: terms } })))
    .then('RecoveryChecked', ['ToolCallPending', { via: 'look-up' }], ['CallbackAwaited', { child: CHILD }]);
  doubt.when(saw('c1', 1, evidence({ ledger: dead, honoursKey: true, lookUp: { kind: 'absent' } }))).then('RecoveryChecked', ['ToolCallRequested', { attempt: 2 }]);
});
test('R7.1 a cancel of the parent cancels its child as the undo of the call, and waits for what that says', () => {
  const run = waiting().when(cancelled()).then('CancelRequested', ['CallbackExpired', { why: 'ended' }], ['ToolCallFailed', { failure: { class: 'cancelled', code: 'cancelled', message: 'The run was cancelled while it waited for the result; the request had been accepted.' } }], ['ToolCallRequested', { callId: 'c2', undoOf: 'c1' }]);
  expect(run.needs.find(({ kind }) => kind === 'call')).toMatchObject({ undoOf: { callId: 'c1', output: { value: { runId: CHILD } } } });
  run.when(calls()).then().thenHears('closed');
  const over = run.when(returned('c2', 1, succeeded({ runId: CHILD, status: 'cancelled' }))).then('ToolCallSucceeded', 'RunCancelled');
  expect(over.state.end?.report).toMatchObject({ undone: ['hand c1 (s)'], finished: [] });
  const stands = run.when(returned('c2', 1, { kind: 'failed', failure: { class: 'business-refusal', code: 'child-stands', message: 'x' }, sent: true }));
  expect(stands.state.end?.report).toMatchObject({ needsPerson: ['hand c1 (s): could not be undone'] });
});
test('the id of a child is one that runs may have, however long its parent\'s is, and names its parent', () => {
  const deep = childRunIdOf(childRunIdOf('x'.repeat(64), 'c12345678'), 'c99999999999');
  expect(deep).toMatch(RUN_ID);
  expect(CHILD).toMatch(/^run-1\.c1-[0-9a-f]{12}$/);
  expect(childRunIdOf('run-1', 'c2')).not.toBe(childRunIdOf('run-1', 'c1'));
});
