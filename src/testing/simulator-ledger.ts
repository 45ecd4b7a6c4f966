// The simulator's ledger: the semantics of ports/ledger.ts on virtual time, for one run. One row a key; epochs fence claims,
// never settling; the first outcome stays.
import { canonical } from '../core/canonical';
import type { AwaitedCall } from './simulator-journal';
import type { ClaimAnswer, ClaimOwner, ClaimRequest, LedgerRow, Outcome } from '../ports/ledger';

/** The doubtful claim that a take-over must not forget, in case it gives up unsent. */
type Before = Pick<Row, 'doubtFence' | 'owner' | 'claimedAt' | 'sendWindowUntil'>;
interface Row extends Omit<LedgerRow, 'now'> { doubtFence: number; before: Before | null }

export interface LedgerFaults {
  /** Mutant: a dead owner's claim is given away without the gate. */
  dealsDeadClaims: boolean;
  /** Mutant: an old epoch may claim. */
  unfenced: boolean;
  /** Mutant: an attempt that the run has given up may claim. */
  unaware: boolean;
}

/** What the ledger asks the journal in the transaction of a claim. */
export interface ClaimGround { epoch: number; awaited(callId: string): AwaitedCall | null }

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
    const awaited = this.journal.awaited(request.callId);
    const row = this.rows.get(request.key) ?? null;
    if (awaited?.attempt !== request.attempt && !this.faults.unaware) return !row || row.state === 'released' ? { kind: 'not-awaited' } : { kind: 'not-awaited', standing: { fence: row.fence, owner: row.owner } };
    const free = (): ClaimAnswer => (awaited && awaited.incarnation !== this.incarnation ? { kind: 'claims-lost' } : this.take(request, row));
    if (!row) return free();
    if (row.argsDigest !== request.argsDigest) return { kind: 'mismatch', argsDigest: row.argsDigest };
    if (row.outcome) return { kind: 'outcome', fence: row.fence, outcome: row.outcome };
    // An attempt that was withdrawn is over, also for another flight of it.
    if (row.state === 'released') return request.attempt > row.attempt || this.faults.unaware ? free() : { kind: 'not-awaited' };
    const { fence, leaseUntil, owner, firstClaimedAt, sendWindowUntil } = row;
    if (row.state === 'claimed' && this.now() < leaseUntil) return { kind: 'held', fence, leaseUntil, owner };
    if (request.takeOver === fence || request.takeOver === row.doubtFence || this.faults.dealsDeadClaims) return this.take(request, row);
    return { kind: 'dead-owner', fence, firstClaimedAt, sendWindowUntil, owner };
  }

  private take(request: ClaimRequest, row: Row | null): ClaimAnswer {
    const now = this.now();
    const doubtful = row !== null && row.state !== 'released' ? row : null;
    const leaseUntil = now + request.leaseMs;
    const fence = (row?.fence ?? 0) + 1;
    const owner: ClaimOwner = request.owner;
    this.rows.set(request.key, {
      key: request.key, runId: request.runId, epoch: request.epoch, callId: request.callId, attempt: request.attempt, tool: request.tool,
      argsDigest: request.argsDigest, state: 'claimed', fence, doubtFence: fence, owner, leaseUntil, claimedAt: now, outcome: null,
      firstClaimedAt: doubtful?.firstClaimedAt ?? now,
      sendWindowUntil: Math.max(now + request.sendWindowMs, doubtful?.sendWindowUntil ?? 0),
      before: doubtful && { doubtFence: doubtful.doubtFence, owner: doubtful.owner, claimedAt: doubtful.claimedAt, sendWindowUntil: doubtful.sendWindowUntil },
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
    if (row.state === 'released') return true;
    row.leaseUntil = this.now();
    if (row.state === 'claimed' && row.before) Object.assign(row, row.before, { state: 'unknown', before: null });
    else row.state = 'released';
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

  all(): Row[] {
    return [...this.rows.values()];
  }

  private newest(key: string, fence: number): Row | null {
    const row = this.rows.get(key);
    return row && row.fence === fence && !row.outcome ? row : null;
  }
}
