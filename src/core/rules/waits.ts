// Questions to people and plain waits of a plan: opened when their step is due, answered once, expired on purpose.
// Deadlines are judged in every turn; who may decide an approval is approvals.ts.
import { type Decision, answer, draft, refuse } from '../draft';
import type { Draft } from '../events';
import type { Message } from '../message';
import { askId } from '../keys';
import { entryOf } from '../lookups';
import { CONDUCTOR, type Output } from '../run';
import type { QuestionState, State, StepState } from '../state';
import { afterEscalation, inTime, notOpen } from './approvals';
import { awaitCallback } from './callbacks';
import { cancelRun } from './cancellation';

/** The event that opens a step which waits for a person or for time; null for other steps. */
export function openWait(state: State, step: StepState, now: number): Draft | null {
  const { action } = step;
  if (action.type === 'question') {
    const questionId = askId('question', state.runId, state.asked + 1);
    return draft('QuestionOpened', {
      questionId, stepId: step.id, question: action.question,
      expiresAt: action.deadlineMs === undefined ? null : now + action.deadlineMs, onDeadline: action.onDeadline ?? { then: 'cancel-run' },
    }, questionId);
  }
  if (action.type === 'wait' && 'callback' in action) return awaitCallback(state, step, now);
  if (action.type === 'wait') return draft('WaitStarted', { waitId: `w-${step.id}`, stepId: step.id, wakeAt: now + action.forMs }, `w-${step.id}`);
  return null;
}

export function answerQuestion(state: State, message: Message, questionId: string, given: Output, now: number): Decision {
  const question = entryOf(state.questions, questionId);
  if (!question) return notOpen(state, message, questionId, 'open question');
  if (question.who && !question.who.includes(message.actor.id)) {
    return refuse(message.messageId, message.actor, 'refused', `${message.actor.id} may not answer this any more; it was passed on to ${question.who.join(', ')}.`);
  }
  if (!inTime(question.expiresAt, message, now)) return refuse(message.messageId, message.actor, 'expired', 'The time for an answer is over.');
  return { events: answered(question, given, 'person', message), answer: answer('done', `Answered by ${message.actor.id}.`) };
}

function answered(question: QuestionState, given: Output, by: 'person' | 'default', message?: Message): Draft[] {
  const { questionId, stepId } = question;
  const actor = message?.actor ?? CONDUCTOR;
  return [
    draft('QuestionAnswered', { questionId, stepId, answer: given, actor, by }, questionId, actor),
    draft('StepCompleted', { stepId, output: given }, stepId),
  ];
}

export function expireQuestion(state: State, question: QuestionState, now: number): Draft[] {
  const { questionId, stepId, onDeadline } = question;
  const expired = draft('QuestionExpired', { questionId, stepId }, questionId);
  switch (onDeadline.then) {
    case 'continue': return answered(question, { value: onDeadline.default }, 'default');
    case 'fail-step': return [draft('StepFailed', { stepId, failure: { class: 'expired', code: 'no-answer', message: 'Nobody answered in time.' } }, stepId), expired];
    case 'cancel-run': return cancelRun(state, 'deadline', `nobody answered ${questionId} in time`, now);
    case 'escalate': return [expired, passedOn(state, question, onDeadline.escalateTo, now)];
    default: return [expired];
  }
}

/** The same question to other people, for the same time once more. */
function passedOn(state: State, { stepId, question, expiresAt, askedAt, onDeadline }: QuestionState, who: string[], now: number): Draft {
  const questionId = askId('question', state.runId, state.asked + 1);
  return draft('QuestionOpened', { questionId, stepId, question, expiresAt: now + ((expiresAt ?? now) - askedAt), onDeadline: afterEscalation(onDeadline), who }, questionId);
}

/** A plain wait whose time has come. */
export function wake(step: StepState): Draft[] {
  const waitId = step.waitId ?? `w-${step.id}`;
  return [draft('WaitSatisfied', { waitId, stepId: step.id }, waitId), draft('StepCompleted', { stepId: step.id, output: { value: null } }, step.id)];
}
