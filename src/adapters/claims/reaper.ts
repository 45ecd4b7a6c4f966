// Tells Temporal at once that an attempt is dead whose process on this host is gone, instead of waiting for its heartbeat to
// be missed: the run then goes to its gate within a second. Ends nothing that lives: only claims of processes that certainly
// run no more, and only their own activity, by its token. Never touches the claim; the gate decides about that.
import { ApplicationFailure, type Client } from '@temporalio/client';
import type { LedgerPort, LedgerRow } from '../../ports/ledger';
import { ownerGone } from './owner';

export interface Reaper { stop(): void }

export interface ReaperSettings {
  ledger: Pick<LedgerPort, 'open'>;
  client: Client;
  namespace: string;
  workflowIdOf: (runId: string) => string;
  log: (message: string, about: Record<string, unknown>) => void;
}

/** ms between two looks: a worker beside this one may die as well. */
const EVERY_MS = 3_000;

/** Looks at once, and again every few seconds. A look that fails is left to the next. */
export function startReaper(settings: ReaperSettings): Reaper {
  const seen = new Set<string>();
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    try {
      for (const row of await settings.ledger.open()) await reap(settings, row, seen);
    } catch (error) {
      settings.log('open claims could not be looked at', { error: String(error) });
    } finally {
      looking = false;
    }
  };
  void look();
  const timer = setInterval(() => void look(), EVERY_MS);
  return { stop: () => clearInterval(timer) };
}

async function reap({ client, namespace, workflowIdOf, log }: ReaperSettings, row: LedgerRow, seen: Set<string>): Promise<void> {
  const { owner, runId, state } = row;
  const token = owner.taskToken;
  if (state !== 'claimed' || token === undefined || seen.has(token) || !ownerGone(owner)) return;
  seen.add(token);
  try {
    // The dead process was the sticky worker as well: without this its queue is tried first.
    await client.workflowService.resetStickyTaskQueue({ namespace, execution: { workflowId: workflowIdOf(runId) } });
    const gone = ApplicationFailure.create({ type: 'WorkerGone', message: `The process of ${owner.worker} is gone.`, nonRetryable: true });
    // A stack names files of this machine, and would stand in history.
    gone.stack = '';
    await client.activity.fail(Buffer.from(token, 'base64'), gone);
    log('an attempt of a dead process was reported', { runId, callId: row.callId, worker: owner.worker });
  } catch {
    // The token is stale, or the run is closed: somebody knows already.
  }
}
