// A child process whose output goes to a log file, and the way to end a process for certain.
// Owns signals and log reading; knows nothing of Temporal. A process is only ever signalled under its identity (pid and
// start time), so that a pid which was given out again is left alone.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isRunning, type ProcessIdentity, signal } from './process-identity';

export interface LoggedChild {
  /** Undefined when the program could not be started or ended before it could be looked at. */
  identity: ProcessIdentity | undefined;
  isAlive(): boolean;
  /** Resolves when the process has ended or could not be started. Does not keep this process alive. */
  ended: Promise<void>;
  /** The same, and keeps this process alive until then: what is done after it is done for certain. */
  gone(): Promise<void>;
  /** Why the program could not be started, if so. */
  failure(): string | undefined;
  /** What this child has written to the log, or its last non-empty lines. */
  output(lastLines?: number): string;
}

/** Starts `binary`; stdout and stderr are appended to `logFile`, stdin is closed, the process group is its own. */
export function spawnLogged(binary: string, args: readonly string[], options: { logFile: string; cwd: string }): LoggedChild {
  mkdirSync(path.dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'a');
  const from = statSync(options.logFile).size;
  const child = spawn(binary, [...args], { stdio: ['ignore', log, log], detached: true, cwd: options.cwd });
  closeSync(log);
  let alive = child.pid !== undefined;
  let failure: string | undefined;
  const ended = new Promise<void>((resolve) => {
    const end = (why?: string) => {
      alive = false;
      failure ??= why;
      resolve();
    };
    child.once('exit', () => end());
    child.once('error', (error) => end(error.message));
  });
  // The child must not keep a caller alive who has finished; who waits for its end says so by `gone`.
  child.unref();
  return {
    identity: child.pid === undefined ? undefined : identify(child.pid),
    isAlive: () => alive,
    ended,
    gone: () => {
      child.ref();
      return ended;
    },
    failure: () => failure,
    output: (lastLines) => readLog(options.logFile, from, lastLines),
  };
}

function readLog(file: string, from: number, lastLines?: number): string {
  const text = readFileSync(file).subarray(from).toString('utf8');
  if (lastLines === undefined) return text;
  const lines = text.split('\n').map((line) => line.trim()).filter(Boolean);
  return lines.slice(-lastLines).join(' | ').slice(-1_000);
}

/** Ends the process: SIGINT, then SIGKILL after `graceMs`. Resolves when it is gone; a process that is gone is no error. */
export async function endProcess(target: ProcessIdentity, graceMs: number): Promise<void> {
  if (graceMs > 0 && signal(target, 'SIGINT') && (await goneWithin(target, graceMs))) return;
  if (signal(target, 'SIGKILL')) await goneWithin(target, 5_000);
}

async function goneWithin(target: ProcessIdentity, ms: number): Promise<boolean> {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await sleep(20)) if (!isRunning(target)) return true;
  return !isRunning(target);
}
