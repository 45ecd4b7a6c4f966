// What Temporal says of a run's execution, told without a query and without a worker: whether anything runs it at all, and
// whether that gets on. The journal stays the authority on the run; this only tells a run that waits from one that nothing
// would wake. Never writes.
import type { ProtoFailure } from '@temporalio/common';
import type { RunRow } from '../core/row';
import { workflowIdOf } from '../messages';
import { keysIn, missingKeyIn, sentenceOf as wordsOf } from './payloads';
import { isOver } from './start';
import { isNotFound, type Temporal } from './temporal';

/** How many events from the end a task's failure is looked for. */
const NEWEST = 10;

export interface ExecutionView {
  /** Temporal's word for it (RUNNING, TERMINATED, TIMED_OUT, FAILED, COMPLETED, ...), or NOT_FOUND. */
  status: string;
  /** ms when it ended; null while it runs or where nobody knows. */
  closedAt: number | null;
  /** Attempt at its present workflow task; 0 when there is none. */
  taskAttempt: number;
  /** The key that is known to be missing, here or at the worker that tried: nothing goes on until it is back. */
  missingKey: string | null;
  /** The deployment version that it is pinned to; absent where it follows whatever worker there is. */
  version?: { name: string; buildId: string };
  /** The queue whose workers it is for; absent where nobody knows the execution. */
  taskQueue?: string;
  /** Was it last carried on by a worker that is no version of a deployment, or by none yet? */
  unversioned?: boolean;
  /** Activities that were asked for and have not ended. */
  activities: { type: string; attempt: number; lastFailure: string | null }[];
}

/** Asks Temporal. Throws what the connection throws. */
export async function executionOf(temporal: Temporal, runId: string): Promise<ExecutionView> {
  const { client } = temporal;
  try {
    const { status, closeTime, raw } = await client.workflow.getHandle(workflowIdOf(runId)).describe();
    const taskAttempt = raw.pendingWorkflowTask?.attempt ?? 0;
    const activities = await Promise.all((raw.pendingActivities ?? []).map(async (one) => ({ type: one.activityType?.name ?? '', attempt: one.attempt ?? 0, lastFailure: await wordsOf(client, one.lastFailure) })));
    const open = status.name === 'RUNNING' || status.name === 'PAUSED';
    const missingKey = open ? await missingKeyOf(temporal, runId, raw) : null;
    return { status: status.name, closedAt: closeTime?.getTime() ?? null, taskAttempt, missingKey, ...versionIn(raw), ...queueIn(raw), activities };
  } catch (error) {
    if (isNotFound(error)) return { status: 'NOT_FOUND', closedAt: null, taskAttempt: 0, missingKey: null, activities: [] };
    throw error;
  }
}

type Described = Awaited<ReturnType<ReturnType<Temporal['client']['workflow']['getHandle']>['describe']>>['raw'];

/**
 * What a worker says that it lacked; else, where a description that cannot be read here or a task that is tried again hints at it,
 * what this place lacks for the whole history.
 */
async function missingKeyOf(temporal: Temporal, runId: string, raw: Described): Promise<string | null> {
  for (const { lastFailure } of raw.pendingActivities ?? []) {
    const kid = missingKeyIn(lastFailure);
    if (kid !== null) return kid;
  }
  const again = (raw.pendingWorkflowTask?.attempt ?? 0) > 1;
  const newest = again ? await newestTaskFailure(temporal, runId) : null;
  const said = newest && 'failure' in newest ? missingKeyIn(newest.failure) : null;
  if (said !== null) return said;
  const hinted = again || [...keysIn(raw, { display: true })].some((kid) => !temporal.encryption.holds(kid));
  return hinted ? (await missingKeysOf(temporal, runId))[0] ?? null : null;
}

/** PINNED, in Temporal's numbers. */
const PINNED = 1;

function versionIn({ workflowExecutionInfo }: Described): Pick<ExecutionView, 'version'> {
  const { behavior, versioningOverride, deploymentVersion } = workflowExecutionInfo?.versioningInfo ?? {};
  if (behavior !== PINNED || versioningOverride?.autoUpgrade || !deploymentVersion?.buildId) return {};
  return { version: { name: deploymentVersion.deploymentName ?? '', buildId: deploymentVersion.buildId } };
}

const queueIn = ({ executionConfig, workflowExecutionInfo: info }: Described): Pick<ExecutionView, 'taskQueue' | 'unversioned'> => ({
  ...(executionConfig?.taskQueue?.name ? { taskQueue: executionConfig.taskQueue.name } : {}), unversioned: !info?.versioningInfo?.deploymentVersion?.buildId,
});

/** ms that a start may take from the accepted row to its execution. */
const STARTING_MS = 5_000;

/** Is the run open, and nothing runs it? It waits for ever then, until it is restored. */
export function isLost(row: RunRow, view: ExecutionView, now = Date.now()): boolean {
  if (isOver(row) || view.status === 'RUNNING' || view.status === 'PAUSED') return false;
  return view.status !== 'NOT_FOUND' || row.status !== 'accepted' || now - row.createdAt > STARTING_MS;
}

/** Why the present workflow task is tried again, from the newest failure that history holds; null when there is none. */
export async function taskFailureOf(temporal: Temporal, runId: string): Promise<string | null> {
  const newest = await newestTaskFailure(temporal, runId);
  if (newest === null) return null;
  if (!('failure' in newest)) return 'no worker finished it in time';
  return await wordsOf(temporal.client, newest.failure) ?? 'it failed without a word';
}

async function newestTaskFailure({ client }: Temporal, runId: string): Promise<{ failure: ProtoFailure | null | undefined } | { timedOut: true } | null> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace, execution: { workflowId: workflowIdOf(runId) }, maximumPageSize: NEWEST,
  });
  for (const { workflowTaskFailedEventAttributes: failed, workflowTaskTimedOutEventAttributes: timedOut } of history?.events ?? []) {
    if (failed) return { failure: failed.failure };
    if (timedOut) return { timedOut: true };
  }
  return null;
}

/** Ids of the keys that the run's present execution needs and that are not here: its whole history is read. Throws what the connection throws. */
export async function missingKeysOf({ client, encryption }: Temporal, runId: string): Promise<string[]> {
  const history = await client.workflow.getHandle(workflowIdOf(runId)).fetchHistory().catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });
  return [...keysIn(history?.events)].filter((kid) => !encryption.holds(kid));
}
