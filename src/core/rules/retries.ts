// Which failures are tried again, and when. The closed table of DESIGN 7: business retry is the law's (I8); Temporal
// retries only plumbing. Jitter comes from the run's seed, so that a replay waits the same.
import type { ErrorClass, Failure } from '../failure';
import { fractionOf } from '../keys';

/** Classes that may be tried again by themselves. `unknown` is here for calls without effect only; see `mayRetry`. */
const TRANSIENT: ReadonlySet<ErrorClass> = new Set(['rate-limited', 'network', 'timeout-before-send', 'server']);

const MAX_BACKOFF_MS = 60_000;
/** No outside may park a run for longer by its word alone. */
const LONGEST_RETRY_MS = 24 * 3600 * 1000;

/**
 * May a failed attempt be followed by another? With an effect, only failures that prove that nothing was sent come here;
 * an unknown outcome goes to the gate instead.
 */
export function mayRetry(failure: Failure, withEffect: boolean): boolean {
  return TRANSIENT.has(failure.class) || (!withEffect && failure.class === 'unknown');
}

/** Nobody was asked: no worker that could make the call was found. That is no failure of the call, however long it lasts. */
export const isToolMissing = ({ class: cls, code }: Failure): boolean => cls === 'tool-missing' && code === 'tool-missing';

const MAX_LOOK_MS = 120_000;

/** ms until the next look for a worker that has the tool, after so many in vain: soon at first, since another worker may be here. */
export const lookForToolMs = (looks: number): number => Math.min(MAX_LOOK_MS, 1000 * 2 ** Math.min(20, looks));

/** ms to wait before the next attempt: Retry-After when given (never shortened), else doubled from `baseMs` with jitter of a half. */
export function backoffMs(failure: Failure, failures: number, baseMs: number, seed: string, position: string): number {
  const grown = Math.min(MAX_BACKOFF_MS, baseMs * 2 ** Math.min(20, Math.max(0, failures - 1)));
  const jittered = Math.round(grown * (0.5 + fractionOf(seed, position) / 2));
  const asked = Number.isFinite(failure.retryAfterMs) ? Math.min(LONGEST_RETRY_MS, failure.retryAfterMs as number) : 0;
  return Math.max(asked, jittered);
}
