// Adapter: any language model of the AI SDK as a ModelPort. Translates messages and tools one way, text, calls and usage
// the other. Never executes a tool and never retries (the law does both). Asks the provider's model itself, without the SDK's front:
// that checks every message of a long conversation anew at each call, and reads arguments in its own way. Here they come raw
// and go through the one parser, so that all providers agree on what is malformed.
import type { JSONSchema7, LanguageModelV3, LanguageModelV3GenerateResult, LanguageModelV3Prompt } from '@ai-sdk/provider';
import { bytesOf } from '../../core/canonical';
import type { ModelAnswer, ModelMessage, ModelPort, ModelRequest, ModelToolCall } from '../../ports/model';
import { costOf, type Price } from './prices';
import { toModelError, type Provider } from './provider-failures';
import { parseArguments } from './tool-arguments';

/** Makes the port. `load` gives the SDK's model at the first call, so that a provider's package is loaded only when used. */
export function aiSdkModel(load: () => LanguageModelV3 | Promise<LanguageModelV3>, provider: Provider, price: Price | null): ModelPort {
  return {
    id: provider.id,
    async generate(request) {
      try {
        return answerOf(await ask(await load(), request), request, price);
      } catch (error) {
        throw toModelError(error, provider, request.signal);
      }
    },
  };
}

async function ask(model: LanguageModelV3, request: ModelRequest): Promise<LanguageModelV3GenerateResult> {
  const tools = request.tools.map(({ name, description, inputSchema }) => ({ type: 'function' as const, name, description, inputSchema: inputSchema as JSONSchema7 }));
  return model.doGenerate({
    prompt: promptOf(request.messages),
    ...(tools.length > 0 ? { tools, toolChoice: { type: 'auto' } } : {}),
    maxOutputTokens: request.maxOutputTokens,
    abortSignal: request.signal,
  });
}

function promptOf(messages: ModelMessage[]): LanguageModelV3Prompt {
  const system = messages.flatMap((message) => (message.role === 'system' ? [message.text] : [])).join('\n\n');
  const out: LanguageModelV3Prompt = system === '' ? [] : [{ role: 'system', content: system }];
  for (const message of messages) {
    if (message.role === 'user') out.push({ role: 'user', content: [{ type: 'text', text: message.text }] });
    if (message.role === 'assistant') {
      const text = message.text === '' ? [] : [{ type: 'text' as const, text: message.text }];
      const calls = message.calls.map((call) => ({ type: 'tool-call' as const, toolCallId: call.id, toolName: call.tool, input: call.args }));
      out.push({ role: 'assistant', content: [...text, ...calls] });
    }
    if (message.role === 'tool') {
      const part = { type: 'tool-result' as const, toolCallId: message.id, toolName: message.tool, output: { type: 'json' as const, value: message.result } };
      const last = out.at(-1);
      // Results of one turn stand together: some providers want them in one message.
      if (last?.role === 'tool') last.content.push(part);
      else out.push({ role: 'tool', content: [part] });
    }
  }
  return out;
}

function answerOf(raw: LanguageModelV3GenerateResult, request: ModelRequest, price: Price | null): ModelAnswer {
  const text = raw.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
  const cut = raw.finishReason.unified === 'length';
  const names = request.tools.map((tool) => tool.name);
  const calls = raw.content.flatMap((part) => (part.type === 'tool-call' ? [callOf(part, names, cut)] : []));
  const finish = raw.finishReason.unified === 'error' ? 'other' : raw.finishReason.unified;
  return { text, calls, finish, usage: usageOf(raw, request, price) };
}

function callOf(part: { toolCallId: string; toolName: string; input: string }, names: string[], cut: boolean): ModelToolCall {
  const call = { id: part.toolCallId, tool: part.toolName };
  // A truncated call is not run even when what is there happens to parse.
  if (cut) return { ...call, args: {}, error: 'The answer was cut off at the token limit, so this call was not made; send it again, with shorter arguments or fewer calls.' };
  if (!names.includes(part.toolName)) return { ...call, args: {}, error: `There is no tool "${part.toolName.slice(0, 80)}"; the tools are: ${names.join(', ') || 'none'}.` };
  const parsed = parseArguments(part.input);
  return 'args' in parsed ? { ...call, args: parsed.args } : { ...call, args: {}, error: parsed.error };
}

/** Tokens as the provider counts them; where it counts none, four bytes a token, so that a budget never sees nothing. */
function usageOf(raw: LanguageModelV3GenerateResult, request: ModelRequest, price: Price | null): ModelAnswer['usage'] {
  const { inputTokens, outputTokens } = raw.usage;
  const input = inputTokens.total ?? Math.ceil(bytesOf(request.messages) / 4);
  const output = outputTokens.total ?? Math.ceil(bytesOf(raw.content.filter((part) => part.type === 'text' || part.type === 'tool-call')) / 4);
  return { tokens: input + output, microUsd: costOf(price, { input, output }) };
}
