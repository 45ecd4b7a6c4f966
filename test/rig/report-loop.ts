// The plainest driver of the folder report: a planner, the real tools, a loop. Shows results as the runtime does: those of the
// newest turn whole, older ones by reference alone. Journal, approvals and retries are the runtime's and are not here.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { tools } from '../../examples/folder-report/longhaul.config';
import { modelById } from '../../src/adapters/models/from-env';
import { modelToolSpec } from '../../src/adapters/tools/define-tool';
import { canonical, sha256Hex, type Json } from '../../src/core/canonical';
import { ToolError } from '../../src/core/failure';
import type { ModelAnswer, ModelMessage } from '../../src/ports/model';
import { toolCall } from './tool-call';

export interface Made { tool: string; args: Json; result?: Json; failure?: string }
export interface Loop { made: Made[]; turns: ModelAnswer[]; text: string; artifacts: Map<string, Uint8Array>; outbox: string }

type Shown = { id: string; tool: string; result: Json };

export interface LoopOptions {
  publisher: string;
  /** Answers for a tool in place of running it: a text fails the call with class `rejected`. */
  instead?: Record<string, string>;
  /** Called before a tool runs. */
  before?: (tool: string, nth: number) => void;
  input?: Record<string, Json>;
}

/** Drives `rules@1` over a folder until it answers without a call. */
export async function reportLoop(folder: string, question: string, options: LoopOptions): Promise<Loop> {
  const found = modelById('rules@1', {});
  if (!('port' in found)) throw new Error(found.missing);
  const scratch = mkdtempSync(path.join(tmpdir(), 'report-loop-'));
  const outbox = path.join(scratch, 'outbox.jsonl');
  const input = { folder, question, ...options.input };
  const loop: Loop = { made: [], turns: [], text: '', artifacts: new Map(), outbox };
  const services = { publisher: options.publisher, outbox: pathToFileURL(outbox).href, reports: pathToFileURL(`${scratch}/reports/`).href };
  const head: ModelMessage[] = [{ role: 'system', text: 'system' }, { role: 'user', text: `Goal: ${question}\n\nInput (JSON):\n${JSON.stringify(input)}` }];
  const older: ModelMessage[] = [];
  let latest: ModelMessage[] = [];
  for (let turn = 0; turn < 20; turn++) {
    const answer = await found.port.generate({ messages: [...head, ...older, ...latest], tools: tools.map(modelToolSpec), maxOutputTokens: 16_384, signal: new AbortController().signal });
    loop.turns.push(answer);
    older.push(...latest.map(byReference));
    if (answer.calls.length === 0) return { ...loop, text: answer.text };
    const shown: Shown[] = [];
    for (const call of answer.calls) shown.push({ id: call.id, tool: call.tool, result: await runCall(loop, call, { input, services, artifacts: loop.artifacts }, options) });
    latest = [{ role: 'assistant', text: answer.text, calls: answer.calls.map(({ id, tool, args }) => ({ id, tool, args })) }, ...shown.map((one): ModelMessage => ({ role: 'tool', ...one }))];
  }
  rmSync(scratch, { recursive: true, force: true });
  throw new Error('The planner did not come to an end.');
}

async function runCall(loop: Loop, { tool: name, args }: { tool: string; args: Json }, bench: Parameters<typeof toolCall>[0], { instead = {}, before }: LoopOptions): Promise<Json> {
  const nth = loop.made.filter((made) => made.tool === name).length + 1;
  before?.(name, nth);
  const made: Made = { tool: name, args };
  loop.made.push(made);
  const tool = tools.find((candidate) => candidate.name === name);
  if (!tool) throw new Error(`unknown tool ${name}`);
  if (instead[name] !== undefined) {
    made.failure = instead[name];
    return { denied: true, reason: instead[name] };
  }
  try {
    const call = toolCall(bench, { key: `k1:${sha256Hex(`${loop.outbox}${name}${nth}`)}`, callId: `c${loop.made.length}` });
    made.result = JSON.parse(canonical(await tool.execute(tool.input.parse(args), call))) as Json;
  } catch (error) {
    made.failure = error instanceof Error ? error.message : String(error);
    return { error: error instanceof ToolError ? error.failureClass : 'unknown', message: made.failure };
  }
  const text = canonical(made.result);
  if (text.length <= 512) return { step: 's', value: made.result };
  if (text.length > 16 * 1024) throw new Error(`${name} answered ${text.length} bytes, which no model is shown whole`);
  return { step: 's', artifact: { sha256: sha256Hex(text), bytes: text.length, mediaType: 'application/json', summary: summaryOf(made.result) }, text };
}

const summaryOf = (result: Json): string => (typeof result === 'object' && result !== null && !Array.isArray(result) && typeof result['summary'] === 'string' ? result['summary'] : 'a result');

function byReference(message: ModelMessage): ModelMessage {
  if (message.role !== 'tool' || typeof message.result !== 'object' || message.result === null || Array.isArray(message.result) || !('artifact' in message.result)) return message;
  return { ...message, result: { artifact: message.result['artifact'] ?? null, note: 'The content is not shown here.' } };
}
