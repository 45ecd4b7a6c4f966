// Exports a run as lines of JSON: one header (row, checkpoints, request), then one line an event with who wrote it and the digest of
// the state that it led to, then one closing line that counts the events. Every line carries its link in the chain of digests
// (core/chain.ts). An export ends where a batch ended: at the version of the row in its header. Never writes to a store.
import { chainNext, chainStart } from '../core/chain';
import { snapshot } from '../core/checkpoint';
import { evolve } from '../core/evolve';
import type { RunEvent } from '../core/events';
import { initialState } from '../core/initial';
import type { RunRow } from '../core/row';
import type { RunSpec } from '../core/run';
import { STATE_VERSION, type State } from '../core/state';
import { atDoor, isNewer, knownLaw } from '../core/versions/door';
import type { CheckpointRow } from '../ports/journal';
import { rowOf } from './reads';
import { readSpec } from './start';
import type { ClientStores } from './types';

export const EXPORT_FORMAT = 'longhaul-journal';

export type ExportLine =
  /** `stateVersion`: of the states whose digests the lines of events carry. */
  | { kind: 'header'; format: typeof EXPORT_FORMAT; v: 1; runId: string; stateVersion: number; row: RunRow; checkpoints: CheckpointRow[]; spec: RunSpec | null; chain: string }
  /**
   * The event as it was written. `state`: sha256 of the canonical state after it; null from where a newer build wrote on. Epoch and
   * executionId are exported, not folded.
   */
  | { kind: 'event'; event: RunEvent; epoch: number; executionId: string; state: string | null; chain: string }
  | { kind: 'end'; events: number; chain: string };

type Unlinked = ExportLine extends infer L ? L extends ExportLine ? Omit<L, 'chain'> : never : never;

const PAGE = 200;

/** The lines of an export, in order. Throws ClientError `unknown-run`. */
export async function* exportRun(stores: ClientStores, runId: string): AsyncGenerator<ExportLine> {
  let chain = chainStart(runId);
  for await (const line of linesOf(stores, runId)) {
    chain = chainNext(chain, line);
    yield { ...line, chain } as ExportLine;
  }
}

async function* linesOf(stores: ClientStores, runId: string): AsyncGenerator<Unlinked> {
  const row = await rowOf(stores, runId);
  const checkpoints = (await stores.journal.checkpoints(runId)).filter(({ version }) => version <= row.version);
  yield { kind: 'header', format: EXPORT_FORMAT, v: 1, runId, stateVersion: STATE_VERSION, row, checkpoints, spec: await readSpec(stores, row) };
  let state: State | null = initialState(runId);
  let events = 0;
  for (let after = 0; after < row.version;) {
    const rows = await stores.journal.exportRows(runId, after, Math.min(PAGE, row.version - after));
    for (const { event, epoch, executionId } of rows) {
      state = state && folded(state, event);
      events += 1;
      yield { kind: 'event', event, epoch, executionId, state: state && snapshot(state).digest };
      after = event.seq;
    }
    if (rows.length === 0) break;
  }
  yield { kind: 'end', events };
}

/** The state after an event; null where a newer build wrote it. */
function folded(state: State, written: RunEvent): State | null {
  try {
    const next = evolve(state, atDoor(written));
    knownLaw(next.runId, next.law);
    return next;
  } catch (error) {
    if (isNewer(error)) return null;
    throw error;
  }
}
