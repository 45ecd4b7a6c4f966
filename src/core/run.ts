// The nouns of a run that every room shares: who acts, what an artifact reference is, what a run was asked to do.
// Data only; the rules stand in rules/. Times are ms since the epoch, money is integer micro-units of US dollars.
import type { Json } from './canonical';
import type { Proof } from './proof';

/** Who did something, and how far that is proved. `claimed` is shown to people as "unauthenticated". */
export interface Actor {
  id: string;
  via: 'cli' | 'client' | 'temporal' | 'console' | 'conductor' | 'tool' | 'policy';
  assurance: 'claimed' | 'local-user' | 'token';
  /** What is kept of the token, with assurance `token`; set by the law alone. */
  proof?: Proof;
}

/** The runtime itself as author of an event. */
export const CONDUCTOR: Actor = { id: 'longhaul', via: 'conductor', assurance: 'token' };

/** Reference to stored bytes. The id is the content's sha256 in lower-case hex; `summary` is at most 300 bytes. */
export interface ArtifactRef {
  sha256: string;
  bytes: number;
  mediaType: string;
  summary: string;
  /** A name for people, e.g. `report.md`. */
  name?: string;
}

/** A value that is small enough to stand in events and state, or a reference to its bytes. */
export type Output = { value: Json } | { ref: ArtifactRef };

/** What a run may use up. A missing member has no limit. */
export interface Budget {
  /** Model and tool calls, counted by attempt. */
  calls?: number;
  /** Model tokens, input and output together. */
  tokens?: number;
  microUsd?: number;
  /** Failed attempts over the whole run. */
  failures?: number;
  /** Time in ms since RunCreated, without the time in which the run waited for people. */
  wallMs?: number;
}

/** What was used, or is set aside for calls in flight. */
export interface Usage { calls: number; tokens: number; microUsd: number; failures: number }

/** What a person asked for: stored as an artifact before the run starts; its digest binds the run id. */
export interface RunSpec {
  v: 1;
  agent: string;
  input: Json;
  /** A declared plan as parsed from YAML or JSON, or null when the agent's planner makes it. */
  plan: Json | null;
  budget: Budget;
  owner: Actor;
  /** The call of another run that started this one. */
  parent?: ParentLink;
  /** The run begins as a copy of another, up to an event. Its `plan` is then what is done from there on; null: as the other had planned. Its `budget` is what it may use from there on; of the kinds left out, what was left. */
  fork?: ForkOrigin;
}

/** Where a fork begins: after event `at` of another run. `of`: the run that this one had that event of as a copy, and which made the calls before it. */
export interface ForkOrigin { runId: string; at: number; of?: string }

/** A call that run `runId` may have made, or may still make, without a result that its fork knows of. No digest: whatever its arguments were. */
export interface ForkDoubt { runId: string; stepId: string; callId: string; tool: string; argsDigest?: string; why: string }

/** Where a child run belongs: the call of its parent, and under which id that waits. `depth`: 1 for the child of a run that a person started. */
export interface ParentLink { runId: string; callId: string; callbackId: string; depth: number }

/** The workflow's input: the same for the first start, a restore and every generation. */
export interface RunInput {
  v: 1; runId: string; epoch: number; inputDigest: string; inputRef: ArtifactRef;
  /** What the journal holds at least: how far the generation before this one had got. Absent in the first of an execution. */
  version?: number;
}

/** Effect class of a tool: what it does to the outside and whether that can be taken back. */
export type Effect = 'none' | 'reversible' | 'manual' | 'irreversible';

/** What the law needs to know of a tool; pinned by hash in RunCreated with the rest of the manifest. */
export interface ToolManifest {
  name: string;
  /** semver; the integer major is the contract. */
  version: string;
  effect: Effect;
  hasLookUp: boolean;
  honoursKey: boolean;
  hasUndo: boolean;
  hasResourceVersion: boolean;
  /** `prepare` does no I/O beyond the local stores, so it may run as a local activity. */
  localPrepare: boolean;
  /** Attempts at one call before its step fails. */
  maxAttempts: number;
  /** ms one attempt may take. */
  timeoutMs: number;
  /** ms after the claim in which a request may still leave a stalled process. */
  sendWindowMs: number;
  /** ms of the first pause between attempts; doubled each time, at most a minute. */
  backoffMs: number;
  /** Members of its arguments that are shown to nobody (core/sensitive.ts). */
  sensitive?: string[];
  /** Its call starts a run of its own, whose budget is set aside from this run's. */
  carves?: true;
}

/** The agent as pinned in a run. */
export interface AgentManifest {
  name: string;
  version: string;
  planner: 'declared' | 'model';
  /** `provider:model`, e.g. `openai:gpt-5` or `rules@1`; null for a declared plan without model steps. */
  model: string | null;
  /** Micro-units per million tokens of the model; missing where nothing is known, and its calls then cost what they are said to cost. */
  price?: { input: number; output: number };
  tools: ToolManifest[];
  budget: Budget;
  /** Most calls in flight at once. */
  maxParallel: number;
  /** Most failed proposals in a row before the run is blocked. */
  maxRejectedPlans: number;
  /** Most tokens of one model answer; reserved before the call. */
  maxOutputTokens: number;
  /** Most tokens of one model input; assembled within it, reserved before the call. */
  maxInputTokens: number;
}

/** Where the texts behind a run can be loaded from, by hash, as long as the run lives. */
export interface Pins {
  build: string;
  manifest: ArtifactRef;
  prompts: ArtifactRef;
  policy: ArtifactRef;
  model: string | null;
  eventSchema: number;
  /** Decisions about manual and irreversible effects must be signed, whatever worker goes on with the run. Left out: development. */
  mode?: 'production';
}

/** Run ids that are taken as they are: they become file names, workflow ids and query values. */
export const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const LIMITS = {
  /** Values up to this many bytes of canonical JSON stand in events; larger ones become artifacts. */
  inlineBytes: 512,
  /** Results above this many bytes always become artifacts. */
  artifactBytes: 8 * 1024,
  planSteps: 500,
  messageBytes: 64 * 1024,
  /** Of a state: `open` hands it to the conductor as one value, and Temporal takes none above 2 MiB. */
  checkpointBytes: 1024 * 1024,
  summaryBytes: 300,
  /** Decisions remembered in state; older ones are caught by the journal's unique key. */
  decisions: 64,
  /** Commands taken into one pump turn. */
  commandsPerTurn: 100,
  errorBytes: 1024,
} as const;
