// Has the journal lost events of a run? Temporal's history of its newest execution says up to which version the run had got:
// a journal that ends before it was put back from an older copy, and the ledger with it. Only looks.
import type { JournalPort } from '../ports/journal';
import { workflowIdOf } from '../messages';
import { isNotFound, type Temporal } from './temporal';

/** What `append` and `open` answered, as far as it tells a version. */
interface Told { kind?: string; version?: number; checkpoint?: { version?: number } | null; tail?: { seq?: number }[] }

/** True when Temporal knows of events that are not in the journal any more; false also when Temporal knows nothing of the run. */
export async function eventsLost(journal: JournalPort, { client }: Temporal, runId: string): Promise<boolean> {
  const history = await client.workflow.getHandle(workflowIdOf(runId)).fetchHistory().catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });
  const told = (history?.events ?? []).flatMap((event) => [
    event.markerRecordedEventAttributes?.details?.['result']?.payloads?.[0]?.data, event.activityTaskCompletedEventAttributes?.result?.payloads?.[0]?.data,
  ]);
  // The journal is read last: it may only have grown since.
  const known = Math.max(0, ...told.map((data) => (data ? versionIn(data) : 0)));
  return known > ((await journal.head(runId))?.version ?? 0);
}

function versionIn(data: Uint8Array): number {
  try {
    const told = JSON.parse(new TextDecoder().decode(data)) as Told | null;
    if (told?.kind === 'appended') return told.version ?? 0;
    return told?.kind === 'restored' ? Math.max(told.checkpoint?.version ?? 0, told.tail?.at(-1)?.seq ?? 0) : 0;
  } catch {
    return 0;
  }
}
