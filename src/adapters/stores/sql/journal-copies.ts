// Runs that begin as a copy of another, and runs that go: both in one transaction that the store opens and commits.
// A fork's journal is its own from the first event on; a purged run leaves one row, so that its id, and with it the keys of its
// effects, is never used again. What nobody knows the outcome of stays in the ledger whatever is removed.
import { canonical } from '../../../core/canonical';
import { inherited } from '../../../core/fork';
import type { RunEvent } from '../../../core/events';
import type { ForkAnswer, PurgeAnswer, PurgedRow, RunRow } from '../../../ports/journal';
import { headOf, purgedOf, rowOf } from './journal-reads';
import { accept, insertEvent } from './journal-writes';
import { nowOf } from './ledger-rows';
import { all, lock, put } from './steps';
import type { Steps } from './steps';

/** Accepts a run whose journal begins as a copy of another's. */
export function* fork(row: RunRow, from: { runId: string; at: number }): Steps<ForkAnswer> {
  // Both, in the order of their names: the parent may be purged, and may be forked elsewhere at this moment.
  for (const name of [row.runId, from.runId].sort()) yield* lock('run', name);
  const version = (yield* headOf(from.runId))?.version ?? 0;
  if ((yield* rowOf(row.runId)) === null && (from.at < 1 || version < from.at)) return { kind: 'no-such-event', version };
  const answer = yield* accept(row);
  if (answer.kind !== 'accepted') return answer;
  for (let after = 0; after < from.at;) {
    const rows = yield* all<{ body: string; epoch: number; execution_id: string }>(
      'SELECT body, epoch, execution_id FROM event WHERE run_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT 64', from.runId, after, from.at,
    );
    for (const { body, epoch, execution_id: executionId } of rows) {
      const event = inherited(JSON.parse(body) as RunEvent, row.runId);
      yield* insertEvent({ runId: row.runId, epoch, executionId }, event);
      after = event.seq;
    }
  }
  return answer;
}

const OVER: ReadonlySet<RunRow['status']> = new Set(['completed', 'failed', 'cancelled']);

/** Removes an ended run; what is left says that there was one. */
export function* purge(runId: string, { force = false }: { force?: boolean } = {}): Steps<PurgeAnswer> {
  yield* lock('run', runId);
  const before = yield* purgedOf(runId);
  if (before !== null) return { kind: 'already', purged: before };
  const row = yield* rowOf(runId);
  if (row === null) return { kind: 'unknown' };
  if (!OVER.has(row.status)) return { kind: 'open', status: row.status };
  // Settling needs no run, so that it is kept away key by key.
  for (const { key } of yield* all<{ key: string }>('SELECT key FROM ledger WHERE run_id = ? AND outcome IS NULL ORDER BY key', runId)) yield* lock('key', key);
  const open = yield* all<{ tool: string; call_id: string }>(
    `SELECT tool, call_id FROM ledger WHERE run_id = ? AND state IN ('claimed', 'unknown') ORDER BY first_claimed_at, key`, runId,
  );
  const doubts = open.map(({ tool, call_id: callId }) => `${tool} ${callId}`);
  if (doubts.length > 0 && !force) return { kind: 'in-doubt', calls: doubts };
  const { inputDigest, status, version, updatedAt } = row;
  const purged: PurgedRow = { runId, inputDigest, status, events: version, endedAt: updatedAt, purgedAt: yield* nowOf(), doubts, ...(row.forkOf ? { forkOf: row.forkOf } : {}) };
  yield* put('INSERT INTO purged (run_id, at, body) VALUES (?, ?, ?)', runId, purged.purgedAt, canonical(purged));
  yield* put(`DELETE FROM ledger_log WHERE key IN (SELECT key FROM ledger WHERE run_id = ? AND state NOT IN ('claimed', 'unknown'))`, runId);
  yield* put(`DELETE FROM ledger WHERE run_id = ? AND state NOT IN ('claimed', 'unknown')`, runId);
  for (const table of ['event', 'wait', 'artifact_ref', 'checkpoint', 'awaited', 'run']) yield* put(`DELETE FROM ${table} WHERE run_id = ?`, runId);
  return { kind: 'purged', purged };
}
