// Builds at work: the command line and the workers of any build on one state folder and one real server, each worker a process of its
// own that is a version of a Worker Deployment, or none. Ends what it started.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RunEvent } from '../../../src/core/events';
import { startRigServer, type RigServer } from '../../rig/server';
import { ROOT } from './builds';

export interface Ended { code: number | null; stdout: string; stderr: string }

/** `build`: folder of a build, this tree by default. `config`: which of the configurations beside this file. */
export interface Where { build?: string; config?: 'one' | 'two' | 'both' }

export interface WorkerProcess {
  /** What it has said so far. */
  words(): string;
  /** SIGTERM, and waits; answers how it ended. */
  stop(): Promise<number | null>;
}

export interface Deployed {
  server: RigServer;
  stateDir: string;
  /** Runs one command of a build to its end. */
  cli(args: string[], where?: Where): Promise<Ended>;
  /** Starts `longhaul worker` with these arguments; resolves once it polls, rejects with its words when it ends before. */
  worker(args: string[], where?: Where): Promise<WorkerProcess>;
  /** The journal of a run as it stands in the store, not brought to any shape: by its export. */
  written(runId: string): Promise<RunEvent[]>;
  /** Waits until the journal of the run holds an event of this type. */
  until(runId: string, type: RunEvent['type']): Promise<RunEvent>;
  /** Lines that tools of the configurations have written. */
  effects(): { to: string; by: string; runId: string }[];
  stop(): Promise<void>;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });

export async function deployed(): Promise<Deployed> {
  const server = await startRigServer();
  const stateDir = mkdtempSync(path.join(tmpdir(), 'longhaul-upgrade-'));
  const effectsFile = path.join(stateDir, 'effects.jsonl');
  const workers = new Set<ChildProcess>();
  const begin = (args: string[], { build = ROOT }: Where = {}): ChildProcess => spawn(process.execPath, [path.join(build, 'bin', 'longhaul.js'), ...args], {
    cwd: stateDir, stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...plain(process.env), TEMPORAL_ADDRESS: server.address, LONGHAUL_STATE_DIR: stateDir, NO_COLOR: '1', LONGHAUL_UPGRADE_BUILD: build, LONGHAUL_UPGRADE_EFFECTS: effectsFile,
    },
  });
  const withConfig = (args: string[], { config = 'one' }: Where = {}): string[] => [...args, '--config', path.join(__dirname, `${config}.config.cjs`)];
  const cli: Deployed['cli'] = (args, where) => ended(begin(withConfig(args, where), where));

  const worker: Deployed['worker'] = async (args, where) => {
    const child = begin(withConfig(['worker', '--log-file', path.join(stateDir, 'worker.log'), ...args], where), where);
    workers.add(child);
    let words = '';
    child.stderr?.on('data', (bytes: Buffer) => { words += bytes.toString(); });
    const gone = new Promise<number | null>((resolve) => { child.once('exit', (code) => { workers.delete(child); resolve(code); }); });
    const polls = new Promise<'polls'>((resolve) => { child.stderr?.on('data', () => { if (words.includes(' polls ')) resolve('polls'); }); });
    const first = await Promise.race([polls, gone]);
    if (first !== 'polls') throw new Error(`The worker ended with ${first}: ${words}`);
    return { words: () => words, stop: () => { child.kill('SIGTERM'); return gone; } };
  };

  const written: Deployed['written'] = async (runId) => {
    const { stdout } = await cli(['runs', 'export', runId]);
    return stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as { kind: string; event: RunEvent }).filter(({ kind }) => kind === 'event').map(({ event }) => event);
  };
  const until: Deployed['until'] = async (runId, type) => {
    const limit = Date.now() + 120_000;
    for (;;) {
      const events = await written(runId);
      const found = events.find((event) => event.type === type);
      if (found) return found;
      if (Date.now() > limit) throw new Error(`Run ${runId} wrote no ${type}: ${events.map((event) => event.type).join(' ')}\n${tail(path.join(stateDir, 'worker.log'))}`);
      await sleep(500);
    }
  };
  return {
    server, stateDir, cli, worker, written, until,
    effects: () => (existsSync(effectsFile) ? readFileSync(effectsFile, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as { to: string; by: string; runId: string }) : []),
    stop: async () => {
      const left = [...workers];
      for (const child of left) child.kill('SIGKILL');
      await Promise.all(left.filter((child) => child.exitCode === null && child.signalCode === null).map((child) => new Promise((resolve) => { child.once('exit', resolve); })));
      await server.stop();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** An environment without addresses, keys and jest's own settings. */
function plain(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(LONGHAUL_(?!STAGE)|TEMPORAL_|OPENAI_|ANTHROPIC_|JEST_|NODE_OPTIONS|FORCE_COLOR)/.test(name)));
}

function ended(child: ChildProcess): Promise<Ended> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (bytes: Buffer) => { stdout += bytes.toString(); });
  child.stderr?.on('data', (bytes: Buffer) => { stderr += bytes.toString(); });
  return new Promise((resolve) => { child.once('close', (code) => resolve({ code, stdout, stderr })); });
}

function tail(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(-30).join('\n') : '(no log)';
}
