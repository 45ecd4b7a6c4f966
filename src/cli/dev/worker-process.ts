// The worker as a child process that is started again whenever it dies. Its log goes to a file; one IPC message tells that it
// polls. When this process is gone, the closed channel makes the worker end by itself, so that none is ever orphaned.
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify } from '../../adapters/temporal/process-identity';
import { EXIT, Stop } from '../exit';
import { noteChild } from './state';

/** Starts in a row that never came to poll, after which starting again is given up. */
const MOST_FAILURES = 5;
const READY_MS = 60_000;
/** ms that calls in flight get when the worker is stopped. */
const STOP_MS = 25_000;

export interface WorkerWishes {
  stateDir: string;
  args: string[];
  /** Environment of the nth start, counted from 1, beside this process's own. */
  env?: (start: number) => Record<string, string>;
  say: (line: string) => void;
  /** Told when a worker was lost and why, before it is started again. */
  lost?: (how: string) => void;
}

export interface RunningWorkerProcess { pid(): number; starts(): number; stop(): Promise<void> }

/** Starts the worker and resolves once it polls. Throws Stop with its last words when it never does. */
export async function startWorkerProcess(wishes: WorkerWishes): Promise<RunningWorkerProcess> {
  let stopping = false;
  let starts = 1;
  let child = await launch(wishes, starts);
  const watch = async (): Promise<void> => {
    for (let failures = 0; !stopping;) {
      const how = await ended(child);
      if (stopping) return;
      noteChild(wishes.stateDir, 'worker', undefined);
      wishes.lost?.(how);
      wishes.say(`The worker has ended (${how}); it is started again.`);
      await sleep(failures === 0 ? 100 : Math.min(5_000, 500 * 2 ** failures));
      if (stopping) return;
      starts += 1;
      try {
        child = await launch(wishes, starts);
        failures = 0;
      } catch (error) {
        failures += 1;
        if (failures < MOST_FAILURES) continue;
        wishes.say(`${error instanceof Error ? error.message : String(error)} It is not started again; mend that and restart.`);
        return;
      }
    }
  };
  void watch();
  return {
    pid: () => child.pid ?? 0,
    starts: () => starts,
    stop: async () => {
      stopping = true;
      await end(child);
      noteChild(wishes.stateDir, 'worker', undefined);
    },
  };
}

/** The command line's own program, found upwards from here in sources and in dist alike. */
function program(): string {
  for (let folder = __dirname; folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const file = path.join(folder, 'bin', 'longhaul.js');
    if (existsSync(file)) return file;
  }
  throw new Stop(EXIT.error, 'bin/longhaul.js is missing from the package: install it again.');
}

async function launch({ stateDir, args, env }: WorkerWishes, start: number): Promise<ChildProcess> {
  const logFile = path.join(stateDir, 'worker.log');
  const log = openSync(logFile, 'a', 0o600);
  const from = statSync(logFile).size;
  const child = spawn(process.execPath, [program(), 'worker', ...args], { stdio: ['ignore', log, log, 'ipc'], detached: true, env: { ...process.env, ...env?.(start) } });
  closeSync(log);
  noteChild(stateDir, 'worker', child.pid === undefined ? undefined : identify(child.pid));
  const ready = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), READY_MS);
    const settle = (value: boolean): void => {
      clearTimeout(timer);
      resolve(value);
    };
    child.once('message', () => settle(true));
    child.once('exit', () => settle(false));
    child.once('error', () => settle(false));
  });
  if (ready) return child;
  await end(child);
  const lines = readFileSync(logFile).subarray(from).toString('utf8').split('\n').filter(Boolean).slice(-5).join(' | ');
  throw new Stop(EXIT.error, `The worker did not start: ${lines.slice(-1_000) || 'it said nothing'} (log: ${logFile}).`);
}

const isGone = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;

const howOf = (child: ChildProcess): string => child.signalCode ?? `exit code ${child.exitCode}`;

function ended(child: ChildProcess): Promise<string> {
  if (isGone(child)) return Promise.resolve(howOf(child));
  return new Promise((resolve) => { child.once('exit', () => resolve(howOf(child))); });
}

async function end(child: ChildProcess): Promise<void> {
  if (isGone(child)) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended(child);
  clearTimeout(timer);
}
