// The simulator's ledger: the semantics of ports/ledger.ts on virtual time, for one run. One row a key; epochs fence claims,
// never settling; the first outcome stays.
import { canonical } from '../core/canonical';
import type { ClaimAnswer, ClaimOwner, ClaimRequest, LedgerRow, Outcome } from '../ports/ledger';

type Row = Omit<LedgerRow, 'now'> & { tookOver: boolean };

export interface LedgerFaults {
  /** Mutant: a dead owner's claim is given away without the gate. */
  dealsDeadClaims: boolean;
  /** Mutant: an old epoch may claim. */
  unfenced: boolean;
  /** Mutant: an attempt that the run has given up may claim. */
  unaware: boolean;
}

/** What the ledger asks the journal in the transaction of a claim. */
export interface ClaimGround { epoch: number; awaits(callId: string, attempt: number): boolean }

export class SimulatedLedger {
  private rows = new Map<string, Row>();
  private copies = 0;

  constructor(private readonly now: () => number, private readonly journal: ClaimGround, private readonly faults: LedgerFaults) {}

  get incarnation(): string {
    return `ledger-${this.copies}`;
  }

  /** The ledger is put back from an older, empty copy; that is noticed, so the incarnation changes. */
  lose(): void {
    this.rows = new Map();
    this.copies += 1;
  }

  claim(request: ClaimRequest): ClaimAnswer {
    const { epoch } = this.journal;
    if (epoch > request.epoch && !this.faults.unfenced) return { kind: 'fenced', epoch };
    if (!this.journal.awaits(request.callId, request.attempt) && !this.faults.unaware) return { kind: 'fenced', epoch };
    const row = this.rows.get(request.key);
    if (!row) return this.take(request, null);
    if (row.argsDigest !== request.argsDigest) return { kind: 'mismatch', argsDigest: row.argsDigest };
    if (row.outcome) return { kind: 'outcome', fence: row.fence, outcome: row.outcome };
    // An attempt that was withdrawn is over, also for another flight of it.
    if (row.state === 'released') return request.attempt <= row.attempt && !this.faults.unaware ? { kind: 'fenced', epoch } : this.take(request, row);
    const { fence, leaseUntil, owner, firstClaimedAt, sendWindowUntil } = row;
    if (row.state === 'claimed' && this.now() < leaseUntil) return { kind: 'held', fence, leaseUntil, owner };
    if (request.takeOver === fence || this.faults.dealsDeadClaims) return this.take(request, row);
    return { kind: 'dead-owner', fence, firstClaimedAt, sendWindowUntil, owner };
  }

  private take(request: ClaimRequest, before: Row | null): ClaimAnswer {
    const now = this.now();
    const tookOver = before !== null && before.state !== 'released';
    const leaseUntil = now + request.leaseMs;
    const fence = (before?.fence ?? 0) + 1;
    const owner: ClaimOwner = request.owner;
    this.rows.set(request.key, {
      key: request.key, runId: request.runId, epoch: request.epoch, callId: request.callId, attempt: request.attempt, tool: request.tool,
      argsDigest: request.argsDigest, state: 'claimed', fence, owner, leaseUntil, claimedAt: now, outcome: null, tookOver,
      firstClaimedAt: tookOver ? before.firstClaimedAt : now,
      sendWindowUntil: Math.max(now + request.sendWindowMs, tookOver ? before.sendWindowUntil : 0),
    });
    return { kind: 'claimed', fence, leaseUntil };
  }

  renew(key: string, fence: number, leaseMs: number): boolean {
    const row = this.rows.get(key);
    if (!row || row.fence !== fence || row.state !== 'claimed') return false;
    row.leaseUntil = this.now() + leaseMs;
    return true;
  }

  settle(key: string, fence: number, outcome: Outcome): 'settled' | 'already' | 'late' | 'conflict' | 'unknown-claim' {
    const row = this.rows.get(key);
    if (!row || fence > row.fence) return 'unknown-claim';
    if (row.outcome) return canonical(row.outcome) === canonical(outcome) ? 'already' : 'conflict';
    const late = fence < row.fence;
    if (late && outcome.kind === 'refused') return 'late';
    row.state = outcome.kind;
    row.outcome = outcome;
    return late ? 'late' : 'settled';
  }

  release(key: string, fence: number): boolean {
    const row = this.newest(key, fence);
    if (!row) return false;
    const held = row.state === 'claimed' && this.now() < row.leaseUntil;
    row.state = held && row.tookOver ? 'unknown' : 'released';
    row.leaseUntil = this.now();
    return true;
  }

  markUnknown(key: string, fence: number): boolean {
    const row = this.newest(key, fence);
    if (!row || row.state === 'released') return false;
    row.state = 'unknown';
    row.leaseUntil = Math.min(row.leaseUntil, this.now());
    return true;
  }

  get(key: string): Row | null {
    return this.rows.get(key) ?? null;
  }

  private newest(key: string, fence: number): Row | null {
    const row = this.rows.get(key);
    return row && row.fence === fence && !row.outcome ? row : null;
  }
}
