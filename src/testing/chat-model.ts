// The other way round: a chat-completions request becomes the call of a language model (AI SDK, version 3), and its answer
// a reply, so that a model without a network, such as `rules@1`, can be reached through real HTTP.
// Reads only what our own adapter sends; never executes a tool.
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3FunctionTool, LanguageModelV3Message } from '@ai-sdk/provider';
import type { Json } from '../core/canonical';
import type { Reply, ScriptedCall } from './chat-formats';

interface ChatMessage { role: string; content?: string | { type: string; text?: string }[] | null; tool_call_id?: string; tool_calls?: { id: string; function: { name: string; arguments: string } }[] }

/** A chat-completions request, as far as it is read. */
export interface ChatRequest { model: string; messages: ChatMessage[]; tools?: { function: { name: string; description?: string; parameters: Json } }[]; max_tokens?: number; max_completion_tokens?: number }

/** Answers a request by asking a language model in this process. */
export async function replyFrom(model: LanguageModelV3, request: ChatRequest): Promise<Reply> {
  const { content, finishReason, usage } = await model.doGenerate(callOptions(request));
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
  const calls = content.flatMap((part): ScriptedCall[] => (part.type === 'tool-call' ? [{ tool: part.toolName, id: part.toolCallId, raw: part.input }] : []));
  return {
    ...(text === '' ? {} : { text }), calls,
    finish: finishReason.unified === 'length' ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
    usage: { input: usage.inputTokens.total ?? 0, output: usage.outputTokens.total ?? 0 },
  };
}

function callOptions(request: ChatRequest): LanguageModelV3CallOptions {
  const names = new Map(request.messages.flatMap((message) => (message.tool_calls ?? []).map((call) => [call.id, call.function.name])));
  const tools = (request.tools ?? []).map(({ function: tool }): LanguageModelV3FunctionTool => ({
    type: 'function', name: tool.name, inputSchema: tool.parameters as LanguageModelV3FunctionTool['inputSchema'], ...(tool.description === undefined ? {} : { description: tool.description }),
  }));
  const most = request.max_completion_tokens ?? request.max_tokens;
  return {
    prompt: request.messages.map((message) => promptMessage(message, names)),
    ...(tools.length > 0 ? { tools } : {}),
    ...(most === undefined ? {} : { maxOutputTokens: most }),
  };
}

function promptMessage(message: ChatMessage, names: ReadonlyMap<string, string>): LanguageModelV3Message {
  const text = textOf(message.content);
  if (message.role === 'system' || message.role === 'developer') return { role: 'system', content: text };
  if (message.role === 'user') return { role: 'user', content: [{ type: 'text', text }] };
  if (message.role === 'tool') {
    const id = message.tool_call_id ?? '';
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId: id, toolName: names.get(id) ?? '', output: { type: 'json', value: parsed(text) } }] };
  }
  const calls = (message.tool_calls ?? []).map((call) => ({ type: 'tool-call' as const, toolCallId: call.id, toolName: call.function.name, input: parsed(call.function.arguments) }));
  return { role: 'assistant', content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls] };
}

const textOf = (content: ChatMessage['content']): string => (typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join(''));

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
