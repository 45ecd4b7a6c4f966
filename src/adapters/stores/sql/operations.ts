// The table of everything that a SQL store can do, by name: what the SQLite thread and its caller share, and what Postgres runs.
// Writes run inside a transaction, reads outside of one. Argument and answer types follow from the functions.
import type { LedgerRow } from '../../../ports/ledger';
import { fork, purge } from './journal-copies';
import * as journal from './journal-reads';
import { accept, append, raiseEpoch, saveCheckpoint } from './journal-writes';
import { claimOf, claimsWhere, incarnationOf, toLedgerRow } from './ledger-rows';
import type { Steps } from './steps';
import { claim, markUnknown, release, renew, settle } from './ledger-writes';

const writes = {
  accept, append, raiseEpoch, saveCheckpoint, fork, purge,
  claim, renew, settle, release, markUnknown,
};

const reads = {
  read: journal.pageOf, head: journal.headOf, row: journal.rowOf, list: journal.list, byKey: journal.byKey, runOfWait: journal.runOfWait, refersTo: journal.refersTo,
  exportRows: journal.exportRows, checkpoint: journal.checkpoint, checkpoints: journal.checkpoints,
  purged: journal.purgedOf, isNamed: journal.isNamed,
  incarnation: incarnationOf,
  *get(key: string): Steps<LedgerRow | null> {
    const row = yield* claimOf(key);
    return row === null ? null : toLedgerRow(row);
  },
  *byRun(runId: string): Steps<LedgerRow[]> {
    return (yield* claimsWhere('run_id = ? ORDER BY first_claimed_at, key', runId)).map(toLedgerRow);
  },
  *open(): Steps<LedgerRow[]> {
    return (yield* claimsWhere(`state IN ('claimed', 'unknown') ORDER BY claimed_at, key`)).map(toLedgerRow);
  },
};

type Operations = typeof writes & typeof reads;
export type OperationName = keyof Operations;
export type Arguments<Name extends OperationName> = Parameters<Operations[Name]>;
export type Result<Name extends OperationName> = ReturnType<Operations[Name]> extends Steps<infer T> ? T : never;

/** Whatever does operations on a store, by name. */
export interface Asker {
  /** Rejects with StoreError; a refusal is an answer. */
  ask<Name extends OperationName>(name: Name, ...values: Arguments<Name>): Promise<Result<Name>>;
  close(): Promise<void>;
}

const all = { ...reads, ...writes } as unknown as Record<string, (...values: unknown[]) => Steps<unknown>>;

/** The operation of that name, ready to be run. */
export const operation = (name: OperationName, values: unknown[]): Steps<unknown> => all[name]!(...values);

/** Does it need a transaction? */
export const isWrite = (name: OperationName): boolean => name in writes;
