// Runs that begin as a copy of another, and runs that go: both in one transaction that the store thread opens and commits.
// A fork's journal is its own from the first event on; a purged run leaves one row, so that its id, and with it the keys of its
// effects, is never used again. What nobody knows the outcome of stays in the ledger whatever is removed.
import { canonical } from '../../../core/canonical';
import { inherited } from '../../../core/fork';
import type { RunEvent } from '../../../core/events';
import type { ForkAnswer, PurgeAnswer, PurgedRow, RunRow } from '../../../ports/journal';
import type { Connection } from './connection';
import { headOf, purgedOf, rowOf } from './journal-reads';
import { accept, insertEvent } from './journal-writes';
import { nowOf } from './ledger-rows';

/** Accepts a run whose journal begins as a copy of another's. */
export function fork(db: Connection, row: RunRow, from: { runId: string; at: number }): ForkAnswer {
  const version = headOf(db, from.runId)?.version ?? 0;
  if (rowOf(db, row.runId) === null && (from.at < 1 || version < from.at)) return { kind: 'no-such-event', version };
  const answer = accept(db, row);
  if (answer.kind !== 'accepted') return answer;
  for (let after = 0; after < from.at;) {
    const rows = db.all<{ body: string; epoch: number; execution_id: string }>(
      'SELECT body, epoch, execution_id FROM event WHERE run_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT 64', from.runId, after, from.at,
    );
    for (const { body, epoch, execution_id: executionId } of rows) {
      const event = inherited(JSON.parse(body) as RunEvent, row.runId);
      insertEvent(db, { runId: row.runId, epoch, executionId }, event);
      after = event.seq;
    }
  }
  return answer;
}

const OVER: ReadonlySet<RunRow['status']> = new Set(['completed', 'failed', 'cancelled']);

/** Removes an ended run; what is left says that there was one. */
export function purge(db: Connection, runId: string, { force = false }: { force?: boolean } = {}): PurgeAnswer {
  const before = purgedOf(db, runId);
  if (before !== null) return { kind: 'already', purged: before };
  const row = rowOf(db, runId);
  if (row === null) return { kind: 'unknown' };
  if (!OVER.has(row.status)) return { kind: 'open', status: row.status };
  const doubts = db.all<{ tool: string; call_id: string }>(
    `SELECT tool, call_id FROM ledger WHERE run_id = ? AND state IN ('claimed', 'unknown') ORDER BY first_claimed_at, key`, runId,
  ).map(({ tool, call_id: callId }) => `${tool} ${callId}`);
  if (doubts.length > 0 && !force) return { kind: 'in-doubt', calls: doubts };
  const { inputDigest, status, version, updatedAt } = row;
  const purged: PurgedRow = { runId, inputDigest, status, events: version, endedAt: updatedAt, purgedAt: nowOf(db), doubts };
  db.run('INSERT INTO purged (run_id, at, body) VALUES (?, ?, ?)', runId, purged.purgedAt, canonical(purged));
  db.run(`DELETE FROM ledger_log WHERE key IN (SELECT key FROM ledger WHERE run_id = ? AND state NOT IN ('claimed', 'unknown'))`, runId);
  db.run(`DELETE FROM ledger WHERE run_id = ? AND state NOT IN ('claimed', 'unknown')`, runId);
  for (const table of ['event', 'wait', 'artifact_ref', 'checkpoint', 'awaited', 'run']) db.run(`DELETE FROM ${table} WHERE run_id = ?`, runId);
  return { kind: 'purged', purged };
}
