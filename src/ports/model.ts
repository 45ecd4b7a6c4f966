// Port: one call to a model (or to rules that stand in for one). Assembles nothing: it is handed messages and tools,
// and answers text, tool calls and usage. Failures are ModelError with a class of the closed table.
import type { Json } from '../core/canonical';
import type { Failure } from '../core/failure';
import type { Usage } from '../core/run';

export interface ModelToolSpec { name: string; description: string; inputSchema: Json }

export type ModelMessage =
  | { role: 'system' | 'user'; text: string }
  | { role: 'assistant'; text: string; calls: { id: string; tool: string; args: Json }[] }
  | { role: 'tool'; id: string; tool: string; result: Json };

export interface ModelRequest {
  messages: ModelMessage[];
  tools: ModelToolSpec[];
  maxOutputTokens: number;
  signal: AbortSignal;
}

/** One tool call as the model wrote it; `error` says why it must not run (truncated, malformed, unknown tool). */
export interface ModelToolCall { id: string; tool: string; args: Json; error?: string }

export interface ModelAnswer {
  text: string;
  calls: ModelToolCall[];
  finish: 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other';
  usage: Pick<Usage, 'tokens' | 'microUsd'>;
}

export interface ModelPort {
  /** `provider:model`, pinned in the run. */
  readonly id: string;
  /** Throws ModelError. Never retries by itself. */
  generate(request: ModelRequest): Promise<ModelAnswer>;
}

/** What `generate` throws: the failure with its class, its sentence free of keys and of the provider's internals. */
export class ModelError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
    this.name = 'ModelError';
  }
}
