// Tells one process from another by pid and start time, since a pid alone is given out again.
// On Linux the start time is field 22 of /proc/PID/stat; elsewhere `ps` says it. Where neither is there, the answer is
// "unknown", and callers then leave the process alone.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessIdentity {
  pid: number;
  /** Opaque; only compared. */
  startedAt: string;
}

/** The identity of the running process `pid`, or undefined when there is none (a zombie counts as none) or it cannot be told. */
export function identify(pid: number): ProcessIdentity | undefined {
  const startedAt = process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
  return startedAt ? { pid, startedAt } : undefined;
}

/** True when exactly this process still runs. */
export function isRunning(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startedAt === identity.startedAt;
}

/** Sends a signal to exactly this process; false when it is not there any more. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): boolean {
  if (!isRunning(identity)) return false;
  try {
    process.kill(identity.pid, name);
    return true;
  } catch {
    return false;
  }
}

function fromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // A zombie whose other threads are still dying holds its sockets and files: it is gone only when they are.
    // The second field is the program's name in brackets and may hold spaces: count from the last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const dead = fields[0] === 'X' || (fields[0] === 'Z' && readdirSync(`/proc/${pid}/task`).length <= 1);
    return dead ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function fromPs(pid: number): string | undefined {
  try {
    const args = ['-o', 'lstart=', '-p', String(pid)];
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim() || undefined;
  } catch {
    return undefined;
  }
}
