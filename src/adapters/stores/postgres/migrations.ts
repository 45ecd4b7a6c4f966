// The schema of a Postgres store, as ordered steps that are never edited once released: a change is a new step at the end. The same
// tables as in SQLite, with texts compared byte by byte. All steps run in one transaction under one lock, so that several workers
// may start on an empty database at once. A newer schema is refused and left untouched.
import type { ClientBase } from 'pg';
import { StoreError } from '../store-error';

interface Migration { version: number; name: string; sql: string }

const TEXT = 'TEXT COLLATE "C"';

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'journal, runs, waits, artifact references, checkpoints, effect ledger, awaited attempts, purged runs',
    sql: `
      CREATE TABLE run (
        run_id ${TEXT} PRIMARY KEY, epoch BIGINT NOT NULL, version BIGINT NOT NULL, status ${TEXT} NOT NULL, owner_id ${TEXT} NOT NULL,
        agent ${TEXT} NOT NULL, input_digest ${TEXT} NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, body ${TEXT} NOT NULL
      );
      CREATE INDEX run_by_creation ON run (created_at, run_id);
      CREATE INDEX run_by_status ON run (status, created_at);
      CREATE INDEX run_by_update ON run (updated_at);

      CREATE TABLE event (
        run_id ${TEXT} NOT NULL, seq BIGINT NOT NULL, epoch BIGINT NOT NULL, execution_id ${TEXT} NOT NULL, idempotency_key ${TEXT},
        at BIGINT NOT NULL, type ${TEXT} NOT NULL, body ${TEXT} NOT NULL, PRIMARY KEY (run_id, seq)
      );
      CREATE UNIQUE INDEX event_by_key ON event (run_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

      CREATE TABLE wait (
        wait_id ${TEXT} NOT NULL, run_id ${TEXT} NOT NULL, kind ${TEXT} NOT NULL, open INTEGER NOT NULL, since BIGINT NOT NULL,
        PRIMARY KEY (wait_id, run_id)
      );
      CREATE INDEX wait_open ON wait (run_id, kind) WHERE open = 1;

      CREATE TABLE artifact_ref (run_id ${TEXT} NOT NULL, sha256 ${TEXT} NOT NULL, seq BIGINT NOT NULL, PRIMARY KEY (run_id, sha256, seq));
      CREATE INDEX artifact_ref_by_content ON artifact_ref (sha256);

      CREATE TABLE checkpoint (
        run_id ${TEXT} NOT NULL, version BIGINT NOT NULL, state_version BIGINT NOT NULL, ref ${TEXT} NOT NULL, at BIGINT NOT NULL,
        PRIMARY KEY (run_id, version, state_version)
      );

      CREATE TABLE awaited (
        run_id ${TEXT} NOT NULL, call_id ${TEXT} NOT NULL, attempt BIGINT NOT NULL, undo INTEGER NOT NULL, incarnation ${TEXT} NOT NULL,
        PRIMARY KEY (run_id, call_id)
      );

      CREATE TABLE ledger (
        key ${TEXT} PRIMARY KEY, run_id ${TEXT} NOT NULL, epoch BIGINT NOT NULL, call_id ${TEXT} NOT NULL, attempt BIGINT NOT NULL,
        tool ${TEXT} NOT NULL, args_digest ${TEXT} NOT NULL, state ${TEXT} NOT NULL, fence BIGINT NOT NULL, doubt_fence BIGINT NOT NULL,
        owner ${TEXT} NOT NULL, lease_until BIGINT NOT NULL, first_claimed_at BIGINT NOT NULL, claimed_at BIGINT NOT NULL,
        send_window_until BIGINT NOT NULL, before ${TEXT}, outcome ${TEXT}
      );
      CREATE INDEX ledger_by_run ON ledger (run_id, call_id);
      CREATE INDEX ledger_open ON ledger (state, claimed_at) WHERE state IN ('claimed', 'unknown');

      CREATE TABLE ledger_log (at BIGINT NOT NULL, key ${TEXT} NOT NULL, fence BIGINT NOT NULL, what ${TEXT} NOT NULL, detail ${TEXT});
      CREATE INDEX ledger_log_by_key ON ledger_log (key);

      CREATE TABLE ledger_meta (
        one INTEGER PRIMARY KEY CHECK (one = 1), incarnation ${TEXT} NOT NULL, claims BIGINT NOT NULL, origin ${TEXT} NOT NULL, server ${TEXT}
      );
      INSERT INTO ledger_meta VALUES (1, replace(gen_random_uuid()::text, '-', ''), 0, replace(gen_random_uuid()::text, '-', ''), NULL);

      CREATE TABLE purged (run_id ${TEXT} PRIMARY KEY, at BIGINT NOT NULL, body ${TEXT} NOT NULL);
    `,
  },
];

const LATEST = Math.max(...migrations.map(({ version }) => version));

/**
 * Brings a schema to this build's. Throws StoreError `newer`, and `missing` with `mustExist` where nothing is there. A schema that
 * is of this build is only read, so that the user of a worker need not own it.
 */
export async function migrate(client: ClientBase, { schema, place }: { schema: string; place: string }, { mustExist = false }: { mustExist?: boolean } = {}): Promise<void> {
  const present = await versionOf(client);
  if (present === LATEST) return;
  if (present === 0 && mustExist) throw new StoreError('missing', `There are no runs in schema ${schema} of ${place}: start one there first, or name the database that has them.`);
  await client.query('BEGIN');
  try {
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('longhaul schema ' || $1, 0))`, [schema]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
    await client.query('CREATE TABLE IF NOT EXISTS schema_step (version BIGINT PRIMARY KEY, name TEXT NOT NULL, at BIGINT NOT NULL)');
    const before = await versionOf(client);
    if (before > LATEST) throw new StoreError('newer', `${place} has schema ${before}, and this build knows schemas up to ${LATEST}. Run the newer build that wrote it; nothing was changed.`);
    for (const { version, name, sql } of migrations.filter((step) => step.version > before)) {
      await client.query(sql);
      await client.query('INSERT INTO schema_step VALUES ($1, $2, floor(extract(epoch FROM clock_timestamp()) * 1000))', [version, name]);
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function versionOf(client: ClientBase): Promise<number> {
  const { rows: [there] } = await client.query<{ there: boolean }>(`SELECT to_regclass('schema_step') IS NOT NULL AS there`);
  if (!there!.there) return 0;
  const { rows: [at] } = await client.query<{ version: number | null }>('SELECT max(version) AS version FROM schema_step');
  return at!.version ?? 0;
}
