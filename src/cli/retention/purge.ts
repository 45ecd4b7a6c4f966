// Purges a run: everything that is kept of a run that is over goes, but for the word that there was one, so that its id, and with it
// the keys of its effects, is never used again. A run that somebody may still need is refused, with what to do instead.
import type { LonghaulClient } from '../../client/client';
import { isOver, readSpec } from '../../client/start';
import type { ClientStores } from '../../client/types';
import type { RunRow } from '../../core/row';
import type { PurgedRow } from '../../ports/journal';

/** `held`: nothing is wrong with it, an open run may still read it. */
export type Purged = { kind: 'purged' | 'already'; purged: PurgedRow } | { kind: 'refused'; why: string } | { kind: 'held'; why: string };

/** `withDoubts`: also when nobody knows whether a call of it happened; such rows stay in the ledger. Throws ClientError `unknown-run`. */
export async function purgeRun(stores: ClientStores, client: LonghaulClient, runId: string, { withDoubts = false }: { withDoubts?: boolean } = {}): Promise<Purged> {
  const row = await stores.journal.row(runId);
  const needed = row && await stillNeeded(stores, row);
  if (needed) return { kind: 'held', why: needed };
  const answer = await stores.journal.purge(runId, { force: withDoubts });
  switch (answer.kind) {
    case 'purged':
    case 'already': return answer;
    case 'open': return { kind: 'refused', why: `Run ${runId} is ${answer.status}: only a run that is over is purged. End it first: npx longhaul runs cancel ${runId}` };
    case 'in-doubt': return { kind: 'refused', why: `Of run ${runId} nobody knows whether this happened: ${answer.calls.join(', ')}. Find out first (npx longhaul runs show ${runId}); or purge it with --with-doubts: these calls then stay in the ledger alone.` };
    case 'unknown': {
      await client.show(runId);
      throw new Error(`Run ${runId} is there and cannot be purged.`);
    }
  }
}

/** A parent that is open reads how its child ended from the child's journal. */
async function stillNeeded(stores: ClientStores, row: RunRow): Promise<string | null> {
  const above = (await readSpec(stores, row))?.parent?.runId;
  const parent = above === undefined ? null : await stores.journal.row(above);
  return parent && !isOver(parent) ? `Run ${row.runId} was started by run ${parent.runId}, which is ${parent.status} and may still read how it ended: it is purged once that one is over.` : null;
}
