// Callbacks: what the outside tells of a request that it had accepted, or of a step of the plan that waits for it. Each event
// counts once, whatever door it comes through; one that comes before the call's own answer is kept; one that comes when all is over
// hears so and changes nothing. An event counts as long as no expiry is in the journal: the outside has no deadline of ours.
import type { Command } from '../commands';
import { type Decision, answer, draft, nothing, only, refuse } from '../draft';
import type { Draft } from '../events';
import type { Failure } from '../failure';
import { itemOf } from '../folds/callbacks';
import { callbackIdOf, callIdOf } from '../keys';
import { callbackOf, callCalledBack, callOf, isFull, stepOf } from '../lookups';
import type { Message, MessageBody } from '../message';
import { MOST_ITEMS, type PendingTerms } from '../pending';
import type { CallState, CallbackState, State, StepState } from '../state';
import type { CallResult, CollectResult } from '../world';
import { mustBeSigned } from './authority';
import { cancelRun } from './cancellation';
import { childSeen } from './children';
import { ENDED, finalFailure, NO_CALLBACK, succeeded, type Done } from './outcomes';

type Accepted = Omit<Done, 'via'> & { via: 'sent' | 'ledger' | 'look-up' | 'callback' };

/** The outside has accepted the call's request, and its result comes by callbacks. An undo is done with what it has answered. */
export function accepted(state: State, call: CallState, done: Accepted, terms: PendingTerms, now: number, more: Pick<Extract<CallResult, { kind: 'pending' }>, 'artifacts'> = {}): Draft[] {
  const { callId, attempt, stepId } = call;
  if (call.undoOf !== undefined) return succeeded(state, call, done, more);
  const artifacts = (more.artifacts ?? []).map(({ ref, role }) => draft('ArtifactProduced', { ref, callId, role }, callId));
  const pending = [draft('ToolCallPending', { callId, attempt, ...done }, callId), ...artifacts];
  if (state.cancel) return [...pending, draft('ToolCallFailed', { callId, attempt, failure: ENDED, sent: true, final: true }, callId)];
  const callbackId = callbackIdOf(state.runId, callId);
  const { expect, deadlineMs, onDeadline, child } = terms;
  return [...pending, draft('CallbackAwaited', { callbackId, callId, ...(stepId === undefined ? {} : { stepId }), expect, expiresAt: deadlineMs === null ? null : now + deadlineMs, onDeadline, ...(child === undefined ? {} : { child }) }, callbackId)];
}

const ONE_RESULT: PendingTerms = { expect: null, deadlineMs: null, onDeadline: { then: 'fail-step' } };

/** A plain event has come for a call whose own answer was lost: the outside knows the id from the request alone, so it was accepted. */
export const acceptedAsCalledBack = (state: State, call: CallState, now: number): Draft[] =>
  accepted(state, call, { output: { value: null }, summary: 'the outside has called back', via: 'callback', settled: false }, ONE_RESULT, now);

/** The event that opens a step which waits for the outside. */
export function awaitCallback(state: State, step: StepState, now: number): Draft | null {
  const { action } = step;
  if (action.type !== 'wait' || !('callback' in action)) return null;
  const callbackId = callbackIdOf(state.runId, `${step.id}#${step.prepared + 1}`);
  return draft('CallbackAwaited', {
    callbackId, stepId: step.id, expect: action.expect ?? null, expiresAt: action.deadlineMs === undefined ? null : now + action.deadlineMs, onDeadline: action.onDeadline ?? { then: 'fail-step' },
  }, callbackId);
}

export function receive(state: State, message: Message, body: Extract<MessageBody, { kind: 'callback' }>, now: number): Decision {
  const { callbackId, eventId, item, payload } = body;
  const entry = callbackOf(state, callbackId);
  const call = callCalledBack(state, callbackId);
  if (!entry && !call) return late(state, message, callbackId);
  if (state.cancel) return hears('closed', 'The run is being cancelled; nothing is taken any more.');
  if (entry && isFull(entry)) return hears('closed', 'Everything that was awaited has come; this is not counted.');
  const { messageId, actor } = message;
  if (entry?.items.includes(itemOf(body))) return refuse(messageId, actor, 'already-decided', `Item ${item ?? eventId} has come before, with another event; this one is not counted.`);
  if (entry && entry.items.length >= MOST_ITEMS) return refuse(messageId, actor, 'refused', `${MOST_ITEMS} items have come already; more are not taken.`);
  const received = draft('CallbackReceived', { callbackId, eventId, ...(item === undefined ? {} : { item }), payload, actor }, callbackId, actor);
  // A person who is asked whether it happened need not answer any more.
  if (!entry?.open && call?.phase === 'person' && call.carved === undefined && item === undefined && !mustBeSigned(state, call.effect)) return { events: [received, ...acceptedAsCalledBack(state, call, now)], answer: answer('done', 'Received: it is the result that was awaited.') };
  if (entry?.child !== undefined) return { events: [received], answer: answer('counted', `Received: run ${entry.child} is looked at now; its own journal says how it ended.`) };
  if (!entry?.open) return { events: [received], answer: answer('counted', 'Kept until the call has said what it waits for.') };
  if (entry.expect === null) return { events: [received, ...completed(state, entry, { output: payload, summary: 'called back' }, 'callback')], answer: answer('done', 'Received: it is the result that was awaited.') };
  const came = entry.items.length + 1;
  if (came < entry.expect) return { events: [received], answer: answer('counted', `Received: ${came} of ${entry.expect}.`) };
  return { events: [received], answer: answer('done', `Received: all ${entry.expect} have come.`) };
}

/** An answer that leaves no trace, so that an outside that goes on and on harms nothing. */
const hears = (kind: 'closed', text: string): Decision => ({ events: [], answer: answer(kind, text) });

/** Numbers of calls that are tried when an id is not known any more. */
const MOST_CALLS = 5_000;

function late(state: State, message: Message, callbackId: string): Decision {
  const before = state.closed.find((one) => one.id === callbackId);
  if (before) return hears('closed', before.text);
  for (let seq = state.callSeq; seq > Math.max(0, state.callSeq - MOST_CALLS); seq -= 1) {
    if (callbackIdOf(state.runId, callIdOf(seq)) === callbackId) return hears('closed', 'The call is over; this is not counted.');
  }
  return refuse(message.messageId, message.actor, 'unknown', `This run waits for no callback ${callbackId}.`);
}

/** What was awaited is there: the result of the call, or of the step. */
function completed(state: State, { callbackId, callId, stepId }: CallbackState, result: CollectResult, via: 'callback' | 'default'): Draft[] {
  if (callId === undefined) return [draft('WaitSatisfied', { waitId: callbackId, stepId: stepId ?? '' }, callbackId), draft('StepCompleted', { stepId: stepId ?? '', output: result.output }, stepId)];
  const call = callOf(state, callId);
  return call ? succeeded(state, call, { ...result, via, settled: true }, {}) : [];
}

/** The events were put together. */
export function collected(state: State, { callbackId, n, result }: Extract<Command, { type: 'CollectReturned' }>, now: number): Decision {
  const entry = callbackOf(state, callbackId);
  if (entry?.child !== undefined) return childSeen(state, callbackId, n, result, now);
  return entry && isFull(entry) ? only(completed(state, entry, result, 'callback')) : nothing;
}

/** The time for callbacks is over: what the deadline policy says. */
export function expireCallback(state: State, entry: CallbackState, now: number): Draft[] {
  const { callbackId, callId, stepId, expect, items, onDeadline } = entry;
  const expired = (partial: boolean): Draft => draft('CallbackExpired', { callbackId, why: 'deadline', came: items.length, partial }, callbackId);
  switch (onDeadline.then) {
    case 'continue':
      if (expect !== null) return [expired(true)];
      return [expired(false), ...completed(state, entry, { output: { value: onDeadline.default }, summary: 'nobody called back; the default' }, 'default')];
    case 'cancel-run': return cancelRun(state, 'deadline', `nobody called back ${callbackId} in time`, now);
    default: {
      const call = callId === undefined ? undefined : callOf(state, callId);
      const failure: Failure = { class: 'expired', code: NO_CALLBACK, message: `${call ? `${call.tool} was accepted, but ` : ''}${expect === null ? 'nobody called back' : `${items.length} of ${expect} items came`} in time.` };
      if (call) return [expired(false), ...finalFailure(call.callId, stepId, call.attempt, failure, true)];
      return [expired(false), draft('StepFailed', { stepId: stepId ?? '', failure }, stepId)];
    }
  }
}

/** Words for what is awaited. */
export function wordsOfCallback(state: State, { callId, stepId, expect, items, child }: CallbackState): string {
  const step = stepOf(state, stepId);
  if (child !== undefined) return `the end of run ${child}${step ? ` (${step.title})` : ''}`;
  const call = callId === undefined ? undefined : callOf(state, callId);
  const what = call ? `the result of ${call.tool}${step ? ` (${step.title})` : ''}` : step?.action.type === 'wait' && 'callback' in step.action ? step.action.callback : 'a callback';
  return expect === null ? what : `${what}: ${items.length} of ${expect} items have come`;
}
