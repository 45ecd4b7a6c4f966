// Lets one process at a time decide whether to start a development server on a state folder, since two servers on one
// SQLite file would each believe that they own it. Held only while starting; afterwards dev.json tells who runs.
// A lock whose holder has died (by any signal) is broken by the next who wants it.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isRunning, type ProcessIdentity } from './process-identity';
import { TemporalUnavailable } from './unavailable';

/** Runs `act` while holding the folder's start lock; waits for a living holder at most `waitMs`. */
export async function withStartLock<T>(stateDir: string, waitMs: number, act: () => Promise<T>): Promise<T> {
  const file = path.join(stateDir, 'dev.lock');
  mkdirSync(stateDir, { recursive: true });
  const deadline = Date.now() + waitMs;
  while (!take(file)) {
    const holder = readHolder(file);
    if (holder !== undefined && !isLiving(holder)) breakLock(file, holder);
    else if (Date.now() <= deadline) await sleep(100);
    else throw new TemporalUnavailable('not-ready', `Another process is still starting the development server: end it, or remove ${file}.`);
  }
  try {
    return await act();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    writeFileSync(file, JSON.stringify(identify(process.pid) ?? { pid: process.pid, startedAt: '' }), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function isLiving(holder: string): boolean {
  try {
    // Empty for an instant: its holder has made the file and not yet written its name.
    return holder === '' || isRunning(JSON.parse(holder) as ProcessIdentity);
  } catch {
    return false;
  }
}

/** Of two who break the same lock, the slower must not remove the lock that the faster has taken since: it puts it back. */
function breakLock(file: string, holder: string): void {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (readFileSync(aside, 'utf8') !== holder) linkSync(aside, file);
  } catch {
    // Another was faster; the next look decides.
  } finally {
    rmSync(aside, { force: true });
  }
}
