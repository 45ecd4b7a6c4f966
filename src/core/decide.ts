// decide(state, command) -> events | answer: what may happen. Idempotent (I12): a command whose events are folded already
// yields nothing new and the same answer. Dispatch only; the reasons stand in rules/.
import { type Decision, answer, draft, nothing, only, refuse } from './draft';
import { digestOf } from './canonical';
import type { Command } from './commands';
import type { Message, MessageAnswer } from './message';
import { approve, reject } from './rules/approvals';
import { judged } from './rules/authority';
import { collected, receive } from './rules/callbacks';
import { callReturned, prepareReturned } from './rules/calls';
import { requestCancel } from './rules/cancellation';
import { modelReturned } from './rules/models';
import { edit } from './rules/edits';
import { revoke } from './rules/grants';
import * as people from './rules/people';
import { checkPatch } from './rules/planning';
import { forkRun } from './rules/forking';
import { gateReturned } from './rules/recovery';
import { answerQuestion } from './rules/waits';
import type { State } from './state';
import { migrate } from './versions/migrate';

export function decide(state: State, command: Command, now: number): Decision {
  if (command.type === 'Start') return start(state, command);
  if (state.version === 0) return { events: [], answer: answer('unknown', 'This run has not started.') };
  if (command.type === 'Message') return received(state, command, now);
  if (state.end) return nothing;
  switch (command.type) {
    case 'Fork': return forkRun(state, command.order);
    case 'Restore': return command.epoch > state.epoch ? only([draft('RunRestored', { epoch: command.epoch, executionId: command.executionId, why: command.why })]) : nothing;
    case 'Migrate': return migrate(state, command.migration);
    case 'ModelReturned': return modelReturned(state, command.callId, command.attempt, command.result, now);
    case 'PrepareReturned': return prepareReturned(state, command.stepId, command.n, command.result, now);
    case 'CallReturned': return callReturned(state, command.callId, command.attempt, command.result, now);
    case 'GateReturned': return gateReturned(state, command.callId, command.n, command.evidence, now);
    case 'CollectReturned': return collected(state, command, now);
    case 'TimerFired': return nothing;
    case 'CheckpointReturned': return command.result.kind === 'saved' && command.result.version > state.checkpointed
      ? only([draft('CheckpointSaved', { version: command.result.version, ref: command.result.ref })]) : nothing;
    case 'Cancel': return state.cancel ? nothing : only(requestCancel(state, command.actor, command.reason, now));
    case 'Malformed': return malformed(state, command);
  }
}

function start(state: State, command: Extract<Command, { type: 'Start' }>): Decision {
  if (state.version > 0) return nothing;
  const { plan, refused, law = 1, ...fresh } = command.fresh;
  const agent = { ...fresh.agent, planner: plan ? 'declared' as const : fresh.agent.planner };
  const created = draft('RunCreated', { epoch: command.epoch, law, ...fresh, agent });
  if (refused) return only([created, draft('RunFailed', { failure: refused, artifacts: [] })]);
  if (!plan && agent.planner === 'model') return only([created]);
  if (!plan) return only([created, draft('RunFailed', { failure: { class: 'argument', code: 'no-plan', message: `Agent ${agent.name} needs a declared plan; start the run with one.` }, artifacts: [] })]);
  const reasons = checkPatch({ ...state, agent }, plan);
  if (reasons.length > 0) {
    return only([created, draft('RunFailed', { failure: { class: 'argument', code: 'plan', message: reasons.join(' ').slice(0, 1000) }, artifacts: [] })]);
  }
  return only([created, draft('PlanAccepted', { planVersion: 1, by: 'declared', goal: plan.goal ?? '', add: plan.add, drop: [], ...(plan.planRef ? { planRef: plan.planRef } : {}) })]);
}

function malformed(state: State, { messageId, why, actor }: Extract<Command, { type: 'Malformed' }>): Decision {
  const before = state.remembered.find((one) => one.id === messageId);
  return before ? { events: [], answer: before.answer } : refuse(messageId, actor, 'refused', why);
}

/** Digest of what a message says, without who sent it and when. */
export const contentOf = (message: Message): string => digestOf(message.body);

/** What somebody hears whose message comes under an id that has said something else before. */
export function saidOtherwise({ body }: Message): MessageAnswer {
  return answer('refused', body.kind === 'callback' ? `Event ${body.eventId} was told before with something else in it; this is not counted. Tell what is new under an event id of its own.`
    : 'This message id was used before with other content; send a new message under a new id.');
}

/** What somebody hears whose message comes after the end of the run. Who cancels a cancelled run has what was asked for. */
export const closedAnswer = ({ body }: Message, status: string, words: string): MessageAnswer =>
  answer(body.kind === 'cancel' && status === 'cancelled' ? 'done' : 'closed', `The run is ${status}: ${words}`.slice(0, 500));

function received(state: State, { message: given, checked, fault }: Extract<Command, { type: 'Message' }>, now: number): Decision {
  const before = state.remembered.find((one) => one.id === given.messageId);
  if (before) return { events: [], answer: before.digest === contentOf(given) ? before.answer : saidOtherwise(given) };
  if (state.end) return { events: [], answer: closedAnswer(given, state.end.status, state.end.summary) };
  const { message, refused } = judged(state, given, checked, now);
  if (refused) return refuse(message.messageId, message.actor, refused.kind, refused.text);
  const { body } = message;
  switch (body.kind) {
    case 'approve': return approve(state, message, body, now, fault);
    case 'reject': return reject(state, message, body.approvalId, body.reason, now);
    case 'edit': return edit(state, message, body.approvalId, body.args, now, fault);
    case 'revoke': return revoke(state, message, body.grantId);
    case 'answer': return answerQuestion(state, message, body.questionId, body.answer, now);
    case 'callback': return receive(state, message, body, now);
    case 'cancel': return people.cancel(state, message, body.reason, now);
    case 'pause': return people.pause(state, message, body.reason);
    case 'resume': return people.resume(state, message);
    case 'note': return people.note(state, message, body);
    case 'resolve': return people.resolve(state, message, body);
    case 'settle': return people.settle(state, message, body);
    case 'extend': return people.extend(state, message, body.budget);
    default: return refuse(message.messageId, message.actor, 'unknown', 'Unknown kind of message.');
  }
}
