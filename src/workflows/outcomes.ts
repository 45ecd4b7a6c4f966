// What an activity's failure means to the law. The hands answer values; what arrives here as an error is what happened to
// the attempt itself: a lost worker, a cancel before the start, a defect. Pure; total for every error.
// A lost worker inside a call with an effect is an unknown outcome, never a failure.
import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/workflow';
import type { Failure } from '../core/failure';
import { LIMITS } from '../core/run';
import type { Effect } from '../core/run';
import type { CallResult, CheckpointResult, ModelResult, PrepareResult } from '../core/world';

const failure = (cls: Failure['class'], code: string, message: string): Failure => ({ class: cls, code, message: message.slice(0, LIMITS.errorBytes) });

/** The failure of one attempt that gave no answer. */
export function failureOf(error: unknown): Failure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) {
    return failure('network', 'worker-lost', `The worker gave no answer in time (${String(cause.timeoutType).toLowerCase().replaceAll('_', ' ')}).`);
  }
  if (cause instanceof CancelledFailure) return failure('cancelled', 'cancelled', 'It was cancelled before it began.');
  const text = cause instanceof Error ? cause.message : String(cause);
  // Said by a worker of the same host, which saw that the process is gone.
  if (cause instanceof ApplicationFailure && cause.type === 'WorkerGone') return failure('network', 'worker-lost', text);
  // Said before it began: that worker could not even read what it was asked. Another one can, or the same one later.
  if (cause instanceof ApplicationFailure && cause.type === 'MissingKeyError') return failure('network', 'missing-key', text);
  if (cause instanceof ApplicationFailure && cause.type === 'NotFoundError') return failure('tool-missing', 'activity-missing', `No worker knows this activity: ${text}`);
  return failure('unknown', cause instanceof ApplicationFailure ? cause.type ?? 'error' : 'error', text || 'It failed without a word.');
}

export function modelOutcome(error: unknown): ModelResult {
  return { kind: 'failed', failure: failureOf(error), usage: { calls: 1, tokens: 0, microUsd: 0, failures: 1 } };
}

/** Nothing outside was changed by preparing, so every fault is a plain failure; a defect is tried again like a lost worker. */
export function prepareOutcome(error: unknown): PrepareResult {
  const fault = failureOf(error);
  return { kind: 'failed', failure: fault.class === 'unknown' ? { ...fault, class: 'network' } : fault };
}

export function callOutcome(error: unknown, effect: Effect): CallResult {
  const fault = failureOf(error);
  if (effect !== 'none') return { kind: 'unknown', why: fault.message };
  if (fault.class === 'cancelled') return { kind: 'not-sent', why: 'cancelled' };
  return { kind: 'failed', failure: fault, sent: true };
}

export function checkpointOutcome(error: unknown): CheckpointResult {
  return { kind: 'failed', why: failureOf(error).message };
}
