// Steering: what people say to a run that only waits is read at once, and its planner may change course. Steps that wait and were never
// sent may be dropped; what they waited for is void then, so that nobody decides it any more. What is under way is not touched.
// Decides when the planner hears and what becomes of waits; what may be in a plan is planning.ts.
import type { Draft } from '../events';
import { callbackOf, callOf, callsOf, isFull } from '../lookups';
import type { State, StepState } from '../state';
import { NO_USAGE, add, breach, modelReserve } from './budgets';
import { endWaits } from './outcomes';

/** What the run needs to go on once it need not wait any more. */
const ONE_CALL = { ...NO_USAGE, calls: 1 };

/**
 * Have people said something since the planner was last asked, or was the answer to it refused, and may it be asked although steps wait? Not
 * while a call is in doubt, which nobody could tell it about; nor at the cost of what the run needs to go on: without a budget it hears later.
 */
export function mayHear(state: State): boolean {
  const { noted, plan, agent } = state;
  const unheard = (noted?.at(-1) ?? 0) > (plan.heard ?? 0) && plan.rejections < agent.maxRejectedPlans;
  return unheard && !callsOf(state).some(({ phase }) => phase === 'doubt') && breach(state, add(modelReserve(state), ONE_CALL)) === null;
}

/** Waits for a decision, an answer, a time or the outside, and nothing was ever sent for it. */
function onlyWaits(state: State, { status, callId, waitId }: StepState): boolean {
  if (status !== 'active') return false;
  const call = callId === undefined ? undefined : callOf(state, callId);
  const awaited = waitId === undefined ? undefined : callbackOf(state, waitId);
  if (awaited && isFull(awaited)) return false;
  return callId === undefined ? waitId !== undefined : call?.phase === 'asking' && call.attempt === 0;
}

/** Steps that may still be dropped although they have begun. */
export const waitingSteps = (state: State): ReadonlySet<string> => new Set(state.steps.filter((step) => onlyWaits(state, step)).map(({ id }) => id));

/** What the dropped steps waited for is over. */
export function takenBack(state: State, drop: readonly string[]): Draft[] {
  const dropped = new Set(drop);
  return dropped.size === 0 ? [] : endWaits(state, 'the planner has dropped its step', (stepId) => stepId !== undefined && dropped.has(stepId));
}
