// What happened: the catalogue of events and their envelope. Extended, never bent: an old shape is upcast in versions/.
// An event exists only if `evolve` folds it. Large or secret bytes are references (I11). Times in ms, money in micro-units.
import type { Json } from './canonical';
import type { Cause, ErrorClass, Failure } from './failure';
import type { Actor, AgentManifest, ArtifactRef, Budget, ForkDoubt, ForkOrigin, Output, ParentLink, Pins, Usage } from './run';
import type { MessageAnswer } from './message';
import type { OnDeadline, PlanEnd, StepOutline } from './plan';

/** Version of the event schema that this build writes; older ones are brought to it by core/versions/upcasters.ts. */
export const EVENT_SCHEMA = 1;

export type ApproverRule = {
  /** How many distinct people must approve. */
  quorum: number;
  /** Ids that may decide; empty means anyone who reaches a door. */
  approvers: string[];
  /** May the run's owner decide too? */
  ownerMay: boolean;
  /** Name of the policy rule that asks. */
  rule: string;
  /** May an approval be given for this kind of call for the rest of the run? Left out: not for an irreversible tool, else yes. */
  mayGrant?: boolean;
};

/** What an approval is bound to; any change voids it. */
export interface Binding {
  tool: string;
  version: string;
  argsDigest: string;
  resourceVersion: string | null;
  planVersion: number;
}

/** One answered question of the recovery gate, with what was seen. */
export interface Finding { question: 1 | 2 | 3 | 4 | 5; verdict: string; evidence: string }

export type GateDecision = 'record' | 'send' | 'retry' | 'wait' | 'ask-person' | 'stop' | 'ask-again' | 'replan';

export interface CancelReport { finished: string[]; undone: string[]; unknown: string[]; needsPerson: string[] }

export interface EventData {
  RunCreated: {
    epoch: number; law: number; agent: AgentManifest; pins: Pins; budget: Budget; owner: Actor; seed: string;
    inputDigest: string; inputRef: ArtifactRef; title: string; ledgerIncarnation: string; parent?: ParentLink;
  };
  RunRestored: { epoch: number; executionId: string; why: string };
  /** A generation began on a build with a newer law or newer event shapes: from here on the run follows them. Always the first event of it. */
  RunMigrated: { law: number; eventSchema: number; build: string; from: { law: number; eventSchema: number; build: string } };
  /**
   * The events before this are those of another run: their results stand in. What that run had done to the outside is its own, neither
   * repeated nor taken back here. What was open in it is open no more: its steps begin anew, under keys of this run.
   */
  RunForked: {
    parent: ForkOrigin; epoch: number; owner: Actor; title: string; seed: string; inputDigest: string; inputRef: ArtifactRef; ledgerIncarnation: string;
    budget: Budget;
    /** Decisions must be signed in this run, whatever its parent was. */
    mode?: 'production';
    /** Effects of the parent, e.g. `publish c7 (publish)`; those that its state did not hold any more are counted. */
    effects: string[]; earlierEffects: number;
    /** Calls that the parent, or a run that it was forked from, may have made without a result: a person is asked before such a call is made here. `runId`: left out by older builds, then the parent's. */
    doubts: (Omit<ForkDoubt, 'runId'> & Partial<Pick<ForkDoubt, 'runId'>>)[];
    /** Steps that had not ended are replaced by a plan, which follows. */
    replanned: boolean;
  };

  ModelCallRequested: { callId: string; callSeq: number; attempt: number; purpose: 'plan' | 'step'; stepId?: string; reserved: Usage; /** The planner is asked while steps of its plan wait. */ midway?: true };
  ModelCallSucceeded: { callId: string; attempt: number; usage: Usage; output?: Output; text?: string };
  /** `final`: no further attempt at this call follows. */
  ModelCallFailed: { callId: string; attempt: number; failure: Failure; usage: Usage; final: boolean };

  PlanAccepted: { planVersion: number; by: string; goal: string; planRef?: ArtifactRef; add: StepOutline[]; drop: string[]; done?: PlanEnd };
  /** `again`: nothing of the answer was taken, and the planner is asked once more although steps wait. */
  PlanRejected: { by: string; reasons: string[]; again?: true };

  CallPrepared: {
    callId: string; callSeq: number; stepId: string; tool: string; version: string; key: string;
    argsDigest: string; args: Output; resourceVersion: string | null; policy: PolicyVerdict; previewRef?: ArtifactRef; ledgerIncarnation?: string;
    /** The arguments are a person's, who changed those of the approval that was open before. */
    edited?: { by: Actor; approvalId: string };
    /** What the run that it starts may use up, as far as the call says so. */
    wants?: Budget;
  };
  ToolCallRequested: {
    callId: string; callSeq: number; stepId?: string; tool: string; version: string; key: string; attempt: number;
    argsDigest?: string; approvalId?: string; undoOf?: string; ledgerIncarnation: string; reserved: Usage;
    /** What the run that it starts may use up: it stays set aside until that run is over. */
    carved?: Budget;
  };
  /** `usage`: of the run that the call had started. */
  ToolCallSucceeded: { callId: string; attempt: number; output: Output; summary: string; via: 'sent' | 'ledger' | 'look-up' | 'person' | 'callback' | 'default'; settled: boolean; usage?: Usage };
  /** The outside has accepted the request, which is the call's effect; its result comes by callbacks. `output`: what it said. */
  ToolCallPending: { callId: string; attempt: number; output: Output; summary: string; via: 'sent' | 'ledger' | 'look-up' | 'callback'; settled: boolean };
  ToolCallFailed: { callId: string; attempt: number; failure: Failure; sent: boolean; final: boolean; usage?: Usage };
  /** `cause`: how the attempt failed; it counts as a failure once the gate finds that it may be made again. */
  ToolCallUnknown: { callId: string; attempt: number; why: string; cause?: Cause };
  /** After a failed or turned-away request of a call, or (with `stepId` and no call yet) of a step's preparation. */
  RetryScheduled: { callId: string; stepId?: string; attempt: number; class: ErrorClass; delayMs: number; dueAt: number; /** Contracts of the planner's tools that the worker lacks. */ lacks?: string[] };
  /** `unsure`: it is repeated because the outside does one effect a key, although an earlier attempt may have taken effect. */
  RecoveryChecked: { callId: string; n: number; findings: Finding[]; decision: GateDecision; againAt?: number; fence?: number; absent?: number; unsure?: true; incarnation?: string; /** No worker was found that has its tool. */ missing?: true };
  HumanDecisionRequested: { decisionId: string; callId: string; why: string };
  HumanDecided: { decisionId: string; callId: string; verdict: 'happened' | 'not-happened' | 'give-up'; reference?: string; actor: Actor };

  ApprovalRequested: { approvalId: string; callId: string; binding: Binding; rule: ApproverRule; expiresAt: number; onDeadline: OnDeadline; previewRef?: ArtifactRef };
  /** `grantId`: not said now, but by an earlier approval for the rest of the run. `until`: what it allows may be sent until then, where that is later than its end. */
  ApprovalGranted: { approvalId: string; callId: string; actors: Actor[]; final: boolean; grantId?: string; until?: number };
  ApprovalRejected: { approvalId: string; callId: string; reason: string; actor: Actor };
  ApprovalExpired: { approvalId: string; callId: string };
  /** The prepared call no longer stands and is prepared anew; `approvalId` null when policy had allowed it without asking. */
  ApprovalVoided: { approvalId: string | null; callId: string; why: string };

  /** A person changed the arguments of the call that was asked for: it is prepared anew with these, under another key. */
  CallEdited: { approvalId: string; callId: string; stepId: string; args: Output; actor: Actor };
  /** The edited arguments cannot be used; the step is prepared as it was, and asked for anew. */
  EditRefused: { stepId: string; actor: Actor; failure: Failure };
  /** Calls of this tool and major version whose arguments fit `where` count as approved by this person, until `until` (null: the run's end). */
  GrantGiven: { grantId: string; approvalId: string; callId: string; tool: string; major: number; by: Actor; until: number | null; where?: Record<string, string> };
  GrantRevoked: { grantId: string; actor: Actor };
  /** `n` reminders are due by now; several that fell due while nothing ran are one event. */
  WaitReminded: { waitId: string; n: number };

  /** A call (`callId`) or a step of the plan waits to be called back: for one plain result (`expect` null), or for the items of a batch. */
  CallbackAwaited: { callbackId: string; callId?: string; stepId?: string; expect: number | null; expiresAt: number | null; onDeadline: OnDeadline; /** The run whose end is awaited. */ child?: string };
  /** The awaited run was looked at and was not over; it is looked at again by itself, or when it calls. */
  ChildChecked: { callbackId: string; n: number; againAt: number };
  /** Names no call: what the run waits for in a call is not changed by it. It may come before the call's own answer. */
  CallbackReceived: { callbackId: string; eventId: string; item?: string; payload: Output; actor: Actor };
  /** Nothing is taken any more. `partial`: the run goes on with what has come. */
  CallbackExpired: { callbackId: string; why: 'deadline' | 'ended'; came: number; partial: boolean };

  WaitStarted: { waitId: string; stepId: string; wakeAt: number };
  WaitSatisfied: { waitId: string; stepId: string };
  QuestionOpened: { questionId: string; stepId: string; question: string; expiresAt: number | null; onDeadline: OnDeadline; who?: string[] };
  QuestionAnswered: { questionId: string; stepId: string; answer: Output; actor: Actor; by: 'person' | 'default' };
  /** `why`: what ended it before its time. */
  QuestionExpired: { questionId: string; stepId: string; why?: string };

  FactConfirmed: { key: string; value: Json; source: string };
  ArtifactProduced: { ref: ArtifactRef; callId: string; role: string };
  StepCompleted: { stepId: string; output: Output };
  StepFailed: { stepId: string; failure: Failure };
  StepSkipped: { stepId: string; why: string };

  /** `of`: the run whose state was saved, in the journal of a fork of it. */
  CheckpointSaved: { version: number; ref: ArtifactRef; of?: string };
  BudgetExhausted: { kind: keyof Budget; limit: number; used: number };
  BudgetExtended: { budget: Budget; actor: Actor };
  RunPaused: { actor: Actor; reason: string };
  RunResumed: { actor: Actor };
  RunBlocked: { why: string; failure: Failure; steps: string[] };
  RunUnblocked: { as: 'retry' | 'skip'; steps: string[]; actor: Actor };
  UserMessageReceived: { messageId: string; text: Output; actor: Actor };
  MessageRejected: { messageId: string; why: string; actor: Actor };
  CancelRequested: { actor: Actor; reason: string; deadline: number };

  RunCompleted: { outcome: 'full' | 'partial'; result: Output | null; summary: string; artifacts: string[] };
  RunFailed: { failure: Failure; artifacts: string[] };
  RunCancelled: { report: CancelReport; reason: string; artifacts: string[] };
}

/** What policy says of one prepared call. */
export interface PolicyVerdict { decision: 'allow' | 'ask' | 'deny'; rule: string; why: string; approval?: ApproverRule; expiresInMs?: number; onDeadline?: OnDeadline }

export type EventType = keyof EventData;

/** The envelope: who, when, why, in which order. `seq` is gapless from 1; `at` never runs backwards. */
export type EventOf<T extends EventType> = {
  runId: string;
  seq: number;
  v: number;
  type: T;
  at: number;
  /** What made the runtime write this: a command's identity, e.g. `call:c7#2` or `msg:…`. */
  causationId: string;
  /** The thread that the event belongs to: a call, a step, an approval, or the run. */
  correlationId: string;
  /** On the first event of a command that must count once; unique in the run. */
  idempotencyKey?: string;
  actor: Actor;
  /** On the first event that a message caused: what its sender heard, so that the same again hears the same. */
  message?: { id: string; digest: string; answer: MessageAnswer };
  data: EventData[T];
};

export type RunEvent = { [T in EventType]: EventOf<T> }[EventType];

/** An event before the turn has numbered and stamped it. */
export type Draft = { [T in EventType]: { type: T; data: EventData[T]; correlationId?: string; actor?: Actor } }[EventType];
