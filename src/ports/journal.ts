// Port: the journal, the authority on what happened, with the `runs` row that lists and the inbox read.
// Contract suite: testing/contracts/journal. The conductor is the only author of events; the store enforces
// UNIQUE(run, seq) and UNIQUE(run, idempotency key), compares versions and fences epochs in one transaction.
import type { RunEvent } from '../core/events';
import type { ArtifactRef } from '../core/run';
import type { AppendAnswer, AppendRequest } from '../core/append';
import type { RunRow, WaitRow } from '../core/row';

export type { AppendAnswer, AppendRequest } from '../core/append';
export type { RunRow, WaitRow } from '../core/row';

export type AcceptAnswer =
  | { kind: 'accepted' }
  /** The id is known with the same input digest. */
  | { kind: 'known'; row: RunRow }
  /** The id is known with another input. */
  | { kind: 'other-input'; row: RunRow }
  /** A run of this id was purged. The keys of its effects were derived from the id, so that it is never given out again. */
  | { kind: 'purged'; purged: PurgedRow };

export type ForkAnswer = AcceptAnswer
  /** The parent has no events up to `at`. */
  | { kind: 'no-such-event'; version: number };

/** What is left of a purged run: that there was one. */
export interface PurgedRow {
  runId: string; inputDigest: string; status: RunRow['status']; events: number;
  /** ms of its last event, and of the purge. */
  endedAt: number; purgedAt: number;
  /** Calls of which nobody knew whether they happened, e.g. `publish c7`; their rows stay in the ledger. */
  doubts: string[];
  /** What it was forked from: a fork of it may hold events that neither of them has made. */
  forkOf?: RunRow['forkOf'];
}

export type PurgeAnswer =
  | { kind: 'purged'; purged: PurgedRow }
  /** It was purged before. */
  | { kind: 'already'; purged: PurgedRow }
  | { kind: 'unknown' }
  /** It is not over: nothing was removed. */
  | { kind: 'open'; status: RunRow['status'] }
  /** Of these calls nobody knows whether they happened: nothing was removed. */
  | { kind: 'in-doubt'; calls: string[] };

/** A place in the list: that of the last row of a page. It holds on its own, since the run may be purged before the next page is read. */
export interface ListCursor { createdAt: number; runId: string }

/** The newest accepted first; `before` is where the page before this one ended (`nextAfter`). `updatedBefore`: last event before that time, in ms. */
export interface ListQuery { status?: RunRow['status'][]; waitingFor?: WaitRow['kind'][]; updatedBefore?: number; limit: number; before?: ListCursor }

/** What the query of the next page adds: nothing before the first page, or when the last one was empty. */
export function nextAfter(page: readonly RunRow[] | undefined): Pick<ListQuery, 'before'> {
  const last = page?.at(-1);
  return last ? { before: { createdAt: last.createdAt, runId: last.runId } } : {};
}

/** Bytes of events that one answer carries at most. */
export const TAIL_BYTES = 64 * 1024;

export interface JournalPort {
  /** Inserts the `runs` row before any workflow starts (R1.2): accepted durably before any work. */
  accept(row: RunRow): Promise<AcceptAnswer>;
  /**
   * Accepts a run whose journal begins as a copy of another's events up to `at` (each as core/fork.ts `inherited` says, with the
   * epoch and execution that wrote it), all in one transaction. Waits and awaited attempts of the parent are not copied; artifact
   * references are. `row.version` is `at`.
   */
  fork(row: RunRow, from: { runId: string; at: number }): Promise<ForkAnswer>;
  append(request: AppendRequest): Promise<AppendAnswer>;
  /** Events with seq > after, oldest first, at most `limit` and at most TAIL_BYTES (always at least one when there is one). */
  read(runId: string, after: number, limit?: number): Promise<{ events: RunEvent[]; more: boolean }>;
  /** Epoch and last version of a run; null when the id is unknown. */
  head(runId: string): Promise<{ epoch: number; version: number; executionId: string | null } | null>;
  /**
   * Raises the epoch by compare-and-set; answers the epoch in force and whether this call raised it. `lost`: events of the run
   * are known to be missing here. The ledger went back with them, so that it gets another incarnation in the same transaction.
   */
  raiseEpoch(runId: string, from: number, lost?: boolean): Promise<{ epoch: number; raised: boolean }>;
  row(runId: string): Promise<RunRow | null>;
  list(query: ListQuery): Promise<RunRow[]>;
  /** The event that this idempotency key stands on; null when there is none. */
  byKey(runId: string, idempotencyKey: string): Promise<RunEvent | null>;
  /** The run that has this open or past wait (approval, question, decision, callback id); null when no run ever had it. */
  runOfWait(waitId: string): Promise<string | null>;
  /**
   * Does the run vouch for this artifact: as its input, or by an event (core/run-artifacts.ts)? An id that only stands in the
   * arguments of a call, in a plan or in an inline value does not count.
   */
  refersTo(runId: string, sha256: string): Promise<boolean>;
  /** Every execution id that wrote to the run, for exports (envelope + epoch + executionId). */
  exportRows(runId: string, after: number, limit: number): Promise<{ event: RunEvent; epoch: number; executionId: string }[]>;
  saveCheckpoint(checkpoint: CheckpointRow): Promise<void>;
  /** The checkpoint of the highest version, at most `upTo` where that is given. */
  checkpoint(runId: string, upTo?: number): Promise<CheckpointRow | null>;
  checkpoints(runId: string): Promise<CheckpointRow[]>;
  /**
   * Removes an ended run: events, row, waits, checkpoints, artifact references and the ledger's rows of its keys, in one transaction
   * that leaves a PurgedRow. With `force` also a run with calls in doubt, whose rows stay in the ledger.
   */
  purge(runId: string, options?: { force?: boolean }): Promise<PurgeAnswer>;
  purged(runId: string): Promise<PurgedRow | null>;
  /** Does any run name this artifact: as its input, in an event, a checkpoint or an outcome of the ledger? Arguments and values count. */
  isNamed(sha256: string): Promise<boolean>;
  close(): Promise<void>;
}

/** A checkpoint as stored: canonical(state) is the artifact's bytes. */
export interface CheckpointRow { runId: string; version: number; stateVersion: number; ref: ArtifactRef; at: number }
