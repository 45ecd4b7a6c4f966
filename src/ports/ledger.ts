// Port: the effect ledger, one row a key. It decides who may try an effect and keeps what came of it.
// Contract suite: testing/contracts/ledger. Times are the database's own clock. Epochs fence claims, never settling (DESIGN 3).
// I13: the claim is the last act before the send, so no claim for a key means that nobody has sent it.
import type { Failure } from '../core/failure';
import type { PendingTerms } from '../core/pending';
import type { Output } from '../core/run';

/** Who holds a claim: enough to tell a dead process from a slow one on the same host. */
export interface ClaimOwner { host: string; pid: number; processStart: string; worker: string; taskToken?: string }

export interface ClaimRequest {
  key: string;
  runId: string;
  epoch: number;
  callId: string;
  attempt: number;
  tool: string;
  argsDigest: string;
  owner: ClaimOwner;
  leaseMs: number;
  /** ms after the claim in which a stalled owner's request may still leave. */
  sendWindowMs: number;
  /** Fence that the gate examined and allowed to be taken over; without it a dead owner's claim is reported, not taken. */
  takeOver?: number;
}

export type Outcome =
  /** `pending`: the effect is that the outside accepted the request; its result comes by callbacks. */
  | { kind: 'done'; output: Output; summary: string; pending?: PendingTerms }
  | { kind: 'refused'; failure: Failure };

export type ClaimAnswer =
  | { kind: 'claimed'; fence: number; leaseUntil: number }
  | { kind: 'outcome'; fence: number; outcome: Outcome }
  | { kind: 'held'; fence: number; leaseUntil: number; owner: ClaimOwner }
  /** The lease is over and nothing was settled: the gate decides. */
  | { kind: 'dead-owner'; fence: number; firstClaimedAt: number; sendWindowUntil: number; owner: ClaimOwner }
  | { kind: 'mismatch'; argsDigest: string }
  | { kind: 'fenced'; epoch: number }
  /**
   * The newest event about the call is not the request of this attempt, or the attempt was given back: nothing is sent any more. `standing`:
   * a claim under this key that nobody gave back, such as that of another execution of the run, so that nothing is proved by this answer.
   */
  | { kind: 'not-awaited'; standing?: { fence: number; owner: ClaimOwner } }
  /** Nobody has claimed here, but the call was requested under another incarnation of the ledger: that proves nothing. */
  | { kind: 'claims-lost' };

export interface LedgerRow {
  key: string; runId: string; epoch: number; callId: string; attempt: number; tool: string; argsDigest: string;
  state: 'claimed' | 'done' | 'refused' | 'unknown' | 'released';
  fence: number; owner: ClaimOwner; leaseUntil: number; firstClaimedAt: number; claimedAt: number; sendWindowUntil: number;
  outcome: Outcome | null; now: number;
}

export interface LedgerPort {
  /** Changes when the ledger is new or was rolled back; absence in another incarnation proves nothing. */
  incarnation(): Promise<string>;
  claim(request: ClaimRequest): Promise<ClaimAnswer>;
  /** Extends the lease, also one that ran out untaken; false when the fence is no longer the newest or the claim is not held. */
  renew(key: string, fence: number, leaseMs: number): Promise<boolean>;
  /** Records the outcome. `late` when a newer fence owns the row and has no outcome yet (kept: news of an effect is always accepted; a late refusal is no such news and leaves the row to the newer fence). */
  settle(key: string, fence: number, outcome: Outcome): Promise<{ kind: 'settled' | 'already' | 'late' | 'conflict'; outcome: Outcome }>;
  /**
   * The call was given up before its send: the next claim takes fence + 1 at once. False when the fence is not the newest or
   * there is an outcome. A claim that had taken over a doubtful one proves nothing of that: the row goes back to `unknown`
   * with the older owner, and `takeOver` of the fence that was examined before is still good.
   */
  release(key: string, fence: number): Promise<boolean>;
  /** Marks a claim whose outcome nobody can tell. */
  markUnknown(key: string, fence: number): Promise<boolean>;
  get(key: string): Promise<LedgerRow | null>;
  byRun(runId: string): Promise<LedgerRow[]>;
  /** Claims without an outcome, for `doctor`. */
  open(): Promise<LedgerRow[]>;
  close(): Promise<void>;
}
