// `rules@1`: a planner and writer without a model, in the shape of a language model of the AI SDK, so that a run without a key
// goes the same way as one with. Deterministic and stateless: the same messages give the same answer. It quotes, counts and
// compares; it understands nothing, and says in its output that no model was used. Uses no network, no clock, no chance.
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3GenerateResult, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { readConversation } from './conversation';
import { nextStep } from './next-step';

/** Tokens are what a model uses; there is none. */
const NO_USAGE: LanguageModelV3GenerateResult['usage'] = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** The model `rules@1`. It plans with the tools of the folder report, those of them that it is offered. */
export function rulesModel(): LanguageModelV3 {
  return {
    specificationVersion: 'v3',
    provider: 'rules',
    modelId: 'rules@1',
    supportedUrls: {},
    doGenerate: async (options) => answer(options),
    doStream: async (options) => ({ stream: streamOf(answer(options)) }),
  };
}

function answer({ prompt, tools = [], toolChoice, abortSignal }: LanguageModelV3CallOptions): LanguageModelV3GenerateResult {
  abortSignal?.throwIfAborted();
  const conversation = readConversation(prompt);
  const offered = new Set(toolChoice?.type === 'none' ? [] : tools.filter(({ type }) => type === 'function').map(({ name }) => name));
  const step = nextStep(conversation, offered);
  const text = step.text === undefined ? [] : [{ type: 'text' as const, text: step.text }];
  const calls = step.calls.map(({ tool, args }, at) => ({
    type: 'tool-call' as const,
    toolCallId: `rules-${conversation.calls.length + at + 1}`,
    toolName: tool,
    input: JSON.stringify(args),
  }));
  const finish = calls.length > 0 ? 'tool-calls' as const : 'stop' as const;
  return { content: [...text, ...calls], finishReason: { unified: finish, raw: finish }, usage: NO_USAGE, warnings: [] };
}

function streamOf({ content, finishReason, usage, warnings }: LanguageModelV3GenerateResult): ReadableStream<LanguageModelV3StreamPart> {
  const parts: LanguageModelV3StreamPart[] = [{ type: 'stream-start', warnings }];
  for (const part of content) {
    if (part.type === 'text') parts.push({ type: 'text-start', id: 'text-1' }, { type: 'text-delta', id: 'text-1', delta: part.text }, { type: 'text-end', id: 'text-1' });
    if (part.type === 'tool-call') parts.push(part);
  }
  parts.push({ type: 'finish', finishReason, usage });
  return new ReadableStream({
    start(controller) {
      parts.forEach((part) => controller.enqueue(part));
      controller.close();
    },
  });
}
