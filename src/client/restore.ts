// Restores a run in a new execution, after it was terminated or Temporal's database was lost (R1.3): the epoch is raised in the
// journal by compare-and-set, which fences every older execution; then the same workflow id starts with the new epoch, ending
// whatever is still open. What was finished is not done again: the new execution opens the journal like any other.
import { rowOf } from './reads';
import { beginExecution, isOver } from './start';
import type { Temporal } from './temporal';
import type { ClientStores, RestoreAnswer } from './types';

export async function restoreRun(stores: ClientStores, temporal: () => Promise<Temporal>, runId: string): Promise<RestoreAnswer> {
  const row = await rowOf(stores, runId);
  if (isOver(row)) return { kind: 'refused', why: `Run ${runId} is over (${row.status}: ${row.detail}); there is nothing to restore. Its journal stays readable with \`longhaul runs events ${runId}\`.` };
  // Before the epoch is raised: a server that is away must not fence the execution that it may still hold.
  const server = await temporal();
  await server.client.workflowService.getSystemInfo({});
  const { epoch, raised } = await stores.journal.raiseEpoch(runId, row.epoch);
  if (!raised) return { kind: 'refused', why: `Run ${runId} was restored by somebody else at the same time (epoch ${epoch}); look at it with \`longhaul runs show ${runId}\`.` };
  const executionId = await beginExecution(server, { ...row, epoch }, 'TERMINATE_EXISTING');
  if (executionId === null) return { kind: 'refused', why: `Temporal refused a new execution of run ${runId}; ask again.` };
  return { kind: 'restored', runId, epoch, executionId };
}
