// Folds of everything that waits: approvals, questions, plain waits.
// Pure and total (I3, I7); what is over stays in the capped list `closed`, so that a late answer hears who decided.
import type { EventOf } from '../events';
import type { State } from '../state';
import { CAPS, type Fold, closeCall, keep, setCall, setStep, without } from './parts';
import { iso } from '../iso';
import { callOf, entryOf, stepOf } from '../lookups';

export const approvalRequested: Fold<'ApprovalRequested'> = (state, { data, at }) => {
  const stepId = callOf(state, data.callId)?.stepId ?? '';
  const next = setCall(state, data.callId, { phase: 'asking', approvalId: data.approvalId, approvedUntil: 0 });
  const approval = { approvalId: data.approvalId, callId: data.callId, stepId, binding: data.binding, rule: data.rule, expiresAt: data.expiresAt, onDeadline: data.onDeadline, askedAt: at, granted: [], ...(data.previewRef ? { previewRef: data.previewRef } : {}) };
  return { ...next, asked: next.asked + 1, approvals: { ...next.approvals, [data.approvalId]: approval } };
};

function close(state: State, approvalId: string, kind: 'already-decided' | 'expired', text: string): State {
  return { ...state, approvals: without(state.approvals, approvalId), closed: keep(state.closed, 'id', { id: approvalId, kind, text }, CAPS.closed) };
}

export const approvalGranted: Fold<'ApprovalGranted'> = (state, { data, at }) => {
  const approval = entryOf(state.approvals, data.approvalId);
  if (!approval) return state;
  const granted = [...approval.granted, ...data.actors];
  if (!data.final) return { ...state, approvals: { ...state.approvals, [data.approvalId]: { ...approval, granted } } };
  const who = granted.map((actor) => actor.id).join(', ');
  const next = close(state, data.approvalId, 'already-decided', `Already approved by ${who} at ${iso(at)}.`);
  return setCall(next, data.callId, { phase: 'ready', dueAt: at, approvedUntil: approval.expiresAt });
};

export const approvalRejected: Fold<'ApprovalRejected'> = (state, { data, at }: EventOf<'ApprovalRejected'>) =>
  close(state, data.approvalId, 'already-decided', `Already rejected by ${data.actor.id} at ${iso(at)}.`);

export const approvalExpired: Fold<'ApprovalExpired'> = (state, { data, at }) =>
  close(state, data.approvalId, 'expired', `The approval expired; that was recorded at ${iso(at)}. Nothing was executed.`);

/** The prepared call goes with its approval: the step is prepared anew, under a new key. */
export const approvalVoided: Fold<'ApprovalVoided'> = (state, { data }) => {
  const stepId = callOf(state, data.callId)?.stepId;
  const next = data.approvalId === null ? state : close(state, data.approvalId, 'expired', `The approval is void: ${data.why}`);
  return setStep(closeCall(next, data.callId), stepId, { status: 'pending', callId: undefined });
};

export const waitStarted: Fold<'WaitStarted'> = (state, { data }) =>
  setStep(state, data.stepId, { status: 'active', waitId: data.waitId, wakeAt: data.wakeAt });

export const waitSatisfied: Fold<'WaitSatisfied'> = (state, { data }) => setStep(state, data.stepId, { waitId: undefined, wakeAt: undefined });

export const questionOpened: Fold<'QuestionOpened'> = (state, { data, at }) => {
  const question = { ...data, askedAt: at };
  const next = { ...state, asked: state.asked + 1, questions: { ...state.questions, [data.questionId]: question } };
  return setStep(next, data.stepId, { status: 'active', waitId: data.questionId });
};

function closeQuestion(state: State, questionId: string, stepId: string, kind: 'already-decided' | 'expired', text: string): State {
  const next = { ...state, questions: without(state.questions, questionId), closed: keep(state.closed, 'id', { id: questionId, kind, text }, CAPS.closed) };
  return setStep(next, stepId, { waitId: undefined });
}

export const questionAnswered: Fold<'QuestionAnswered'> = (state, { data, at }) =>
  closeQuestion(state, data.questionId, data.stepId, 'already-decided', `Already answered by ${data.by === 'person' ? data.actor.id : 'the default'} at ${iso(at)}.`);

export const questionExpired: Fold<'QuestionExpired'> = (state, { data, at }) => {
  const next = closeQuestion(state, data.questionId, data.stepId, 'expired', `The question's time was over at ${iso(at)}.`);
  return stepOf(next, data.stepId)?.status === 'active' ? setStep(next, data.stepId, { status: 'pending' }) : next;
};
