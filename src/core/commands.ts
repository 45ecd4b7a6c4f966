// What the law is asked to decide. Every command has a natural identity (I12), so that the same command twice decides once.
// Commands carry every fact and time that the law may use (I1).
import type { Failure } from './failure';
import type { Message, MessageAnswer } from './message';
import type { AgentManifest, Actor, ArtifactRef, Budget, ForkOrigin, ParentLink, Pins } from './run';
import type { PlanPatch } from './plan';
import type { Checked } from './proof';
import type { CallResult, CheckpointResult, CollectResult, GateEvidence, ModelResult, PrepareResult } from './world';

/** What `open` found for a run that has no event yet. */
export interface FreshRun {
  agent: AgentManifest; pins: Pins; budget: Budget; owner: Actor; seed: string; title: string;
  inputDigest: string; inputRef: ArtifactRef; ledgerIncarnation: string;
  /** The declared plan, read and normalised; null when the planner makes it. */
  plan: PlanPatch | null;
  parent?: ParentLink;
  /** The law that it follows; left out: 1. */
  law?: number;
  /** Why the run ends before anything is done; its plan is then null. */
  refused?: Failure;
}

/** What a run is raised to, and the build that does it. */
export interface Migration { law: number; eventSchema: number; build: string }
/** What `open` found for a run whose journal is still that of another one alone. */
export interface ForkOrder {
  parent: ForkOrigin; epoch: number; owner: Actor; title: string; seed: string; inputDigest: string; inputRef: ArtifactRef; ledgerIncarnation: string;
  plan: PlanPatch | null; budget: Budget; mode?: 'production';
  /** Why the run ends before anything is done; its plan is then null. */
  refused?: Failure;
}

export type Command =
  | { type: 'Start'; runId: string; epoch: number; fresh: FreshRun }
  /** `plan`: what is done from here on, or null for what the run it was forked from had planned. `budget`: what may be used from here on. */
  | { type: 'Fork'; order: ForkOrder }
  | { type: 'Restore'; epoch: number; executionId: string; why: string }
  /** A generation begins on a build that knows a newer law or event schema than the run has. */
  | { type: 'Migrate'; migration: Migration }
  | { type: 'ModelReturned'; callId: string; attempt: number; result: ModelResult }
  | { type: 'PrepareReturned'; stepId: string; n: number; result: PrepareResult }
  | { type: 'CallReturned'; callId: string; attempt: number; result: CallResult }
  | { type: 'GateReturned'; callId: string; n: number; evidence: GateEvidence }
  | { type: 'TimerFired'; name: string; dueAt: number }
  | { type: 'CollectReturned'; callbackId: string; /** Number of the look at a child run. */ n?: number; result: CollectResult }
  | { type: 'CheckpointReturned'; result: CheckpointResult }
  /** What hands found out: `checked` about the token that came with the message, `fault` in what it says about arguments. */
  | { type: 'Message'; message: Message; checked?: Checked; fault?: string }
  | { type: 'Cancel'; actor: Actor; reason: string }
  | { type: 'Malformed'; messageId: string; why: string; actor: Actor };

/** Answer of `decide`: for messages what the sender hears, null for the rest. */
export type Answer = MessageAnswer | null;

/** Natural identity of a command: idempotency key of its first event and causation of all. */
export function identityOf(command: Command): string {
  switch (command.type) {
    case 'Start': return 'start';
    case 'Fork': return 'fork';
    case 'Restore': return `restore:${command.epoch}`;
    case 'Migrate': return `migrate:${command.migration.law}.${command.migration.eventSchema}`;
    case 'ModelReturned': return `model:${command.callId}#${command.attempt}`;
    case 'PrepareReturned': return `prepare:${command.stepId}#${command.n}`;
    case 'CallReturned': return `call:${command.callId}#${command.attempt}`;
    case 'GateReturned': return `gate:${command.callId}#${command.n}`;
    case 'TimerFired': return `timer:${command.name}@${command.dueAt}`;
    case 'CollectReturned': return `collect:${command.callbackId}${command.n === undefined ? '' : `#${command.n}`}`;
    case 'CheckpointReturned': return command.result.kind === 'saved' ? `checkpoint:${command.result.version}` : 'checkpoint:failed';
    case 'Message': return `msg:${command.message.messageId}`;
    case 'Cancel': return 'cancel';
    case 'Malformed': return `msg:${command.messageId}`;
  }
}
