// The doctor's look at orphan claims: calls that were claimed, of which nobody knows the outcome, in runs that nothing runs any
// more (terminated in Temporal, say) or that are over. Who claimed them, when, whether that process still lives, and whether
// anybody has looked. Changes nothing.
import { ownerGone, ownerLives } from '../../adapters/claims/owner';
import { isOver } from '../../client/start';
import type { RunEvent } from '../../core/events';
import { isNewer } from '../../core/versions/door';
import type { ClaimOwner, LedgerRow } from '../../ports/ledger';
import { endedMeanwhile, lostWords, restoreCommand } from '../executions';
import type { Place } from '../place';
import { count, distance, time } from '../print';
import { ok, wrong, type Check, type Finding } from './findings';

const MOST = 50;

export const claims: Check = async (place) => {
  if (!await place.hasStores()) return [];
  const { ledger } = await place.stores({ mustExist: false });
  const open = await ledger.open();
  const found = (await Promise.all(open.slice(0, MOST).map((row) => orphan(place, row)))).flat();
  const rest = open.length - found.length;
  return found.length > 0 ? found : ok('claims', rest === 0 ? 'none is open' : `${count(rest, 'open claim')}, each of a run that looks after it`);
};

/** What is to be said of a claim when its run does not look after it; nothing otherwise. */
async function orphan(place: Place, claim: LedgerRow): Promise<Finding[]> {
  const client = await place.client({ mustExist: false });
  const known = await client.show(claim.runId).catch((error: unknown) => (isNewer(error) ? undefined : null));
  // A newer build carries the run on, and looks after its claims.
  if (known === undefined) return [];
  const what = `claim ${claim.callId} of run ${claim.runId}`;
  const purged = known ? null : await (await place.stores()).journal.purged(claim.runId);
  if (purged) return [{ what, state: 'note', detail: `${about(claim)}; the run was purged ${distance(purged.purgedAt)} with this call in doubt, and nothing follows it any more`, next: `find out whether ${claim.tool} happened; its key is ${claim.key}` }];
  if (!known) return wrong(what, `${about(claim)}; the journal knows no such run`, `find out whether ${claim.tool} happened; its key is ${claim.key}`);
  if (isOver(known.row)) return [{ what, state: 'note', detail: `${about(claim)}; the run is ${known.row.status}, so nothing follows it any more: a person has to find out whether it happened`, next: `npx longhaul runs show ${claim.runId}` }];
  const view = await client.execution(claim.runId).catch(() => undefined);
  const lost = lostWords(known.row, view);
  if (lost === null || await endedMeanwhile(place, known.row, view)) return [];
  let looked: Extract<RunEvent, { type: 'RecoveryChecked' }> | undefined;
  for await (const event of client.events(claim.runId)) if (event.type === 'RecoveryChecked' && event.data.callId === claim.callId) looked = event;
  const look = looked ? `looked up ${distance(looked.at)}: ${looked.data.decision}` : 'not looked up yet';
  return wrong(what, `${about(claim)}; ${look}; the run is ${lost}`, `npx ${restoreCommand(claim.runId)}: it looks ${claim.tool} up and goes on, or asks you`);
}

function about({ tool, state, owner, claimedAt, leaseUntil, now }: LedgerRow): string {
  const lease = state === 'claimed' ? (now < leaseUntil ? ', its lease runs' : ', its lease is over') : `, ${state}`;
  return `${tool} was claimed by ${owner.worker} at ${time(claimedAt)} (${distance(claimedAt, now)})${lease}; ${ownerWords(owner)}`;
}

function ownerWords(owner: ClaimOwner): string {
  if (ownerLives(owner)) return `process ${owner.pid} still runs and may act`;
  return ownerGone(owner) ? `process ${owner.pid} is gone` : `process ${owner.pid} ran elsewhere (${owner.host}), nothing is known of it`;
}
