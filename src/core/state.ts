// State of a run: what `evolve` folds from events. Plain JSON, bounded by the current plan and capped lists (DESIGN 3).
// Nothing outside evolve.ts writes it (I3).
import type { Json } from './canonical';
import type { Cause, Failure } from './failure';
import type { ApproverRule, Binding, CancelReport } from './events';
import type { MessageAnswer } from './message';
import type { OnDeadline, PlanEnd, StepOutline } from './plan';
import type { Proof } from './proof';
import type { Actor, AgentManifest, ArtifactRef, Budget, Effect, ForkDoubt, ForkOrigin, Output, ParentLink, Pins, Usage } from './run';

/** Version of the shape of State; checkpoints of another version are ignored and the run is folded from its start. */
export const STATE_VERSION = 2;

export type StepStatus = 'pending' | 'active' | 'done' | 'failed' | 'skipped';

export interface StepState extends StepOutline {
  status: StepStatus;
  /** planVersion in which the step came. */
  since: number;
  callId?: string;
  /** A person let it be after it had failed: what hangs on it goes on, but the run is not whole. */
  waived?: true;
  /** How often it was prepared, and how often preparing failed. */
  prepared: number; prepareFailures: number;
  output?: Output;
  failure?: Failure;
  /** Looks for a worker that has its tool, of which none was found; absent when the last look found one. */
  missing?: number;
  /** Opened question or wait of the step. */
  waitId?: string;
  wakeAt?: number;
  /** Arguments that a person put in place of the step's own. `fresh`: the editor's approval of them still counts once. */
  edited?: { args: Output; by: Actor; approvalId: string; fresh: boolean };
  /** A run before may have made the step's call. `forked.doubts` says of all; this counts where an older build has written no such list. */
  doubt?: { callId: string; why: string };
}

export type CallPhase =
  /** Waits for an approval. */
  | 'asking'
  /** May be requested once `dueAt` has come. */
  | 'ready'
  /** Requested and not answered. */
  | 'sent'
  /** In doubt: the gate looks once `dueAt` has come. */
  | 'doubt'
  /** Accepted by the outside; its result comes by callbacks, and nothing is held. */
  | 'waiting'
  /** A person decides. */
  | 'person'
  /** Failed, and another attempt is about to be scheduled. */
  | 'failed';

export interface CallState {
  callId: string; callSeq: number; kind: 'model' | 'tool'; phase: CallPhase;
  purpose?: 'plan' | 'step'; stepId?: string;
  tool: string; version: string; effect: Effect; key: string;
  /** Number of the last request; 0 before the first. */
  attempt: number;
  /** Attempts that failed and count against the limit. */
  failures: number;
  dueAt: number;
  /** Arguments as prepared: bound and digested. Without them they are bound from the step at each request. */
  args?: Output;
  argsDigest?: string;
  resourceVersion: string | null;
  planVersion: number;
  approvalId?: string;
  /** The grants that its approval rests on. */
  grantIds?: string[];
  /** ms until which the approval allows the request; 0 when none is needed. */
  approvedUntil: number;
  /** What is kept of the tokens of those who approved it. */
  proofs?: (Proof & { sub: string })[];
  takeOver?: number;
  gate: number;
  /** Looks by the gate that said "absent" after the send window. */
  absent: number;
  decisionId?: string;
  /** The ledger in which the call is claimed; that of the run when it is not known better. */
  ledgerIncarnation?: string;
  /** Claims of this call may have been lost with an older ledger: no claim proves nothing. */
  claimsLost?: true;
  /** An earlier attempt may have taken effect: the call may be repeated under its key, never given up as not done. */
  unsure?: true;
  undoOf?: string;
  /** Of a planner's call: the version that it is told of, and whether steps waited when it was asked. */
  upTo?: number; midway?: true;
  reserved: Usage;
  requestedAt: number;
  why?: string;
  /** How the attempt in doubt failed, where it came to an end by itself. */
  cause?: Cause;
  /** As in a step: looks for a worker that has its tool. Of a planner's call, `lacks` names those of its tools that were not there. */
  missing?: number; lacks?: string[];
  /** Of a call that starts a run: what it asks for, and what was set aside with its first request. */
  wants?: Budget; carved?: Budget;
}

export interface ApprovalState {
  approvalId: string; callId: string; stepId: string; binding: Binding; rule: ApproverRule;
  expiresAt: number; onDeadline: OnDeadline; askedAt: number; granted: Actor[]; previewRef?: ArtifactRef;
  /** Those of `granted` who gave their word beforehand, by a grant that ends at `until`. */
  byGrant?: { id: string; grantId: string; until: number | null }[];
  /** Reminders so far. */
  reminded?: number;
}

export interface QuestionState { questionId: string; stepId: string; question: string; expiresAt: number | null; onDeadline: OnDeadline; askedAt: number; who?: string[]; reminded?: number }

/** What is waited for, or has come early. Payloads stand in the journal alone. */
export interface CallbackState {
  callbackId: string; callId?: string; stepId?: string;
  /** False while only events have come and the call has not yet said what it waits for. */
  open: boolean;
  expect: number | null; expiresAt: number | null; onDeadline: OnDeadline; askedAt: number;
  /** Digests of the items that have come, 16 hex digits each, in the order in which they came. */
  items: string[];
  /** Version of the run before the first event came: where reading begins. */
  since: number;
  /** An event came that named no item. */
  plain?: true;
  /** Its time is over, and the run goes on with what has come. */
  over?: true;
  reminded?: number;
  /** The run whose end is awaited, how often it was looked at, and when it is next. */
  child?: string; looks?: number; lookAt?: number;
}

/** An approval for a kind of call for the rest of the run. */
export interface GrantState { grantId: string; tool: string; major: number; by: Actor; givenAt: number; until: number | null; where?: Record<string, string>; uses: number }

export interface DecisionState { decisionId: string; callId: string; tool: string; why: string; askedAt: number }

/** A call with an effect that took place and may be taken back. */
export interface EffectDone { callId: string; stepId: string; tool: string; version: string; effect: Effect; key: string; output: Output; args: Output | null; undone: 'no' | 'asked' | 'yes' | 'failed' }

/** A message or decision that was answered: the same again hears the same. */
export interface Remembered { id: string; digest: string; answer: MessageAnswer }

export interface State {
  v: number; law: number; runId: string; epoch: number;
  /** seq of the last event. */
  version: number;
  at: number; createdAt: number;
  /** ms in which the run was not waiting for a person. */
  activeMs: number;
  /** Absent in a run that a person started. */
  parent?: ParentLink;
  /**
   * Where the run was forked from, and what had been done to the outside by then (capped; `more` stands in the journal). Absent in any
   * other run. `doubts`: what the runs before may have done besides, whatever becomes of the steps; absent when there are none.
   */
  forked?: ForkOrigin & { effects: string[]; more: number; doubts?: ForkDoubt[] };
  title: string; owner: Actor; agent: AgentManifest; pins: Pins; seed: string;
  inputDigest: string; inputRef: ArtifactRef; ledgerIncarnation: string;
  /** A ledger other than that of its beginning, and when the run first met it: what was claimed in an older one was claimed before. */
  otherLedger?: { incarnation: string; since: number };
  /** `heard`: version up to which the planner was told, absent before it is first asked; 0 where its answer was refused while steps wait. */
  plan: { version: number; goal: string; done: PlanEnd | null; rejected: string[]; rejections: number; changedAt: number; heard?: number };
  /** In the order in which they came. */
  steps: StepState[];
  /** Steps that left the state after they were settled. */
  settledBefore: { done: number; failed: number; skipped: number };
  calls: Record<string, CallState>;
  callSeq: number;
  /** Count of approvals, questions and decisions asked so far: their ids derive from it. */
  asked: number;
  approvals: Record<string, ApprovalState>;
  /** Grants in force, oldest first; absent until the first is given. */
  grants?: GrantState[];
  questions: Record<string, QuestionState>;
  decisions: Record<string, DecisionState>;
  /** Absent until the first. */
  callbacks?: Record<string, CallbackState>;
  /** Capped lists, oldest first: arrays, since the order of an object's members does not survive canonical JSON. */
  remembered: Remembered[];
  /** Approvals, questions and decisions that are over: what a late answer hears. Capped. */
  closed: { id: string; text: string; kind: MessageAnswer['kind'] }[];
  /** Tokens that have decided something, oldest first; absent until the first. */
  usedTokens?: string[];
  effects: EffectDone[];
  /** Effects that left the list: how many stand, and how many of those could have been taken back. */
  effectsBefore?: { standing: number; undoable: number };
  /** Calls that a person refused: not asked again. `again` counts repeats. */
  refused: { tool: string; argsDigest: string; reason: string; again: number }[];
  /** seq of the newest notes of people, oldest first; absent until the first. */
  noted?: number[];
  facts: { key: string; value: Json; source: string }[];
  artifacts: { ref: ArtifactRef; callId: string; role: string }[];
  budget: Budget; spent: Usage; reserved: Usage;
  /** Budget kinds that are used up and wait for a person. */
  exhausted: (keyof Budget)[];
  /** The provider has accepted a call at least once. */
  modelReached: boolean;
  paused: { actor: Actor; reason: string } | null;
  blocked: { why: string; failure: Failure; steps: string[] } | null;
  cancel: { actor: Actor; reason: string; deadline: number; report: CancelReport } | null;
  /** Version of the last checkpoint, and the turns of the agent by then. */
  checkpointed: number; checkpointedTurns: number;
  /** Turns of the agent: planning calls, or finished steps of a declared plan. */
  turns: number;
  end: { status: 'completed' | 'failed' | 'cancelled'; outcome: 'full' | 'partial' | null; summary: string; failure?: Failure; result?: Output | null; report?: CancelReport } | null;
}
