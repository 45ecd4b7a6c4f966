// Restores a run in a new execution, after it was terminated or Temporal's database was lost (R1.3): the epoch is raised in the
// journal by compare-and-set, which fences every older execution; then the same workflow id starts with the new epoch, ending
// whatever is still open. A run that runs under the present epoch is left alone unless forced. What was finished is not done
// again: the new execution opens the journal like any other.
import type { RunRow } from '../core/row';
import type { RunInput } from '../core/run';
import { workflowIdOf } from '../messages';
import { eventsLost } from './lost-events';
import { readPayload } from './payloads';
import { rowOf } from './reads';
import { beginExecution, isOver } from './start';
import { isNotFound, type Temporal } from './temporal';
import type { ClientStores, RestoreAnswer } from './types';

export async function restoreRun(stores: ClientStores, temporal: () => Promise<Temporal>, runId: string, { force = false }: { force?: boolean } = {}): Promise<RestoreAnswer> {
  const row = await rowOf(stores, runId);
  if (isOver(row)) return { kind: 'refused', why: `Run ${runId} is over (${row.status}: ${row.detail}); there is nothing to restore. Its journal stays readable with \`npx longhaul runs events ${runId}\`.` };
  // Before the epoch is raised: a server that is away must not fence the execution that it may still hold.
  const server = await temporal();
  await server.client.workflowService.getSystemInfo({});
  // An execution that is ahead of the journal can never append again, so that it need not be forced.
  const lost = await eventsLost(stores.journal, server, runId);
  if (!force && !lost && await runsUnder(server, runId, row.epoch)) return { kind: 'refused', why: `Run ${runId} runs; nothing to restore. What it does or waits for: \`npx longhaul runs show ${runId}\`. To end its execution and go on in a new one all the same, add --force.` };
  const { epoch, raised } = await stores.journal.raiseEpoch(runId, row.epoch, lost);
  if (!raised) return { kind: 'refused', why: `Run ${runId} was restored by somebody else at the same time (epoch ${epoch}); look at it with \`npx longhaul runs show ${runId}\`.` };
  return begun(stores, server, row, epoch);
}

/** Starts the execution of an epoch. One that was overtaken while it started has ended the newer one's, so that it starts that again. */
async function begun(stores: ClientStores, server: Temporal, row: RunRow, epoch: number): Promise<RestoreAnswer> {
  const { runId } = row;
  for (let mine = epoch; ;) {
    const executionId = await beginExecution(server, { ...row, epoch: mine }, 'TERMINATE_EXISTING');
    if (executionId === null) return { kind: 'refused', why: `Temporal refused a new execution of run ${runId}; ask again.` };
    const head = await stores.journal.head(runId);
    if (!head || head.epoch <= mine) return { kind: 'restored', runId, epoch: mine, executionId };
    mine = head.epoch;
  }
}

/** Does Temporal run an execution that holds this epoch? One of an older epoch is fenced: a restore was cut short after raising it. */
async function runsUnder({ client }: Temporal, runId: string, epoch: number): Promise<boolean> {
  const about = await client.workflow.getHandle(workflowIdOf(runId)).describe().catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });
  if (about?.status.name !== 'RUNNING') return false;
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace, execution: { workflowId: workflowIdOf(runId), runId: about.runId }, maximumPageSize: 1,
  });
  const input = await readPayload(client, history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]);
  return input && 'value' in input ? (input.value as RunInput).epoch >= epoch : true;
}
