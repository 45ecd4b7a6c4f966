// What people say to a run beside approving and answering: resolve, settle, extend, pause, resume, notes, cancel.
// Every answer is a value; what cannot be done is refused with a sentence that leads on.
import { type Decision, answer, draft, refuse } from '../draft';
import type { Draft } from '../events';
import { callbackIdOf } from '../keys';
import { callbackOf, callOf, callsOf, stepOf, toolOf } from '../lookups';
import type { Message, MessageBody } from '../message';
import type { Budget } from '../run';
import type { State } from '../state';
import { notOpen } from './approvals';
import { mustBeSigned } from './authority';
import { extended } from './budgets';
import { artifactsOf, requestCancel } from './cancellation';
import { endWaits, finalFailure, NO_CALLBACK, succeeded } from './outcomes';

type Body<K extends MessageBody['kind']> = Extract<MessageBody, { kind: K }>;

export function resolve(state: State, message: Message, body: Body<'resolve'>): Decision {
  const open = Object.values(state.decisions).find((asked) => asked.callId === body.callId || asked.decisionId === body.callId);
  const call = open ? callOf(state, open.callId) : undefined;
  if (!open || !call) return notOpen(state, message, body.callId, 'open decision about call');
  // An unsigned event settles nothing where decisions must be signed, so that it cannot stand in a person's way either.
  const calledBack = (callbackOf(state, callbackIdOf(state.runId, call.callId))?.items.length ?? 0) > 0 && !mustBeSigned(state, call.effect);
  if (body.verdict === 'not-happened' && calledBack) return refuse(message.messageId, message.actor, 'refused', `The outside has called back for ${call.tool} ${call.callId}, so that it was accepted; say --happened with a reference, or --give-up.`);
  const decided = draft('HumanDecided', {
    decisionId: open.decisionId, callId: call.callId, verdict: body.verdict, actor: message.actor,
    ...(body.reference === undefined ? {} : { reference: body.reference }),
  }, call.callId, message.actor);
  return { events: [decided, ...resolved(state, call.callId, body)], answer: answer('done', `Recorded: ${call.tool} ${call.callId} ${body.verdict}.`) };
}

function resolved(state: State, callId: string, body: Body<'resolve'>): Draft[] {
  const call = callOf(state, callId);
  if (!call) return [];
  const stepId = call.undoOf === undefined ? call.stepId : undefined;
  switch (body.verdict) {
    case 'happened': return succeeded(state, call, { output: { value: { reference: body.reference ?? '' } }, summary: `a person confirmed: ${body.reference ?? ''}`.slice(0, 300), via: 'person', settled: false }, {});
    case 'not-happened': return [];
    case 'give-up': return finalFailure(callId, stepId, call.attempt, { class: 'unknown', code: 'given-up', message: 'Nobody knows whether it happened; a person gave it up.' }, true);
  }
}

/** A person's answer to a run that is blocked or has used up its budget. */
export function settle(state: State, message: Message, body: Body<'settle'>): Decision {
  const no = (text: string): Decision => refuse(message.messageId, message.actor, 'refused', text);
  if (state.cancel) return no('The run is being cancelled.');
  if (!state.blocked && state.exhausted.length === 0) return no('The run is not blocked; there is nothing to settle.');
  const open = callsOf(state).filter((call) => call.phase === 'sent' || call.phase === 'doubt' || call.phase === 'person' || call.phase === 'waiting' || call.unsure);
  if ((body.as === 'partial' || body.as === 'fail') && open.length > 0) {
    return no(`${open.map((call) => `${call.tool} ${call.callId}`).join(', ')} is still open; wait for it, resolve it or cancel the run.`);
  }
  switch (body.as) {
    case 'partial': return { events: [...leave(state), draft('RunCompleted', { outcome: 'partial', result: null, summary: `${message.actor.id} accepted what is there.`, artifacts: artifactsOf(state) }, undefined, message.actor)], answer: answer('done', 'The run is completed in part.') };
    case 'fail': return { events: [...leave(state), draft('RunFailed', { failure: state.blocked?.failure ?? { class: 'policy', code: 'budget', message: `The budget is used up (${state.exhausted.join(', ')}).` }, artifacts: artifactsOf(state) }, undefined, message.actor)], answer: answer('done', 'The run is failed.') };
    case 'skip': return skip(state, message, body.stepId ?? '', no);
    case 'retry': return retry(state, message, body.stepId, no);
  }
}

/** What had been asked is void once the run ends. */
const leave = (state: State): Draft[] => endWaits(state, 'the run ended');

function retry(state: State, message: Message, stepId: string | undefined, no: (text: string) => Decision): Decision {
  if (!state.blocked) return no('The budget is used up: extend it with `longhaul runs extend`.');
  const steps = stepId === undefined ? state.blocked.steps : [stepId];
  const givenUp = steps.find((id) => stepOf(state, id)?.failure?.code === 'given-up');
  if (givenUp !== undefined) return no(`Step ${givenUp} was given up because nobody knows whether it happened; trying it again could do it twice. Skip it, or settle the run as partial.`);
  const accepted = steps.find((id) => stepOf(state, id)?.failure?.code === NO_CALLBACK && withEffect(state, id));
  if (accepted !== undefined) return no(`What step ${accepted} asked for was accepted, only its result did not come; trying it again would do it a second time. Skip it, or settle the run as partial.`);
  for (const id of steps) if (stepOf(state, id)?.status !== 'failed') return no(`Step ${id} has not failed; failed steps are ${state.blocked.steps.join(', ') || 'none'}.`);
  return { events: [draft('RunUnblocked', { as: 'retry', steps, actor: message.actor }, undefined, message.actor)], answer: answer('done', 'The run goes on.') };
}

/** Does the step change the outside? */
function withEffect(state: State, stepId: string): boolean {
  const action = stepOf(state, stepId)?.action;
  return action?.type === 'tool' && toolOf(state, action.tool)?.effect !== 'none';
}

function skip(state: State, message: Message, stepId: string, no: (text: string) => Decision): Decision {
  if (!state.blocked) return no('The budget is used up: extend it with `longhaul runs extend`.');
  if (stepOf(state, stepId)?.status !== 'failed') return no(`Step ${stepId} has not failed; failed steps are ${state.blocked.steps.join(', ') || 'none'}.`);
  return { events: [draft('RunUnblocked', { as: 'skip', steps: [stepId], actor: message.actor }, undefined, message.actor)], answer: answer('done', `Step ${stepId} is skipped.`) };
}

export function extend(state: State, message: Message, more: Budget): Decision {
  if (state.cancel) return refuse(message.messageId, message.actor, 'refused', 'The run is being cancelled.');
  const budget = extended(state.budget, more);
  return { events: [draft('BudgetExtended', { budget, actor: message.actor }, undefined, message.actor)], answer: answer('done', 'The budget is extended.') };
}

export function pause(state: State, message: Message, reason: string): Decision {
  if (state.cancel) return refuse(message.messageId, message.actor, 'refused', 'The run is being cancelled.');
  if (state.paused) return refuse(message.messageId, message.actor, 'already-decided', `${state.paused.actor.id} has paused it already.`);
  return { events: [draft('RunPaused', { actor: message.actor, reason }, undefined, message.actor)], answer: answer('done', 'Paused: calls under way finish, nothing new begins.') };
}

export function resume(state: State, message: Message): Decision {
  if (!state.paused) return refuse(message.messageId, message.actor, 'refused', 'The run is not paused.');
  return { events: [draft('RunResumed', { actor: message.actor }, undefined, message.actor)], answer: answer('done', 'The run goes on.') };
}

export function note(state: State, message: Message, body: Body<'note'>): Decision {
  const reader = state.agent.planner === 'model' ? 'Received; the planner reads it as soon as nothing of the run is under way.' : 'Recorded. This run follows a declared plan, so no planner reads it.';
  return { events: [draft('UserMessageReceived', { messageId: message.messageId, text: body.text, actor: message.actor }, undefined, message.actor)], answer: answer('done', reader) };
}

export function cancel(state: State, message: Message, reason: string, now: number): Decision {
  if (state.cancel) return { events: [], answer: answer('done', `${state.cancel.actor.id} has cancelled it already.`) };
  return { events: requestCancel(state, message.actor, reason, now), answer: answer('done', 'Cancelling: nothing new starts; what runs hears it.') };
}
