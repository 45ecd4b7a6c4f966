// evolve(state, event) -> state: what happened. The only place where state is computed (I3); total: it never throws, whatever
// the order of events. Byte-equal in the live run, from a checkpoint and offline (I10). The folds stand by noun in folds/.
import type { EventOf, EventType, RunEvent } from './events';
import * as callbacks from './folds/callbacks';
import { runForked } from './folds/fork';
import * as calls from './folds/calls';
import { type Fold, keep, last } from './folds/parts';
import * as plan from './folds/plan';
import * as run from './folds/run';
import * as waits from './folds/waits';
import { waitsForPerson } from './lookups';
import { MOST_TOKENS, tokenOf } from './rules/authority';
import { LIMITS } from './run';
import type { State } from './state';

const same = (state: State): State => state;

const FOLDS: { [T in EventType]: Fold<T> } = {
  RunCreated: run.runCreated, RunRestored: run.runRestored, RunMigrated: run.runMigrated, RunForked: runForked,
  ModelCallRequested: calls.modelCallRequested, ModelCallSucceeded: calls.modelCallSucceeded, ModelCallFailed: calls.modelCallFailed,
  PlanAccepted: plan.planAccepted, PlanRejected: plan.planRejected,
  CallPrepared: calls.callPrepared, ToolCallRequested: calls.toolCallRequested, ToolCallSucceeded: calls.toolCallSucceeded,
  ToolCallFailed: calls.toolCallFailed, ToolCallUnknown: calls.toolCallUnknown, RetryScheduled: calls.retryScheduled,
  RecoveryChecked: calls.recoveryChecked, HumanDecisionRequested: calls.humanDecisionRequested, HumanDecided: calls.humanDecided,
  ApprovalRequested: waits.approvalRequested, ApprovalGranted: waits.approvalGranted, ApprovalRejected: waits.approvalRejected,
  ApprovalExpired: waits.approvalExpired, ApprovalVoided: waits.approvalVoided,
  CallEdited: waits.callEdited, EditRefused: waits.editRefused, GrantGiven: waits.grantGiven, GrantRevoked: waits.grantRevoked, WaitReminded: waits.waitReminded,
  ToolCallPending: callbacks.toolCallPending, CallbackAwaited: callbacks.callbackAwaited, CallbackReceived: callbacks.callbackReceived, ChildChecked: callbacks.childChecked, CallbackExpired: callbacks.callbackExpired,
  WaitStarted: waits.waitStarted, WaitSatisfied: waits.waitSatisfied,
  QuestionOpened: waits.questionOpened, QuestionAnswered: waits.questionAnswered, QuestionExpired: waits.questionExpired,
  FactConfirmed: run.factConfirmed, ArtifactProduced: run.artifactProduced,
  StepCompleted: plan.stepCompleted, StepFailed: plan.stepFailed, StepSkipped: plan.stepSkipped,
  CheckpointSaved: run.checkpointSaved, BudgetExhausted: run.budgetExhausted, BudgetExtended: run.budgetExtended,
  RunPaused: run.runPaused, RunResumed: run.runResumed, RunBlocked: run.runBlocked, RunUnblocked: run.runUnblocked,
  UserMessageReceived: run.userMessageReceived, MessageRejected: same, CancelRequested: run.cancelRequested,
  RunCompleted: run.runCompleted, RunFailed: run.runFailed, RunCancelled: run.runCancelled,
};

/** Is this an event type that this build can fold? Asked at the door (`open`), so that a newer journal is refused loudly. */
export const knowsEvent = (type: string): type is EventType => Object.prototype.hasOwnProperty.call(FOLDS, type);

export function evolve(state: State, event: RunEvent): State {
  const at = Math.max(state.at, event.at);
  // What lies between a run and its fork is no time of either.
  const active = state.version > 0 && event.type !== 'RunForked' && !waitsForPerson(state) ? at - state.at : 0;
  const fold = knowsEvent(event.type) ? FOLDS[event.type] as Fold<EventType> : undefined;
  const folded = fold ? fold(state, event as EventOf<EventType>) : state;
  const remembered = event.message
    ? keep(folded.remembered, 'id', { id: event.message.id, digest: event.message.digest, answer: event.message.answer }, LIMITS.decisions)
    : folded.remembered;
  const used = tokenOf(event);
  const tokens = used === undefined ? {} : { usedTokens: last([...(folded.usedTokens ?? []).filter((jti) => jti !== used), used], MOST_TOKENS) };
  return { ...folded, ...tokens, remembered, version: event.seq, at, activeMs: state.activeMs + active };
}

export function fold(state: State, events: readonly RunEvent[]): State {
  return events.reduce(evolve, state);
}
