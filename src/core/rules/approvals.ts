// Approvals: asked for one prepared call, bound to exactly that call, decided by people who may, expiring on purpose.
// The model has no way in: only messages with an actor come here.
import { type Decision, answer, draft, refuse } from '../draft';
import type { Binding, Draft, PolicyVerdict } from '../events';
import type { Message } from '../message';
import { iso } from '../iso';
import { askId } from '../keys';
import { entryOf } from '../lookups';
import type { Actor, ArtifactRef } from '../run';
import type { ApprovalState, State } from '../state';
import { cancelRun } from './cancellation';
import { finalFailure } from './outcomes';

const WEEK_MS = 7 * 24 * 3600 * 1000;
/** A decision that a door received in time counts this long after the deadline, as long as no expiry is in the journal. */
const GRACE_MS = 10 * 60 * 1000;

export function askApproval(state: State, callId: string, binding: Binding, policy: PolicyVerdict, previewRef: ArtifactRef | undefined, now: number): Draft {
  const approvalId = askId('approval', state.runId, state.asked + 1);
  return draft('ApprovalRequested', {
    approvalId, callId, binding,
    rule: policy.approval ?? { quorum: 1, approvers: [], ownerMay: false, rule: policy.rule },
    expiresAt: now + (policy.expiresInMs ?? WEEK_MS), onDeadline: policy.onDeadline ?? { then: 'cancel-run' },
    ...(previewRef ? { previewRef } : {}),
  }, approvalId);
}

/** Did the decision reach a door in time? Only a door that authenticates may say when. */
export function inTime(expiresAt: number | null, message: Message, now: number): boolean {
  if (expiresAt === null || now <= expiresAt) return true;
  const trusted = message.actor.assurance !== 'claimed' && message.receivedAt !== undefined;
  return trusted && (message.receivedAt as number) <= expiresAt && now <= expiresAt + GRACE_MS;
}

/** Why this actor may not decide, or null. */
function mayNot(state: State, approval: ApprovalState, actor: Actor): string | null {
  const { approvers, ownerMay, rule } = approval.rule;
  if (!ownerMay && actor.id === state.owner.id) return `${actor.id} asked for this run and may not approve its own call (rule ${rule}).`;
  if (approvers.length > 0 && !approvers.includes(actor.id)) return `${actor.id} may not decide this; rule ${rule} names ${approvers.join(', ')}.`;
  return null;
}

/** What someone hears about something that is not open. */
export function notOpen(state: State, message: Message, id: string, what: string): Decision {
  const before = state.closed.find((entry) => entry.id === id);
  if (before) return refuse(message.messageId, message.actor, before.kind, before.text);
  return refuse(message.messageId, message.actor, 'unknown', `This run has no ${what} ${id}.`);
}

export function approve(state: State, message: Message, approvalId: string, now: number): Decision {
  const approval = entryOf(state.approvals, approvalId);
  if (!approval) return notOpen(state, message, approvalId, 'open approval');
  const no = mayNot(state, approval, message.actor);
  if (no) return refuse(message.messageId, message.actor, 'refused', no);
  if (!inTime(approval.expiresAt, message, now)) {
    return refuse(message.messageId, message.actor, 'expired', `The approval expired at ${iso(approval.expiresAt)}; nothing is executed.`);
  }
  if (approval.granted.some((actor) => actor.id === message.actor.id)) {
    return refuse(message.messageId, message.actor, 'already-decided', `${message.actor.id} has approved this already; ${approval.rule.quorum} different people must.`);
  }
  const final = approval.granted.length + 1 >= approval.rule.quorum;
  const event = draft('ApprovalGranted', { approvalId, callId: approval.callId, actors: [message.actor], final }, approvalId, message.actor);
  const missing = approval.rule.quorum - approval.granted.length - 1;
  return { events: [event], answer: final ? answer('granted', `Approved by ${message.actor.id}.`) : answer('counted', `Counted; ${missing} more must approve.`) };
}

export function reject(state: State, message: Message, approvalId: string, reason: string, now: number): Decision {
  const approval = entryOf(state.approvals, approvalId);
  if (!approval) return notOpen(state, message, approvalId, 'open approval');
  const no = mayNot(state, approval, message.actor);
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

/** The approval's time is over: what its deadline policy says. */
export function expireApproval(state: State, approval: ApprovalState, now: number): Draft[] {
  const { approvalId, callId, onDeadline } = approval;
  const expired = draft('ApprovalExpired', { approvalId, callId }, approvalId);
  const failure = { class: 'expired' as const, code: 'approval-expired', message: 'Nobody approved in time.' };
  switch (onDeadline.then) {
    case 'cancel-run': return [expired, ...cancelRun(state, approval.rule.rule, `approval ${approvalId} expired`, now, approvalId)];
    case 'ask-again':
    case 'escalate': {
      const rule = onDeadline.then === 'escalate' ? { ...approval.rule, approvers: onDeadline.escalateTo } : approval.rule;
      const next = askId('approval', state.runId, state.asked + 1);
      return [expired, draft('ApprovalRequested', {
        approvalId: next, callId, binding: approval.binding, rule, onDeadline: onDeadline.then === 'escalate' ? { then: 'cancel-run' } : onDeadline,
        expiresAt: now + (approval.expiresAt - approval.askedAt), ...(approval.previewRef ? { previewRef: approval.previewRef } : {}),
      }, next)];
    }
    default: return [expired, ...finalFailure(callId, approval.stepId, 0, failure, false)];
  }
}
