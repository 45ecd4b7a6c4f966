// The worker's side of one process of an isolated tool: starts it in a group of its own, serves what the tool asks for, hands on
// the signal, and ends the whole group with KILL when the call is over, when the signal is ignored, or (by the lifeline, from
// within) when the worker dies. Says for certain whether the tool's own code had begun: a process that ends before has sent
// nothing, one that ends after it without an answer is of class `unknown`, never a failure of another class.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import type { Json } from '../../core/canonical';
import { ToolError, type Failure } from '../../core/failure';
import { marked } from '../../core/pending';
import { ArtifactError } from '../../ports/artifacts';
import { redactText } from '../../ports/redaction';
import type { ToolCall } from '../../ports/tool';
import type { ProcessIdentity } from '../temporal/process-identity';
import { groupsBelow, noteGroup, type GroupsBelow } from './groups';
import { ASKING, LIFELINE, type FromProcess, type Part, type Question, type Reply, type ToProcess, type Work } from './isolation-wire';
import { signalGroup } from './program';

export interface Isolation {
  /** Absolute path of the configuration. */
  file: string;
  env: NodeJS.ProcessEnv;
  /** ms that a tool has to answer the signal; default 2,000. */
  graceMs?: number;
}

const COMPILED = path.join(__dirname, '../../tool.process.js');
const SOURCE = path.join(__dirname, '../../tool.process.ts');
/** Node's arguments for the program: as built, or through jiti where the sources run unbuilt. */
const PROGRAM = existsSync(COMPILED) ? [COMPILED]
  : ['-e', `const { createRequire } = require('node:module'); createRequire(${JSON.stringify(SOURCE)})('jiti').createJiti(${JSON.stringify(SOURCE)}, { fsCache: true })(${JSON.stringify(SOURCE)});`];

const GRACE_MS = 2_000;
/** Bytes of the last words of a process that are kept for the log. */
const LAST_WORDS = 2_048;

/**
 * Runs one function of a tool in a process of its own.
 * @throws ToolError as the tool threw it; `timeout-before-send` when its code had not begun, `unknown` when it ended without an answer.
 */
export function runIsolated({ file, env, graceMs = GRACE_MS }: Isolation, { tool, version, part, given }: Pick<Work, 'tool' | 'version' | 'part' | 'given'>, call: ToolCall): Promise<unknown> {
  const { runId, callId, attempt, input, key, callbackId, resourceVersion } = call;
  if (call.signal.aborted) return Promise.reject(notBegun(tool, 'the call was told to stop'));
  const child = spawn(process.execPath, PROGRAM, { env, detached: true, serialization: 'advanced', stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe', 'pipe'] });
  const words = lastWords(child);
  const begun = { yes: false };
  const [over, below] = [noteGroup(child), groupsBelow()];
  const say = (message: ToProcess): void => { if (child.connected) child.send(message, () => undefined); };
  serve(child, tool, begun, below, call);
  return new Promise<unknown>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const abort = (): void => {
      say({ kind: 'abort', why: call.signal.reason instanceof Error ? call.signal.reason.message : 'Stop' });
      timer = setTimeout(() => signalGroup(child, 'SIGKILL'), graceMs);
    };
    let settled = false;
    const end = (settle: () => void): void => {
      settled = true;
      clearTimeout(timer);
      call.signal.removeEventListener('abort', abort);
      signalGroup(child, 'SIGKILL');
      below.end();
      over();
      settle();
    };
    call.signal.addEventListener('abort', abort, { once: true });
    child.on('message', (message: FromProcess) => {
      if (message.kind === 'done') end(() => resolve(valueOf(part, message)));
      else if (message.kind === 'failed') end(() => reject(errorOf(message.failure)));
      else if (message.kind === 'log') call.log(message.message);
      else void answered(message, call).then(say);
    });
    child.once('error', (error) => end(() => reject(notBegun(tool, `its process could not be started: ${error.message}`))));
    void gone(child).then((how) => end(() => {
      if (!settled && words() !== '') call.log(`the process of ${tool} said at its end: ${words()}`);
      reject(begun.yes ? new ToolError('unknown', 'process-ended', `The process of ${tool} ended (${how}) before it answered; what it had done by then is not known.`) : notBegun(tool, `its process ended (${how})`));
    }));
    say({ kind: 'work', work: { file, tool, version, part, given, call: { runId, callId, attempt, input, key, callbackId, resourceVersion } } });
  });
}

/** The result as the tool gave it: its mark does not cross between processes. */
function valueOf(part: Part, { json, pending }: Extract<FromProcess, { kind: 'done' }>): unknown {
  const value = JSON.parse(json) as Json;
  if (!pending) return value;
  return part === 'lookUp' ? { ...value as object, output: marked(pending, (value as { output: Json }).output) } : marked(pending, value);
}

const notBegun = (tool: string, why: string): ToolError => new ToolError('timeout-before-send', 'not-begun', `${tool} was not begun: ${why}.`);
const errorOf = ({ class: cls, code, message, retryAfterMs }: Failure): ToolError => new ToolError(cls, code, message, retryAfterMs);

/** What the tool reads without waiting, and the question whether it may begin. */
function serve(child: ChildProcess, tool: string, begun: { yes: boolean }, below: GroupsBelow, call: ToolCall): void {
  const pipe = child.stdio[ASKING] as Duplex;
  const replyTo = ({ what, name }: Question): Reply => {
    try {
      if (what === 'service') return { value: call.service(name) };
      if (what === 'secret') return { value: call.secret(name) };
      if (what === 'group' || what === 'ended') return { value: below[what](JSON.parse(name) as ProcessIdentity) };
      if (call.signal.aborted) throw notBegun(tool, 'the call was told to stop');
      begun.yes = true;
      return { value: '' };
    } catch (error) {
      return { failure: failureOf(error) };
    }
  };
  let text = '';
  pipe.on('error', () => undefined).on('data', (bytes: Buffer) => {
    text += bytes.toString('utf8');
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
      pipe.write(`${JSON.stringify(replyTo(JSON.parse(text.slice(0, at)) as Question))}\n`);
      text = text.slice(at + 1);
    }
  });
  ((child.stdio as unknown[])[LIFELINE] as Duplex).on('error', () => undefined);
}

async function answered({ id, what, args }: Extract<FromProcess, { kind: 'ask' }>, { artifacts }: ToolCall): Promise<ToProcess> {
  try {
    const act = artifacts[what] as (...values: unknown[]) => Promise<unknown>;
    return { kind: 'answer', id, value: await act(...args) };
  } catch (error) {
    return { kind: 'answer', id, failure: failureOf(error) };
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof ToolError) return { class: error.failureClass, code: error.code, message: error.message };
  if (error instanceof ArtifactError) return { class: 'artifact', code: error.code, message: error.message };
  return { class: 'unknown', code: 'error', message: error instanceof Error ? error.message : String(error) };
}

/** Resolves when the process is gone and everything that it said has been heard. */
function gone(child: ChildProcess): Promise<string> {
  const heard = new Promise<void>((resolve) => { child.once('disconnect', resolve); });
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      // A process that it started may hold the channel open.
      signalGroup(child, 'SIGKILL');
      const how = signal ?? `exit code ${code}`;
      void Promise.race([heard, new Promise((over) => { setTimeout(over, 1_000).unref(); })]).then(() => resolve(how));
    });
  });
}

function lastWords(child: ChildProcess): () => string {
  let words = '';
  child.stderr?.on('error', () => undefined).on('data', (bytes: Buffer) => { words = (words + bytes.toString('utf8')).slice(-2 * LAST_WORDS); });
  // Without secrets before the cut: half of one would be found by nobody.
  return () => redactText(words).slice(-LAST_WORDS).trim();
}
