// How a run that nobody cancels comes to its end or to a stop: steps that can no longer run are skipped, a finished plan
// completes the run, a failed step of a declared plan or a planner that gets nowhere blocks it for a person.
import { draft } from '../draft';
import type { Draft } from '../events';
import type { Failure } from '../failure';
import { callsOf, isReady, isSettled, mayFail, stepOf } from '../lookups';
import type { State, StepState } from '../state';
import { artifactsOf } from './cancellation';

/** A pending step whose dependency came to nothing: it is skipped, unless the dependency was optional and is not used. */
export function skipOne(state: State): Draft | null {
  for (const step of state.steps) {
    if (step.status !== 'pending') continue;
    const lost = step.dependsOn.find((id) => {
      const dep = stepOf(state, id);
      return dep !== undefined && (dep.status === 'failed' || dep.status === 'skipped') && (step.uses.includes(id) || !mayFail(dep)) && !awaitsPerson(state, dep);
    });
    if (lost !== undefined) return draft('StepSkipped', { stepId: step.id, why: `step ${lost} came to nothing` }, step.id);
  }
  return null;
}

/** In a declared plan a failed step may still be retried or skipped by a person, so that what hangs on it waits. */
function awaitsPerson(state: State, step: StepState): boolean {
  return state.agent.planner === 'declared' && step.status === 'failed' && needsSettling(step);
}

const needsSettling = (step: StepState): boolean => step.optional !== true && step.failure?.class !== 'rejected';

/** RunCompleted or RunBlocked once nothing is under way; null while there is. */
export function endOrStop(state: State): Draft | null {
  if (callsOf(state).length > 0 || Object.keys(state.questions).length > 0) return null;
  if (state.steps.some((step) => step.status === 'active' || isReady(state, step))) return null;
  return state.agent.planner === 'declared' ? declaredEnd(state) : plannedEnd(state);
}

function declaredEnd(state: State): Draft | null {
  const failed = state.steps.filter((step) => step.status === 'failed' && needsSettling(step));
  const first = failed[0];
  if (first) {
    const failure: Failure = first.failure ?? { class: 'unknown', code: 'step-failed', message: 'A step failed.' };
    return draft('RunBlocked', { why: `Step ${first.id} failed: ${failure.message}`.slice(0, 1000), failure, steps: failed.map((step) => step.id) });
  }
  if (!state.steps.every(isSettled)) return null;
  const done = state.steps.filter((step) => step.status === 'done');
  const full = state.steps.every((step) => step.status === 'done' || step.optional === true);
  return draft('RunCompleted', {
    outcome: full ? 'full' : 'partial', result: done[done.length - 1]?.output ?? null,
    summary: `${done.length} of ${state.steps.length} steps done.`, artifacts: artifactsOf(state),
  });
}

function plannedEnd(state: State): Draft | null {
  const { plan, agent } = state;
  if (plan.done) {
    // A planner may call it done; what a person rejected was not done all the same.
    const outcome = state.refused.length > 0 ? 'partial' as const : plan.done.outcome;
    return draft('RunCompleted', { outcome, result: plan.done.result ?? null, summary: plan.done.summary, artifacts: artifactsOf(state) });
  }
  const broken = state.steps.find((step) => step.failure?.class === 'artifact');
  if (broken?.failure) return block(broken.failure, broken.failure.message);
  if (plan.rejections >= agent.maxRejectedPlans) {
    return block({ class: 'model-output', code: 'rejected-plans', message: plan.rejected.join(' ').slice(0, 1000) }, `The planner was refused ${plan.rejections} times in a row: ${plan.rejected[0] ?? ''}`);
  }
  const stubborn = state.refused.find((no) => no.again >= agent.maxRejectedPlans);
  if (stubborn) return block({ class: 'rejected', code: 'asked-again', message: stubborn.reason }, `The planner asked ${stubborn.again + 1} times for ${stubborn.tool}, which was rejected.`);
  return null;
}

function block(failure: Failure, why: string): Draft {
  return draft('RunBlocked', { why: why.slice(0, 1000), failure, steps: [] });
}
