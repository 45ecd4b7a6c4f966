// The fold of a fork: from here on the state is this run's own. Results, facts, artifacts and what was spent stay; whatever was
// open in the parent is open no more, and its steps begin anew. Pure and total (I3, I7).
import { NO_USAGE } from '../rules/budgets';
import type { State, StepState } from '../state';
import type { Fold } from './parts';

/** Effects of the parent that state keeps by name. */
const MOST_NAMED = 40;

export const runForked: Fold<'RunForked'> = (state, { data, at }) => {
  const { parent: _parent, grants: _grants, callbacks: _callbacks, usedTokens: _tokens, effectsBefore: _before, ...kept } = state;
  const { epoch, owner, title, seed, inputDigest, inputRef, ledgerIncarnation, budget, effects, earlierEffects, replanned } = data;
  const named = effects.slice(-MOST_NAMED);
  // Older builds wrote doubts of steps alone, and their states must be folded as they were.
  const doubts = data.doubts.flatMap(({ runId, ...doubt }) => (runId === undefined ? [] : [{ runId, ...doubt }]));
  return {
    ...kept, epoch, owner, title, seed, inputDigest, inputRef, ledgerIncarnation, budget, createdAt: at,
    ...(data.mode ? { pins: { ...state.pins, mode: data.mode } } : {}),
    forked: { ...data.parent, effects: named, more: earlierEffects + effects.length - named.length, ...(doubts.length > 0 ? { doubts } : {}) },
    steps: stepsOf(state, data), agent: replanned ? { ...state.agent, planner: 'declared' } : state.agent,
    calls: {}, approvals: {}, questions: {}, decisions: {}, remembered: [], closed: [], effects: [], reserved: NO_USAGE,
    exhausted: state.exhausted.filter((kind) => budget[kind] === state.budget[kind]), paused: null, blocked: replanned ? null : state.blocked,
  };
};

function stepsOf(state: State, { doubts, replanned }: Parameters<typeof runForked>[1]['data']): StepState[] {
  const ended = (step: StepState): boolean => step.status === 'done' || step.status === 'failed' || step.status === 'skipped';
  return state.steps.filter((step) => ended(step) || !replanned).map((step) => {
    if (ended(step)) return step;
    const { callId: _call, waitId: _wait, wakeAt: _wake, edited, doubt, ...rest } = step;
    const found = doubts.filter(({ stepId }) => stepId === step.id).at(-1);
    const unsure = found ? { callId: found.callId, why: found.why } : doubt;
    return { ...rest, status: 'pending', prepareFailures: 0, ...(edited ? { edited: { ...edited, fresh: false } } : {}), ...(unsure ? { doubt: unsure } : {}) };
  });
}
