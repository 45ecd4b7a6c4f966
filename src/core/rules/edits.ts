// Edit and approve: a person changes the arguments of a call that waits for an approval. The old approval is void; the step is
// prepared anew with the new arguments, so that schema, policy and binding are those of the new call, under a new key. The editor's
// word counts as an approval of exactly these arguments where the fresh rule lets that person decide, once.
import { type Decision, answer, draft, only, refuse } from '../draft';
import type { Failure } from '../failure';
import { entryOf } from '../lookups';
import type { Message } from '../message';
import { samePerson } from '../person';
import type { Output } from '../run';
import type { State, StepState } from '../state';
import { inTime, notOpen } from './approvals';
import { mayNot } from './grants';

/** @param fault what a hand found in the arguments: they are refused at once, and the approval stays as it is. */
export function edit(state: State, message: Message, approvalId: string, args: Output, now: number, fault?: string): Decision {
  const { messageId, actor } = message;
  const approval = entryOf(state.approvals, approvalId);
  if (!approval) return notOpen(state, message, approvalId, 'open approval');
  const no = mayNot(state, approval.rule, actor);
  // Whoever asked for the run may say what it shall do; another person then decides.
  if (no && !samePerson(actor.id, state.owner.id)) return refuse(messageId, actor, 'refused', no);
  if (!inTime(approval.expiresAt, message, now)) return refuse(messageId, actor, 'expired', 'The approval has expired; nothing is executed.');
  if (fault !== undefined) return refuse(messageId, actor, 'refused', `${fault} ${approvalId} is open as before.`);
  const { callId, stepId } = approval;
  return {
    events: [
      draft('CallEdited', { approvalId, callId, stepId, args, actor }, approvalId, actor),
      draft('ApprovalVoided', { approvalId, callId, why: `${actor.id} changed the arguments` }, approvalId, actor),
    ],
    answer: answer('done', `Edited by ${actor.id}: the new arguments are checked, and ${no ? 'somebody else must approve them' : 'approved as far as your word goes'}.`),
  };
}

/** The edited arguments cannot be used: the step's own are prepared and asked for again. */
export function refuseEdit({ id, edited }: StepState, failure: Failure): Decision {
  return edited ? only([draft('EditRefused', { stepId: id, actor: edited.by, failure }, id)]) : only([]);
}
