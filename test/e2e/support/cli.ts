// The built command line as real processes, on a temporary state folder and free ports. Ends whatever it started: a `dev` by
// SIGINT, and what a killed supervisor left by the identities in dev.json. Needs dist (scripts/test.js builds it).
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { RunEvent } from '../../../src/core/events';
import { readDevState } from '../../../src/adapters/temporal/dev-state';
import { isRunning, type ProcessIdentity } from '../../../src/adapters/temporal/process-identity';
import { endProcess } from '../../../src/adapters/temporal/server-process';

export const ROOT = path.join(__dirname, '..', '..', '..');
const BIN = path.join(ROOT, 'bin', 'longhaul.js');
const FREE = ['--port', '0', '--ui-port', '0'];

export interface Ended { code: number | null; stdout: string; stderr: string; ms: number }

export interface Cli {
  stateDir: string;
  /** Runs one command to its end. */
  run(args: string[], env?: Record<string, string>): Promise<Ended>;
  /** Runs one command on a terminal, typing `keys` (parted by `|`) once `seen` is shown; stdout holds what the screen showed. */
  atTerminal(seen: string, keys: string, args: string[]): Promise<Ended>;
  /** Runs one command and sends SIGINT once `seen` stands on its output. */
  interrupted(seen: string, args: string[]): Promise<Ended>;
  /** Runs one command and closes both of its pipes once `seen` stands on stderr, as a reader that dies does. */
  deaf(seen: string, args: string[]): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Process ids of the state folder that still run. */
  running(): number[];
  /** `demo` with free ports. */
  demo(args?: string[], env?: Record<string, string>): Promise<Ended>;
  /** Starts `dev` with free ports and resolves once it is up. */
  dev(env?: Record<string, string>, args?: string[]): Promise<Dev>;
  /** SIGKILL to the supervisor, the worker, the services and the server. */
  killAll(): Promise<void>;
  events(runId: string): Promise<RunEvent[]>;
  /** Lines of the publisher's log that are effects. */
  publications(): { slug: string; key: string; sha256: string }[];
  /** Ends everything and removes the folder. */
  stop(): Promise<void>;
}

export interface Dev { address: string; uiAddress: string; pid: number; worker: number; /** Of the supervisor, as it says itself. */ said: number; stop(signal?: NodeJS.Signals): Promise<Ended> }

/** A command line that works in a folder of its own. */
export function cli(): Cli {
  const stateDir = mkdtempSync(path.join(os.tmpdir(), 'longhaul-e2e-'));
  const devs: ChildProcess[] = [];
  const begin = (args: string[], env: Record<string, string> = {}): ChildProcess => spawn(process.execPath, [BIN, ...args], {
    cwd: stateDir, stdio: ['ignore', 'pipe', 'pipe'], env: { ...clean(process.env), LONGHAUL_STATE_DIR: stateDir, NO_COLOR: '1', ...env },
  });
  const run = (args: string[], env?: Record<string, string>): Promise<Ended> => ended(begin(args, env));
  const killAll = async (): Promise<void> => {
    for (const identity of identities(stateDir)) await endProcess(identity, 0);
    for (const child of devs.splice(0)) await killed(child);
  };
  return {
    stateDir, run, killAll,
    atTerminal: (seen, keys, args) => ended(spawn('python3', [path.join(__dirname, 'terminal.py'), seen, keys, process.execPath, BIN, ...args], {
      cwd: stateDir, stdio: ['ignore', 'pipe', 'pipe'], env: { ...clean(process.env), LONGHAUL_STATE_DIR: stateDir, NO_COLOR: '1' },
    })),
    interrupted: (seen, args) => {
      const child = begin(args);
      let text = '';
      let sent = false;
      const look = (bytes: Buffer): void => {
        text += bytes.toString('utf8');
        if (sent || !text.includes(seen)) return;
        sent = child.kill('SIGINT');
      };
      child.stdout?.on('data', look);
      child.stderr?.on('data', look);
      return ended(child);
    },
    deaf: (seen, args) => {
      const child = begin(args);
      let text = '';
      child.stderr?.on('data', (bytes: Buffer) => {
        text += bytes.toString('utf8');
        if (!text.includes(seen)) return;
        child.stdout?.destroy();
        child.stderr?.destroy();
      });
      return new Promise((resolve) => { child.once('exit', (code, signal) => resolve({ code, signal })); });
    },
    running: () => identities(stateDir).map(({ pid }) => pid),
    demo: (args = [], env) => run(['demo', ...FREE, ...args], env),
    dev: async (env, args = []) => {
      const child = begin(['dev', '--json', ...FREE, ...args], env);
      devs.push(child);
      return devOf(child);
    },
    events: async (runId) => (await run(['runs', 'events', runId, '--json'])).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as RunEvent),
    publications: () => {
      const log = path.join(stateDir, 'publisher', 'log.jsonl');
      if (!existsSync(log)) return [];
      return readFileSync(log, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as { kind: string; slug: string; key: string; sha256: string }).filter(({ kind }) => kind === 'publication');
    },
    stop: async () => {
      await killAll();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** An environment without keys, addresses and jest's own settings: what a test does not set is not there. */
function clean(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(LONGHAUL_(?!CACHE|STAGE)|TEMPORAL_(?!CLI_PATH)|OPENAI_|ANTHROPIC_|FOLDER_REPORT_|JEST_|NODE_OPTIONS|FORCE_COLOR)/.test(name)));
}

function ended(child: ChildProcess): Promise<Ended> {
  const began = Date.now();
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (bytes: Buffer) => { stdout += bytes.toString('utf8'); });
  child.stderr?.on('data', (bytes: Buffer) => { stderr += bytes.toString('utf8'); });
  return new Promise((resolve) => { child.once('close', (code) => resolve({ code, stdout, stderr, ms: Date.now() - began })); });
}

async function devOf(child: ChildProcess): Promise<Dev> {
  const end = ended(child);
  const line = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (bytes: Buffer) => {
      text += bytes.toString('utf8');
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
    });
    end.then(({ stderr }) => reject(new Error(`dev ended: ${stderr}`)), reject);
  });
  const { address, uiAddress, worker, pid: said } = JSON.parse(line) as { address: string; uiAddress: string; worker: number; pid: number };
  return {
    address, uiAddress, worker, said, pid: child.pid ?? 0,
    stop: (signal = 'SIGINT') => {
      child.kill(signal);
      return end;
    },
  };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => {
    child.once('exit', resolve);
    child.kill('SIGKILL');
  });
}

function identities(stateDir: string): ProcessIdentity[] {
  const { supervisor, server, children } = readDevState(stateDir) as { supervisor?: ProcessIdentity; server?: ProcessIdentity; children?: Record<string, ProcessIdentity> };
  return [supervisor, ...Object.values(children ?? {}), server].filter((one): one is ProcessIdentity => one !== undefined && isRunning(one));
}

/** Asks until the answer is no longer undefined; fails with the sentence after `ms`. */
export async function until<T>(sentence: string, ask: () => Promise<T | undefined> | T | undefined, ms = 60_000): Promise<T> {
  for (const deadline = Date.now() + ms; Date.now() < deadline;) {
    const asked = Date.now();
    const answer = await ask();
    if (answer !== undefined) return answer;
    // A command that is asked again and again would take the processor from what it asks about.
    const took = Date.now() - asked;
    await new Promise((resolve) => { setTimeout(resolve, Math.max(100, 1.5 * took)); });
  }
  throw new Error(`waited ${ms / 1000} s in vain: ${sentence}`);
}
