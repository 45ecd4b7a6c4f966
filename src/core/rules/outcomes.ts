// The ends of a call: how a result, and how the lack of one, is written down for the call and its step.
// Used by every rule that can end a call; decides nothing itself.
import { draft } from '../draft';
import type { Draft } from '../events';
import type { Failure } from '../failure';
import { callbacksOf, stepOf } from '../lookups';
import type { Output, Usage } from '../run';
import type { CallState, State } from '../state';
import type { CallResult, PremiseSeen } from '../world';

export type Done = { output: Output; summary: string; via: 'sent' | 'ledger' | 'look-up' | 'person' | 'callback' | 'default'; settled: boolean; usage?: Usage };

/** The call's effect took place: recorded with what it produced, and its step is done. */
export function succeeded(state: State, call: CallState, done: Done, more: Partial<Pick<Extract<CallResult, { kind: 'succeeded' }>, 'artifacts' | 'facts'>>): Draft[] {
  const { callId, attempt } = call;
  const events: Draft[] = [draft('ToolCallSucceeded', { callId, attempt, ...done }, callId)];
  for (const { ref, role } of more.artifacts ?? []) events.push(draft('ArtifactProduced', { ref, callId, role }, callId));
  for (const { key, value } of more.facts ?? []) events.push(draft('FactConfirmed', { key, value, source: callId }, callId));
  const step = stepOf(state, call.stepId);
  if (step && step.status === 'active' && call.undoOf === undefined) events.push(draft('StepCompleted', { stepId: step.id, output: done.output }, step.id));
  return events;
}

export const CANCELLED: Failure = { class: 'cancelled', code: 'cancelled', message: 'The run was cancelled before the call was made.' };

/** Why a call that waited has no result: what it asked for was accepted, and stands. */
export const ENDED: Failure = { class: 'cancelled', code: 'cancelled', message: 'The run was cancelled while it waited for the result; the request had been accepted.' };

/** Code of the failure of what was accepted and never came to a result. */
export const NO_CALLBACK = 'no-callback';

/** What waits of the steps that `of` names is over: approvals, questions, and what only the outside was awaited for. By default all of the run. */
export function endWaits(state: State, why: string, of: (stepId: string | undefined) => boolean = () => true): Draft[] {
  const inOrder = <T extends { stepId: string }>(record: Record<string, T>): T[] => Object.keys(record).sort().map((id) => record[id] as T).filter(({ stepId }) => of(stepId));
  return [
    ...inOrder(state.approvals).map(({ approvalId, callId }) => draft('ApprovalVoided', { approvalId, callId, why }, approvalId)),
    ...inOrder(state.questions).map(({ questionId, stepId }) => draft('QuestionExpired', { questionId, stepId, why }, questionId)),
    ...endCallbacks(state, of),
  ];
}

/** Callbacks that stand open are over, of the run as a whole or of the steps that `of` names. */
export const endCallbacks = (state: State, of: (stepId: string | undefined) => boolean = () => true): Draft[] => callbacksOf(state).filter(({ open, stepId }) => open && of(stepId))
  .map(({ callbackId, items }) => draft('CallbackExpired', { callbackId, why: 'ended', came: items.length, partial: false }, callbackId));

/** A premise that the plan was made under has changed. */
export const premiseChanged = ({ resource, expected, now }: PremiseSeen): Failure =>
  ({ class: 'policy', code: 'premise-changed', message: `${resource} was ${expected} and is ${now}`.slice(0, 1000) });

/** The call is over without a result, and so is its step. */
export function finalFailure(callId: string, stepId: string | undefined, attempt: number, failure: Failure, sent: boolean, usage?: Usage): Draft[] {
  const events: Draft[] = [draft('ToolCallFailed', { callId, attempt, failure, sent, final: true, ...(usage ? { usage } : {}) }, callId)];
  if (stepId !== undefined) events.push(draft('StepFailed', { stepId, failure }, stepId));
  return events;
}
