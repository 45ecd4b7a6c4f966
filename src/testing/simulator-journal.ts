// The simulator's journal: the semantics of `append` (core/append.ts) for one run, held in memory as JSON copies, so that a
// member that JSON drops is dropped here too. Enforces what the real store enforces: gapless numbers, unique keys, epochs.
import type { AppendAnswer, AppendRequest } from '../core/append';
import type { RunEvent } from '../core/events';

/** The attempt that a run waits for, and the ledger in which it was requested. */
export interface AwaitedCall { attempt: number; incarnation: string }

interface Row { event: RunEvent; executionId: string }

/** Events that one answer carries at most; small, so that paging is exercised. */
const PAGE = 7;

export class SimulatedJournal {
  private readonly rows: Row[] = [];
  private readonly keys = new Map<string, number>();
  /** Requests about whose calls nothing was written since. */
  private readonly open = new Map<string, AwaitedCall & { undo: boolean }>();
  private current = 1;
  private saved: { version: number; text: string } | null = null;

  /** `heard` is told every batch that was committed. */
  constructor(private readonly heard: (events: RunEvent[], epoch: number) => void, private readonly unfenced = false) {}

  get epoch(): number {
    return this.current;
  }

  get version(): number {
    return this.rows.length;
  }

  append({ epoch, executionId, expectedVersion, events }: AppendRequest): AppendAnswer {
    if (epoch < this.current && !this.unfenced) return { kind: 'fenced', epoch: this.current };
    if (expectedVersion < this.version) {
      if (this.rows.slice(expectedVersion).some((row) => row.executionId !== executionId)) return { kind: 'behind' };
      const { events: tail, more } = this.read(expectedVersion);
      return { kind: 'diverged', tail, more };
    }
    const hits = events.flatMap(({ idempotencyKey }) => {
      const seq = idempotencyKey === undefined ? undefined : this.keys.get(idempotencyKey);
      return idempotencyKey === undefined || seq === undefined ? [] : [{ idempotencyKey, seq }];
    });
    if (hits.length > 0) return { kind: 'duplicate', hits };
    this.commit(events, expectedVersion, executionId, epoch);
    return { kind: 'appended', version: this.version };
  }

  private commit(events: RunEvent[], expectedVersion: number, executionId: string, epoch: number): void {
    if (expectedVersion !== this.version) throw new Error(`A batch was decided on version ${expectedVersion}, but the journal is at ${this.version}.`);
    const batch = events.map((event) => JSON.parse(JSON.stringify(event)) as RunEvent);
    for (const event of batch) {
      if (event.seq !== this.version + 1) throw new Error(`Event ${event.seq} follows event ${this.version}.`);
      if (event.idempotencyKey !== undefined) {
        if (this.keys.has(event.idempotencyKey)) throw new Error(`The idempotency key ${event.idempotencyKey} stands twice in one batch.`);
        this.keys.set(event.idempotencyKey, event.seq);
      }
      this.rows.push({ event, executionId });
      this.keepAwaited(event);
    }
    this.heard(batch, epoch);
  }

  private keepAwaited({ type, data }: RunEvent): void {
    if (type === 'CancelRequested') for (const [callId, { undo }] of this.open) if (!undo) this.open.delete(callId);
    if (!('callId' in data) || data.callId === undefined) return;
    if (type === 'ToolCallRequested') this.open.set(data.callId, { attempt: data.attempt, incarnation: data.ledgerIncarnation, undo: data.undoOf !== undefined });
    else this.open.delete(data.callId);
  }

  /** The attempt at a call that the run waits for. A claim asks in its transaction, so that an attempt given up cannot send later. */
  awaited(callId: string): AwaitedCall | null {
    return this.open.get(callId) ?? null;
  }

  read(after: number, limit = PAGE): { events: RunEvent[]; more: boolean } {
    const rows = this.rows.slice(after, after + limit);
    return { events: rows.map((row) => row.event), more: after + rows.length < this.version };
  }

  all(): RunEvent[] {
    return this.rows.map((row) => row.event);
  }

  /** Raises the epoch for a restore and answers it. */
  raiseEpoch(): number {
    this.current += 1;
    return this.current;
  }

  saveCheckpoint(version: number, text: string): void {
    if (this.saved === null || version > this.saved.version) this.saved = { version, text };
  }

  checkpoint(): { version: number; text: string } | null {
    return this.saved;
  }
}
