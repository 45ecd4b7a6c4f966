// Journal and ledger in PostgreSQL: the operations of the SQL stores, each write in one transaction of its own. Who reads, decides and
// writes holds the run's (or the key's) advisory lock until its commit, so that operations on one run follow each other as in SQLite.
// What failed before its commit is undone and tried again for a moment. Of a commit that was not answered, the server is asked what
// came of it: an answer is never given for what is not stored, nor a failure for what is.
import type { Pool, PoolClient } from 'pg';
import { isWrite, operation } from '../sql/operations';
import type { Arguments, Asker, OperationName, Result } from '../sql/operations';
import { StoreError, toStoreError } from '../store-error';
import type { DatabaseAddress } from './address';
import { openPool, perform } from './connections';
import { isAway, isRepeatable, isStarting, toPostgresError } from './errors';
import { LedgerGuard } from './ledger-guard';
import { migrate } from './migrations';

/** ms for which what could not be sent is tried again before the caller hears that the server is away. */
const AWAY_MS = 2_000;
const PAUSE_MAX_MS = 250;

export interface PostgresOptions { address: DatabaseAddress; /** File of the ledger's mark. */ mark: string; mustExist?: boolean; /** ms for a lock, a statement, a starting server. */ patienceMs: number }

/** The commit was sent and its answer is lost. */
class Unanswered extends Error {
  constructor(readonly xid: string | null, readonly value: unknown, override readonly cause: unknown) {
    super('A commit was not answered.');
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** Grows, with chance in it, so that processes that wait for one server do not march in step. */
const pause = (tries: number): Promise<void> => sleep(5 + Math.random() * Math.min(PAUSE_MAX_MS, 10 * 2 ** Math.min(tries, 6)));

export class PostgresStore implements Asker {
  private readonly open = new Set<Promise<unknown>>();
  private closing: Promise<void> | null = null;
  private ready = false;

  private readonly pool: Pool;

  private constructor(private readonly options: PostgresOptions, private readonly guard: LedgerGuard) {
    this.pool = openPool(options.address, options.patienceMs, async (client) => {
      if (this.ready) await guard.check(client);
    });
  }

  /** Connects, brings the schema to this build's, and looks whether the ledger went back. Throws StoreError. */
  static async start(options: PostgresOptions): Promise<PostgresStore> {
    const store = new PostgresStore(options, guardOf(options.mark));
    try {
      await store.begin();
      return store;
    } catch (error) {
      await store.close();
      throw toPostgresError(error, options.address.place);
    }
  }

  /** Does one operation. Rejects with StoreError; a refusal is an answer. */
  async ask<Name extends OperationName>(name: Name, ...values: Arguments<Name>): Promise<Result<Name>> {
    if (this.closing) throw new StoreError('closed', `The store ${this.options.address.place} is closed.`);
    const asked = this.patiently(() => (isWrite(name) ? this.write(name, values) : this.read(name, values)));
    this.open.add(asked);
    try {
      return await asked as Result<Name>;
    } catch (error) {
      throw toPostgresError(error, this.options.address.place);
    } finally {
      this.open.delete(asked);
    }
  }

  /** Ends the connections after everything that was asked before. */
  close(): Promise<void> {
    this.closing ??= (async () => {
      await Promise.allSettled(this.open);
      this.guard.close();
      await this.pool.end();
    })();
    return this.closing;
  }

  private async begin(): Promise<void> {
    const client = await this.whenStarted();
    try {
      await migrate(client, this.options.address, this.options);
      await this.guard.check(client);
      this.ready = true;
    } finally {
      client.release();
    }
  }

  /** A server that is starting is waited for; one that is not there is told at once. */
  private async whenStarted(): Promise<PoolClient> {
    const since = performance.now();
    for (let tries = 0; ; tries++) {
      try {
        return await this.pool.connect();
      } catch (error) {
        if (!isStarting(error) || performance.now() - since > this.options.patienceMs) throw error;
        await pause(tries);
      }
    }
  }

  private async patiently<T>(attempt: () => Promise<T>): Promise<T> {
    const since = performance.now();
    for (let tries = 0; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        const gone = performance.now() - since;
        if (!(isRepeatable(error) && gone < this.options.patienceMs) && !(isAway(error) && gone < AWAY_MS)) throw error;
        await pause(tries);
      }
    }
  }

  private async read(name: OperationName, values: unknown[]): Promise<unknown> {
    const client = await this.pool.connect();
    return using(client, async () => (await perform(client, operation(name, values))).value);
  }

  private async write(name: OperationName, values: unknown[]): Promise<unknown> {
    const changes = this.guard.changes;
    const client = await this.pool.connect();
    try {
      const value = await using(client, () => transaction(client, name, values));
      if (name === 'claim' || name === 'raiseEpoch') this.guard.claimed(this.pool);
      return value;
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      const fate = error.xid === null ? null : await this.fateOf(error.xid).catch(() => null);
      if (fate === 'committed' && changes === this.guard.changes) return error.value;
      if (fate === 'aborted' && changes === this.guard.changes) throw error.cause;
      throw new StoreError('unreachable', `${this.options.address.place} went away while it was writing, and cannot be asked whether it did. Ask again: what was kept is found, what was not is done.`);
    }
  }

  /** What came of a transaction, asked until the server answers. */
  private async fateOf(xid: string): Promise<string | null> {
    const since = performance.now();
    for (let tries = 0; performance.now() - since < this.options.patienceMs; tries++) {
      const status = await this.statusOf(xid).catch((error: unknown) => {
        if (isAway(error)) return 'in progress';
        throw error;
      });
      if (status !== 'in progress') return status;
      await pause(tries);
    }
    return null;
  }

  private async statusOf(xid: string): Promise<string | null> {
    const client = await this.pool.connect();
    return using(client, async () => (await client.query<{ status: string | null }>('SELECT pg_xact_status($1::xid8) AS status', [xid])).rows[0]!.status);
  }
}

function guardOf(mark: string): LedgerGuard {
  try {
    return new LedgerGuard(mark);
  } catch (error) {
    throw toStoreError(error, mark);
  }
}

/** Gives the connection back; one on which anything failed but a rule is not used again. */
async function using<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  try {
    const value = await work();
    client.release();
    return value;
  } catch (error) {
    client.release(!(error instanceof StoreError));
    throw error;
  }
}

async function transaction(client: PoolClient, name: OperationName, values: unknown[]): Promise<unknown> {
  const begun = client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  begun.catch(() => undefined);
  let done: { value: unknown; xid: string | null };
  try {
    done = await perform(client, operation(name, values));
    await begun;
  } catch (error) {
    if (!isAway(error)) await client.query('ROLLBACK');
    throw error;
  }
  const committed = await client.query('COMMIT').catch((error: unknown) => {
    throw isAway(error) ? new Unanswered(done.xid, done.value, error) : error;
  });
  if (committed.command !== 'COMMIT') throw new StoreError('defect', `A transaction of ${name} was undone by the server although every statement of it was answered.`);
  return done.value;
}
