// What the journal writes, as statements inside one transaction that the store thread opens and commits.
// Owns: compare the epoch, compare the version, catch old keys, insert the batch, keep the `runs` row and its waits true.
// Never decides anything about a run; a refusal is a value, a caller's mistake throws.
import { canonical } from '../../../core/canonical';
import type { RunEvent } from '../../../core/events';
import type { AcceptAnswer, AppendAnswer, AppendRequest, CheckpointRow, RunRow } from '../../../ports/journal';
import { StoreError } from '../store-error';
import type { Connection } from './connection';
import { headOf, pageOf, purgedOf, rowOf } from './journal-reads';
import { namesIn, waitsOpenedBy } from './journal-names';
import { renewIncarnation } from './ledger-rows';

/** Inserts the `runs` row once. */
export function accept(db: Connection, row: RunRow): AcceptAnswer {
  const known = rowOf(db, row.runId);
  if (known !== null) return { kind: known.inputDigest === row.inputDigest ? 'known' : 'other-input', row: known };
  const purged = purgedOf(db, row.runId);
  if (purged !== null) return { kind: 'purged', purged };
  db.run(
    'INSERT INTO run (run_id, epoch, version, status, owner_id, agent, input_digest, created_at, updated_at, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    row.runId, row.epoch, row.version, row.status, row.owner.id, row.agent, row.inputDigest, row.createdAt, row.updatedAt, canonical(row),
  );
  nameArtifact(db, row.runId, row.inputRef.sha256, 0);
  keepWaits(db, row.runId, row);
  return { kind: 'accepted' };
}

/** One batch: fenced, behind, diverged, duplicate or appended, in this order of questions. */
export function append(db: Connection, request: AppendRequest): AppendAnswer {
  const { runId, expectedVersion, executionId, events } = request;
  const stored = rowOf(db, runId);
  const head = headOf(db, runId);
  if (stored === null || head === null) throw new StoreError('defect', `The run ${runId} was never accepted; accept it before appending.`);
  if (request.epoch < stored.epoch) return { kind: 'fenced', epoch: stored.epoch };
  if (request.epoch > stored.epoch) {
    throw new StoreError('defect', `The run ${runId} is in epoch ${stored.epoch}; raise it before appending in epoch ${request.epoch}.`);
  }
  if (head.version < expectedVersion) {
    throw new StoreError('defect', `The journal of ${runId} ends at ${head.version}, but this batch follows ${expectedVersion}: events were lost, probably because ${db.file} was put back from an older copy. Put the newest copy back, or go on from what is here with \`npx longhaul runs restore ${runId}\`.`);
  }
  checkBatch(request);
  if (head.version > expectedVersion) return writtenSince(db, runId, expectedVersion, executionId);
  const hits = oldKeys(db, runId, events);
  if (hits.length > 0) return { kind: 'duplicate', hits };
  for (const event of events) {
    insert(db, request, event);
    keepAwaited(db, event);
  }
  const version = expectedVersion + events.length;
  updateRow(db, stored, { ...request.row, version });
  return { kind: 'appended', version };
}

/** Raises the epoch by one when it is still `from`; `lost` events took claims along, so that no absence is trusted any more. */
export function raiseEpoch(db: Connection, runId: string, from: number, lost = false): { epoch: number; raised: boolean } {
  const raised = db.run('UPDATE run SET epoch = ? WHERE run_id = ? AND epoch = ?', from + 1, runId, from) === 1;
  if (raised && lost) renewIncarnation(db);
  const epoch = db.one<{ epoch: number }>('SELECT epoch FROM run WHERE run_id = ?', runId)?.epoch;
  if (epoch === undefined) throw new StoreError('defect', `The run ${runId} was never accepted, so it has no epoch to raise.`);
  return { epoch, raised };
}

/** Keeps a checkpoint; the same version again replaces its reference. */
export function saveCheckpoint(db: Connection, row: CheckpointRow): void {
  db.run(
    'INSERT OR REPLACE INTO checkpoint (run_id, version, state_version, ref, at) VALUES (?, ?, ?, ?, ?)',
    row.runId, row.version, row.stateVersion, canonical(row.ref), row.at,
  );
  nameArtifact(db, row.runId, row.ref.sha256, row.version);
}

/** A batch whose events are not gapless, of one run and with keys that differ is the caller's mistake. */
function checkBatch({ runId, expectedVersion, events }: AppendRequest): void {
  const keys = new Set<string>();
  events.forEach((event, index) => {
    const seq = expectedVersion + 1 + index;
    if (event.runId !== runId || event.seq !== seq) {
      throw new StoreError('defect', `Event ${index + 1} of this batch is ${event.runId}#${event.seq}; it must be ${runId}#${seq}.`);
    }
    const key = event.idempotencyKey;
    if (key !== undefined && keys.has(key)) throw new StoreError('defect', `The idempotency key ${key} stands twice in one batch of ${runId}.`);
    if (key !== undefined) keys.add(key);
  });
}

/** The journal is ahead: by this same execution (its own lost task), or carried on by another one. */
function writtenSince(db: Connection, runId: string, version: number, executionId: string): AppendAnswer {
  const other = db.one('SELECT 1 AS yes FROM event WHERE run_id = ? AND seq > ? AND execution_id <> ? LIMIT 1', runId, version, executionId);
  if (other !== null) return { kind: 'behind' };
  const { events, more } = pageOf(db, runId, version);
  return { kind: 'diverged', tail: events, more };
}

function oldKeys(db: Connection, runId: string, events: RunEvent[]): { idempotencyKey: string; seq: number }[] {
  return events.flatMap(({ idempotencyKey }) => {
    if (idempotencyKey === undefined) return [];
    const hit = db.one<{ seq: number }>('SELECT seq FROM event WHERE run_id = ? AND idempotency_key = ?', runId, idempotencyKey);
    return hit === null ? [] : [{ idempotencyKey, seq: hit.seq }];
  });
}

function insert(db: Connection, request: AppendRequest, event: RunEvent): void {
  const { runId } = request;
  insertEvent(db, request, event);
  for (const { waitId, kind } of waitsOpenedBy(event)) {
    db.run('INSERT OR IGNORE INTO wait (wait_id, run_id, kind, open, since) VALUES (?, ?, ?, 0, ?)', waitId, runId, kind, event.at);
  }
}

/** An event as it stands in the journal, with the artifacts that it names. */
export function insertEvent(db: Connection, { runId, epoch, executionId }: Pick<AppendRequest, 'runId' | 'epoch' | 'executionId'>, event: RunEvent): void {
  db.run(
    'INSERT INTO event (run_id, seq, epoch, execution_id, idempotency_key, at, type, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    runId, event.seq, epoch, executionId, event.idempotencyKey ?? null, event.at, event.type, canonical(event),
  );
  for (const sha256 of namesIn(event.data)) nameArtifact(db, runId, sha256, event.seq);
}

/**
 * The attempt that a run waits for, which alone may claim: requested, and nothing written about its call since. A cancelled
 * run waits for no effect but those that take others back.
 */
function keepAwaited(db: Connection, { runId, type, data }: RunEvent): void {
  if (type === 'CancelRequested') db.run('DELETE FROM awaited WHERE run_id = ? AND undo = 0', runId);
  else if (type === 'ToolCallRequested') {
    db.run('INSERT OR REPLACE INTO awaited VALUES (?, ?, ?, ?, ?)', runId, data.callId, data.attempt, data.undoOf === undefined ? 0 : 1, data.ledgerIncarnation);
  } else if ('callId' in data && data.callId !== undefined) db.run('DELETE FROM awaited WHERE run_id = ? AND call_id = ?', runId, data.callId);
}

/** The run names the artifact at a place in its journal: 0 is its input, -1 the ledger. */
export function nameArtifact(db: Connection, runId: string, sha256: string, seq: number): void {
  db.run('INSERT OR IGNORE INTO artifact_ref (run_id, sha256, seq) VALUES (?, ?, ?)', runId, sha256, seq);
}

/** The row follows the newest version; who asked, with what, and when it was accepted stays as `accept` wrote it. */
function updateRow(db: Connection, stored: RunRow, next: RunRow): void {
  if (next.version < stored.version) return;
  const { runId, epoch, inputDigest, inputRef, createdAt, taskQueue, forkOf } = stored;
  const row: RunRow = { ...next, runId, epoch, inputDigest, inputRef, createdAt, ...(taskQueue === undefined ? {} : { taskQueue }), ...(forkOf ? { forkOf } : {}) };
  db.run(
    'UPDATE run SET version = ?, status = ?, owner_id = ?, agent = ?, updated_at = ?, body = ? WHERE run_id = ?',
    row.version, row.status, row.owner.id, row.agent, row.updatedAt, canonical(row), runId,
  );
  keepWaits(db, runId, row);
}

/** Open waits are those of the row; one that ended stays, closed, so that its id can still be resolved. */
function keepWaits(db: Connection, runId: string, { waits }: RunRow): void {
  const open = new Set(db.all<{ wait_id: string }>('SELECT wait_id FROM wait WHERE run_id = ? AND open = 1', runId).map((row) => row.wait_id));
  for (const { waitId, kind, since } of waits) {
    if (open.delete(waitId)) continue;
    db.run(
      'INSERT INTO wait (wait_id, run_id, kind, open, since) VALUES (?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET open = 1, kind = excluded.kind',
      waitId, runId, kind, since,
    );
  }
  for (const waitId of open) db.run('UPDATE wait SET open = 0 WHERE run_id = ? AND wait_id = ?', runId, waitId);
}
