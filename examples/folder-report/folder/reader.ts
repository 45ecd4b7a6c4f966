// Parent side of the readers: starts the child process, hands it one request, and kills it on abort, when its time is over
// or when it says too much. Owns the time caps; never runs SQL or a search in the worker itself.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { ErrorClass } from 'longhaul';
import { Refusal } from './refusal';

export type ReaderRequest =
  | { op: 'sql'; root: string; statements: string[] }
  | { op: 'search'; root: string; text: string; limit: number }
  | { op: 'tables'; root: string };

/** ms that one request may take, start of the process included. */
const TIME_MS = { sql: 8_000, search: 30_000, tables: 30_000 } as const;
const MOST_OUTPUT = 1024 * 1024;

/** Node's arguments for a program of this folder: as built, or as written where it runs unbuilt. */
export function programArgs(base: string): string[] {
  return existsSync(`${base}.js`) ? [`${base}.js`] : ['--import', 'jiti/register', `${base}.ts`];
}

/**
 * Runs one request in a child process of its own.
 * @throws Refusal as the child says it; `argument` when it took too long, `cancelled` on abort.
 */
export function runReader<T>(request: ReaderRequest, signal: AbortSignal, timeMs: number = TIME_MS[request.op]): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(cancelled());
    const child = spawn(process.execPath, ['--max-old-space-size=512', ...programArgs(path.join(__dirname, 'reader.process')), String(timeMs + 1_000), String(process.pid)], { cwd: __dirname, env: {}, stdio: ['pipe', 'pipe', 'ignore'] });
    const parts: Buffer[] = [];
    let bytes = 0;
    const stop = (error: Refusal): void => { child.kill('SIGKILL'); reject(error); };
    const onAbort = (): void => stop(cancelled());
    const timer = setTimeout(() => stop(tooSlow(request.op, timeMs)), timeMs);
    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > MOST_OUTPUT) stop(new Refusal('argument', 'too-much', 'The answer is too large; ask for less.'));
      else parts.push(part);
    });
    child.on('error', (error) => reject(new Refusal('unknown', 'reader', `The reader process could not be started: ${error.message}.`)));
    child.on('close', (code) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      try {
        resolve(unwrap<T>(Buffer.concat(parts).toString('utf8'), code));
      } catch (error) {
        reject(error);
      }
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(request));
  });
}

function unwrap<T>(text: string, code: number | null): T {
  if (text === '') throw new Refusal('argument', 'reader', `The reader process ended early (${code ?? 'killed'}); the request needs more memory than it may have.`);
  const answer = JSON.parse(text) as { value: T } | { error: { failureClass: ErrorClass; code: string; message: string } };
  if ('error' in answer) throw new Refusal(answer.error.failureClass, answer.error.code, answer.error.message);
  return answer.value;
}

const cancelled = (): Refusal => new Refusal('cancelled', 'cancelled', 'The reader was stopped because the call was cancelled.');

function tooSlow(op: ReaderRequest['op'], timeMs: number): Refusal {
  return new Refusal('argument', 'too-slow', op === 'sql'
    ? `The query ran longer than ${timeMs / 1_000} s and was stopped; write a cheaper one.`
    : `Reading the folder took longer than ${timeMs / 1_000} s and was stopped; give the run a smaller folder.`);
}
