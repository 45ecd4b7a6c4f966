// Folds of the plan and its steps, with the trimming that keeps a run of any length flat.
// Pure and total (I3, I7); all trimming of steps stands here, so that every reader of the journal trims alike (I10).
import type { State, StepState } from '../state';
import { isSettled } from '../lookups';
import { CAPS, type Fold, closeCall, last, setStep } from './parts';

export const planAccepted: Fold<'PlanAccepted'> = (state, { data, at }) => {
  const added: StepState[] = data.add.map((step) => ({ ...step, status: 'pending', since: data.planVersion, prepared: 0, prepareFailures: 0 }));
  const dropped = new Set(data.drop);
  const kept = state.steps.filter((step) => !dropped.has(step.id) || isSettled(step));
  const next: State = {
    ...state,
    plan: { ...state.plan, version: data.planVersion, goal: data.goal || state.plan.goal, done: data.done ?? null, rejected: [], rejections: 0, changedAt: at },
    steps: [...kept, ...added],
  };
  return trim(next);
};

/** Settled steps that nothing refers to any more leave the state; the journal keeps them. */
function trim(state: State): State {
  const settled = state.steps.filter(isSettled);
  if (settled.length <= CAPS.settledSteps || state.agent.planner === 'declared') return state;
  const needed = new Set(state.steps.filter((step) => !isSettled(step)).flatMap((step) => step.dependsOn));
  const gone = new Set(settled.slice(0, settled.length - CAPS.settledSteps).filter((step) => !needed.has(step.id)).map((step) => step.id));
  const before = { ...state.settledBefore };
  for (const step of settled) if (gone.has(step.id)) before[step.status as 'done' | 'failed' | 'skipped'] += 1;
  return { ...state, steps: state.steps.filter((step) => !gone.has(step.id)), settledBefore: before };
}

export const planRejected: Fold<'PlanRejected'> = (state, { data }) => ({
  ...state, plan: { ...state.plan, rejected: last(data.reasons, CAPS.rejected), rejections: state.plan.rejections + 1, ...(data.again ? { heard: 0 } : {}) },
});

export const stepCompleted: Fold<'StepCompleted'> = (state, { data }) => {
  // A model step and the step that acts on it are one turn of a declared plan.
  const acts = state.steps.find((step) => step.id === data.stepId)?.action.type !== 'model';
  const turns = state.turns + (state.agent.planner === 'declared' && acts ? 1 : 0);
  return setStep({ ...state, turns }, data.stepId, { status: 'done', output: data.output, callId: undefined });
};

export const stepFailed: Fold<'StepFailed'> = (state, { data }) => {
  const callId = state.steps.find((step) => step.id === data.stepId)?.callId;
  const next = callId === undefined ? state : closeCall(state, callId);
  return setStep(next, data.stepId, { status: 'failed', failure: data.failure, callId: undefined, waitId: undefined, wakeAt: undefined });
};

export const stepSkipped: Fold<'StepSkipped'> = (state, { data }) => setStep(state, data.stepId, { status: 'skipped', callId: undefined });
