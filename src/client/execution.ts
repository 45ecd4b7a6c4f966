// What Temporal says of a run's execution, told without a query and without a worker: whether anything runs it at all, and
// whether that gets on. The journal stays the authority on the run; this only tells a run that waits from one that nothing
// would wake. Never writes.
import type { RunRow } from '../core/row';
import { workflowIdOf } from '../messages';
import { isOver } from './start';
import { isNotFound, type Temporal } from './temporal';

export interface ExecutionView {
  /** Temporal's word for it (RUNNING, TERMINATED, TIMED_OUT, FAILED, COMPLETED, ...), or NOT_FOUND. */
  status: string;
  /** ms when it ended; null while it runs or where nobody knows. */
  closedAt: number | null;
  /** Attempt at its present workflow task; 0 when there is none. */
  taskAttempt: number;
  /** Activities that were asked for and have not ended. */
  activities: { type: string; attempt: number; lastFailure: string | null }[];
}

/** Asks Temporal. Throws what the connection throws. */
export async function executionOf({ client }: Temporal, runId: string): Promise<ExecutionView> {
  try {
    const { status, closeTime, raw } = await client.workflow.getHandle(workflowIdOf(runId)).describe();
    return {
      status: status.name, closedAt: closeTime?.getTime() ?? null, taskAttempt: raw.pendingWorkflowTask?.attempt ?? 0,
      activities: (raw.pendingActivities ?? []).map((one) => ({ type: one.activityType?.name ?? '', attempt: one.attempt ?? 0, lastFailure: one.lastFailure?.message ?? null })),
    };
  } catch (error) {
    if (isNotFound(error)) return { status: 'NOT_FOUND', closedAt: null, taskAttempt: 0, activities: [] };
    throw error;
  }
}

/** ms that a start may take from the accepted row to its execution. */
const STARTING_MS = 5_000;

/** Is the run open, and nothing runs it? It waits for ever then, until it is restored. */
export function isLost(row: RunRow, view: ExecutionView, now = Date.now()): boolean {
  if (isOver(row) || view.status === 'RUNNING' || view.status === 'PAUSED') return false;
  return view.status !== 'NOT_FOUND' || now - row.createdAt > STARTING_MS;
}

/** Why the present workflow task is tried again, from the newest failure that history holds; null when there is none. */
export async function taskFailureOf({ client }: Temporal, runId: string): Promise<string | null> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace, execution: { workflowId: workflowIdOf(runId) }, maximumPageSize: 10,
  });
  for (const { workflowTaskFailedEventAttributes: failed, workflowTaskTimedOutEventAttributes: timedOut } of history?.events ?? []) {
    if (failed) return failed.failure?.message ?? 'it failed without a word';
    if (timedOut) return 'no worker finished it in time';
  }
  return null;
}
