// The schema of longhaul.db, as ordered steps that are never edited once released: a change is a new step at the end.
// A file with a newer schema is refused loudly and left untouched. All steps run in one transaction under the write lock,
// so that several processes may open a fresh file at once.
import type { Connection } from './connection';
import { StoreError } from '../store-error';

interface Migration { version: number; name: string; sql: string }

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'journal, runs, waits, artifact references, checkpoints, effect ledger',
    sql: `
      CREATE TABLE run (
        run_id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, version INTEGER NOT NULL, status TEXT NOT NULL, owner_id TEXT NOT NULL,
        agent TEXT NOT NULL, input_digest TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, body TEXT NOT NULL
      ) STRICT;
      CREATE INDEX run_by_creation ON run (created_at, run_id);
      CREATE INDEX run_by_status ON run (status, created_at);
      CREATE INDEX run_by_update ON run (updated_at);

      CREATE TABLE event (
        run_id TEXT NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, execution_id TEXT NOT NULL, idempotency_key TEXT,
        at INTEGER NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (run_id, seq)
      ) STRICT;
      CREATE UNIQUE INDEX event_by_key ON event (run_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

      CREATE TABLE wait (
        wait_id TEXT NOT NULL, run_id TEXT NOT NULL, kind TEXT NOT NULL, open INTEGER NOT NULL, since INTEGER NOT NULL,
        PRIMARY KEY (wait_id, run_id)
      ) STRICT;
      CREATE INDEX wait_open ON wait (run_id, kind) WHERE open = 1;

      CREATE TABLE artifact_ref (
        run_id TEXT NOT NULL, sha256 TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (run_id, sha256, seq)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX artifact_ref_by_content ON artifact_ref (sha256);

      CREATE TABLE checkpoint (
        run_id TEXT NOT NULL, version INTEGER NOT NULL, state_version INTEGER NOT NULL, ref TEXT NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY (run_id, version, state_version)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE ledger (
        key TEXT PRIMARY KEY, run_id TEXT NOT NULL, epoch INTEGER NOT NULL, call_id TEXT NOT NULL, attempt INTEGER NOT NULL,
        tool TEXT NOT NULL, args_digest TEXT NOT NULL, state TEXT NOT NULL, fence INTEGER NOT NULL, doubt_fence INTEGER NOT NULL,
        owner TEXT NOT NULL, lease_until INTEGER NOT NULL, first_claimed_at INTEGER NOT NULL, claimed_at INTEGER NOT NULL,
        send_window_until INTEGER NOT NULL, before TEXT, outcome TEXT
      ) STRICT;
      CREATE INDEX ledger_by_run ON ledger (run_id, call_id);
      CREATE INDEX ledger_open ON ledger (state, claimed_at) WHERE state IN ('claimed', 'unknown');

      CREATE TABLE ledger_log (
        at INTEGER NOT NULL, key TEXT NOT NULL, fence INTEGER NOT NULL, what TEXT NOT NULL, detail TEXT
      ) STRICT;
      CREATE INDEX ledger_log_by_key ON ledger_log (key);

      CREATE TABLE ledger_meta (one INTEGER PRIMARY KEY CHECK (one = 1), incarnation TEXT NOT NULL, claims INTEGER NOT NULL) STRICT;
      INSERT INTO ledger_meta VALUES (1, lower(hex(randomblob(16))), 0);
    `,
  },
  {
    version: 2,
    name: 'the attempts that runs wait for, so that a claim is held against the journal',
    sql: `
      CREATE TABLE awaited (
        run_id TEXT NOT NULL, call_id TEXT NOT NULL, attempt INTEGER NOT NULL, undo INTEGER NOT NULL, incarnation TEXT NOT NULL,
        PRIMARY KEY (run_id, call_id)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO awaited
        SELECT run_id, body ->> '$.data.callId', body ->> '$.data.attempt', body ->> '$.data.undoOf' IS NOT NULL, body ->> '$.data.ledgerIncarnation'
        FROM event AS asked
        WHERE type = 'ToolCallRequested' AND NOT EXISTS (
          SELECT 1 FROM event AS later WHERE later.run_id = asked.run_id AND later.seq > asked.seq
            AND (later.body ->> '$.data.callId' = asked.body ->> '$.data.callId'
              OR (later.type = 'CancelRequested' AND asked.body ->> '$.data.undoOf' IS NULL))
        );
    `,
  },
  {
    version: 3,
    name: 'runs that were purged, and the artifacts that outcomes of the ledger name (position -1)',
    sql: `
      CREATE TABLE purged (run_id TEXT PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
      INSERT OR IGNORE INTO artifact_ref
        SELECT run_id, outcome ->> '$.output.ref.sha256', -1 FROM ledger WHERE outcome ->> '$.output.ref.sha256' IS NOT NULL;
    `,
  },
];

/** Brings the file to this build's schema. Throws StoreError `newer`; SQLITE_BUSY while another process does the same. */
export function migrate(db: Connection, steps: readonly Migration[] = migrations): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    db.exec('CREATE TABLE IF NOT EXISTS schema_step (version INTEGER PRIMARY KEY, name TEXT NOT NULL, at INTEGER NOT NULL) STRICT');
    const present = db.one<{ version: number | null }>('SELECT max(version) AS version FROM schema_step')?.version ?? 0;
    const known = Math.max(...steps.map((step) => step.version));
    if (present > known) {
      throw new StoreError('newer', `${db.file} has schema ${present}, and this build knows schemas up to ${known}. Run the newer build that wrote it; nothing was changed.`);
    }
    for (const step of steps.filter(({ version }) => version > present)) {
      db.exec(step.sql);
      db.run(`INSERT INTO schema_step VALUES (?, ?, unixepoch('subsec') * 1000)`, step.version, step.name);
    }
    db.exec('COMMIT');
  } catch (error) {
    db.rollBack();
    throw error;
  }
}
