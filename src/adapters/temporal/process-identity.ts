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

/**
 * Kills the whole process group that this process leads, stopped members too; false when it is not there any more. A leader
 * that is a zombie counts: while it is, its number is nobody else's. Throws what the system says when it may not be killed.
 */
export function killGroup({ pid, startedAt }: ProcessIdentity): boolean {
  const there = process.platform === 'linux' ? statOf(pid)?.startedAt : fromPs(pid);
  // 0 would be this process's own group and 1 every process.
  if (pid <= 1 || pid === process.pid || there !== startedAt) return false;
  try {
    process.kill(-pid, 'SIGKILL');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** True while a member of the group still runs; zombies do not. */
export function groupRuns(pgid: number): boolean {
  if (process.platform === 'linux') return readdirSync('/proc').some((name) => {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined;
    return stat?.pgid === pgid && !stat.dead;
  });
  const table = execFileSync('ps', ['-A', '-o', 'pgid=,stat='], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return table.split('\n').some((line) => new RegExp(`^\\s*${pgid}\\s+[^Z\\s]`).test(line));
}

const fromProc = (pid: number): string | undefined => {
  const stat = statOf(pid);
  return stat?.dead ? undefined : stat?.startedAt;
};

function statOf(pid: number): { dead: boolean; pgid: number; startedAt: string | undefined } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // A zombie whose other threads are still dying holds its sockets and files: it is gone only when they are.
    // The second field is the program's name in brackets and may hold spaces: count from the last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const dead = fields[0] === 'X' || (fields[0] === 'Z' && readdirSync(`/proc/${pid}/task`).length <= 1);
    return { dead, pgid: Number(fields[2]), startedAt: fields[19] };
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
