// One publisher a storage folder: a file that holds the owner's process id and start time. An owner that was killed leaves
// its file behind; the next one sees that this process is gone and takes over. Owns nothing else.
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Takes the lock and answers the function that gives it back.
 * @throws Error with one sentence when a living publisher holds it.
 */
export function takeLock(file: string): () => void {
  const mine = identityOf(process.pid);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, mine, { mode: 0o600 });
  try {
    for (let round = 0; round < 3; round++) {
      if (linked(draft, file)) return () => { if (readQuietly(file) === mine) rmSync(file, { force: true }); };
      const owner = readQuietly(file);
      const pid = Number.parseInt(owner, 10);
      if (pid > 0 && identityOf(pid) === owner) throw new Error(`Another publisher (process ${pid}) uses this storage folder; stop it, or give --storage another folder.`);
      rmSync(file, { force: true });
    }
    throw new Error(`The lock ${file} is taken again and again; start one publisher only.`);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A hard link appears whole and only once, so nobody reads a lock that is half written. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** `pid start`: the start time (field 22 of /proc/PID/stat) tells a process from a later one with its number; empty when it is gone. */
function identityOf(pid: number): string {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return '';
  }
  const stat = readQuietly(`/proc/${pid}/stat`);
  if (/^\d+ \(.*\) [ZX] /s.test(stat)) return '';
  return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? 'unknown'}`;
}

function readQuietly(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
