// Approvals: asked for one prepared call, bound to exactly that call, decided by people who may, expiring on purpose.
// The model has no way in: only messages with an actor come here.
import { type Decision, answer, draft, refuse } from '../draft';
import type { ApproverRule, Binding, Draft, PolicyVerdict } from '../events';
import type { GrantTerms, Message } from '../message';
import { iso } from '../iso';
import { askId, grantIdOf } from '../keys';
import { entryOf, votesAt } from '../lookups';
import { samePerson } from '../person';
import type { OnDeadline } from '../plan';
import type { Actor, ArtifactRef } from '../run';
import type { ApprovalState, GrantState, State } from '../state';
import { cancelRun } from './cancellation';
import { given, mayNot, noGrant } from './grants';
import { finalFailure } from './outcomes';

const WEEK_MS = 7 * 24 * 3600 * 1000;
/** A decision that a door received in time counts this long after the deadline, as long as no expiry is in the journal. */
const GRACE_MS = 10 * 60 * 1000;

/** What a prepared call is asked with, and who has approved it beforehand: the person who edited it, or by a grant. */
export interface Asking { callId: string; binding: Binding; policy: PolicyVerdict; previewRef?: ArtifactRef; editor?: Actor; grants: GrantState[] }

export function askApproval(state: State, { callId, binding, policy, previewRef, editor, grants }: Asking, now: number): Draft[] {
  const approvalId = askId('approval', state.runId, state.asked + 1);
  const rule = policy.approval ?? { quorum: 1, approvers: [], ownerMay: false, rule: policy.rule };
  const before = standing(state, rule, editor, grants);
  const final = before.length >= rule.quorum;
  const ends = [now + (policy.expiresInMs ?? WEEK_MS), ...(final ? before.flatMap(({ until }) => until ?? []) : [])];
  const asked = draft('ApprovalRequested', {
    approvalId, callId, binding, rule, expiresAt: Math.min(...ends), onDeadline: policy.onDeadline ?? { then: 'cancel-run' }, ...(previewRef ? { previewRef } : {}),
  }, approvalId);
  return [asked, ...before.map(({ by, grantId }, i) =>
    draft('ApprovalGranted', { approvalId, callId, actors: [by], final: final && i === before.length - 1, ...(grantId ? { grantId } : {}) }, approvalId))];
}

/** Approvals that stand already, one a person, no more than are needed. */
function standing(state: State, rule: ApproverRule, editor: Actor | undefined, grants: GrantState[]): { by: Actor; until: number | null; grantId?: string }[] {
  const counts = editor !== undefined && mayNot(state, rule, editor) === null;
  return [...(counts ? [{ by: editor, until: null }] : []), ...grants.filter(({ by }) => !counts || !samePerson(by.id, editor.id))].slice(0, rule.quorum);
}

/** Did the decision reach a door in time? Only a door that authenticates may say when. */
export function inTime(expiresAt: number | null, message: Message, now: number): boolean {
  if (expiresAt === null || now <= expiresAt) return true;
  const trusted = message.actor.assurance !== 'claimed' && message.receivedAt !== undefined;
  return trusted && (message.receivedAt as number) <= expiresAt && now <= expiresAt + GRACE_MS;
}

/** What someone hears about something that is not open. */
export function notOpen(state: State, message: Message, id: string, what: string): Decision {
  const before = state.closed.find((entry) => entry.id === id);
  if (before) return refuse(message.messageId, message.actor, before.kind, before.text);
  return refuse(message.messageId, message.actor, 'unknown', `This run has no ${what} ${id}.`);
}

/** @param fault what a hand found in the terms of the grant: nothing is approved with terms that no call fits. */
export function approve(state: State, message: Message, { approvalId, grant }: { approvalId: string; grant?: GrantTerms }, now: number, fault?: string): Decision {
  const { messageId, actor } = message;
  const approval = entryOf(state.approvals, approvalId);
  if (!approval) return notOpen(state, message, approvalId, 'open approval');
  const no = mayNot(state, approval.rule, actor) ?? (grant ? noGrant(state, approval) : null);
  if (no) return refuse(messageId, actor, 'refused', no);
  if (!inTime(approval.expiresAt, message, now)) {
    return refuse(messageId, actor, 'expired', `The approval expired at ${iso(approval.expiresAt)}; nothing is executed.`);
  }
  if (fault !== undefined) return refuse(messageId, actor, 'refused', `${fault} ${approvalId} is open as before.`);
  const { callId, rule } = approval;
  const granted = votesAt(approval, now).granted;
  if (granted.some((one) => samePerson(one.id, actor.id))) {
    return refuse(messageId, actor, 'already-decided', `${actor.id} has approved this already; ${rule.quorum} different people must.`);
  }
  const missing = rule.quorum - granted.length - 1;
  const final = missing <= 0;
  // Received in time and heard late: what was approved may still be sent within the grace time.
  const late = now > approval.expiresAt ? { until: approval.expiresAt + GRACE_MS } : {};
  const event = draft('ApprovalGranted', { approvalId, callId, actors: [actor], final, ...late }, approvalId, actor);
  const grants = grant ? [given(approval, actor, grant, now)] : [];
  const more = grant ? ` Grant ${grantIdOf(approvalId, actor.id)} stands for later calls; end it with \`longhaul approvals revoke ${grantIdOf(approvalId, actor.id)}\`.` : '';
  return { events: [event, ...grants], answer: final ? answer('granted', `Approved by ${actor.id}.${more}`) : answer('counted', `Counted; ${missing} more must approve.${more}`) };
}

export function reject(state: State, message: Message, approvalId: string, reason: string, now: number): Decision {
  const approval = entryOf(state.approvals, approvalId);
  if (!approval) return notOpen(state, message, approvalId, 'open approval');
  const no = mayNot(state, approval.rule, message.actor);
  if (no) return refuse(message.messageId, message.actor, 'refused', no);
  if (!inTime(approval.expiresAt, message, now)) return refuse(message.messageId, message.actor, 'expired', 'The approval has expired; nothing is executed.');
  const failure = { class: 'rejected' as const, code: 'rejected', message: `${message.actor.id} rejected it${reason ? `: ${reason}` : '.'}`.slice(0, 1000) };
  return {
    events: [
      draft('ApprovalRejected', { approvalId, callId: approval.callId, reason, actor: message.actor }, approvalId, message.actor),
      ...finalFailure(approval.callId, approval.stepId, 0, failure, false),
    ],
    answer: answer('rejected', `Rejected by ${message.actor.id}; nothing is executed.`),
  };
}

/** Who is asked after an escalation is asked once, and reminded as often. */
export function afterEscalation(onDeadline: OnDeadline): OnDeadline {
  if (onDeadline.then !== 'escalate') return onDeadline;
  return { then: 'cancel-run', ...(onDeadline.remindEveryMs === undefined ? {} : { remindEveryMs: onDeadline.remindEveryMs }) };
}

/** The approval's time is over: what its deadline policy says. */
export function expireApproval(state: State, approval: ApprovalState, now: number): Draft[] {
  const { approvalId, callId, onDeadline } = approval;
  const expired = draft('ApprovalExpired', { approvalId, callId }, approvalId);
  const failure = { class: 'expired' as const, code: 'approval-expired', message: 'Nobody approved in time.' };
  switch (onDeadline.then) {
    case 'cancel-run': return [expired, ...cancelRun(state, approval.rule.rule, `nobody approved ${approval.binding.tool} in time (${approvalId})`, now, approvalId)];
    case 'ask-again':
    case 'escalate': {
      const rule = onDeadline.then === 'escalate' ? { ...approval.rule, approvers: onDeadline.escalateTo } : approval.rule;
      const next = askId('approval', state.runId, state.asked + 1);
      return [expired, draft('ApprovalRequested', {
        approvalId: next, callId, binding: approval.binding, rule, onDeadline: afterEscalation(onDeadline),
        expiresAt: now + (approval.expiresAt - approval.askedAt), ...(approval.previewRef ? { previewRef: approval.previewRef } : {}),
      }, next)];
    }
    default: return [expired, ...finalFailure(callId, approval.stepId, 0, failure, false)];
  }
}
