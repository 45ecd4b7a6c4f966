// Promises to senders: the same message counts once and hears the same, other content under its id is refused, what comes
// too late hears why, and nothing that anyone sends makes the law throw. Also pause, resume, notes and extending.
import { LIMITS } from '../../src/core/run';
import { cancelled, given, returned, said, succeeded, toolStep, type GivenRun } from '../../src/testing/scenario';

const run = (): GivenRun => given({ steps: [toolStep('a', 'read'), toolStep('b', 'read', { dependsOn: ['a'] })] });

test('the same message again hears the same answer and is not counted again', () => {
  const pause = said('ann', { kind: 'pause', reason: 'lunch' }, { id: 'm' });
  const once = run().when(pause).then('RunPaused').thenHears('done');
  const again = once.when(pause).then();
  expect(again.answers).toEqual(once.answers);
  const resumed = once.when(said('ann', { kind: 'resume' }));
  expect(resumed.when(pause).then().answers).toEqual(once.answers);
});

test('a refusal is remembered like an acceptance', () => {
  const resume = said('ann', { kind: 'resume' }, { id: 'm' });
  const refused = run().when(resume).then('MessageRejected').thenHears('refused');
  const paused = refused.when(said('ann', { kind: 'pause', reason: '' }));
  paused.when(resume).then().thenHears('refused');
});

test('the same id with other content is refused, and the first stays as it was', () => {
  const once = run().when(said('ann', { kind: 'note', text: { value: 1 } }, { id: 'm' }));
  once.when(said('ann', { kind: 'note', text: { value: 2 } }, { id: 'm' })).then().thenHears('refused');
});

test('who sends a message again from another door hears the same', () => {
  const once = run().when(said('ann', { kind: 'pause', reason: '' }, { id: 'm' }));
  once.when(said('bob', { kind: 'pause', reason: '' }, { id: 'm', assurance: 'claimed' })).then().thenHears('done');
});

test('a run that has ended answers closed and how it ended, and what was answered before it answers the same', () => {
  const noted = run().when(said('ann', { kind: 'note', text: { value: 1 } }, { id: 'm' })).when(cancelled('enough')).when(returned('c1', 1, succeeded()));
  noted.when(said('ann', { kind: 'resume' })).then().thenHears('closed');
  noted.when(said('ann', { kind: 'note', text: { value: 1 } }, { id: 'm' })).then().thenHears('done');
});

test('a run that has not started says so', () => {
  given([]).when(said('ann', { kind: 'resume' })).then().thenHears('unknown');
});

test('what is malformed is written down once, under the identity that it came with', () => {
  const junk = { type: 'Malformed' as const, messageId: 'signal-1', why: 'not an object', actor: { id: 'x', via: 'temporal' as const, assurance: 'claimed' as const } };
  const twice = run().when(junk, junk).then(['MessageRejected', { messageId: 'signal-1', why: 'not an object' }]);
  twice.when(junk).then();
});

test('every event that a message caused first carries its id and the answer; no other event does', () => {
  const paused = run().when(said('ann', { kind: 'pause', reason: '' }, { id: 'm' }), returned('c1', 1, succeeded()));
  expect(paused.events.map((event) => event.message?.id)).toEqual(['m', undefined, undefined]);
  expect(paused.events[0]?.idempotencyKey).toBe('msg:m');
});

test('the memory of messages is bounded, and the newest are kept', () => {
  let now = run();
  for (let i = 0; i < LIMITS.decisions + 10; i += 1) now = now.when(said('ann', { kind: 'note', text: { value: i } }, { id: `m${i}` }));
  expect(now.state.remembered).toHaveLength(LIMITS.decisions);
  now.when(said('ann', { kind: 'note', text: { value: LIMITS.decisions } }, { id: `m${LIMITS.decisions}` })).then();
});

test('a pause lets what is under way finish and begins nothing; a resume goes on', () => {
  const paused = run().when(said('ann', { kind: 'pause', reason: '' }));
  const done = paused.when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted').thenNeeds();
  done.when(said('bob', { kind: 'pause', reason: '' })).thenHears('already-decided');
  done.when(said('ann', { kind: 'resume' })).then('RunResumed', 'ToolCallRequested');
});

test('a run that is being cancelled refuses to pause, to settle and to be extended', () => {
  const cancelling = run().when(cancelled());
  for (const body of [{ kind: 'pause' as const, reason: '' }, { kind: 'settle' as const, as: 'retry' as const }, { kind: 'extend' as const, budget: { calls: 1 } }]) {
    cancelling.when(said('ann', body)).then('MessageRejected').thenHears('refused');
  }
});

test('a run that is not blocked has nothing to settle', () => {
  run().when(said('ann', { kind: 'settle', as: 'partial' })).thenHears('refused');
  const blocked = run().when(returned('c1', 1, { kind: 'failed', failure: { class: 'not-found', code: 'x', message: 'x' }, sent: true }));
  blocked.when(said('ann', { kind: 'settle', as: 'skip', stepId: 'b' })).thenHears('refused');
  blocked.when(said('ann', { kind: 'settle', as: 'retry', stepId: 'nothing' })).thenHears('refused');
});

test('a kind of message that this build does not know is refused', () => {
  run().when(said('ann', { kind: 'dance' } as never)).then('MessageRejected').thenHears('unknown');
});

test('many messages in one turn are answered each, in their order', () => {
  const all = run().when(said('ann', { kind: 'pause', reason: '' }), said('bob', { kind: 'pause', reason: '' }), said('ann', { kind: 'resume' }), said('ann', { kind: 'resume' }));
  expect(all.answers.map((answer) => answer?.kind)).toEqual(['done', 'already-decided', 'done', 'refused']);
});
