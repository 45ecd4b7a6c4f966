// What the ledger writes, as statements inside one transaction that the store thread opens and commits.
// Owns fences, leases and outcomes. A lease decides who may try, never that nothing happened; epochs fence claims and
// nothing else; an outcome once stored is never replaced.
import { canonical } from '../../../core/canonical';
import type { ClaimAnswer, ClaimRequest, Outcome } from '../../../ports/ledger';
import { StoreError } from '../store-error';
import type { Connection } from './connection';
import { nameArtifact } from './journal-writes';
import { claimOf, incarnationOf, note, nowOf } from './ledger-rows';
import type { Before, Claim } from './ledger-rows';

interface Awaited { attempt: number; incarnation: string }

/** Asks for the right to send once under this key. In one transaction with the journal: what the run no longer waits for claims nothing. */
export function claim(db: Connection, request: ClaimRequest): ClaimAnswer {
  const epoch = db.one<{ epoch: number }>('SELECT epoch FROM run WHERE run_id = ?', request.runId)?.epoch ?? request.epoch;
  if (epoch > request.epoch) return { kind: 'fenced', epoch };
  const awaited = db.one<Awaited>('SELECT attempt, incarnation FROM awaited WHERE run_id = ? AND call_id = ?', request.runId, request.callId);
  if (awaited === null || awaited.attempt !== request.attempt) return { kind: 'not-awaited' };
  const row = claimOf(db, request.key);
  const free = (): ClaimAnswer => (awaited.incarnation === incarnationOf(db) ? take(db, request, row) : { kind: 'claims-lost' });
  if (row === null) return free();
  if (row.argsDigest !== request.argsDigest) return { kind: 'mismatch', argsDigest: row.argsDigest };
  if (row.outcome !== null) return { kind: 'outcome', fence: row.fence, outcome: row.outcome };
  // An attempt that was given back is over, also for whoever else makes it.
  if (row.state === 'released') return request.attempt > row.attempt ? free() : { kind: 'not-awaited' };
  if (row.state === 'claimed' && row.now < row.leaseUntil) {
    return { kind: 'held', fence: row.fence, leaseUntil: row.leaseUntil, owner: row.owner };
  }
  if (request.takeOver === row.fence || request.takeOver === row.doubtFence) return take(db, request, row);
  const { fence, firstClaimedAt, sendWindowUntil, owner } = row;
  return { kind: 'dead-owner', fence, firstClaimedAt, sendWindowUntil, owner };
}

/** Extends the lease of the newest fence, also after it ended, as long as nobody has taken the claim over. */
export function renew(db: Connection, key: string, fence: number, leaseMs: number): boolean {
  return db.run(`UPDATE ledger SET lease_until = ? WHERE key = ? AND fence = ? AND state = 'claimed'`, nowOf(db) + leaseMs, key, fence) === 1;
}

/** Records what came of an effect; the first outcome stays. */
export function settle(db: Connection, key: string, fence: number, outcome: Outcome): { kind: 'settled' | 'already' | 'late' | 'conflict'; outcome: Outcome } {
  const row = claimOf(db, key);
  if (row === null || fence > row.fence) throw new StoreError('defect', `Nobody claimed ${key} under fence ${fence}; claim it before settling.`);
  if (row.outcome !== null) {
    if (canonical(row.outcome) === canonical(outcome)) return { kind: 'already', outcome: row.outcome };
    note(db, key, fence, 'conflict', JSON.parse(canonical(outcome)));
    return { kind: 'conflict', outcome: row.outcome };
  }
  const late = fence < row.fence;
  note(db, key, fence, late ? `late ${outcome.kind}` : outcome.kind);
  // A late refusal is no news of an effect: the newer owner, who may be sending now, still decides the row.
  if (late && outcome.kind === 'refused') return { kind: 'late', outcome };
  db.run('UPDATE ledger SET state = ?, outcome = ? WHERE key = ?', outcome.kind, canonical(outcome), key);
  // The journal may hear of it much later, from the ledger: until then nothing else names what it made.
  if (outcome.kind === 'done' && 'ref' in outcome.output) nameArtifact(db, row.runId, outcome.output.ref.sha256, -1);
  return { kind: late ? 'late' : 'settled', outcome };
}

/**
 * Gives a claim up as not sent: the next one takes it at once. A take-over proves that only of itself, so the claim that it
 * took over comes back as `unknown`, with its owner and send window; who had it examined may still take it over.
 * Also how a person's word that a dead or unknown claim did not happen is recorded.
 */
export function release(db: Connection, key: string, fence: number): boolean {
  const row = newest(db, key, fence);
  if (row === null) return false;
  if (row.state === 'released') return true;
  if (row.state === 'claimed' && row.before !== null) {
    const { doubtFence, owner, claimedAt, sendWindowUntil } = row.before;
    db.run(
      `UPDATE ledger SET state = 'unknown', lease_until = ?, doubt_fence = ?, owner = ?, claimed_at = ?, send_window_until = ?, before = NULL WHERE key = ?`,
      row.now, doubtFence, canonical(owner), claimedAt, sendWindowUntil, key,
    );
    note(db, key, fence, 'released, in doubt again');
    return true;
  }
  db.run(`UPDATE ledger SET state = 'released', lease_until = ? WHERE key = ?`, row.now, key);
  note(db, key, fence, 'released');
  return true;
}

/** Says that nobody can tell what came of this claim; its lease ends. */
export function markUnknown(db: Connection, key: string, fence: number): boolean {
  const row = newest(db, key, fence);
  if (row === null || row.state === 'released') return false;
  db.run(`UPDATE ledger SET state = 'unknown', lease_until = ? WHERE key = ?`, Math.min(row.leaseUntil, row.now), key);
  note(db, key, fence, 'unknown');
  return true;
}

/** The row if this fence is its newest and nothing was settled. */
function newest(db: Connection, key: string, fence: number): Claim | null {
  const row = claimOf(db, key);
  return row !== null && row.fence === fence && row.outcome === null ? row : null;
}

/** Gives the claim to the asker under the next fence. */
function take(db: Connection, request: ClaimRequest, row: Claim | null): ClaimAnswer {
  const now = nowOf(db);
  const fence = (row?.fence ?? 0) + 1;
  const leaseUntil = now + request.leaseMs;
  const doubtful = row !== null && row.state !== 'released' ? row : null;
  const before: Before | null = doubtful && {
    doubtFence: doubtful.doubtFence, owner: doubtful.owner, claimedAt: doubtful.claimedAt, sendWindowUntil: doubtful.sendWindowUntil,
  };
  db.run(
    `INSERT OR REPLACE INTO ledger (key, run_id, epoch, call_id, attempt, tool, args_digest, state, fence, doubt_fence, owner, lease_until,
       first_claimed_at, claimed_at, send_window_until, before, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?, ?, NULL)`,
    request.key, request.runId, request.epoch, request.callId, request.attempt, request.tool, request.argsDigest, fence, fence,
    canonical(request.owner), leaseUntil, doubtful?.firstClaimedAt ?? now, now,
    Math.max(now + request.sendWindowMs, doubtful?.sendWindowUntil ?? 0), before === null ? null : canonical(before),
  );
  db.run('UPDATE ledger_meta SET claims = claims + 1');
  note(db, request.key, fence, before === null ? 'claimed' : 'taken over', JSON.parse(canonical(request.owner)));
  return { kind: 'claimed', fence, leaseUntil };
}
