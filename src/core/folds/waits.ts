// Folds of everything that waits: approvals, questions, plain waits.
// Pure and total (I3, I7); what is over stays in the capped list `closed`, so that a late answer hears who decided.
import type { EventOf } from '../events';
import type { ApprovalState, State } from '../state';
import { CAPS, type Fold, closeCall, dropCallbacks, keep, setCall, setStep, without } from './parts';
import { iso } from '../iso';
import { callbackOf, callOf, entryOf, stepOf, votesAt } from '../lookups';
import { MOST_GRANTS } from '../rules/grants';

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
  const before = votesAt(approval, at);
  const granted = [...before.granted, ...data.actors];
  const byGrant = [...before.byGrant, ...givenBeforehand(state, data)];
  const used = data.grantId === undefined ? state : countUse(state, data.grantId);
  if (!data.final) return { ...used, approvals: { ...used.approvals, [data.approvalId]: { ...approval, granted, byGrant: byGrant.length > 0 ? byGrant : undefined } } };
  const who = granted.map((actor) => actor.id).join(', ');
  const next = close(used, data.approvalId, 'already-decided', `Already approved by ${who} at ${iso(at)}.`);
  const proofs = granted.flatMap(({ id, proof }) => (proof ? [{ ...proof, sub: id }] : []));
  return setCall(next, data.callId, {
    phase: 'ready', dueAt: at, approvedUntil: Math.min(data.until ?? approval.expiresAt, ...byGrant.flatMap(({ until }) => until ?? [])),
    ...(proofs.length > 0 ? { proofs } : {}), ...(byGrant.length > 0 ? { grantIds: byGrant.map(({ grantId }) => grantId) } : {}),
  });
};

/** The word of somebody who had given it before, by a grant. */
const givenBeforehand = (state: State, { actors, grantId }: EventOf<'ApprovalGranted'>['data']): NonNullable<ApprovalState['byGrant']> =>
  (grantId === undefined ? [] : actors.map(({ id }) => ({ id, grantId, until: state.grants?.find((grant) => grant.grantId === grantId)?.until ?? null })));

function countUse(state: State, grantId: string): State {
  return { ...state, grants: (state.grants ?? []).map((grant) => (grant.grantId === grantId ? { ...grant, uses: grant.uses + 1 } : grant)) };
}

export const grantGiven: Fold<'GrantGiven'> = (state, { data, at }) => {
  const { grantId, tool, major, by, until, where } = data;
  const live = (state.grants ?? []).filter((grant) => grant.until === null || grant.until > at);
  return { ...state, grants: keep(live, 'grantId', { grantId, tool, major, by, until, givenAt: at, uses: 0, ...(where ? { where } : {}) }, MOST_GRANTS) };
};

/** What a call under way is made by stands; a later attempt at it is not allowed by the grant any more. */
export const grantRevoked: Fold<'GrantRevoked'> = (state, { data, at }) => {
  const grants = (state.grants ?? []).filter((grant) => grant.grantId !== data.grantId);
  const calls = Object.entries(state.calls).map(([id, call]) => [id, call.grantIds?.includes(data.grantId) ? { ...call, approvedUntil: Math.min(call.approvedUntil, at) } : call] as const);
  return { ...state, grants, calls: Object.fromEntries(calls) };
};

export const callEdited: Fold<'CallEdited'> = (state, { data }) =>
  setStep(state, data.stepId, { edited: { args: data.args, by: data.actor, approvalId: data.approvalId, fresh: true } });

export const editRefused: Fold<'EditRefused'> = (state, { data }) => {
  const step = stepOf(state, data.stepId);
  return setStep(state, data.stepId, { edited: undefined, prepared: (step?.prepared ?? 0) + 1, prepareFailures: 0, wakeAt: undefined });
};

export const waitReminded: Fold<'WaitReminded'> = (state, { data }) => {
  const [approval, question] = [entryOf(state.approvals, data.waitId), entryOf(state.questions, data.waitId)];
  if (approval) return { ...state, approvals: { ...state.approvals, [data.waitId]: { ...approval, reminded: data.n } } };
  const callback = callbackOf(state, data.waitId);
  if (callback) return { ...state, callbacks: { ...state.callbacks, [data.waitId]: { ...callback, reminded: data.n } } };
  return question ? { ...state, questions: { ...state.questions, [data.waitId]: { ...question, reminded: data.n } } } : state;
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

export const waitSatisfied: Fold<'WaitSatisfied'> = (state, { data }) =>
  setStep(dropCallbacks(state, ({ callbackId }) => callbackId === data.waitId), data.stepId, { waitId: undefined, wakeAt: undefined });

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
  const next = closeQuestion(state, data.questionId, data.stepId, 'expired', data.why === undefined ? `The question's time was over at ${iso(at)}.` : `The question is void: ${data.why}.`);
  return stepOf(next, data.stepId)?.status === 'active' ? setStep(next, data.stepId, { status: 'pending' }) : next;
};
