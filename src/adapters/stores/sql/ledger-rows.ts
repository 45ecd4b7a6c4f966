// The effect ledger's rows and the database's clock, as every statement of the ledger reads them.
// `{now}` is the database's own clock in ms, so that all processes measure leases alike.
import { randomBytes } from 'node:crypto';
import type { Json } from '../../../core/canonical';
import type { ClaimOwner, LedgerRow, Outcome } from '../../../ports/ledger';
import { all, one, put } from './steps';
import type { Steps } from './steps';

/** What a take-over must not forget of the claim before it, in case it gives up unsent. */
export interface Before { doubtFence: number; owner: ClaimOwner; claimedAt: number; sendWindowUntil: number }

/** A row as stored, with what only the store needs to know. */
export interface Claim extends LedgerRow {
  /** The newest fence under which something may have been sent; older than `fence` after a take-over gave up unsent. */
  doubtFence: number;
  /** The doubtful claim that this one took over; null when there was none. */
  before: Before | null;
}

interface StoredClaim {
  key: string; run_id: string; epoch: number; call_id: string; attempt: number; tool: string; args_digest: string;
  state: LedgerRow['state']; fence: number; doubt_fence: number; owner: string; lease_until: number; first_claimed_at: number;
  claimed_at: number; send_window_until: number; before: string | null; outcome: string | null; now: number;
}

/** ms since the epoch on the database's clock. */
export function* nowOf(): Steps<number> {
  return (yield* one<{ now: number }>('SELECT {now} AS now'))!.now;
}

/** Name of this ledger; another one after an older copy was put back. */
export function* incarnationOf(): Steps<string> {
  return (yield* one<{ incarnation: string }>('SELECT incarnation FROM ledger_meta'))!.incarnation;
}

/** From here on no claim proves that nothing was sent by calls of before. */
export function* renewIncarnation(): Steps<void> {
  yield* put('UPDATE ledger_meta SET incarnation = ?', randomBytes(16).toString('hex'));
}

export function* claimsWhere(condition: string, ...values: string[]): Steps<Claim[]> {
  return (yield* all<StoredClaim>(`SELECT *, {now} AS now FROM ledger WHERE ${condition}`, ...values)).map(toClaim);
}

export function* claimOf(key: string): Steps<Claim | null> {
  return (yield* claimsWhere('key = ?', key))[0] ?? null;
}

/** A row as the port shows it. */
export function toLedgerRow({ doubtFence: _doubtFence, before: _before, ...row }: Claim): LedgerRow {
  return row;
}

/** One line of the ledger's own audit trail; renewals are left out. */
export function* note(key: string, fence: number, what: string, detail: Json = null): Steps<void> {
  yield* put('INSERT INTO ledger_log (at, key, fence, what, detail) VALUES ({now}, ?, ?, ?, ?)', key, fence, what, detail === null ? null : JSON.stringify(detail));
}

function toClaim(row: StoredClaim): Claim {
  return {
    key: row.key, runId: row.run_id, epoch: row.epoch, callId: row.call_id, attempt: row.attempt, tool: row.tool, argsDigest: row.args_digest,
    state: row.state, fence: row.fence, doubtFence: row.doubt_fence, owner: JSON.parse(row.owner) as ClaimOwner, leaseUntil: row.lease_until,
    firstClaimedAt: row.first_claimed_at, claimedAt: row.claimed_at, sendWindowUntil: row.send_window_until,
    before: row.before === null ? null : JSON.parse(row.before) as Before,
    outcome: row.outcome === null ? null : JSON.parse(row.outcome) as Outcome, now: row.now,
  };
}
