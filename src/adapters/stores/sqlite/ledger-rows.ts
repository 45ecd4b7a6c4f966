// The effect ledger's rows and the database's clock, as every statement of the ledger reads them.
// Reads only. `now` is SQLite's own clock in ms, so that all processes of a host measure leases alike.
import type { Json } from '../../../core/canonical';
import type { ClaimOwner, LedgerRow, Outcome } from '../../../ports/ledger';
import type { Connection } from './connection';

/** A row as stored, with what only the store needs to know. */
export interface Claim extends LedgerRow {
  /** This claim took over one whose outcome nobody knew. */
  tookOver: boolean;
}

interface StoredClaim {
  key: string; run_id: string; epoch: number; call_id: string; attempt: number; tool: string; args_digest: string;
  state: LedgerRow['state']; fence: number; took_over: number; owner: string; lease_until: number; first_claimed_at: number;
  claimed_at: number; send_window_until: number; outcome: string | null; now: number;
}

const NOW = `CAST(round(unixepoch('subsec') * 1000) AS INTEGER)`;

/** ms since the epoch on the database's clock. */
export function nowOf(db: Connection): number {
  return db.one<{ now: number }>(`SELECT ${NOW} AS now`)!.now;
}

export function claimsWhere(db: Connection, condition: string, ...values: string[]): Claim[] {
  return db.all<StoredClaim>(`SELECT *, ${NOW} AS now FROM ledger WHERE ${condition}`, ...values).map(toClaim);
}

export function claimOf(db: Connection, key: string): Claim | null {
  return claimsWhere(db, 'key = ?', key)[0] ?? null;
}

/** A row as the port shows it. */
export function toLedgerRow({ tookOver: _tookOver, ...row }: Claim): LedgerRow {
  return row;
}

/** One line of the ledger's own audit trail; renewals are left out. */
export function note(db: Connection, key: string, fence: number, what: string, detail: Json = null): void {
  db.run(`INSERT INTO ledger_log (at, key, fence, what, detail) VALUES (${NOW}, ?, ?, ?, ?)`, key, fence, what, detail === null ? null : JSON.stringify(detail));
}

function toClaim(row: StoredClaim): Claim {
  return {
    key: row.key, runId: row.run_id, epoch: row.epoch, callId: row.call_id, attempt: row.attempt, tool: row.tool, argsDigest: row.args_digest,
    state: row.state, fence: row.fence, tookOver: row.took_over === 1, owner: JSON.parse(row.owner) as ClaimOwner, leaseUntil: row.lease_until,
    firstClaimedAt: row.first_claimed_at, claimedAt: row.claimed_at, sendWindowUntil: row.send_window_until,
    outcome: row.outcome === null ? null : JSON.parse(row.outcome) as Outcome, now: row.now,
  };
}
