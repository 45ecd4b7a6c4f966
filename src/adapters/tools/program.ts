// Runs a program for a tool in a process group of its own, so that a cancel, a time-out, the end of the program or the death of
// this process ends everything that it has started. Owns the group and its lifeline: a pipe that only this process holds, beside
// which a guardian in the group waits; when the pipe closes, however this process ended, the guardian kills the group.
// What leaves the group by itself (setsid) is out of reach. Needs a POSIX `sh`.
import { spawn, type ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { ToolError } from '../../core/failure';
import { noteGroup } from './groups';

export interface ProgramOptions {
  /** The signal of the call: on abort the group hears TERM, and KILL after `graceMs`. */
  signal: AbortSignal;
  /** ms that the program may take; left out, the time of the call ends it. */
  timeoutMs?: number;
  /** ms between TERM and KILL; default 1,000. */
  graceMs?: number;
  cwd?: string;
  /** Its whole environment; default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Written to its standard input, which is then closed. */
  input?: string | Uint8Array;
  /** Most bytes of standard output, and of standard error; default 1 MiB. A program that says more is ended. */
  maxOutputBytes?: number;
}

/** What a program that ran to its end has come to. `code` is above 128 when a signal of somebody else ended it. */
export interface ProgramEnd { code: number; stdout: string; stderr: string }

/**
 * Begins when a line comes, which is sent once the group is noted. The program in the background of the shell, beside the guardian;
 * the shell reaps both. dash gives a background program no stdin of its own.
 */
const SCRIPT = `
read -r _ <&3 || exit 127
command -v -- "$1" >/dev/null 2>&1 || { echo missing >&3; exit 127; }
exec 4<&0
"$@" <&4 3<&- 4<&- & p=$!
exec 4<&-
trap : TERM
( trap "" TERM; read -r _ <&3; kill -KILL "-$$" ) </dev/null >/dev/null 2>&1 & g=$!
exec 3<&-
wait $p; c=$?
while kill -0 $p 2>/dev/null; do wait $p; c=$?; done
kill -KILL $g 2>/dev/null; wait $g 2>/dev/null
exit $c`;

/**
 * Runs `command` with `args`, without a shell between them (`runProgram('sh', ['-c', text], ...)` for a line of shell).
 * @throws ToolError `timeout-before-send` when the signal was aborted before it began, `not-found` when there is no such program,
 *   `unknown` when it was ended on abort, for its time or for saying too much: what it had done by then is not known.
 */
export async function runProgram(command: string, args: readonly string[], options: ProgramOptions): Promise<ProgramEnd> {
  const { signal, cwd, env, timeoutMs, graceMs = 1_000, maxOutputBytes = 1024 * 1024 } = options;
  if (signal.aborted) throw new ToolError('timeout-before-send', 'aborted', `${command} was not started: the call was told to stop.`);
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'longhaul', command, ...args], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });
  const over = noteGroup(child);
  let why: ToolError | undefined;
  const stop = (code: string, words: string, patienceMs = graceMs): void => {
    if (why) return;
    why = new ToolError('unknown', code, `${command} ${words}; what it had done by then is not known.`);
    signalGroup(child, 'SIGTERM');
    setTimeout(() => signalGroup(child, 'SIGKILL'), patienceMs).unref();
  };
  const onAbort = (): void => stop('aborted', 'was ended because the call was told to stop');
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => stop('program-timeout', `ran longer than ${timeoutMs / 1_000} s and was ended`), timeoutMs);
  const tooMuch = (): void => stop('too-much-output', `said more than ${maxOutputBytes} bytes and was ended`, 0);
  signal.addEventListener('abort', onAbort, { once: true });
  const said = [gathered(child.stdout as Readable, maxOutputBytes, tooMuch), gathered(child.stderr as Readable, maxOutputBytes, tooMuch)] as const;
  const missing = gathered(child.stdio[3] as Readable, 64, () => undefined);
  (child.stdio[3] as Duplex | undefined)?.write('\n');
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(options.input);
  try {
    const code = await ended(child, command);
    if (why) throw why;
    if (code === 127 && missing().startsWith('missing')) throw new ToolError('not-found', 'no-program', `There is no program ${command}; install it where the worker runs.`);
    return { code, stdout: said[0](), stderr: said[1]() };
  } finally {
    over();
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Resolves when the shell is gone and its pipes are closed; whatever is left in its group is killed then. */
function ended(child: ChildProcess, command: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new ToolError('permission', 'not-started', `${command} could not be started: ${error.message}`)));
    child.once('exit', () => signalGroup(child, 'SIGKILL'));
    child.once('close', (code) => resolve(code ?? 137));
  });
}

/** Everything that a stream says, up to `most` bytes. */
function gathered(stream: Readable, most: number, tooMuch: () => void): () => string {
  const parts: Buffer[] = [];
  let bytes = 0;
  stream.on('error', () => undefined);
  stream.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes <= most) parts.push(part);
    else tooMuch();
  });
  return () => Buffer.concat(parts).toString('utf8');
}

/** A signal to the whole group of a child that was started `detached`. A group that is gone hears nothing. */
export function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // Gone already.
  }
}
