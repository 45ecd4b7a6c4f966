// The wire formats of the local chat server: what providers send, as replies of a script are written. Two formats, since
// an adapter that is right on one may be wrong on the other: OpenAI's chat completions and Anthropic's messages.
// Data in, data out; the server owns sockets and time.
import type { Json } from '../core/canonical';

/** One scripted call of a tool. `raw` sends the arguments as this very text, well formed or not. */
export interface ScriptedCall { tool: string; id?: string; args?: Json; raw?: string }

/** What the server answers to one request. */
export type Reply = { delayMs?: number } & (
  /** A model answer. `usage: null` leaves the count of tokens out. */
  | { text?: string; calls?: ScriptedCall[]; finish?: 'stop' | 'tool_calls' | 'length' | 'content_filter'; usage?: { input: number; output: number } | null }
  /** An error of the provider. */
  | { status: number; code?: string; message?: string; headers?: Record<string, string> }
  /** This very body. */
  | { body: string; status?: number }
  /** The connection ends: before any byte, or within the body. */
  | { drop: 'before' | 'within' }
);

type Answer = Extract<Reply, { text?: string }>;

const usageOf = (answer: Answer): { input: number; output: number } | null => (answer.usage === undefined ? { input: 100, output: 20 } : answer.usage);
const finishOf = (answer: Answer): string => answer.finish ?? ((answer.calls?.length ?? 0) > 0 ? 'tool_calls' : 'stop');

/** Body of a chat completion (OpenAI API reference, "The chat completion object"). */
export function chatCompletion(answer: Answer, model: string, n: number): Json {
  const usage = usageOf(answer);
  const calls = (answer.calls ?? []).map((call, i) => ({
    id: call.id ?? `call_${n}_${i}`, type: 'function', function: { name: call.tool, arguments: call.raw ?? JSON.stringify(call.args ?? {}) },
  }));
  const message = { role: 'assistant', content: answer.text ?? null, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
  return {
    id: `chatcmpl-${n}`, object: 'chat.completion', created: 1_700_000_000, model,
    choices: [{ index: 0, message, finish_reason: finishOf(answer), logprobs: null }],
    ...(usage ? { usage: { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: usage.input + usage.output } } : {}),
  };
}

/** Body of a message (Anthropic API reference, "Create a message"). Arguments are JSON there, so `raw` cannot be sent. */
export function anthropicMessage(answer: Answer, model: string, n: number): Json {
  const usage = usageOf(answer) ?? { input: 0, output: 0 };
  const stop: Record<string, string> = { stop: 'end_turn', tool_calls: 'tool_use', length: 'max_tokens', content_filter: 'refusal' };
  const text: Json[] = answer.text === undefined ? [] : [{ type: 'text', text: answer.text }];
  const calls = (answer.calls ?? []).map((call, i): Json => ({ type: 'tool_use', id: call.id ?? `toolu_${n}_${i}`, name: call.tool, input: call.args ?? {} }));
  return {
    id: `msg_${n}`, type: 'message', role: 'assistant', model, content: [...text, ...calls],
    stop_reason: stop[finishOf(answer)] ?? 'end_turn', stop_sequence: null, usage: { input_tokens: usage.input, output_tokens: usage.output },
  };
}

/** Body of an error, readable in both formats. */
export function errorBody(status: number, code: string, message: string): Json {
  return { type: 'error', error: { message, type: code, code, param: null, status } };
}
