// Has the journal lost events of a run? Temporal's history of its newest execution says up to which version, and in which epoch, the
// run had got: a journal that ends before it was put back from an older copy, and the ledger with it. Only looks.
import type { RunInput } from '../core/run';
import type { JournalPort } from '../ports/journal';
import { workflowIdOf } from '../messages';
import { readPayload } from './payloads';
import { isNotFound, type Temporal } from './temporal';

/** What `append` and `open` answered, as far as it tells a version. */
interface Told { kind?: string; version?: number; checkpoint?: { version?: number } | null; tail?: { seq?: number }[] }

/**
 * `yes` when Temporal knows of events, or of a restore, that are not in the journal any more; `no` also when Temporal knows nothing
 * of the run; the payload key that is missing when that cannot be read.
 */
export async function eventsLost(journal: JournalPort, { client }: Temporal, runId: string): Promise<'yes' | 'no' | { missingKey: string }> {
  let [version, epoch, missing] = [0, 0, undefined as string | undefined];
  const seen = new Set<string>();
  for (let next: string | undefined | null; next !== null;) {
    const history = await historyOf(client, runId, next);
    const read = await Promise.all([inputOf(history), ...answersIn(history)].map((payload) => readPayload(client, payload)));
    const [input, ...told] = read.map((one) => (one && 'value' in one ? one.value : null)) as [RunInput | null, ...unknown[]];
    version = Math.max(version, input?.version ?? 0, ...told.map(versionIn));
    epoch = Math.max(epoch, input?.epoch ?? 0);
    const unread = read.find((one) => one && 'missing' in one);
    if (unread && 'missing' in unread) missing ??= unread.missing;
    next = resetFrom(history, seen);
  }
  // The journal is read last: it may only have grown since.
  const head = await journal.head(runId);
  if (version > (head?.version ?? 0) || (head && epoch > head.epoch)) return 'yes';
  return missing === undefined ? 'no' : { missingKey: missing };
}

type History = Awaited<ReturnType<ReturnType<Temporal['client']['workflow']['getHandle']>['fetchHistory']>>;

const historyOf = (client: Temporal['client'], runId: string, executionId?: string): Promise<History | null> =>
  client.workflow.getHandle(workflowIdOf(runId), executionId).fetchHistory().catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });

/** What the execution was started with: it names the epoch, and how far the generation before had got. */
const inputOf = (history: History | null) => history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];

const answersIn = (history: History | null) => (history?.events ?? []).flatMap((event) => [
  event.markerRecordedEventAttributes?.details?.['result']?.payloads?.[0], event.activityTaskCompletedEventAttributes?.result?.payloads?.[0],
]);

/** The execution that this one is a reset of: it had got further. Each is followed once. */
function resetFrom(history: History | null, seen: Set<string>): string | null {
  const bases = (history?.events ?? []).map((event) => event.workflowTaskFailedEventAttributes?.baseRunId).filter((id): id is string => Boolean(id) && !seen.has(id!));
  const base = bases.at(-1) ?? null;
  if (base !== null) seen.add(base);
  return base;
}

function versionIn(value: unknown): number {
  const told = value as Told | null;
  if (told?.kind === 'appended') return told.version ?? 0;
  return told?.kind === 'restored' ? Math.max(told.checkpoint?.version ?? 0, told.tail?.at(-1)?.seq ?? 0) : 0;
}
