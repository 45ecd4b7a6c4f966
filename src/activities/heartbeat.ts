// Keeps an activity alive and told: heartbeats each second by a timer, whatever the work does, and one AbortSignal that says
// why to stop: cancelled, the worker shuts down, the lease is lost, or the time is over. Owns no call and no claim.
// What blocks the event loop stops every heartbeat, so work of that kind belongs into a child process.
import { Context } from '@temporalio/activity';

export const BEAT_MS = 1_000;

export type StopReason = 'cancelled' | 'shutdown' | 'lease' | 'timeout';

export interface Watch {
  signal: AbortSignal;
  /** Why the signal was aborted; null while it was not. */
  reason(): StopReason | null;
}

export interface WatchOptions {
  /** ms after which the signal is aborted as `timeout`. */
  timeoutMs?: number;
  /** Asked at every beat; false means that the lease is lost. */
  renew?: () => Promise<boolean>;
}

/** Runs `work` under heartbeats and answers what it answers. */
export async function watched<T>(work: (watch: Watch) => Promise<T>, { timeoutMs, renew }: WatchOptions = {}): Promise<T> {
  const context = Context.current();
  const stop = new AbortController();
  let reason: StopReason | null = null;
  const halt = (why: StopReason): void => {
    reason ??= why;
    stop.abort(new Error(`Stop: ${why}`));
  };
  const hear = (): void => halt(stopReason(context.cancellationSignal.reason));
  if (context.cancellationSignal.aborted) hear();
  context.cancellationSignal.addEventListener('abort', hear, { once: true });
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => halt('timeout'), timeoutMs);
  const beat = setInterval(beats(context, renew, () => halt('lease')), BEAT_MS);
  try {
    return await work({ signal: stop.signal, reason: () => reason });
  } finally {
    clearInterval(beat);
    clearTimeout(timer);
    context.cancellationSignal.removeEventListener('abort', hear);
  }
}

function beats(context: Context, renew: (() => Promise<boolean>) | undefined, lost: () => void): () => void {
  let asking = false;
  return () => {
    if (context.info.heartbeatTimeoutMs) context.heartbeat();
    if (!renew || asking) return;
    asking = true;
    void renew().then((held) => { if (!held) lost(); }).finally(() => { asking = false; });
  };
}

/** True when the signal of `watched` was aborted because the time of the work was over. */
export const timedOut = ({ reason }: AbortSignal): boolean => reason instanceof Error && reason.message === 'Stop: timeout';

/** Temporal says why in the failure's message: CANCELLED, NOT_FOUND (terminated, timed out), WORKER_SHUTDOWN. */
export function stopReason(cause: unknown): StopReason {
  return cause instanceof Error && cause.message.includes('WORKER_SHUTDOWN') ? 'shutdown' : 'cancelled';
}
