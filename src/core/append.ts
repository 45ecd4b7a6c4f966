// Arguments and answers of `append`, the one way into the journal. Shared by the conductor, which acts on the answers, and the
// journal port, which gives them. Frozen early: they carry epoch, execution and version from the first commit on.
import type { RunEvent } from './events';
import type { RunRow } from './row';

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
  /** A newer epoch owns the run, or it was purged (then `epoch` is the one that asked): end without a word. */
  | { kind: 'fenced'; epoch: number };
