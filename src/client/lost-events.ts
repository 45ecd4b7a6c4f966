// Has the journal lost events of a run? Temporal's history of its newest execution says up to which version the run had got:
// a journal that ends before it was put back from an older copy, and the ledger with it. Only looks.
import type { JournalPort } from '../ports/journal';
import { workflowIdOf } from '../messages';
import { readPayload } from './payloads';
import { isNotFound, type Temporal } from './temporal';

/** What `append` and `open` answered, as far as it tells a version. */
interface Told { kind?: string; version?: number; checkpoint?: { version?: number } | null; tail?: { seq?: number }[] }

/**
 * `yes` when Temporal knows of events that are not in the journal any more; `no` also when Temporal knows nothing of the run;
 * the payload key that is missing when that cannot be read.
 */
export async function eventsLost(journal: JournalPort, { client }: Temporal, runId: string): Promise<'yes' | 'no' | { missingKey: string }> {
  const history = await client.workflow.getHandle(workflowIdOf(runId)).fetchHistory().catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });
  const told = (history?.events ?? []).flatMap((event) => [
    event.markerRecordedEventAttributes?.details?.['result']?.payloads?.[0], event.activityTaskCompletedEventAttributes?.result?.payloads?.[0],
  ]);
  const read = await Promise.all(told.map((payload) => readPayload(client, payload)));
  // The journal is read last: it may only have grown since.
  const known = Math.max(0, ...read.map((one) => (one && 'value' in one ? versionIn(one.value) : 0)));
  if (known > ((await journal.head(runId))?.version ?? 0)) return 'yes';
  const unread = read.find((one) => one && 'missing' in one);
  return unread && 'missing' in unread ? { missingKey: unread.missing } : 'no';
}

function versionIn(value: unknown): number {
  const told = value as Told | null;
  if (told?.kind === 'appended') return told.version ?? 0;
  return told?.kind === 'restored' ? Math.max(told.checkpoint?.version ?? 0, told.tail?.at(-1)?.seq ?? 0) : 0;
}
