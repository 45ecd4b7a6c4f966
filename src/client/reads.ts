// What the client knows without Temporal: rows, events, states and open waits, all from the stores. Works while no server and no
// worker runs, and after a run has closed. Never writes.
import { sha256Hex } from '../core/canonical';
import { restore } from '../core/checkpoint';
import { evolve } from '../core/evolve';
import type { RunEvent } from '../core/events';
import { initialState } from '../core/initial';
import { iso } from '../core/iso';
import type { RunRow, WaitRow } from '../core/row';
import type { State } from '../core/state';
import { knownLaw } from '../core/versions/door';
import { nextAfter, type ListQuery } from '../ports/journal';
import { isOver } from './start';
import { ClientError, type ClientStores } from './types';

/** ms between two looks at the journal while watching. */
const LOOK_MS = 250;

const pause = (ms: number, signal?: AbortSignal): Promise<void> => new Promise((resolve) => {
  const done = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', done);
    resolve();
  };
  const timer = setTimeout(done, ms);
  signal?.addEventListener('abort', done);
});

/** The list row. Throws ClientError `unknown-run`. */
export async function rowOf({ journal }: ClientStores, runId: string): Promise<RunRow> {
  const row = await journal.row(runId);
  const purged = row ? null : await journal.purged(runId);
  if (purged) throw new ClientError('unknown-run', `Run ${runId} was purged at ${iso(purged.purgedAt)}; it was ${purged.status}, with ${purged.events} events. What is left of it is in its archive, if one was made.`);
  if (!row) throw new ClientError('unknown-run', `There is no run ${runId} here: see \`npx longhaul runs list\`, or name the state folder that has it.`);
  return row;
}

export const listRuns = ({ journal }: ClientStores, query: Partial<ListQuery>): Promise<RunRow[]> => journal.list({ limit: 50, ...query });

/** Events with seq > after, oldest first, page by page. */
export async function* eventsOf({ journal }: ClientStores, runId: string, after = 0): AsyncGenerator<RunEvent> {
  for (let from = after, more = true; more;) {
    const page = await journal.read(runId, from);
    yield* page.events;
    from = page.events.at(-1)?.seq ?? from;
    more = page.more;
  }
}

/** State of a run, folded from its newest readable checkpoint and the events after it. Throws NewerBuild for one that a newer build carried on. */
export async function stateOf(stores: ClientStores, runId: string): Promise<State> {
  await rowOf(stores, runId);
  let state = (await checkpointState(stores, runId)) ?? initialState(runId);
  for await (const event of eventsOf(stores, runId, state.version)) state = evolve(state, event);
  knownLaw(runId, state.law);
  return state;
}

/** A checkpoint only makes this faster: one that cannot be read, or is of another build, is passed over. */
async function checkpointState(stores: ClientStores, runId: string): Promise<State | null> {
  const saved = await stores.journal.checkpoint(runId);
  if (!saved) return null;
  try {
    const text = new TextDecoder().decode(await stores.artifacts.read(saved.ref.sha256));
    return sha256Hex(text) === saved.ref.sha256 ? restore(text) : null;
  } catch {
    return null;
  }
}

export interface WatchOptions {
  /** Last seq that the caller has seen; default 0, everything. */
  after?: number;
  signal?: AbortSignal;
  /** Told after each look that brought nothing new; answer true to stop watching. */
  idle?(row: RunRow): boolean;
}

/** Events as they come, from `after` on; ends when the run is over and everything was told. Resumed by the last seq. */
export async function* watchRun(stores: ClientStores, runId: string, options: WatchOptions = {}): AsyncGenerator<RunEvent> {
  let after = options.after ?? 0;
  await rowOf(stores, runId);
  while (!options.signal?.aborted) {
    const row = await rowOf(stores, runId);
    let told = 0;
    for await (const event of eventsOf(stores, runId, after)) {
      yield event;
      after = event.seq;
      told += 1;
    }
    if (told > 0) continue;
    if (isOver(row) && after >= row.version) return;
    if (options.idle?.(row)) return;
    await pause(LOOK_MS, options.signal);
  }
}

/** Waits until the run is over, or `signal` is aborted; answers the row as it then is. */
export async function resultOf(stores: ClientStores, runId: string, signal?: AbortSignal): Promise<RunRow> {
  for (;;) {
    const row = await rowOf(stores, runId);
    if (isOver(row) || signal?.aborted) return row;
    await pause(LOOK_MS, signal);
  }
}

/** Rows of one look at the journal. */
const PAGE = 500;

/** What people are asked for, over all runs, soonest end first. */
export async function inboxOf(stores: ClientStores): Promise<{ run: RunRow; wait: WaitRow }[]> {
  const kinds: WaitRow['kind'][] = ['approval', 'question', 'decision', 'callback', 'blocked', 'budget', 'paused'];
  const rows: RunRow[] = [];
  for (let page: RunRow[] | undefined; page === undefined || page.length === PAGE;) {
    page = await stores.journal.list({ waitingFor: kinds, limit: PAGE, ...nextAfter(page) });
    rows.push(...page);
  }
  const open = rows.flatMap((run) => run.waits.filter((wait) => kinds.includes(wait.kind)).map((wait) => ({ run, wait })));
  return open.sort((a, b) => (a.wait.until ?? Infinity) - (b.wait.until ?? Infinity) || a.wait.since - b.wait.since);
}

/** The run that asked this. Throws ClientError `unknown-wait`. */
export async function runOfWait({ journal }: ClientStores, waitId: string): Promise<string> {
  const runId = await journal.runOfWait(waitId);
  if (runId === null) throw new ClientError('unknown-wait', `No run here ever asked for ${waitId}: see \`npx longhaul inbox\` for what is open.`);
  return runId;
}
