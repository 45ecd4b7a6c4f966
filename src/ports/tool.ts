// The contract between longhaul and a tool: what a tool declares and what it is handed when it runs.
// Types only; adapters/tools holds `defineTool` and the runner. A tool without an effect class is irreversible.
import type { Json } from '../core/canonical';
import type { Pending } from '../core/pending';
import type { ArtifactRef, Budget, Effect } from '../core/run';

/** What one attempt at a call is given. */
export interface ToolCall {
  runId: string;
  callId: string;
  attempt: number;
  /** The run's input as its owner gave it, `{"$secret": name}` filled in. A tool takes from here what the model must not choose, e.g. its root folder. */
  input: Json;
  /** Idempotency key for the outside; the same for every attempt at this call. Empty for tools without effect. */
  key: string;
  /** Under this id the outside calls back when the tool answers `pending()`: give it along with the request. Empty while a call is prepared. */
  callbackId: string;
  /** What a run that this call starts may use up; only for a tool that has `carves`. */
  carved?: Budget;
  /** What `resourceVersion` answered when the call was prepared; null without one. Send it along (If-Match), so that the outside compares too. */
  resourceVersion: string | null;
  /** Aborted on cancel, on shutdown and when the lease of the call is lost. Hand it to fetch and child processes. */
  signal: AbortSignal;
  artifacts: ToolArtifacts;
  /** Base URL of a named local service, e.g. `publisher`. Throws ToolError `permission` when the name is not configured. */
  service(name: string): string;
  /** Value of a secret by name, from the environment or a file of mode 0600. It is taken out of what the tool returns, throws, logs and stores. */
  secret(name: string): string;
  log(message: string): void;
}

/** Stored bytes as a tool sees them: verified on every read. */
export interface ToolArtifacts {
  read(ref: Pick<ArtifactRef, 'sha256'>): Promise<Uint8Array>;
  /** Does this run vouch for the artifact: its input, outputs of its steps, what its calls produced, what people sent it? An id in arguments does not count. */
  known(sha256: string): Promise<boolean>;
  write(bytes: Uint8Array | string, about: { mediaType: string; summary: string; name?: string }): Promise<ArtifactRef>;
}

/** Answer of a look-up by key: what the outside knows of an earlier attempt; what it has accepted and not finished is `pending()`. `cannot-say` goes to a person. */
export type LookUpAnswer =
  | { found: true; output: Json | Pending; reference?: string }
  | { found: false }
  | { found: 'cannot-say'; why: string };

/** Everything about a tool. `A` is the parsed arguments, `R` the result (JSON). */
export interface ToolDefinition<A = unknown, R = unknown> {
  name: string;
  version: string;
  description: string;
  /** Standard-schema validators (zod); used at the door only. `output` may be left out. */
  input: { parse(value: unknown): A };
  output?: { parse(value: unknown): R };
  /** Default `irreversible`: the most careful class. */
  effect?: Effect;
  /** Answers the result, or `pending()` when the outside has accepted the request and will call back. */
  execute(args: A, call: ToolCall): Promise<R>;
  /** Says whether an attempt with this key took effect. `since` is the time of the first claim in ms. */
  lookUp?(question: { key: string; args: A; since: number }, call: ToolCall): Promise<LookUpAnswer>;
  /** Takes the effect back; needed for `reversible`. Runs as an ordinary call with its own key. */
  undo?(done: { args: A; output: Json; key: string }, call: ToolCall): Promise<Json>;
  /** Version of the outside thing that the call changes (an ETag, a revision); bound into the approval. */
  resourceVersion?(args: A, call: ToolCall): Promise<string>;
  /** What a person is shown before approving: plain text, at most 64 KiB, stored as an artifact. */
  preview?(args: A, call: ToolCall): Promise<string>;
  /** The outside does one effect per Idempotency-Key, so a repeated send with the same key is harmless. */
  honoursKey?: boolean;
  /** The call starts a run of its own: what that may use up, as far as these arguments say so. For the built-in `run_agent`. */
  carves?(args: A): Budget;
  /** Members of arguments that are hidden wherever arguments are shown: names at any depth, or paths such as `auth.pin`. */
  sensitive?: string[];
  maxAttempts?: number;
  timeoutMs?: number;
  sendWindowMs?: number;
  backoffMs?: number;
  /**
   * `process`: every function of the tool runs in a process of its own, with its own group. For tools that hold up the event loop,
   * may crash, or must be ended for certain: while they run, heartbeats and cancels go on, and a signal that is ignored for two
   * seconds ends the group. The process reads the configuration file again, with the worker's rights but without its secrets.
   */
  isolation?: 'process';
  /** Most calls of this tool at once in one worker. */
  concurrency?: number;
}
