// The outlook of open runs with what Temporal holds of them: the history of each that would come to this build is replayed through its
// workflow code. One that is pinned to a version of a deployment is let be: its history ends on the build that it began with.
// Where no server answers nothing is replayed, and nothing is said of it. Reads only.
import type { History } from '../adapters/temporal/history-file';
import type { NamedHistory } from '../adapters/temporal/replay-histories';
import { runIdOf, workflowIdOf } from '../messages';
import type { Outlook } from './outlook';
import type { Place } from './place';

export interface Replayed { found: Outlook[]; /** Histories that were replayed; null where no server answers. */ replayed: number | null }

/** The same runs; one whose history does not replay is refused, with the event and plain words. */
export async function withHistories(place: Place, found: readonly Outlook[]): Promise<Replayed> {
  const connected = await place.connection().catch(() => null);
  if (!connected) return { found: [...found], replayed: null };
  const { installLogger } = await import('../adapters/logging/logger');
  installLogger({ level: 'silent' });
  const { on, dataConverter } = await place.encryption();
  const [{ workflowCode }, { replayHistories }] = [await import('../worker'), await import('../adapters/temporal/replay-histories')];
  const faults = new Map<string, string>();
  let replayed = 0;
  for await (const { workflowId, ok, fault } of replayHistories({ ...workflowCode(on), dataConverter }, histories(place, found))) {
    replayed += 1;
    if (!ok) faults.set(runIdOf(workflowId), `Its history does not replay: ${fault?.eventId == null ? '' : `event ${fault.eventId}: `}${fault?.why ?? fault?.said ?? ''}`);
  }
  return { replayed, found: found.map((one) => {
    const fault = faults.get(one.runId);
    return fault === undefined || one.verdict === 'refused' ? one : { ...one, verdict: 'refused' as const, why: fault };
  }) };
}

async function* histories(place: Place, found: readonly Outlook[]): AsyncGenerator<NamedHistory> {
  const { Client } = await import('@temporalio/client');
  const { connection, at } = await place.connection();
  const { dataConverter } = await place.encryption();
  const [client, front] = [new Client({ connection, namespace: at.namespace, dataConverter }), await place.client({ mustExist: false })];
  for (const { runId, verdict } of found) {
    if (verdict === 'refused') continue;
    const { status, version } = await front.execution(runId);
    if (status !== 'RUNNING' || version) continue;
    const workflowId = workflowIdOf(runId);
    yield { name: `${at.address} ${runId}`, workflowId, history: await client.workflow.getHandle(workflowId).fetchHistory() as unknown as History };
  }
}
