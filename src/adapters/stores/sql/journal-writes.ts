// What the journal writes, as statements inside one transaction that the store opens and commits.
// Owns: compare the epoch, compare the version, catch old keys, insert the batch, keep the `runs` row and its waits true.
// Never decides anything about a run; a refusal is a value, a caller's mistake throws.
import { canonical } from '../../../core/canonical';
import type { RunEvent } from '../../../core/events';
import type { AcceptAnswer, AppendAnswer, AppendRequest, CheckpointRow, RunRow } from '../../../ports/journal';
import { StoreError } from '../store-error';
import { headOf, pageOf, purgedOf, rowOf } from './journal-reads';
import { namesIn, waitsOpenedBy } from './journal-names';
import { incarnationOf, renewIncarnation } from './ledger-rows';
import { all, lock, one, put, run } from './steps';
import type { Steps } from './steps';

/** Inserts the `runs` row once. */
export function* accept(row: RunRow): Steps<AcceptAnswer> {
  yield* lock('run', row.runId);
  const known = yield* rowOf(row.runId);
  if (known !== null) return { kind: known.inputDigest === row.inputDigest ? 'known' : 'other-input', row: known };
  const purged = yield* purgedOf(row.runId);
  if (purged !== null) return { kind: 'purged', purged };
  yield* put(
    'INSERT INTO run (run_id, epoch, version, status, owner_id, agent, input_digest, created_at, updated_at, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    row.runId, row.epoch, row.version, row.status, row.owner.id, row.agent, row.inputDigest, row.createdAt, row.updatedAt, canonical({ ...row, ledgerIncarnation: yield* incarnationOf() }),
  );
  yield* nameArtifact(row.runId, row.inputRef.sha256, 0);
  yield* keepWaits(row.runId, row);
  return { kind: 'accepted' };
}

/** One batch: fenced, behind, diverged, duplicate or appended, in this order of questions. */
export function* append(request: AppendRequest): Steps<AppendAnswer> {
  const { runId, expectedVersion, executionId, events } = request;
  yield* lock('run', runId);
  const stored = yield* rowOf(runId);
  const head = yield* headOf(runId);
  // Purged between an execution's last append and the end of its task, which is then done again: nobody writes to the run any more.
  if (stored === null && (yield* purgedOf(runId)) !== null) return { kind: 'fenced', epoch: request.epoch };
  if (stored === null || head === null) throw new StoreError('defect', `The run ${runId} was never accepted; accept it before appending.`);
  if (request.epoch < stored.epoch) return { kind: 'fenced', epoch: stored.epoch };
  if (request.epoch > stored.epoch) {
    throw new StoreError('defect', `The run ${runId} is in epoch ${stored.epoch}, and this batch is of epoch ${request.epoch}: a restore was lost, probably because the database was put back from an older copy. Put the newest copy back, or go on from what is here with \`npx longhaul runs restore ${runId}\`.`);
  }
  if (head.version < expectedVersion) {
    throw new StoreError('defect', `The journal of ${runId} ends at ${head.version}, but this batch follows ${expectedVersion}: events were lost, probably because the database was put back from an older copy. Put the newest copy back, or go on from what is here with \`npx longhaul runs restore ${runId}\`.`);
  }
  checkBatch(request);
  if (head.version > expectedVersion) return yield* writtenSince(runId, expectedVersion, executionId);
  const hits = yield* oldKeys(runId, events);
  if (hits.length > 0) return { kind: 'duplicate', hits };
  for (const event of events) {
    yield* insert(request, event);
    yield* keepAwaited(event);
  }
  const version = expectedVersion + events.length;
  yield* updateRow(stored, { ...request.row, version });
  return { kind: 'appended', version };
}

/** Raises the epoch by one when it is still `from`; `lost` events took claims along, so that no absence is trusted any more. */
export function* raiseEpoch(runId: string, from: number, lost = false): Steps<{ epoch: number; raised: boolean }> {
  yield* lock('run', runId);
  const raised = (yield* run('UPDATE run SET epoch = ? WHERE run_id = ? AND epoch = ?', from + 1, runId, from)) === 1;
  if (raised && lost) yield* renewIncarnation();
  const row = yield* one<{ epoch: number }>('SELECT epoch FROM run WHERE run_id = ?', runId);
  if (row === null) throw new StoreError('defect', `The run ${runId} was never accepted, so it has no epoch to raise.`);
  return { epoch: row.epoch, raised };
}

/** Keeps a checkpoint; the same version again replaces its reference. One of a purged run is not kept: it would name its artifact for ever. */
export function* saveCheckpoint(row: CheckpointRow): Steps<void> {
  yield* lock('run', row.runId);
  if ((yield* purgedOf(row.runId)) !== null) return;
  yield* put(
    `INSERT INTO checkpoint (run_id, version, state_version, ref, at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (run_id, version, state_version) DO UPDATE SET ref = excluded.ref, at = excluded.at`,
    row.runId, row.version, row.stateVersion, canonical(row.ref), row.at,
  );
  yield* nameArtifact(row.runId, row.ref.sha256, row.version);
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
function* writtenSince(runId: string, version: number, executionId: string): Steps<AppendAnswer> {
  const other = yield* one('SELECT 1 AS yes FROM event WHERE run_id = ? AND seq > ? AND execution_id <> ? LIMIT 1', runId, version, executionId);
  if (other !== null) return { kind: 'behind' };
  const { events, more } = yield* pageOf(runId, version);
  return { kind: 'diverged', tail: events, more };
}

function* oldKeys(runId: string, events: RunEvent[]): Steps<{ idempotencyKey: string; seq: number }[]> {
  const hits: { idempotencyKey: string; seq: number }[] = [];
  for (const { idempotencyKey } of events) {
    if (idempotencyKey === undefined) continue;
    const hit = yield* one<{ seq: number }>('SELECT seq FROM event WHERE run_id = ? AND idempotency_key = ?', runId, idempotencyKey);
    if (hit !== null) hits.push({ idempotencyKey, seq: hit.seq });
  }
  return hits;
}

function* insert(request: AppendRequest, event: RunEvent): Steps<void> {
  const { runId } = request;
  yield* insertEvent(request, event);
  for (const { waitId, kind } of waitsOpenedBy(event)) {
    yield* put('INSERT INTO wait (wait_id, run_id, kind, open, since) VALUES (?, ?, ?, 0, ?) ON CONFLICT (wait_id, run_id) DO NOTHING', waitId, runId, kind, event.at);
  }
}

/** An event as it stands in the journal, with the artifacts that it names. */
export function* insertEvent({ runId, epoch, executionId }: Pick<AppendRequest, 'runId' | 'epoch' | 'executionId'>, event: RunEvent): Steps<void> {
  yield* put(
    'INSERT INTO event (run_id, seq, epoch, execution_id, idempotency_key, at, type, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    runId, event.seq, epoch, executionId, event.idempotencyKey ?? null, event.at, event.type, canonical(event),
  );
  for (const sha256 of namesIn(event.data)) yield* nameArtifact(runId, sha256, event.seq);
}

/**
 * The attempt that a run waits for, which alone may claim: requested, and nothing written about its call since. A cancelled
 * run waits for no effect but those that take others back.
 */
function* keepAwaited({ runId, type, data }: RunEvent): Steps<void> {
  if (type === 'CancelRequested') yield* put('DELETE FROM awaited WHERE run_id = ? AND undo = 0', runId);
  else if (type === 'ToolCallRequested') {
    yield* put(
      `INSERT INTO awaited (run_id, call_id, attempt, undo, incarnation) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (run_id, call_id) DO UPDATE SET attempt = excluded.attempt, undo = excluded.undo, incarnation = excluded.incarnation`,
      runId, data.callId, data.attempt, data.undoOf === undefined ? 0 : 1, data.ledgerIncarnation,
    );
  } else if ('callId' in data && data.callId !== undefined) yield* put('DELETE FROM awaited WHERE run_id = ? AND call_id = ?', runId, data.callId);
}

/** The run names the artifact at a place in its journal: 0 is its input, -1 the ledger. */
export function* nameArtifact(runId: string, sha256: string, seq: number): Steps<void> {
  yield* put('INSERT INTO artifact_ref (run_id, sha256, seq) VALUES (?, ?, ?) ON CONFLICT (run_id, sha256, seq) DO NOTHING', runId, sha256, seq);
}

/** The row follows the newest version; who asked, with what, and when it was accepted stays as `accept` wrote it. */
function* updateRow(stored: RunRow, next: RunRow): Steps<void> {
  if (next.version < stored.version) return;
  const { runId, epoch, inputDigest, inputRef, createdAt, taskQueue, ledgerIncarnation, forkOf } = stored;
  const row: RunRow = { ...next, runId, epoch, inputDigest, inputRef, createdAt, ...(taskQueue === undefined ? {} : { taskQueue }), ...(ledgerIncarnation === undefined ? {} : { ledgerIncarnation }), ...(forkOf ? { forkOf } : {}) };
  yield* put(
    'UPDATE run SET version = ?, status = ?, owner_id = ?, agent = ?, updated_at = ?, body = ? WHERE run_id = ?',
    row.version, row.status, row.owner.id, row.agent, row.updatedAt, canonical(row), runId,
  );
  yield* keepWaits(runId, row);
}

/** Open waits are those of the row; one that ended stays, closed, so that its id can still be resolved. */
function* keepWaits(runId: string, { waits }: RunRow): Steps<void> {
  const known = yield* all<{ wait_id: string }>('SELECT wait_id FROM wait WHERE run_id = ? AND open = 1', runId);
  const open = new Set(known.map((row) => row.wait_id));
  for (const { waitId, kind, since } of waits) {
    if (open.delete(waitId)) continue;
    yield* put(
      'INSERT INTO wait (wait_id, run_id, kind, open, since) VALUES (?, ?, ?, 1, ?) ON CONFLICT (wait_id, run_id) DO UPDATE SET open = 1, kind = excluded.kind',
      waitId, runId, kind, since,
    );
  }
  for (const waitId of open) yield* put('UPDATE wait SET open = 0 WHERE run_id = ? AND wait_id = ?', runId, waitId);
}
