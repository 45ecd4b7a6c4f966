// The activities as the conductor calls them, with the time-outs and retries of each kind.
// cancellationType is set on every one: left out, it means TRY_CANCEL, and what a tool did would be lost on cancel.
// I8: model, prepare and call run once; only idempotent plumbing is retried by Temporal. Owns no decision.
import { proxyActivities, proxyLocalActivities, type ActivityOptions } from '@temporalio/workflow';
import type { Hands } from '../activities/types';
import { NEWER } from '../core/versions/door';

const cancellationType = 'WAIT_CANCELLATION_COMPLETED' as const;

/** A local activity of 1 s, 2 s over all: what is slower must not hold the workflow task. */
export const quick = proxyLocalActivities<Pick<Hands, 'open' | 'read' | 'append' | 'verify' | 'terms'>>({
  startToCloseTimeout: '1s', scheduleToCloseTimeout: '2s', cancellationType,
  retry: { maximumAttempts: 2, initialInterval: '100ms', nonRetryableErrorTypes: [NEWER] },
});

/** Plumbing that waits out an outage: its attempts add no history and hold no slot while they wait. */
const endless: ActivityOptions = {
  startToCloseTimeout: '15s', cancellationType,
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
};
export const patient = proxyActivities<Pick<Hands, 'open' | 'read' | 'append' | 'collect' | 'verify' | 'terms' | 'cancelSelf'>>(endless);

/** The gate only looks, so it looks again after a lost worker. */
export const looking = proxyActivities<Pick<Hands, 'gate'>>({ ...endless, startToCloseTimeout: '2m', heartbeatTimeout: '10s' });

export const saving = proxyActivities<Pick<Hands, 'checkpoint'>>({
  startToCloseTimeout: '30s', cancellationType, retry: { maximumAttempts: 3, initialInterval: '500ms' },
});

/** Preparing without I/O beyond the local stores. */
export const quickOnce = proxyLocalActivities<Pick<Hands, 'prepare'>>({
  startToCloseTimeout: '1500ms', scheduleToCloseTimeout: '2s', cancellationType, retry: { maximumAttempts: 1 },
});

/** One attempt, with heartbeats: a lost worker is noticed after 10 s, and a cancel reaches the tool within one or two. */
export const once = proxyActivities<Pick<Hands, 'prepare' | 'model' | 'call'>>({
  startToCloseTimeout: '15m', heartbeatTimeout: '10s', cancellationType, retry: { maximumAttempts: 1 },
});
