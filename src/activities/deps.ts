// What the hands are given by the composition root: the stores, the tools and agents of the configuration, and this
// process's own facts. Interfaces only; no activity reaches for anything that does not stand here.
import type { Json } from '../core/canonical';
import type { AgentManifest, RunSpec } from '../core/run';
import type { ToolCall, ToolDefinition } from '../ports/tool';
import type { Asked } from '../core/wire';
import type { ModelNeed, ModelResult } from '../core/world';
import type { ArtifactsPort } from '../ports/artifacts';
import type { DecisionKeys } from '../ports/decision-keys';
import type { JournalPort } from '../ports/journal';
import type { ClaimOwner, LedgerPort } from '../ports/ledger';
import type { PolicyPort } from '../ports/policy';
import type { Admission } from './admission';
import type { WorkerFacts } from './types';

/** An agent of the configuration, ready to be pinned. */
export interface KnownAgent {
  manifest: AgentManifest;
  prompts: Record<string, string>;
  title(spec: RunSpec): string;
}

export interface HandsDeps {
  journal: JournalPort;
  ledger: LedgerPort;
  artifacts: ArtifactsPort;
  policy: PolicyPort;
  /** A policy again from the text under which a run has pinned it; null where the text does not hold the rules. */
  policyOf(text: string): PolicyPort | null;
  /** What decisions of people are signed with. */
  keys: DecisionKeys;
  /** Pinned in the runs that this worker begins. */
  mode: 'dev' | 'production';
  agents: ReadonlyMap<string, KnownAgent>;
  /** By contract, `name@major`. */
  tools: ReadonlyMap<string, ToolDefinition>;
  /** JSON schema of a tool's arguments; any object where its validator has none. */
  inputSchema(tool: ToolDefinition): Json;
  /** Caps and breakers of this worker, by tool and by model provider. */
  admission: Admission;
  /** Most calls of a tool at once in this worker. */
  concurrencyOf(tool: ToolDefinition): number;
  /** Base URL of a named service; throws ToolError `permission` when nobody names it. */
  service: (name: string) => string;
  /** Value of a secret by name; throws ToolError `permission` when it is not set. */
  secret: (name: string) => string;
  /** Readers of outside versions by kind, for premises. */
  resources: Readonly<Record<string, (name: string, call: ToolCall) => Promise<string>>>;
  model(asked: Asked<ModelNeed>, about: { signal: AbortSignal }): Promise<ModelResult>;
  /** This process, as a holder of claims. */
  owner: ClaimOwner;
  /** True when the owner ran on this host and certainly runs no more. */
  ownerGone(owner: ClaimOwner): boolean;
  /** True when the owner ran on this host and runs still, so that it may act although its lease is over. */
  ownerLives(owner: ClaimOwner): boolean;
  /** Name of this build, pinned in a run. */
  build: string;
  worker: WorkerFacts;
  log(message: string, about?: Record<string, unknown>): void;
}
