// Exports a run as lines of JSON: one header (row, checkpoints, request), then one line an event with who wrote it and its link in
// the chain of digests (core/chain.ts), then one closing line. Complete or visibly cut off: the last line counts the events.
import { chainNext, chainStart } from '../core/chain';
import type { RunEvent } from '../core/events';
import type { RunRow } from '../core/row';
import type { RunSpec } from '../core/run';
import type { CheckpointRow } from '../ports/journal';
import { rowOf } from './reads';
import { readSpec } from './start';
import type { ClientStores } from './types';

export const EXPORT_FORMAT = 'longhaul-journal';

export type ExportLine =
  | { kind: 'header'; format: typeof EXPORT_FORMAT; v: 1; runId: string; row: RunRow; checkpoints: CheckpointRow[]; spec: RunSpec | null }
  /** `chain` covers the link before and this event; epoch and executionId are exported, not folded. */
  | { kind: 'event'; event: RunEvent; epoch: number; executionId: string; chain: string }
  | { kind: 'end'; events: number; chain: string };

const PAGE = 200;

/** The lines of an export, in order. Throws ClientError `unknown-run`. */
export async function* exportRun(stores: ClientStores, runId: string): AsyncGenerator<ExportLine> {
  const row = await rowOf(stores, runId);
  yield {
    kind: 'header', format: EXPORT_FORMAT, v: 1, runId, row,
    checkpoints: await stores.journal.checkpoints(runId), spec: await readSpec(stores, row),
  };
  let chain = chainStart(runId);
  let events = 0;
  for (let after = 0; ;) {
    const rows = await stores.journal.exportRows(runId, after, PAGE);
    for (const { event, epoch, executionId } of rows) {
      chain = chainNext(chain, event);
      events += 1;
      yield { kind: 'event', event, epoch, executionId, chain };
      after = event.seq;
    }
    if (rows.length < PAGE) break;
  }
  yield { kind: 'end', events, chain };
}
