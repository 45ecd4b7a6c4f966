// What a worker and the process of an isolated tool say to each other. Types and the numbers of the pipes only; both sides are
// of one build, so nothing here is frozen. Values cross by structured clone, so that bytes stay bytes.
import type { Failure } from '../../core/failure';
import type { PendingTerms } from '../../core/pending';
import type { ToolCall } from '../../ports/tool';

/** The functions of a tool that run in its process. */
export type Part = 'execute' | 'lookUp' | 'undo' | 'resourceVersion' | 'preview';

/** One thing to do. `given` holds arguments as they were before the tool's schema took them; the process parses them anew. */
export interface Work {
  /** Absolute path of the configuration that holds the tool. */
  file: string;
  tool: string;
  version: string;
  part: Part;
  given: unknown;
  call: Pick<ToolCall, 'runId' | 'callId' | 'attempt' | 'input' | 'key' | 'callbackId' | 'resourceVersion'>;
}

export type ToProcess =
  | { kind: 'work'; work: Work }
  | { kind: 'abort'; why: string }
  | { kind: 'answer'; id: number; value?: unknown; failure?: Failure };

export type FromProcess =
  /** `pending`: the result comes later, under these terms; `json` is the receipt. Of a look-up, they are those of what it has found. */
  | { kind: 'done'; json: string; pending?: PendingTerms }
  | { kind: 'failed'; failure: Failure }
  | { kind: 'ask'; id: number; what: 'read' | 'known' | 'write'; args: unknown[] }
  | { kind: 'log'; message: string };

/**
 * Asked over ASKING, one line of JSON each way, while the process waits: what a tool reads without `await`. `begin` is the last
 * question before the tool's own code runs, so that the worker always knows whether it may have acted. `group` tells of a process
 * group that the tool starts, before it begins, and `ended` of its end: `name` is the leader as JSON.
 */
export interface Question { what: 'begin' | 'service' | 'secret' | 'group' | 'ended'; name: string }
export interface Reply { value?: string; failure?: Failure }

/** Pipes of the process beside the usual three and the channel of messages (3). */
export const ASKING = 4;
/** Closes when the worker ends, however it ends. */
export const LIFELINE = 5;
