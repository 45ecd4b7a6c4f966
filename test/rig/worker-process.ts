// Starts, kills and supervises real worker processes for tests. A supervised worker that dies is started again until it is
// stopped, as a service manager would. Ends only processes that it started.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import Database from 'libsql';
import type { RigWorkerSettings } from './worker.process';

const root = path.join(__dirname, '..', '..');

export interface WorkerProcess {
  pid: number;
  /** Resolves with the signal or exit code when it has ended. */
  ended: Promise<string>;
  /** SIGKILL, and waits. */
  kill(): Promise<void>;
  /** SIGSTOP, at a moment at which it holds no lock on longhaul.db: one stopped within a transaction keeps every other process from writing. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** SIGTERM, and waits up to `graceMs` before SIGKILL. */
  stop(graceMs?: number): Promise<void>;
}

/** Resolves once the worker polls. Rejects with its last words when it ends before. */
export async function startWorkerProcess(settings: Omit<RigWorkerSettings, 'worker'>, env: Record<string, string> = {}): Promise<WorkerProcess> {
  const script = `require('jiti').createJiti(${JSON.stringify(__filename)})(${JSON.stringify(path.join(__dirname, 'worker.process.ts'))})`;
  const rig: RigWorkerSettings = { ...settings, worker: path.join(root, 'dist', 'src', 'worker.js') };
  const child = spawn(process.execPath, ['-e', script], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env, LONGHAUL_RIG: JSON.stringify(rig) } });
  const ended = new Promise<string>((resolve) => { child.on('exit', (code, signal) => resolve(signal ?? String(code))); });
  await ready(child, ended);
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  const stop = async (graceMs = 25_000): Promise<void> => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await ended;
    clearTimeout(timer);
  };
  const freeze = () => holdingTheLock(path.join(settings.stateDir, 'longhaul.db'), () => child.kill('SIGSTOP'));
  return { pid: child.pid ?? 0, ended, kill, stop, freeze, thaw: () => { child.kill('SIGCONT'); } };
}

/** Does `act` while nobody else can hold the file's write lock. Without the file, at once. */
function holdingTheLock(file: string, act: () => void): void {
  if (!existsSync(file)) return act();
  const db = new Database(file, { timeout: 10_000 });
  try {
    db.exec('BEGIN IMMEDIATE');
    act();
  } finally {
    if (db.inTransaction) db.exec('ROLLBACK');
    db.close();
  }
}

async function ready(child: ChildProcess, ended: Promise<string>): Promise<void> {
  let words = '';
  child.stderr?.on('data', (chunk: Buffer) => { words = (words + chunk.toString()).slice(-4_000); });
  const polls = new Promise<true>((resolve) => { child.stdout?.on('data', (chunk: Buffer) => { if (chunk.toString().includes('ready')) resolve(true); }); });
  const how = await Promise.race([polls, ended]);
  if (how !== true) throw new Error(`The worker process ended with ${how}: ${words}`);
}

export interface Supervised {
  /** How often the worker ended by itself. */
  deaths(): number;
  current(): WorkerProcess;
  stop(): Promise<void>;
}

/** Keeps a worker running: one that dies is started again. */
export async function superviseWorker(settings: Omit<RigWorkerSettings, 'worker'>, env: Record<string, string> = {}): Promise<Supervised> {
  let stopping = false;
  let deaths = 0;
  let current = await startWorkerProcess(settings, env);
  const loop = (async () => {
    while (!stopping) {
      await current.ended;
      if (stopping) return;
      deaths += 1;
      current = await startWorkerProcess(settings, env);
      if (stopping) await current.kill();
    }
  })();
  return {
    deaths: () => deaths,
    current: () => current,
    stop: async () => {
      stopping = true;
      await current.kill();
      await loop;
    },
  };
}
