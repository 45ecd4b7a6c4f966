// What a run needs from the world, and what the world answers: the vocabulary between the law and the hands.
// Need ids are stable and derived from position: `model:c3#1`, `prepare:publish#1`, `call:c7#2`, `gate:c7#1`,
// `timer:approval:a-12@99`, `collect:cb-12`, `checkpoint:120`. An answer becomes exactly one command (commands.ts).
import type { Json } from './canonical';
import type { Cause, Failure } from './failure';
import type { PolicyVerdict } from './events';
import type { PendingTerms } from './pending';
import type { Proof } from './proof';
import type { Premise, PlanPatch } from './plan';
import type { ArtifactRef, Budget, Effect, Output, Usage } from './run';

/** Arguments as the law hands them on: small and bound already, or to be bound in the activity from `inputs`. */
export interface CallArgs {
  /** `$from` may stand in it when `bound` is false; `$secret` always stays a name. */
  args?: Json;
  argsRef?: ArtifactRef;
  /** Path of member names into the artifact. */
  at?: string[];
  /** Outputs of the steps that the arguments refer to. */
  inputs: Record<string, Output>;
}

export interface ModelNeed {
  kind: 'model'; id: string; begun: boolean;
  callId: string; callSeq: number; attempt: number;
  purpose: 'plan' | 'step';
  stepId?: string;
  prompt?: string;
  call?: CallArgs;
  /** Journal version up to which the input is assembled, so that a retry sees the same. */
  upTo: number;
  /** Of a planner: steps of its plan wait, and people have spoken. */
  midway?: true;
  /** Reasons why the last proposals were refused, for the model. */
  rejected: string[];
  /** Notes from people that arrived since the last proposal stand in the journal; nothing else is needed here. */
  nextPlanVersion: number;
  maxOutputTokens: number; maxInputTokens: number;
  /** True until the provider has once accepted the key: a refused key then fails the run at once. */
  firstContact: boolean;
  summary: string;
}

export interface PrepareNeed {
  kind: 'prepare'; id: string; begun: true; local: boolean;
  /** How often this step was prepared, from 1. */
  n: number;
  stepId: string; tool: string; version: string; effect: Effect; owner: string; agent: string;
  /** The number that the call will have, for the key that `resourceVersion` may need. */
  callId: string; key: string;
  call: CallArgs;
  /** The arguments are a person's and bound already. */
  edited?: true;
  /** Grants of this kind of call that hold for certain arguments only. */
  grants?: { grantId: string; where: Record<string, string> }[];
  summary: string;
}

export interface CallNeed {
  kind: 'call'; id: string; begun: boolean;
  callId: string; callSeq: number; attempt: number;
  stepId?: string; tool: string; version: string; effect: Effect; key: string;
  call: CallArgs;
  /** Digest fixed by prepare; the activity refuses when the bound arguments differ. */
  argsDigest?: string;
  /** The approval that allows this call, checked once more just before the claim. */
  approval?: {
    approvalId: string; expiresAt: number; argsDigest: string;
    /** What the approvers signed, where they had to or did; an empty list allows nothing. */
    proofs?: (Proof & { sub: string })[];
    planVersion?: number;
  };
  resourceVersion?: string | null;
  premises: Premise[];
  /** Fence of a dead owner's claim that the gate has allowed to take over. */
  takeOver?: number;
  undoOf?: { callId: string; key: string; output: Output };
  ledgerIncarnation: string;
  /** What the run that it starts may use up. */
  carved?: Budget;
  timeoutMs: number; sendWindowMs: number;
  summary: string;
}

export interface GateNeed {
  kind: 'gate'; id: string; begun: true;
  callId: string; n: number; tool: string; version: string; effect: Effect; key: string;
  call: CallArgs; argsDigest: string;
  /** The ledger in which no claim proves that nothing was sent; empty when none can. */
  ledgerIncarnation: string;
  resourceVersion: string | null; premises: Premise[];
  undo: boolean;
  summary: string;
}

export interface TimerNeed { kind: 'timer'; id: string; begun: true; name: string; dueAt: number; summary: string }

export interface CheckpointNeed { kind: 'checkpoint'; id: string; begun: true; version: number; summary: string }

/** The events of a callback are put together from the journal: `count` of them, after version `since`. */
export interface CollectNeed { kind: 'collect'; id: string; begun: true; callbackId: string; since: number; count: number; expect: number | null; summary: string;
  /** A run is looked at in place of events; `n` is the number of the look. */
  child?: string; n?: number }

export type Need = ModelNeed | PrepareNeed | CallNeed | GateNeed | TimerNeed | CollectNeed | CheckpointNeed;

// --- answers -----------------------------------------------------------------------------------------------------

export type ModelResult =
  | { kind: 'succeeded'; usage: Usage; text: string; output?: Output; patch?: PlanPatch; rejected?: string[] }
  | { kind: 'failed'; failure: Failure; usage: Usage }
  /** The provider was not asked and no attempt is counted: a cap or a breaker is in the way. */
  | { kind: 'busy'; why: string; retryAfterMs: number }
  /** The model was not asked: the worker lacks these of the planner's tools, by contract. */
  | { kind: 'no-tool'; lacks: string[] };

export type PrepareResult =
  | { kind: 'prepared'; argsDigest: string; args: Output; resourceVersion: string | null; policy: PolicyVerdict; previewRef?: ArtifactRef; ledgerIncarnation?: string;
    /** Version of the tool that was found, where it is not the pinned one. */
    version?: string;
    /** Ids of those grants that the arguments fit. */
    fits?: string[];
    /** What the run that the call starts may use up, as far as the call says so. */
    wants?: Budget }
  | { kind: 'failed'; failure: Failure };

/** A premise as it was read just now. */
export interface PremiseSeen { resource: string; expected: string; now: string; holds: boolean }

export type CallResult =
  | { kind: 'succeeded'; output: Output; summary: string; via: 'sent' | 'ledger'; settled: boolean; artifacts?: { ref: ArtifactRef; role: string }[]; facts?: { key: string; value: Json }[] }
  /** The outside has accepted the request; the result comes by callbacks. */
  | { kind: 'pending'; output: Output; summary: string; via: 'sent' | 'ledger'; settled: boolean; terms: PendingTerms; artifacts?: { ref: ArtifactRef; role: string }[] }
  | { kind: 'failed'; failure: Failure; sent: boolean }
  /** The effect may have happened; nothing here can tell. `cause`: the attempt has ended, and this is how it failed. */
  | { kind: 'unknown'; why: string; cause?: Cause }
  /** A dead owner holds the claim. */
  | { kind: 'in-doubt'; why: string }
  /** Nothing was sent and no attempt is counted: a cap, a breaker or a live owner is in the way. */
  | { kind: 'busy'; why: string; retryAfterMs: number }
  /** Nothing was sent: what allowed the call no longer holds. `fault`: what of it. */
  | { kind: 'not-sent'; why: 'cancelled' | 'approval' | 'shutdown'; fault?: string }
  /** Nothing was sent: what the approvers signed does not hold any more. */
  | { kind: 'not-sent'; why: 'proof'; fault: string }
  /** Nothing was sent: a premise of the plan does not hold any more. */
  | { kind: 'not-sent'; why: 'premise'; premise: PremiseSeen };

/** What the gate activity saw; rules/recovery.ts judges it. */
export interface GateEvidence {
  incarnation: string;
  ledger:
    | { state: 'none' | 'released' }
    | { state: 'done'; output: Output; summary: string; pending?: PendingTerms }
    | { state: 'refused'; failure: Failure }
    | { state: 'live'; leaseUntil: number }
    /** `ownerLives`: its lease is over, but its process exists on this host and may still act. */
    | { state: 'dead' | 'unknown'; fence: number; firstClaimedAt: number; sendWindowUntil: number; ownerGone: boolean; ownerLives?: true };
  /** Database time at which the ledger was read. */
  now: number;
  lookUp:
    | { kind: 'found'; output: Output; summary: string; reference: string; pending?: PendingTerms }
    | { kind: 'absent' } | { kind: 'cannot-say'; why: string } | { kind: 'none' } | { kind: 'not-asked' }
    /** The worker that looked lacks the tool in this major version. */
    | { kind: 'no-tool'; why: string };
  resourceVersion: string | null | { error: string };
  premises: PremiseSeen[];
  honoursKey: boolean;
  /** Version of the tool that was found, where it is not the one that the call was prepared for. */
  version?: string;
}

/** What came by a callback, as one value: the payload itself, or the list of a batch; or what a look at a child run has shown. */
export interface CollectResult {
  output: Output; summary: string;
  /** The child run is not over. */
  open?: true;
  /** The child run came to nothing. */
  failure?: Failure;
  /** What the child run used up, and what it has made. */
  usage?: Usage; artifacts?: { ref: ArtifactRef; role: string }[];
}

export type CheckpointResult = { kind: 'saved'; version: number; ref: ArtifactRef } | { kind: 'failed'; why: string };
