// Promises of rules/ending: how a declared run completes, in full or in part, when it stops for a person, and what is skipped.
import { rowOf } from '../../src/core/summary';
import { given, returned, said, start, succeeded, toolStep, type GivenRun } from '../../src/testing/scenario';
import { initialState } from '../../src/core/initial';
import { turn } from '../../src/core/turn';

const no = { kind: 'failed' as const, failure: { class: 'not-found' as const, code: 'x', message: 'gone' }, sent: true };
const pair = (more = {}, second = {}): GivenRun => given({ steps: [toolStep('a', 'read', more), toolStep('b', 'read', { dependsOn: ['a'], ...second })] });

test('all steps done: completed in full, with the last result', () => {
  pair().when(returned('c1', 1, succeeded(1))).when(returned('c2', 1, succeeded(2))).then('ToolCallSucceeded', 'StepCompleted', ['RunCompleted', { outcome: 'full', result: { value: 2 } }]);
});

test('a failed step blocks the run, and what hangs on it waits for a person', () => {
  const run = pair().when(returned('c1', 1, no)).then('ToolCallFailed', 'StepFailed', ['RunBlocked', { steps: ['a'] }]);
  expect(run.state.steps[1]?.status).toBe('pending');
});

test('a step beside the failed one still runs before the run is blocked', () => {
  const run = given({ steps: [toolStep('a', 'read'), toolStep('b', 'read')] }).when(returned('c1', 1, no)).then('ToolCallFailed', 'StepFailed');
  run.when(returned('c2', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', 'RunBlocked');
});

test('a person retries: the step is made anew', () => {
  const run = pair().when(returned('c1', 1, no)).when(said('ann', { kind: 'settle', as: 'retry' }));
  run.then(['RunUnblocked', { as: 'retry', steps: ['a'] }], ['ToolCallRequested', { callId: 'c2' }]).thenHears('done');
});

test('a person skips: what hangs on the step goes on without it, unless it uses its output', () => {
  const skipped = { kind: 'settle' as const, as: 'skip' as const, stepId: 'a' };
  const went = pair().when(returned('c1', 1, no)).when(said('ann', skipped));
  went.then(['RunUnblocked', { as: 'skip' }], 'ToolCallRequested');
  // What was let be did not happen: the run is not whole, and does not count the step as done.
  const over = went.when(returned('c2', 1, succeeded()));
  over.then('ToolCallSucceeded', 'StepCompleted', ['RunCompleted', { outcome: 'partial' }]);
  expect(rowOf(over.state).steps).toEqual({ done: 1, total: 2 });
  pair({}, { uses: ['a'] }).when(returned('c1', 1, no)).when(said('ann', skipped)).then('RunUnblocked', 'StepSkipped', ['RunCompleted', { outcome: 'partial' }]);
});

test('a person accepts what is there, or fails the run', () => {
  const blocked = pair().when(returned('c1', 1, no));
  blocked.when(said('ann', { kind: 'settle', as: 'partial' })).then(['RunCompleted', { outcome: 'partial' }]);
  blocked.when(said('ann', { kind: 'settle', as: 'fail' })).then(['RunFailed', { failure: no.failure }]);
});

test('what was asked ends with the run that a person ends', () => {
  const question = { id: 'q', title: 'q', dependsOn: [], uses: [], action: { type: 'question' as const, question: '?' } };
  const run = given({ steps: [toolStep('a', 'read'), toolStep('b', 'read', { dependsOn: ['a'] }), question], budget: { calls: 1 } });
  run.when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', 'BudgetExhausted').when(said('ann', { kind: 'settle', as: 'partial' })).then('QuestionExpired', 'RunCompleted');
});

test('a run with a call under way cannot be settled as partial or failed over it', () => {
  const run = given({ steps: [toolStep('a', 'read'), toolStep('b', 'read'), toolStep('c', 'read')], budget: { calls: 2 } });
  run.when(said('ann', { kind: 'settle', as: 'partial' })).then('MessageRejected').thenHears('refused');
  run.when(said('ann', { kind: 'settle', as: 'fail' })).thenHears('refused');
});

test('an optional step may fail: the run completes in full', () => {
  given({ steps: [toolStep('a', 'read', { optional: true }), toolStep('b', 'read', { dependsOn: ['a'] })] })
    .when(returned('c1', 1, no)).then('ToolCallFailed', 'StepFailed', 'ToolCallRequested').when(returned('c2', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', ['RunCompleted', { outcome: 'full' }]);
});

test('a step that uses the output of an optional step that failed is skipped', () => {
  pair({ optional: true }, { uses: ['a'] }).when(returned('c1', 1, no)).then('ToolCallFailed', 'StepFailed', 'StepSkipped', ['RunCompleted', { outcome: 'partial' }]);
});

test('I4 what one turn decides is one batch, numbered without a gap and stamped with one time', () => {
  const run = pair().when(returned('c1', 1, succeeded()));
  const before = run.state.version - run.events.length;
  expect(run.events.map((event) => event.seq)).toEqual(run.events.map((_, i) => before + 1 + i));
  expect(new Set(run.events.map((event) => event.at)).size).toBe(1);
});

test('time never runs backwards in the journal, whatever the clock says', () => {
  const run = pair().after(10_000).when(said('ann', { kind: 'note', text: { value: 1 } })).after(-60_000).when(returned('c1', 1, succeeded()));
  expect(run.events[0]?.at).toBe(run.now + 60_000);
});

test('a run whose plan is not acceptable fails with the reasons, and one without a plan says that it needs one', () => {
  given({ steps: [toolStep('a', 'made-up')] }).then('RunCreated', 'RunFailed');
  const bare = start({ agent: { planner: 'declared' } });
  const { events } = turn(initialState('run-1'), [bare], 0);
  expect(events.map((event) => event.type)).toEqual(['RunCreated', 'RunFailed']);
});

test('a second start changes nothing', () => {
  pair().when(start({ steps: [toolStep('z', 'mail')] })).then();
});

test('while the run is held nothing new begins, but what comes is recorded', () => {
  const run = given({ steps: [toolStep('a', 'read'), toolStep('b', 'read', { dependsOn: ['a'] })] });
  const held = turn(run.state, [returned('c1', 1, succeeded())], run.now, { hold: true });
  expect(held.events.map((event) => event.type)).toEqual(['ToolCallSucceeded', 'StepCompleted']);
  expect(held.needs).toEqual([]);
  expect(turn(held.draft, [], run.now).events.map((event) => event.type)).toEqual(['ToolCallRequested']);
});

test('a checkpoint is asked for every 25 turns of the agent, and its answer counts once', () => {
  const steps = Array.from({ length: 26 }, (_, i) => toolStep(`s${i}`, 'read', i === 0 ? {} : { dependsOn: [`s${i - 1}`] }));
  let run = given({ steps });
  for (let i = 1; i <= 25; i += 1) run = run.when(returned(`c${i}`, 1, succeeded()));
  expect(run.needs.map((need) => need.id)).toContain('checkpoint:t25');
  const ref = { sha256: 'a'.repeat(64), bytes: 1, mediaType: 'application/json', summary: '' };
  const saved = run.when({ type: 'CheckpointReturned', result: { kind: 'saved', version: run.state.version, ref } }).then('CheckpointSaved');
  expect(saved.needs.map((need) => need.kind)).not.toContain('checkpoint');
  saved.when({ type: 'CheckpointReturned', result: { kind: 'saved', version: run.state.version, ref } }).then();
  run.when({ type: 'CheckpointReturned', result: { kind: 'failed', why: 'x' } }).then();
});

test('R2.4 a run that is refused as it is opened is created and fails with the reason, and needs nothing', () => {
  const refused = { class: 'argument' as const, code: 'secret', message: 'What the run was given holds the value of the secret KEY.' };
  for (const agent of [{ planner: 'model' as const }, { planner: 'declared' as const }]) {
    const command = start({ agent });
    if (command.type !== 'Start') throw new Error('no start');
    const { events, needs, draft } = turn(initialState('run-1'), [{ ...command, fresh: { ...command.fresh, refused } }], 1_000);
    expect(events.map(({ type }) => type)).toEqual(['RunCreated', 'RunFailed']);
    expect([needs, draft.end?.failure, rowOf(draft).status]).toEqual([[], refused, 'failed']);
    expect(events[0]?.data).not.toHaveProperty('refused');
  }
});
