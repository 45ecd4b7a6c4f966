// A ledger whose claims are requested first, as the law does it: for suites about what comes after the request.
// The ledger holds every claim against the journal, so that nobody claims for a run that does not wait for the call.
import type { JournalPort } from '../../ports/journal';
import type { ClaimAnswer, ClaimRequest, LedgerPort } from '../../ports/ledger';
import { batchOf, requestAt, rowFor } from './samples';

export interface Journalled { journal: JournalPort; ledger: LedgerPort }

/** Writes the request of this attempt into the journal, and accepts its run where nobody has. */
export async function request({ journal, ledger }: Journalled, claim: ClaimRequest): Promise<void> {
  const { runId, epoch } = claim;
  await journal.accept(rowFor(runId, { epoch }));
  const { version } = (await journal.head(runId))!;
  const event = requestAt(claim, version + 1, await ledger.incarnation());
  await journal.append(batchOf(runId, version, 1, { epoch, events: [event] }));
}

/** Requests, then claims. Asked again for the same attempt, it claims without another request. */
export function requesting(stores: Journalled): LedgerPort {
  const asked = new Set<string>();
  const claim = async (one: ClaimRequest): Promise<ClaimAnswer> => {
    const attempt = `${one.runId} ${one.callId}#${one.attempt} in ${one.epoch}`;
    if (!asked.has(attempt)) await request(stores, one);
    asked.add(attempt);
    return stores.ledger.claim(one);
  };
  return { ...stores.ledger, claim };
}
