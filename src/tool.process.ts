// The process of an isolated tool, a composition root of its own: reads the configuration, finds the tool, asks whether it may
// begin, runs one of its functions and says what came of it. A second thread ends the whole group when the worker is gone, also
// while the tool spins. Knows no ledger, no journal and no Temporal: what the tool needs of them is asked of the worker.
import { readSync, writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { checkedResult } from './activities/checked';
import { failureOf } from './activities/failures';
import { schemaReasons } from './activities/schema-reasons';
import { loadConfig } from './adapters/config/load';
import { installGroupNote } from './adapters/tools/groups';
import { ASKING, LIFELINE, type FromProcess, type Question, type Reply, type ToProcess, type Work } from './adapters/tools/isolation-wire';
import { canonical } from './core/canonical';
import { ToolError, type Failure } from './core/failure';
import { contractOf } from './core/keys';
import { marked, pendingOf } from './core/pending';
import { LIMITS } from './core/run';
import type { ToolCall, ToolDefinition } from './ports/tool';

/** A thread has an event loop of its own: nothing that the tool does keeps it from seeing the lifeline close. */
const WATCH = `
const { Socket } = require('node:net');
const end = () => process.kill(-process.pid, 'SIGKILL');
new Socket({ fd: ${LIFELINE} }).on('error', end).on('close', end).resume();`;

const errorOf = ({ class: cls, code, message, retryAfterMs }: Failure): ToolError => new ToolError(cls, code, message, retryAfterMs);
const say = (message: FromProcess): void => { process.send?.(message); };

/** Asks the worker and waits for its line, so that a tool can read a secret without \`await\`. */
function ask(question: Question): string {
  writeSync(ASKING, `${JSON.stringify(question)}\n`);
  const parts: Buffer[] = [];
  for (;;) {
    const part = Buffer.alloc(64 * 1024);
    const bytes = readSync(ASKING, part, 0, part.length, null);
    if (bytes === 0) throw new Error('The worker is gone.');
    parts.push(part.subarray(0, bytes));
    if (part[bytes - 1] === 10) break;
  }
  const { value, failure } = JSON.parse(Buffer.concat(parts).toString('utf8')) as Reply;
  if (failure) throw errorOf(failure);
  return value ?? '';
}

const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
const stop = new AbortController();

function hear(message: ToProcess): void {
  switch (message.kind) {
    case 'work': void work(message.work); break;
    case 'abort': stop.abort(new Error(message.why)); break;
    case 'answer': {
      const open = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.failure) open?.reject(errorOf(message.failure));
      else open?.resolve(message.value);
    }
  }
}

let asked = 0;
function later<T>(what: 'read' | 'known' | 'write', ...args: unknown[]): Promise<T> {
  const id = ++asked;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
    say({ kind: 'ask', id, what, args });
  });
}

const callOf = (about: Work['call']): ToolCall => ({
  ...about,
  signal: stop.signal,
  artifacts: { read: ({ sha256 }) => later('read', { sha256 }), known: (sha256) => later('known', sha256), write: (bytes, of) => later('write', bytes, of) },
  service: (name) => ask({ what: 'service', name }),
  secret: (name) => ask({ what: 'secret', name }),
  log: (message) => say({ kind: 'log', message: String(message) }),
});

async function work(todo: Work): Promise<void> {
  try {
    const tool = await toolOf(todo);
    const result = await run(tool, todo);
    const later = pendingOf(result) ?? pendingOf((result as { output?: unknown } | null)?.output);
    say({ kind: 'done', json: canonical(pendingOf(result)?.receipt ?? withReceipt(result)), ...(later ? { pending: later.terms } : {}) });
  } catch (error) {
    // The worker, which alone knows the secrets, takes them out and cuts: cut here, half of one could stay.
    say({ kind: 'failed', failure: failureOf(error, 8 * LIMITS.errorBytes) });
  }
}

/** The answer of a look-up that has found what is not finished, with the receipt in place of the marked value. */
const withReceipt = (result: unknown): unknown => {
  const later = pendingOf((result as { output?: unknown } | null)?.output);
  return later ? { ...result as object, output: later.receipt } : result;
};

/** Whatever is wrong here, nothing was begun. */
async function toolOf({ file, tool: name, version }: Work): Promise<ToolDefinition> {
  try {
    const { config } = await loadConfig(file);
    const found = config.tools.find((tool) => contractOf(tool.name, tool.version) === contractOf(name, version));
    if (!found) throw new Error(`It holds no tool ${contractOf(name, version)}.`);
    return found;
  } catch (error) {
    throw new ToolError('timeout-before-send', 'not-begun', `${name} was not begun: ${failureOf(error).message}`);
  }
}

async function run(tool: ToolDefinition, { part, given, call: about }: Work): Promise<unknown> {
  const call = callOf(about);
  const effect = (tool.effect ?? 'irreversible') !== 'none';
  const args = parsed(tool, part === 'lookUp' || part === 'undo' ? (given as { args: unknown }).args : given);
  ask({ what: 'begin', name: part });
  switch (part) {
    case 'execute': return executed(tool, effect, await tool.execute(args, call));
    case 'undo': return checkedResult(tool, { effect, undo: true }, await tool.undo?.({ ...(given as Parameters<NonNullable<ToolDefinition['undo']>>[0]), args }, call));
    case 'lookUp': return tool.lookUp?.({ ...(given as Parameters<NonNullable<ToolDefinition['lookUp']>>[0]), args }, call);
    case 'resourceVersion': return tool.resourceVersion?.(args, call);
    case 'preview': return tool.preview?.(args, call);
  }
}

function executed(tool: ToolDefinition, effect: boolean, result: unknown): unknown {
  const later = pendingOf(result);
  return later ? marked(later.terms, checkedResult({ name: tool.name }, { effect: true, undo: false }, later.receipt)) : checkedResult(tool, { effect, undo: false }, result);
}

function parsed(tool: ToolDefinition, given: unknown): unknown {
  try {
    return tool.input.parse(given);
  } catch (error) {
    throw new ToolError('argument', 'schema', `The arguments do not fit ${tool.name}: ${schemaReasons(error, tool.sensitive)}`);
  }
}

new Worker(WATCH, { eval: true, execArgv: [] }).unref();
installGroupNote((leader) => {
  ask({ what: 'group', name: JSON.stringify(leader) });
  return () => { ask({ what: 'ended', name: JSON.stringify(leader) }); };
});
process.on('message', hear);
process.once('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
