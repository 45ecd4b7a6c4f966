// What the journal reads, for any SQL store. Each function is one look at committed data; none of them writes or waits for a lock.
// Pages hold at most TAIL_BYTES of events, and always one when there is one.
import type { RunEvent } from '../../../core/events';
import { artifactsVouchedBy } from '../../../core/run-artifacts';
import type { CheckpointRow, ListQuery, PurgedRow, RunRow } from '../../../ports/journal';
import { TAIL_BYTES } from '../../../ports/journal';
import { StoreError } from '../store-error';
import { all, one } from './steps';
import type { Bound, Steps } from './steps';

interface StoredRow { body: string; epoch: number; version: number }

/** The `runs` row; the columns that are compared win over the copy in its body. */
const toRow = ({ body, epoch, version }: StoredRow): RunRow => ({ ...(JSON.parse(body) as RunRow), epoch, version });

export function* rowOf(runId: string): Steps<RunRow | null> {
  const stored = yield* one<StoredRow>('SELECT body, epoch, version FROM run WHERE run_id = ?', runId);
  return stored === null ? null : toRow(stored);
}

/** Epoch, last version and last writer of a run; the version is counted from the events themselves. */
export function* headOf(runId: string): Steps<{ epoch: number; version: number; executionId: string | null } | null> {
  const run = yield* one<{ epoch: number }>('SELECT epoch FROM run WHERE run_id = ?', runId);
  if (run === null) return null;
  const last = yield* one<{ seq: number; execution_id: string }>('SELECT seq, execution_id FROM event WHERE run_id = ? ORDER BY seq DESC LIMIT 1', runId);
  return { epoch: run.epoch, version: last?.seq ?? 0, executionId: last?.execution_id ?? null };
}

const PUT_BACK = 'Stop the workers, put the database back from a copy, then go on with `npx longhaul runs restore';

/** A stored event. Throws StoreError `corrupt`, which names it. */
function eventIn(runId: string, seq: number, body: string): RunEvent {
  try {
    return JSON.parse(body) as RunEvent;
  } catch {
    throw new StoreError('corrupt', `Event ${seq} of run ${runId} is damaged in the database. ${PUT_BACK} ${runId}\`.`);
  }
}

/** Events after a version, oldest first, bounded by number and bytes. Throws StoreError `corrupt` where one is missing between others. */
export function* pageOf(runId: string, after: number, limit = 10_000): Steps<{ events: RunEvent[]; more: boolean }> {
  const events: RunEvent[] = [];
  let bytes = 0;
  for (let next = after; ;) {
    const rows = yield* all<{ seq: number; body: string }>('SELECT seq, body FROM event WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT 64', runId, next);
    for (const { seq, body } of rows) {
      bytes += Buffer.byteLength(body);
      if (events.length >= limit || (events.length > 0 && bytes > TAIL_BYTES)) return { events, more: true };
      if (seq !== next + 1) throw new StoreError('corrupt', `Run ${runId} has no event ${next + 1} in the database, and one ${seq}: events are missing. ${PUT_BACK} ${runId}\`.`);
      events.push(eventIn(runId, seq, body));
      next = seq;
    }
    if (rows.length < 64) return { events, more: false };
  }
}

/** The event that an idempotency key stands on. */
export function* byKey(runId: string, key: string): Steps<RunEvent | null> {
  const found = yield* one<{ seq: number; body: string }>('SELECT seq, body FROM event WHERE run_id = ? AND idempotency_key = ?', runId, key);
  return found === null ? null : eventIn(runId, found.seq, found.body);
}

/** Rows of runs, the newest accepted first. */
export function* list(query: ListQuery): Steps<RunRow[]> {
  const conditions: string[] = [];
  const values: Bound[] = [];
  const oneOf = (items: string[]): string => {
    values.push(...items);
    // Nothing is one of none, and Postgres knows no empty list.
    return items.length === 0 ? '(NULL)' : `(${items.map(() => '?').join(', ')})`;
  };
  if (query.status !== undefined) conditions.push(`status IN ${oneOf(query.status)}`);
  if (query.waitingFor !== undefined) {
    conditions.push(`EXISTS (SELECT 1 FROM wait WHERE wait.run_id = run.run_id AND wait.open = 1 AND wait.kind IN ${oneOf(query.waitingFor)})`);
  }
  if (query.updatedBefore !== undefined) {
    conditions.push('updated_at < ?');
    values.push(query.updatedBefore);
  }
  if (query.before !== undefined) {
    conditions.push('(created_at, run_id) < (?, ?)');
    values.push(query.before.createdAt, query.before.runId);
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return (yield* all<StoredRow>(`SELECT body, epoch, version FROM run ${where} ORDER BY created_at DESC, run_id DESC LIMIT ?`, ...values, query.limit)).map(toRow);
}

/** The run that asked this; ids of approvals, questions and decisions are unique over runs. */
export function* runOfWait(waitId: string): Steps<string | null> {
  const found = yield* one<{ run_id: string }>('SELECT run_id FROM wait WHERE wait_id = ? ORDER BY open DESC, since DESC LIMIT 1', waitId);
  return found?.run_id ?? null;
}

/** Looks at the events that name the artifact at all; the row at position 0 is the run's input. */
export function* refersTo(runId: string, sha256: string): Steps<boolean> {
  if ((yield* one('SELECT 1 AS yes FROM artifact_ref WHERE run_id = ? AND sha256 = ? AND seq = 0', runId, sha256)) !== null) return true;
  const named = yield* all<{ seq: number; body: string }>(
    'SELECT seq, body FROM artifact_ref JOIN event USING (run_id, seq) WHERE run_id = ? AND sha256 = ? ORDER BY seq', runId, sha256,
  );
  return named.some(({ seq, body }) => artifactsVouchedBy(eventIn(runId, seq, body)).includes(sha256));
}

/** Events with who wrote them, for exports. */
export function* exportRows(runId: string, after: number, limit: number): Steps<{ event: RunEvent; epoch: number; executionId: string }[]> {
  const rows = yield* all<{ seq: number; body: string; epoch: number; execution_id: string }>(
    'SELECT seq, body, epoch, execution_id FROM event WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?', runId, after, limit,
  );
  return rows.map((row) => ({ event: eventIn(runId, row.seq, row.body), epoch: row.epoch, executionId: row.execution_id }));
}

interface StoredCheckpoint { run_id: string; version: number; state_version: number; ref: string; at: number }

const toCheckpoint = (row: StoredCheckpoint): CheckpointRow =>
  ({ runId: row.run_id, version: row.version, stateVersion: row.state_version, ref: JSON.parse(row.ref) as CheckpointRow['ref'], at: row.at });

/** All checkpoints of a run, oldest first. */
export function* checkpoints(runId: string): Steps<CheckpointRow[]> {
  return (yield* all<StoredCheckpoint>('SELECT * FROM checkpoint WHERE run_id = ? ORDER BY version, state_version', runId)).map(toCheckpoint);
}

/** The checkpoint of the highest version, at most `upTo`. */
export function* checkpoint(runId: string, upTo = Number.MAX_SAFE_INTEGER): Steps<CheckpointRow | null> {
  const newest = yield* one<StoredCheckpoint>('SELECT * FROM checkpoint WHERE run_id = ? AND version <= ? ORDER BY version DESC, state_version DESC LIMIT 1', runId, upTo);
  return newest === null ? null : toCheckpoint(newest);
}

/** What is left of a purged run. */
export function* purgedOf(runId: string): Steps<PurgedRow | null> {
  const found = yield* one<{ body: string }>('SELECT body FROM purged WHERE run_id = ?', runId);
  return found === null ? null : JSON.parse(found.body) as PurgedRow;
}

/** Any run, any place: what must not be removed. */
export function* isNamed(sha256: string): Steps<boolean> {
  return (yield* one('SELECT 1 AS yes FROM artifact_ref WHERE sha256 = ? LIMIT 1', sha256)) !== null;
}
