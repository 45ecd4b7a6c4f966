// A run is pinned to the major versions of its tools. Where no worker has one of them nothing has failed: the run says what it needs,
// looks for a worker ever more seldom, and goes on by itself. Nothing of it counts against a limit.
import type { Failure } from '../../src/core/failure';
import { waitsOf } from '../../src/core/waits';
import { evidence, given, modelSaid, prepared, proposes, returned, saw, succeeded, toolStep, cancelled } from '../../src/testing/scenario';

const failure: Failure = { class: 'tool-missing', code: 'tool-missing', message: 'This worker does not have the tool read@1.' };
const gone = { kind: 'failed', failure, sent: false } as const;
const waits = (run: ReturnType<typeof given>) => waitsOf(run.state).map(({ kind, what, then, command }) => [kind, what, then, command]);
const needs = (contract: string) => [['tool', `a worker that has the tool ${contract}`, 'goes on by itself once one has', 'longhaul doctor']];

test('R9.1 a call whose tool no worker has waits, says which tool in which major version, and goes on without a failure once one has', () => {
  let run = given({ steps: [toolStep('s', 'read')], budget: { failures: 0 } });
  const delays: number[] = [];
  for (let attempt = 1; attempt <= 9; attempt += 1) {
    run = run.when(returned('c1', attempt, gone)).then(['RetryScheduled', { class: 'tool-missing' }]);
    const [event] = run.events;
    if (event?.type === 'RetryScheduled') delays.push(event.data.delayMs);
    expect(waits(run)).toEqual(needs('read@1'));
    run = run.after(delays.at(-1) ?? 0).when().then('ToolCallRequested');
  }
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 120_000, 120_000]);
  const done = run.when(returned('c1', 10, succeeded())).then('ToolCallSucceeded', 'StepCompleted', 'RunCompleted');
  expect([done.state.spent.failures, waits(done)]).toEqual([0, []]);
});

test('R9.1 the same before anybody is asked: a step whose tool is missing is prepared again, and what fails then counts from its first failure', () => {
  let run = given({ steps: [toolStep('s', 'mail')] });
  for (let n = 1; n <= 6; n += 1) {
    run = run.when({ type: 'PrepareReturned', stepId: 's', n, result: { kind: 'failed', failure } }).then(['RetryScheduled', { class: 'tool-missing', stepId: 's' }]);
    expect(waits(run)).toEqual(needs('mail@1'));
    run = run.after(200_000).when();
  }
  run = run.when({ type: 'PrepareReturned', stepId: 's', n: 7, result: { kind: 'failed', failure: { class: 'network', code: 'n', message: 'n' } } }).then(['RetryScheduled', { class: 'network' }]);
  expect(run.state.steps[0]).toMatchObject({ prepareFailures: 1 });
  run = run.after(200_000).when().when(prepared('s', { of: 's' }, { n: 8 })).then('CallPrepared', 'ToolCallRequested');
  expect([run.state.steps[0]?.missing, waits(run)]).toEqual([undefined, []]);
});

test('R9.1 a planner is not asked while tools are missing that it may plan with, and the run names them', () => {
  let run = given({ agent: { planner: 'model' } }).when(modelSaid('c1', 1, { kind: 'no-tool', lacks: ['pay@1', 'mail@1'] })).then(['RetryScheduled', { class: 'tool-missing', lacks: ['pay@1', 'mail@1'] }]);
  expect(waits(run)).toEqual(needs('pay@1, mail@1'));
  run = run.after(2_000).when().then('ModelCallRequested').when(modelSaid('c1', 2, proposes({ add: [toolStep('s', 'read')], drop: [] }))).then('ModelCallSucceeded', 'PlanAccepted', 'ToolCallRequested');
  expect(waits(run)).toEqual([]);
});

test('R9.1 a call in doubt whose tool could tell is looked up once a worker has it; no person is asked in its place', () => {
  let run = given({ steps: [toolStep('s', 'pay')] }).when(prepared('s')).when(returned('c1', 1, { kind: 'unknown', why: 'no answer' }));
  const ledger = { state: 'unknown', fence: 1, firstClaimedAt: 0, sendWindowUntil: 0, ownerGone: true } as const;
  run = run.when(saw('c1', 1, evidence({ ledger, lookUp: { kind: 'no-tool', why: failure.message } }))).then(['RecoveryChecked', { decision: 'wait', missing: true }]);
  expect(waits(run)).toEqual(needs('pay@1'));
  run = run.after(2_000).when().when(saw('c1', 2, evidence({ ledger, lookUp: { kind: 'found', output: { value: 1 }, summary: 'found', reference: 'r' } }))).then(['RecoveryChecked', { decision: 'record' }], 'ToolCallSucceeded', 'StepCompleted', 'RunCompleted');
  expect(waits(run)).toEqual([]);
});

test('R9.1 a cancel does not wait for a tool: what was not sent is over, and the run ends', () => {
  const run = given({ steps: [toolStep('s', 'read')] }).when(returned('c1', 1, gone)).when(cancelled());
  expect(run.state.end?.status).toBe('cancelled');
});
