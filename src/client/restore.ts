// Restores a run in a new execution, after it was terminated or Temporal's database was lost (R1.3): the epoch is raised in the
// journal by compare-and-set, which fences every older execution; then the same workflow id starts with the new epoch, ending
// whatever is still open. A run that runs under the present epoch is left alone unless forced; one that sleeps is woken. What was
// finished is not done again: the new execution opens the journal like any other.
import type { RunRow } from '../core/row';
import type { RunInput } from '../core/run';
import { nextAfter } from '../ports/journal';
import { workflowIdOf } from '../messages';
import { sleepsOver, wake } from './asleep';
import { executionOf, isLost } from './execution';
import { eventsLost } from './lost-events';
import { readPayload } from './payloads';
import { rowOf } from './reads';
import { beginExecution, isOver } from './start';
import { isNotFound, type Temporal } from './temporal';
import type { ClientStores, RestoreAnswer, RestoreOptions } from './types';

export async function restoreRun(stores: ClientStores, temporal: () => Promise<Temporal>, runId: string, { force = false, taskQueue }: RestoreOptions = {}): Promise<RestoreAnswer> {
  const row = await rowOf(stores, runId);
  if (isOver(row)) return { kind: 'refused', code: 'over', why: `Run ${runId} is over (${row.status}: ${row.detail}); there is nothing to restore. Its journal stays readable with \`npx longhaul runs events ${runId}\`.` };
  // Before the epoch is raised: a server that is away must not fence the execution that it may still hold.
  const server = await temporal();
  await server.client.workflowService.getSystemInfo({});
  // An execution that is ahead of the journal can never append again, so that it need not be forced.
  const lost = await eventsLost(stores.journal, server, runId);
  const there = await presentExecution(server, runId);
  if (!force && typeof lost === 'object') return keyMissing(runId, lost.missingKey);
  if (!force && lost === 'no' && there?.runs === true && there.epoch >= row.epoch) return awake(stores, server, row);
  // Where nobody can tell: to believe an old copy would repeat effects, to doubt a whole one only asks more.
  const { epoch, raised } = await stores.journal.raiseEpoch(runId, row.epoch, lost !== 'no');
  if (!raised) return { kind: 'refused', code: 'overtaken', why: `Run ${runId} was restored by somebody else at the same time (epoch ${epoch}); look at it with \`npx longhaul runs show ${runId}\`.` };
  // The run's own queue: where it is said, else where Temporal had it last, else where it was accepted.
  const queue = taskQueue ?? there?.taskQueue ?? row.taskQueue ?? server.taskQueue;
  return begun(stores, server, { ...row, taskQueue: queue }, epoch);
}

const keyMissing = (runId: string, kid: string, where = 'here'): RestoreAnswer => ({
  kind: 'refused', code: 'missing-key',
  why: `Temporal's history of run ${runId} is encrypted with the payload key ${kid}, which is not ${where}: put it back with \`npx longhaul keys import COPY\`. If no copy is left, add --force: it goes on from the journal, and every call that may have been made is looked up or asked about.`,
});

const OPEN: RunRow['status'][] = ['accepted', 'running', 'waiting', 'paused', 'blocked', 'cancelling'];
const PAGE = 200;

/**
 * Restores every open run that nothing runs, and wakes those that sleep; tells what came of each that it did not leave alone. Asked
 * again it goes on where it was: what was restored runs, and is left alone.
 */
export async function* restoreAll(stores: ClientStores, temporal: () => Promise<Temporal>, options: { taskQueue?: string } = {}): AsyncGenerator<{ row: RunRow; answer: RestoreAnswer }> {
  const server = await temporal();
  for (let page: RunRow[] | undefined; page === undefined || page.length === PAGE;) {
    page = await stores.journal.list({ status: OPEN, limit: PAGE, ...nextAfter(page) });
    for (const row of page) {
      const view = await executionOf(server, row.runId);
      // One whose start is under way at this moment is nobody's to restore.
      if (view.status !== 'RUNNING' && !isLost(row, view)) continue;
      const answer = await restoreRun(stores, temporal, row.runId, options);
      if (answer.kind !== 'refused' || answer.code !== 'runs') yield { row, answer };
    }
  }
}

/** A run that runs is left alone; one that has fallen behind its journal reads on. */
async function awake(stores: ClientStores, server: Temporal, row: RunRow): Promise<RestoreAnswer> {
  const { runId } = row;
  const view = await executionOf(server, runId);
  if (view.missingKey !== null) return keyMissing(runId, view.missingKey, 'here, or not where its worker runs');
  const over = await sleepsOver(stores, row, view);
  if (over === null) return { kind: 'refused', code: 'runs', why: `Run ${runId} runs; nothing to restore. What it does or waits for: \`npx longhaul runs show ${runId}\`. To end its execution and go on in a new one all the same, add --force.` };
  await wake(server, runId);
  return { kind: 'woken', runId, over };
}

/** Starts the execution of an epoch. One that was overtaken while it started has ended the newer one's, so that it starts that again. */
async function begun(stores: ClientStores, server: Temporal, row: RunRow, epoch: number): Promise<RestoreAnswer> {
  const { runId, taskQueue = server.taskQueue } = row;
  for (let mine = epoch; ;) {
    const executionId = await beginExecution(server, { ...row, epoch: mine }, 'TERMINATE_EXISTING');
    if (executionId === null) return { kind: 'refused', code: 'overtaken', why: `Temporal refused a new execution of run ${runId}; ask again.` };
    const head = await stores.journal.head(runId);
    if (!head || head.epoch <= mine) return { kind: 'restored', runId, epoch: mine, executionId, taskQueue };
    mine = head.epoch;
  }
}

/** The newest execution that Temporal knows: whether it runs, on which queue, and under which epoch; one of an older epoch is fenced. */
async function presentExecution({ client }: Temporal, runId: string): Promise<{ runs: boolean; taskQueue: string; epoch: number } | null> {
  const about = await client.workflow.getHandle(workflowIdOf(runId)).describe().catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });
  if (!about) return null;
  if (about.status.name !== 'RUNNING') return { runs: false, taskQueue: about.taskQueue, epoch: 0 };
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace, execution: { workflowId: workflowIdOf(runId), runId: about.runId }, maximumPageSize: 1,
  });
  const input = await readPayload(client, history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]);
  return { runs: true, taskQueue: about.taskQueue, epoch: input && 'value' in input ? (input.value as RunInput).epoch : Number.MAX_SAFE_INTEGER };
}
