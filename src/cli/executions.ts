// What Temporal says of open runs, for commands that must work without it as well: a run whose execution was terminated looks
// in the journal as if it still waited. Asked briefly; where nobody answers, nothing is said.
import type { RunRow } from '../core/row';
import { isLost, type ExecutionView } from '../client/execution';
import { isOver } from '../client/start';
import type { Place } from './place';
import { distance } from './print';

/** ms that lists wait for Temporal's word. */
const ASK_MS = 3_000;
const MOST = 50;

/**
 * Views of the open runs among `rows`, the first 50 of them, by run id; empty where Temporal cannot be asked. `whole` reads their
 * histories as well, for keys that are missing and have not been needed yet.
 */
export async function executionsOf(place: Place, rows: readonly RunRow[], { whole = false }: { whole?: boolean } = {}): Promise<Map<string, ExecutionView>> {
  const open = rows.filter((row) => !isOver(row)).slice(0, MOST);
  if (open.length === 0) return new Map();
  const ask = async (): Promise<Map<string, ExecutionView>> => {
    const client = await place.client();
    const views = await Promise.all(open.map(async (row) => {
      const view = await client.execution(row.runId);
      if (await endedMeanwhile(place, row, view)) return [];
      const missingKey = view.missingKey ?? (whole ? (await client.missingKeys(row.runId))[0] ?? null : null);
      return [[row.runId, { ...view, missingKey }] as const];
    }));
    return new Map(views.flat());
  };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Map<string, ExecutionView>>((resolve) => { timer = setTimeout(() => resolve(new Map()), ASK_MS); });
  try {
    return await Promise.race([ask().catch(() => new Map<string, ExecutionView>()), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Has the run ended since its row was read? Temporal then says so of its execution, which is the end of every run and no loss. */
export async function endedMeanwhile(place: Place, row: RunRow, view: ExecutionView | undefined): Promise<boolean> {
  if (!view || !isLost(row, view)) return false;
  const now = await (await place.stores()).journal.row(row.runId);
  return now === null || isOver(now);
}

/** `terminated in Temporal 5 min ago`, when nothing runs an open run; null otherwise. */
export function lostWords(row: RunRow, view: ExecutionView | undefined): string | null {
  if (!view || !isLost(row, view)) return null;
  if (view.status === 'NOT_FOUND') return 'not known to Temporal';
  const how = view.status === 'COMPLETED' ? 'ended' : view.status.toLowerCase().replaceAll('_', ' ');
  return `${how} in Temporal${view.closedAt === null ? '' : ` ${distance(view.closedAt)}`}`;
}

export const restoreCommand = (runId: string): string => `longhaul runs restore ${runId}`;

/** `the payload key p-... is missing`, when an open run cannot go on without it; null otherwise. */
export function missingKeyWords(row: RunRow, view: ExecutionView | undefined): string | null {
  return !view || view.missingKey === null || isOver(row) ? null : `the payload key ${view.missingKey} is missing`;
}

/** What brings a key back, and what goes on without it where it is lost for good: the journal needs no key. */
export const keyBack = (runId: string): string => `npx longhaul keys import COPY where the worker runs, or, if no copy is left, npx ${restoreCommand(runId)} --force`;
