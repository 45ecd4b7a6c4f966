// The table of everything that the store thread can do, by name: the only list that thread and caller share.
// Writes run inside the thread's transaction, reads outside of it. Argument and answer types follow from the functions.
import type { ClaimRequest, LedgerRow, Outcome } from '../../../ports/ledger';
import type { Connection } from './connection';
import { fork, purge } from './journal-copies';
import * as journal from './journal-reads';
import { accept, append, raiseEpoch, saveCheckpoint } from './journal-writes';
import { claimOf, claimsWhere, incarnationOf, toLedgerRow } from './ledger-rows';
import { claim, markUnknown, release, renew, settle } from './ledger-writes';

export const writes = {
  accept, append, raiseEpoch, saveCheckpoint, fork, purge,
  claim: (db: Connection, request: ClaimRequest) => claim(db, request),
  renew,
  settle: (db: Connection, key: string, fence: number, outcome: Outcome) => settle(db, key, fence, outcome),
  release, markUnknown,
};

export const reads = {
  read: journal.pageOf, head: journal.headOf, row: journal.rowOf, list: journal.list, byKey: journal.byKey, runOfWait: journal.runOfWait, refersTo: journal.refersTo,
  exportRows: journal.exportRows, checkpoint: journal.checkpoint, checkpoints: journal.checkpoints,
  purged: journal.purgedOf, isNamed: journal.isNamed,
  incarnation: incarnationOf,
  get: (db: Connection, key: string): LedgerRow | null => {
    const row = claimOf(db, key);
    return row === null ? null : toLedgerRow(row);
  },
  byRun: (db: Connection, runId: string): LedgerRow[] => claimsWhere(db, 'run_id = ? ORDER BY first_claimed_at, key', runId).map(toLedgerRow),
  open: (db: Connection): LedgerRow[] => claimsWhere(db, `state IN ('claimed', 'unknown') ORDER BY claimed_at, key`).map(toLedgerRow),
};

type Operations = typeof writes & typeof reads;
export type OperationName = keyof Operations;
/** Arguments after the connection. */
export type Arguments<Name extends OperationName> = Operations[Name] extends (db: Connection, ...rest: infer Rest) => unknown ? Rest : never;
export type Answer<Name extends OperationName> = ReturnType<Operations[Name]>;

/** What the thread is told and what it says; `close` ends it after everything asked before. Answers are JSON text. */
export type Request = { id: number; name: OperationName; values: unknown[] } | { close: true };
export type Reply =
  | { ready: true } | { refused: { code: string; message: string } }
  | { id: number; answer: string | undefined } | { id: number; error: { code: string; message: string } };
/** What the thread is started with. `patienceMs`: how long a request waits for another process's lock. */
export interface ThreadOptions { file: string; mark: string; patienceMs: number }
