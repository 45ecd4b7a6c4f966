// What the ledger writes, as statements inside one transaction that the store opens and commits.
// Owns fences, leases and outcomes. A lease decides who may try, never that nothing happened; epochs fence claims and
// nothing else; an outcome once stored is never replaced.
import { canonical } from '../../../core/canonical';
import type { ClaimAnswer, ClaimRequest, Outcome } from '../../../ports/ledger';
import { StoreError } from '../store-error';
import { nameArtifact } from './journal-writes';
import { claimOf, incarnationOf, note, nowOf } from './ledger-rows';
import type { Before, Claim } from './ledger-rows';
import { lock, one, put, run } from './steps';
import type { Steps } from './steps';

/** A claim that is taken again keeps nothing of its row but the key. */
const REPLACED = ['run_id', 'epoch', 'call_id', 'attempt', 'tool', 'args_digest', 'state', 'fence', 'doubt_fence', 'owner', 'lease_until',
  'first_claimed_at', 'claimed_at', 'send_window_until', 'before', 'outcome'].map((column) => `${column} = excluded.${column}`).join(', ');

interface Awaited { attempt: number; incarnation: string }

/** Asks for the right to send once under this key. In one transaction with the journal: what the run no longer waits for claims nothing. */
export function* claim(request: ClaimRequest): Steps<ClaimAnswer> {
  yield* lock('run', request.runId);
  yield* lock('key', request.key);
  const epoch = (yield* one<{ epoch: number }>('SELECT epoch FROM run WHERE run_id = ?', request.runId))?.epoch ?? request.epoch;
  if (epoch > request.epoch) return { kind: 'fenced', epoch };
  const awaited = yield* one<Awaited>('SELECT attempt, incarnation FROM awaited WHERE run_id = ? AND call_id = ?', request.runId, request.callId);
  const row = yield* claimOf(request.key);
  if (awaited === null || awaited.attempt !== request.attempt) return row === null || row.state === 'released' ? { kind: 'not-awaited' } : { kind: 'not-awaited', standing: { fence: row.fence, owner: row.owner } };
  if (row === null) return yield* takeFree(request, awaited, row);
  if (row.argsDigest !== request.argsDigest) return { kind: 'mismatch', argsDigest: row.argsDigest };
  if (row.outcome !== null) return { kind: 'outcome', fence: row.fence, outcome: row.outcome };
  // An attempt that was given back is over, also for whoever else makes it.
  if (row.state === 'released') return request.attempt > row.attempt ? yield* takeFree(request, awaited, row) : { kind: 'not-awaited' };
  if (row.state === 'claimed' && row.now < row.leaseUntil) {
    return { kind: 'held', fence: row.fence, leaseUntil: row.leaseUntil, owner: row.owner };
  }
  if (request.takeOver === row.fence || request.takeOver === row.doubtFence) return yield* take(request, row);
  const { fence, firstClaimedAt, sendWindowUntil, owner } = row;
  return { kind: 'dead-owner', fence, firstClaimedAt, sendWindowUntil, owner };
}

/** Takes what no living or doubtful claim stands on, if the call was requested under this ledger. */
function* takeFree(request: ClaimRequest, awaited: Awaited, row: Claim | null): Steps<ClaimAnswer> {
  return awaited.incarnation === (yield* incarnationOf()) ? yield* take(request, row) : { kind: 'claims-lost' };
}

/** Extends the lease of the newest fence, also after it ended, as long as nobody has taken the claim over. */
export function* renew(key: string, fence: number, leaseMs: number): Steps<boolean> {
  return (yield* run(`UPDATE ledger SET lease_until = {now} + ? WHERE key = ? AND fence = ? AND state = 'claimed'`, leaseMs, key, fence)) === 1;
}

/** Records what came of an effect; the first outcome stays. */
export function* settle(key: string, fence: number, outcome: Outcome): Steps<{ kind: 'settled' | 'already' | 'late' | 'conflict'; outcome: Outcome }> {
  yield* lock('key', key);
  const row = yield* claimOf(key);
  if (row === null || fence > row.fence) throw new StoreError('defect', `Nobody claimed ${key} under fence ${fence}; claim it before settling.`);
  if (row.outcome !== null) {
    if (canonical(row.outcome) === canonical(outcome)) return { kind: 'already', outcome: row.outcome };
    yield* note(key, fence, 'conflict', JSON.parse(canonical(outcome)));
    return { kind: 'conflict', outcome: row.outcome };
  }
  const late = fence < row.fence;
  yield* note(key, fence, late ? `late ${outcome.kind}` : outcome.kind);
  // A late refusal is no news of an effect: the newer owner, who may be sending now, still decides the row.
  if (late && outcome.kind === 'refused') return { kind: 'late', outcome };
  yield* put('UPDATE ledger SET state = ?, outcome = ? WHERE key = ?', outcome.kind, canonical(outcome), key);
  // The journal may hear of it much later, from the ledger: until then nothing else names what it made.
  if (outcome.kind === 'done' && 'ref' in outcome.output) yield* nameArtifact(row.runId, outcome.output.ref.sha256, -1);
  return { kind: late ? 'late' : 'settled', outcome };
}

/**
 * Gives a claim up as not sent: the next one takes it at once. A take-over proves that only of itself, so the claim that it
 * took over comes back as `unknown`, with its owner and send window; who had it examined may still take it over.
 * Also how a person's word that a dead or unknown claim did not happen is recorded.
 */
export function* release(key: string, fence: number): Steps<boolean> {
  yield* lock('key', key);
  const row = yield* newest(key, fence);
  if (row === null) return false;
  if (row.state === 'released') return true;
  if (row.state === 'claimed' && row.before !== null) {
    const { doubtFence, owner, claimedAt, sendWindowUntil } = row.before;
    yield* put(
      `UPDATE ledger SET state = 'unknown', lease_until = ?, doubt_fence = ?, owner = ?, claimed_at = ?, send_window_until = ?, before = NULL WHERE key = ?`,
      row.now, doubtFence, canonical(owner), claimedAt, sendWindowUntil, key,
    );
    yield* note(key, fence, 'released, in doubt again');
    return true;
  }
  yield* put(`UPDATE ledger SET state = 'released', lease_until = ? WHERE key = ?`, row.now, key);
  yield* note(key, fence, 'released');
  return true;
}

/** Says that nobody can tell what came of this claim; its lease ends. */
export function* markUnknown(key: string, fence: number): Steps<boolean> {
  yield* lock('key', key);
  const row = yield* newest(key, fence);
  if (row === null || row.state === 'released') return false;
  yield* put(`UPDATE ledger SET state = 'unknown', lease_until = ? WHERE key = ?`, Math.min(row.leaseUntil, row.now), key);
  yield* note(key, fence, 'unknown');
  return true;
}

/** The row if this fence is its newest and nothing was settled. */
function* newest(key: string, fence: number): Steps<Claim | null> {
  const row = yield* claimOf(key);
  return row !== null && row.fence === fence && row.outcome === null ? row : null;
}

/** Gives the claim to the asker under the next fence. */
function* take(request: ClaimRequest, row: Claim | null): Steps<ClaimAnswer> {
  const now = yield* nowOf();
  const fence = (row?.fence ?? 0) + 1;
  const leaseUntil = now + request.leaseMs;
  const doubtful = row !== null && row.state !== 'released' ? row : null;
  const before: Before | null = doubtful && {
    doubtFence: doubtful.doubtFence, owner: doubtful.owner, claimedAt: doubtful.claimedAt, sendWindowUntil: doubtful.sendWindowUntil,
  };
  yield* put(
    `INSERT INTO ledger (key, run_id, epoch, call_id, attempt, tool, args_digest, state, fence, doubt_fence, owner, lease_until,
       first_claimed_at, claimed_at, send_window_until, before, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?, ?, ?, ?, NULL)
       ON CONFLICT (key) DO UPDATE SET ${REPLACED}`,
    request.key, request.runId, request.epoch, request.callId, request.attempt, request.tool, request.argsDigest, fence, fence,
    canonical(request.owner), leaseUntil, doubtful?.firstClaimedAt ?? now, now,
    Math.max(now + request.sendWindowMs, doubtful?.sendWindowUntil ?? 0), before === null ? null : canonical(before),
  );
  yield* note(request.key, fence, before === null ? 'claimed' : 'taken over', JSON.parse(canonical(request.owner)));
  // The last write: every claim of every run passes this row, and holds it until its commit.
  yield* put('UPDATE ledger_meta SET claims = claims + 1');
  return { kind: 'claimed', fence, leaseUntil };
}
