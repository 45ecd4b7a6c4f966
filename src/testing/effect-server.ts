// Starts the effect server as a separate process and speaks to it: an outside for tests of tools, with trouble on demand and a
// log of its own that is the judge. Owns the process that it starts, and only that; the folder is the caller's.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { readEffectLog, type LoggedEffect, type LoggedRequestLine, type ThingRules, type Trouble } from './effect-log';

export interface EffectServerOptions {
  /** Where the log stands; a server that is started again on the same folder knows what happened. */
  folder: string;
  /** Default 0: a free port. */
  port?: number;
}

export interface EffectServer {
  /** `http://127.0.0.1:PORT`; the same after a restart. */
  url: string;
  pid(): number;
  /** What the next effects on this thing meet, one each, in order. */
  trouble(thing: string, ...troubles: Trouble[]): Promise<void>;
  /** How the thing behaves from now on; both are true at first. */
  rules(thing: string, rules: Partial<ThingRules>): Promise<void>;
  /** Every effect so far, oldest first, read from the log: of one thing, or of all. */
  effects(thing?: string): LoggedEffect[];
  /** Every request so far, and what it met. */
  requests(): LoggedRequestLine[];
  /** SIGKILL, and waits. */
  kill(): Promise<void>;
  /** Starts it again on the same port and folder, ending it first where it runs. */
  restart(): Promise<void>;
  /** Ends it. Safe to call twice. */
  close(): Promise<void>;
}

/** Starts the server; rejects with its last words when it ends at once. */
export async function startEffectServer({ folder, port = 0 }: EffectServerOptions): Promise<EffectServer> {
  let { child, url } = await begin(folder, port);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    await new Promise((resolve) => {
      child.once('exit', resolve);
      child.kill(signal);
    });
  };
  const tell = async (thing: string, what: 'troubles' | 'rules', body: unknown): Promise<void> => {
    const answer = await fetch(`${url}/things/${encodeURIComponent(thing)}/${what}`, { method: 'PUT', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`The effect server answers ${answer.status}: ${await answer.text()}`);
  };
  return {
    url, pid: () => child.pid ?? 0,
    trouble: (thing, ...troubles) => tell(thing, 'troubles', troubles),
    rules: (thing, rules) => tell(thing, 'rules', rules),
    effects: (thing) => readEffectLog(folder).filter((line) => line.kind === 'effect').filter((line) => thing === undefined || line.thing === thing),
    requests: () => readEffectLog(folder).filter((line) => line.kind === 'request'),
    kill: () => end('SIGKILL'),
    restart: async () => {
      await end('SIGKILL');
      ({ child, url } = await begin(folder, Number(new URL(url).port)));
    },
    close: () => end('SIGTERM'),
  };
}

const COMPILED = path.join(__dirname, 'effect-server.process.js');
const SOURCE = path.join(__dirname, 'effect-server.process.ts');
/** From TypeScript sources the process is loaded through jiti, as the store's thread is. */
const FROM_SOURCE = `require('node:module').createRequire(${JSON.stringify(SOURCE)})('jiti').createJiti(${JSON.stringify(SOURCE)})(${JSON.stringify(SOURCE)})`;

async function begin(folder: string, port: number): Promise<{ child: ChildProcess; url: string }> {
  const options = ['--attached', '--folder', folder, '--port', String(port)];
  const args = existsSync(COMPILED) ? [COMPILED, ...options] : ['-e', FROM_SOURCE, '--', ...options];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let words = '';
  child.stderr.on('data', (bytes: Buffer) => { words += bytes.toString(); });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString().trim()));
    child.once('exit', (code) => reject(new Error(`The effect server ended with ${code}: ${words.trim()}`)));
  });
  return { child, url };
}
