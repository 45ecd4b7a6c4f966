// Starts the example's publisher as the separate process that it is, and kills or stops it. The caller owns the storage folder.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const MAIN = path.join(__dirname, '../../examples/folder-report/publisher/main.ts');

export interface Publisher { url: string; pid: number; end(signal?: NodeJS.Signals): Promise<number | null> }

/** Resolves when it listens; rejects with its last words when it ends before. */
export function startPublisher(storage: string, env: Record<string, string> = {}): Promise<Publisher> {
  const child = spawn(process.execPath, ['--import', 'jiti/register', MAIN, '--storage', storage, '--port', '0'], { cwd: path.dirname(MAIN), env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let words = '';
  child.stderr?.on('data', (part: Buffer) => { words += part.toString(); });
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', (line: Buffer) => resolve({ url: `http://127.0.0.1:${(JSON.parse(line.toString()) as { port: number }).port}`, pid: child.pid ?? 0, end: (signal = 'SIGTERM') => ended(child, signal) }));
    child.once('exit', (code) => reject(new Error(`publisher ended with ${code}: ${words}`)));
  });
}

function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.kill(signal);
  });
}

/** Lines of the publisher's own log. */
export function publisherLog(storage: string): Record<string, unknown>[] {
  const file = path.join(storage, 'log.jsonl');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as Record<string, unknown>) : [];
}
