// Port: the journal, the authority on what happened, with the `runs` row that lists and the inbox read.
// Contract suite: testing/contracts/journal. The conductor is the only author of events; the store enforces
// UNIQUE(run, seq) and UNIQUE(run, idempotency key), compares versions and fences epochs in one transaction.
import type { RunEvent } from '../core/events';
import type { Actor, ArtifactRef } from '../core/run';

/** One open wait as lists show it. */
export interface WaitRow {
  waitId: string;
  kind: 'approval' | 'question' | 'decision' | 'time' | 'retry' | 'blocked' | 'budget' | 'paused';
  /** One line: what the run waits for. */
  what: string;
  /** Who may answer; empty means anyone. */
  who: string[];
  /** ms since the epoch, or null when nothing ends the wait. */
  until: number | null;
  /** What happens then, e.g. `cancel-run`. */
  then: string;
  /** The exact command that decides it, without the leading `npx`. */
  command: string;
  since: number;
}

/** The list row of a run: a pure projection of state (core/summary.ts), written with every batch. */
export interface RunRow {
  runId: string;
  title: string;
  agent: string;
  owner: Actor;
  status: 'accepted' | 'running' | 'waiting' | 'paused' | 'blocked' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  outcome: 'full' | 'partial' | null;
  /** One sentence on the end, or on what is going on. */
  detail: string;
  waits: WaitRow[];
  deadline: number | null;
  budgetLeft: Record<string, number>;
  steps: { done: number; total: number };
  epoch: number;
  version: number;
  inputDigest: string;
  inputRef: ArtifactRef;
  createdAt: number;
  updatedAt: number;
}

export interface AppendRequest {
  runId: string;
  epoch: number;
  /** Temporal's run id of the execution that writes. */
  executionId: string;
  /** Version (last seq) that the batch was decided on. */
  expectedVersion: number;
  /** Gapless from expectedVersion + 1. */
  events: RunEvent[];
  row: RunRow;
}

export type AppendAnswer =
  | { kind: 'appended'; version: number }
  /** The journal is ahead by the same execution: fold `tail`, ask again from its end while `more`, then decide again. */
  | { kind: 'diverged'; tail: RunEvent[]; more: boolean }
  /** The journal was carried on by another execution of the same epoch: continue as new. */
  | { kind: 'behind' }
  /** These idempotency keys are in already: answer their commands from these events; nothing was appended. */
  | { kind: 'duplicate'; hits: { idempotencyKey: string; seq: number }[] }
  /** A newer epoch owns the run: end without a word. */
  | { kind: 'fenced'; epoch: number };

export type AcceptAnswer =
  | { kind: 'accepted' }
  /** The id is known with the same input digest. */
  | { kind: 'known'; row: RunRow }
  /** The id is known with another input. */
  | { kind: 'other-input'; row: RunRow };

export interface ListQuery { status?: RunRow['status'][]; waitingFor?: WaitRow['kind'][]; limit: number; before?: string }

/** Bytes of events that one answer carries at most. */
export const TAIL_BYTES = 64 * 1024;

export interface JournalPort {
  /** Inserts the `runs` row before any workflow starts (R1.2): accepted durably before any work. */
  accept(row: RunRow): Promise<AcceptAnswer>;
  append(request: AppendRequest): Promise<AppendAnswer>;
  /** Events with seq > after, oldest first, at most `limit` and at most TAIL_BYTES (always at least one when there is one). */
  read(runId: string, after: number, limit?: number): Promise<{ events: RunEvent[]; more: boolean }>;
  /** Epoch and last version of a run; null when the id is unknown. */
  head(runId: string): Promise<{ epoch: number; version: number; executionId: string | null } | null>;
  /** Raises the epoch by compare-and-set; answers the epoch in force and whether this call raised it. */
  raiseEpoch(runId: string, from: number): Promise<{ epoch: number; raised: boolean }>;
  row(runId: string): Promise<RunRow | null>;
  list(query: ListQuery): Promise<RunRow[]>;
  /** The run that has this open or past wait (approval, question, decision id); null when no run ever had it. */
  runOfWait(waitId: string): Promise<string | null>;
  /** Every execution id that wrote to the run, for exports (envelope + epoch + executionId). */
  exportRows(runId: string, after: number, limit: number): Promise<{ event: RunEvent; epoch: number; executionId: string }[]>;
  /** Latest saved checkpoint of a run. */
  saveCheckpoint(checkpoint: CheckpointRow): Promise<void>;
  checkpoint(runId: string): Promise<CheckpointRow | null>;
  checkpoints(runId: string): Promise<CheckpointRow[]>;
  close(): Promise<void>;
}

/** A checkpoint as stored: canonical(state) is the artifact's bytes. */
export interface CheckpointRow { runId: string; version: number; stateVersion: number; ref: ArtifactRef; at: number }
