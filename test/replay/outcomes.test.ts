// What an attempt that gave no answer means to the law (src/workflows/outcomes.ts): the errors are those that the SDK hands to a
// workflow. What the ledger would mend later must be right here already.
import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/workflow';
import { callOutcome } from '../../src/workflows/outcomes';

const lost = (cause: Error): ActivityFailure => new ActivityFailure('Activity task failed', 'call', '1', 'MAXIMUM_ATTEMPTS_REACHED', 'worker', cause);
const causes: [string, Error][] = [
  ['a worker that sends no heartbeat', new TimeoutFailure('timeout', undefined, 'HEARTBEAT')],
  ['a worker that never ends', new TimeoutFailure('timeout', undefined, 'START_TO_CLOSE')],
  ['a worker that is gone', ApplicationFailure.nonRetryable('The process is gone.', 'WorkerGone')],
  ['a defect', ApplicationFailure.nonRetryable('TypeError', 'TypeError')],
  ['a cancel', new CancelledFailure('cancelled')],
];

test.each(causes)('%s in a call with an effect is an unknown outcome, never a failure; a reader may be tried again', (_what, cause) => {
  for (const effect of ['reversible', 'manual', 'irreversible'] as const) expect(callOutcome(lost(cause), effect)).toMatchObject({ kind: 'unknown' });
  expect(callOutcome(lost(cause), 'none')).toMatchObject(cause instanceof CancelledFailure ? { kind: 'not-sent' } : { kind: 'failed', sent: true });
});
