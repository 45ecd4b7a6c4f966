// What follows from a model's answer: a plan patch is checked and accepted or refused with reasons, a step's text is its output,
// a failure is tried again, ends the run (a key that never worked) or blocks it. The model is never an actor.
import { type Decision, draft, nothing, only } from '../draft';
import type { Draft } from '../events';
import type { Failure } from '../failure';
import type { PlanPatch } from '../plan';
import type { Usage } from '../run';
import type { CallState, State } from '../state';
import type { ModelResult } from '../world';
import { callOf, callsOf, mayHaveHappened } from '../lookups';
import { NO_USAGE } from './budgets';
import { artifactsOf } from './cancellation';
import { CANCELLED } from './outcomes';
import { checkPatch } from './planning';
import { backoffMs, lookForToolMs, mayRetry } from './retries';
import { takenBack, waitingSteps } from './steering';

const MODEL_ATTEMPTS = 5;
const MODEL_BACKOFF_MS = 1000;

export function modelReturned(state: State, callId: string, attempt: number, result: ModelResult, now: number): Decision {
  const call = callOf(state, callId);
  if (!call || call.kind !== 'model' || call.attempt !== attempt || call.phase !== 'sent') return nothing;
  if (result.kind === 'busy') return only(turnedAway(state, call, result.retryAfterMs, now));
  if (result.kind === 'no-tool') return only(withoutTools(state, call, result.lacks, now));
  if (result.kind === 'failed') return only(failed(state, call, result.failure, result.usage, now));
  const { usage, output } = result;
  const done = draft('ModelCallSucceeded', { callId, attempt, usage, text: result.text, ...(output ? { output } : {}) }, callId);
  if (state.cancel) return only([done]);
  if (call.purpose === 'step') return only([done, ...stepDone(call, result)]);
  return only([done, ...proposed(state, call, result.patch, result.rejected ?? [])]);
}

/** The provider was not asked: the same request is made again later, and no attempt has failed. */
function turnedAway(state: State, { callId, attempt }: CallState, retryAfterMs: number, now: number): Draft[] {
  if (state.cancel) return [draft('ModelCallFailed', { callId, attempt, failure: CANCELLED, usage: NO_USAGE, final: true }, callId)];
  const delayMs = Math.max(100, retryAfterMs);
  return [draft('RetryScheduled', { callId, attempt, class: 'rate-limited', delayMs, dueAt: now + delayMs }, callId)];
}

/** The worker lacks tools that the planner may ask for: what it would plan without them is not what the run began with. */
function withoutTools(state: State, { callId, attempt, missing = 0 }: CallState, lacks: string[], now: number): Draft[] {
  if (state.cancel) return [draft('ModelCallFailed', { callId, attempt, failure: CANCELLED, usage: NO_USAGE, final: true }, callId)];
  const delayMs = lookForToolMs(missing);
  return [draft('RetryScheduled', { callId, attempt, class: 'tool-missing', delayMs, dueAt: now + delayMs, lacks: lacks.slice(0, MOST_NAMED) }, callId)];
}

const MOST_NAMED = 8;

function stepDone(call: CallState, result: Extract<ModelResult, { kind: 'succeeded' }>): Draft[] {
  const stepId = call.stepId ?? '';
  const output = result.output ?? { value: result.text };
  const made = 'ref' in output ? [draft('ArtifactProduced', { ref: output.ref, callId: call.callId, role: 'output' }, call.callId)] : [];
  return [...made, draft('StepCompleted', { stepId, output }, stepId)];
}

/**
 * A patch becomes the plan, or goes back with reasons. Refused calls beside a good patch are told too. A planner that was asked while steps
 * wait and answers with words alone leaves the plan as it is; one whose answer was refused then is asked again.
 */
function proposed(state: State, { callId: by, midway }: CallState, patch: PlanPatch | undefined, refused: string[]): Draft[] {
  const back = (reasons: string[]): Draft[] => [draft('PlanRejected', { by, reasons, ...(midway ? { again: true as const } : {}) })];
  if (!patch) return back(refused.length > 0 ? refused : ['The answer holds no step and no end.']);
  if (midway && patch.done) return [];
  const reasons = checkPatch(state, patch, waitingSteps(state));
  if (reasons.length > 0) return back([...reasons, ...refused]);
  const accepted = draft('PlanAccepted', {
    planVersion: state.plan.version + 1, by, goal: patch.goal ?? state.plan.goal, add: patch.add, drop: patch.drop,
    ...(patch.done ? { done: patch.done } : {}), ...(patch.planRef ? { planRef: patch.planRef } : {}),
  });
  return [...takenBack(state, patch.drop), accepted, ...(refused.length > 0 ? [draft('PlanRejected', { by, reasons: refused })] : [])];
}

function failed(state: State, call: CallState, failure: Failure, usage: Usage, now: number): Draft[] {
  const { callId, attempt } = call;
  const end = (): Draft => draft('ModelCallFailed', { callId, attempt, failure, usage, final: true }, callId);
  if (state.cancel) return [end()];
  if (failure.class === 'cancelled') return [draft('RetryScheduled', { callId, attempt, class: 'cancelled', delayMs: 0, dueAt: now }, callId)];
  if (mayRetry(failure, false) && call.failures + 1 < MODEL_ATTEMPTS) {
    const delayMs = backoffMs(failure, call.failures + 1, MODEL_BACKOFF_MS, state.seed, `${callId}#${attempt}`);
    return [
      draft('ModelCallFailed', { callId, attempt, failure, usage, final: false }, callId),
      draft('RetryScheduled', { callId, attempt, class: failure.class, delayMs, dueAt: now + delayMs }, callId),
    ];
  }
  const effects = callsOf(state).some(mayHaveHappened);
  // The plan stands, and what waits goes on without it; the planner reads what people said when it is next asked.
  if (call.midway) return [end()];
  if (failure.class === 'model-key' && !state.modelReached && !effects) return [end(), draft('RunFailed', { failure, artifacts: artifactsOf(state) })];
  if (call.purpose === 'step' && call.stepId !== undefined && failure.class !== 'model-key') return [end(), draft('StepFailed', { stepId: call.stepId, failure }, call.stepId)];
  const step = call.stepId === undefined ? [] : [call.stepId];
  return [end(), ...step.map((stepId) => draft('StepFailed', { stepId, failure }, stepId)), draft('RunBlocked', { why: failure.message, failure, steps: step })];
}
