// The connections of one process to a Postgres store: a small pool, each set up before its first use, and how steps are run on one.
// Owns time-outs, schema and durability of a connection. Statements whose answer nobody needs are sent without waiting for it.
// Never decides whether something is tried again.
import { Pool } from 'pg';
import type { ClientBase, PoolClient, QueryResult } from 'pg';
import { StoreError } from '../store-error';
import type { Answer, Bound, Step, Steps } from '../sql/steps';
import type { DatabaseAddress } from './address';

/** Few, since each is used for milliseconds; with many workers their sum counts. */
const MOST = 8;
const CONNECT_MS = 5_000;
/** Kept that long without use: a new one costs a dozen messages. */
const IDLE_MS = 300_000;
/** The oldest server that answers what came of a transaction (pg_xact_status, pg_current_xact_id). */
const OLDEST = 130_000;

const NOW = '(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)';
const LOCK = 'SELECT pg_current_xact_id()::text AS xid FROM (SELECT pg_advisory_xact_lock(hashtextextended($1, 0))) AS held';
const NOTHING: Answer = { rows: [], changes: 0 };

/** int8 (20) as numbers: all that is stored is below 2^53. */
const types = { getTypeParser: (oid: number) => ([20, 21, 23].includes(oid) ? Number : oid === 16 ? (text: string) => text === 't' : (text: string) => text) };

/** What is done on each new connection before its first use, after it was set up. */
export type Greet = (client: ClientBase) => Promise<void>;

export function openPool({ url, schema, place }: DatabaseAddress, patienceMs: number, greet: Greet): Pool {
  const setUp = async (client: ClientBase): Promise<void> => {
    // A connection in use that ends says so to whoever waits for its answer; as an event of its own it would end the process.
    client.on('error', () => undefined);
    // One statement a query: a pooler in between may understand no more.
    await client.query(`SELECT set_config('search_path', '"${schema}"', false), set_config('statement_timeout', '${patienceMs}', false),
      set_config('lock_timeout', '${patienceMs}', false), set_config('idle_in_transaction_session_timeout', '${patienceMs}', false),
      set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END, false)`);
    const { rows: [at] } = await client.query<{ version: string; standby: boolean }>(`SELECT current_setting('server_version_num') AS version, pg_is_in_recovery() AS standby`);
    if (Number(at!.version) < OLDEST) throw new StoreError('newer', `${place} is of version ${Math.floor(Number(at!.version) / 10_000)}: longhaul needs PostgreSQL 13 or newer.`);
    if (at!.standby) throw new StoreError('unwritable', `${place} is a standby, which takes no writes. Name the primary.`);
    await greet(client);
  };
  const settings = {
    connectionString: url, application_name: 'longhaul', max: MOST, connectionTimeoutMillis: CONNECT_MS, idleTimeoutMillis: IDLE_MS, query_timeout: 2 * patienceMs, keepAlive: true,
    keepAliveInitialDelayMillis: 10_000, allowExitOnIdle: true, pipeline: true, types, onConnect: setUp,
  };
  const pool = new Pool(settings);
  // A connection that ends while nobody uses it is replaced by the next that is needed.
  pool.on('error', () => undefined);
  return pool;
}

/** Runs an operation to its end on one connection; answers with the transaction's id when it took a lock. Throws what Postgres said first. */
export async function perform<T>(client: PoolClient, steps: Steps<T>): Promise<{ value: T; xid: string | null }> {
  const sent: Promise<QueryResult>[] = [];
  let xid: string | null = null;
  try {
    let next = steps.next();
    while (!next.done) {
      const asked = client.query(queryOf(next.value));
      asked.catch(() => undefined);
      sent.push(asked);
      if (!('lock' in next.value) && next.value.quiet) {
        next = steps.next(NOTHING);
        continue;
      }
      const { rows, rowCount } = await asked;
      if ('lock' in next.value) xid = (rows[0] as { xid: string }).xid;
      next = steps.next({ rows, changes: rowCount ?? 0 });
    }
    await Promise.all(sent);
    return { value: next.value, xid };
  } catch (error) {
    // What failed first is the reason; what was sent after it hears only that the transaction is over.
    const failed = (await Promise.allSettled(sent)).find((one) => one.status === 'rejected');
    throw failed?.status === 'rejected' ? failed.reason : error;
  }
}

const texts = new Map<string, string>();

function queryOf(step: Step): { text: string; values: Bound[] } {
  if ('lock' in step) return { text: LOCK, values: [`longhaul ${step.lock} ${step.name}`] };
  let text = texts.get(step.sql);
  if (text === undefined) {
    let count = 0;
    text = step.sql.replaceAll('{now}', NOW).replaceAll('?', () => `$${++count}`);
    texts.set(step.sql, text);
  }
  return { text, values: step.values.map(storable) };
}

/** Postgres keeps every character but NUL. What is stored and what is looked for are changed alike, and the event's own text is JSON, which has none. */
const storable = (value: Bound): Bound => (typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\u2400') : value);
