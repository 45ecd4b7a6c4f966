// The store thread: owns the only connection of this process, takes requests in order, and commits those that queued up
// while a transaction ran together in the next one, each under a savepoint of its own (group commit).
// Waits for another process's lock in JavaScript, never inside SQLite: reads go on meanwhile. Answers only after the commit.
import { parentPort, workerData } from 'node:worker_threads';
import { StoreError, isBusy, toStoreError } from '../store-error';
import { Connection } from './connection';
import { LedgerMark } from './ledger-mark';
import { migrate } from './migrations';
import { isWrite, operation } from '../sql/operations';
import type { Reply, Request, ThreadOptions } from './wire';

type Asked = Extract<Request, { id: number }> & { since: number };

/** Requests that one transaction takes at most, so that other processes get their turn. */
const GROUP = 64;
const PAUSE_MAX_MS = 50;

const options = workerData as ThreadOptions;
const port = parentPort!;
const say = (reply: Reply): void => port.postMessage(reply);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** Grows to PAUSE_MAX_MS, with chance in it, so that processes that wait for one lock do not march in step. */
const pause = (tries: number): number => 1 + Math.random() * Math.min(PAUSE_MAX_MS, 2 ** Math.min(tries, 6));

const queue: Asked[] = [];
let writing = false;
let closing = false;

function fail(request: Asked, error: unknown): void {
  const { code, message } = toStoreError(error, options.file);
  say({ id: request.id, error: { code, message } });
}

function tooLong(): StoreError {
  return new StoreError('busy', `${options.file} has been locked by another process for ${options.patienceMs / 1000} s. Nothing of this request was kept; try again, and look for a process that holds the file open.`);
}

/** Runs `attempt` until no other process is in the way. Throws StoreError `busy` when patience ends. */
async function patiently<T>(since: number, attempt: () => T): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() - since > options.patienceMs) throw tooLong();
      await sleep(pause(tries));
    }
  }
}

async function read(db: Connection, request: Asked): Promise<void> {
  try {
    const answer = await patiently(request.since, () => db.perform(operation(request.name, request.values)));
    say({ id: request.id, answer: JSON.stringify(answer) });
  } catch (error) {
    fail(request, error);
  }
}

/** One request inside the open transaction. What it throws spoils only itself, unless SQLite gave up the whole. */
function runOne(db: Connection, request: Asked): Reply {
  db.exec('SAVEPOINT one');
  try {
    const answer = db.perform(operation(request.name, request.values));
    db.exec('RELEASE one');
    return { id: request.id, answer: JSON.stringify(answer) };
  } catch (error) {
    if (!db.inTransaction) throw error;
    db.exec('ROLLBACK TO one');
    db.exec('RELEASE one');
    const { code, message } = toStoreError(error, options.file);
    return { id: request.id, error: { code, message } };
  }
}

function commit(db: Connection, mark: LedgerMark, group: Asked[]): void {
  try {
    const replies = group.map((request) => runOne(db, request));
    db.exec('COMMIT');
    replies.forEach(say);
  } catch (error) {
    db.rollBack();
    for (const request of group) fail(request, error);
    return;
  }
  if (group.some(({ name }) => name === 'claim' || name === 'raiseEpoch')) mark.raise(db);
}

/** Commits the queue group by group until it is empty. */
async function write(db: Connection, mark: LedgerMark): Promise<void> {
  writing = true;
  while (queue.length > 0) {
    try {
      await patiently(queue[0]!.since, () => db.exec('BEGIN IMMEDIATE'));
      commit(db, mark, queue.splice(0, GROUP));
    } catch (error) {
      fail(queue.shift()!, error);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  writing = false;
  if (closing) end(db, mark);
}

function end(db: Connection, mark: LedgerMark): void {
  db.close();
  mark.close();
  port.close();
}

async function open(): Promise<{ db: Connection; mark: LedgerMark }> {
  const since = performance.now();
  const db = new Connection(options.file);
  await patiently(since, () => db.exec('PRAGMA journal_mode = WAL'));
  db.exec('PRAGMA synchronous = FULL');
  await patiently(since, () => migrate(db));
  const mark = new LedgerMark(options.mark);
  await patiently(since, () => mark.check(db));
  return { db, mark };
}

function serve({ db, mark }: { db: Connection; mark: LedgerMark }): void {
  port.on('message', (message: Request) => {
    if ('close' in message) {
      closing = true;
      if (!writing) end(db, mark);
      return;
    }
    const request = { ...message, since: performance.now() };
    if (!isWrite(message.name)) return void read(db, request);
    queue.push(request);
    if (!writing) {
      writing = true;
      setImmediate(() => void write(db, mark));
    }
  });
  say({ ready: true });
}

open().then(serve, (error: unknown) => {
  const { code, message } = toStoreError(error, options.file);
  say({ refused: { code, message } });
  port.close();
});
