// Folds of the run as a whole: its beginning, its budget, its stops and its ends.
// Pure and total (I3, I7).
import type { State } from '../state';
import { NO_USAGE } from '../rules/budgets';
import { lookAtOnce } from './callbacks';
import { CAPS, type Fold, keep, last } from './parts';

export const runCreated: Fold<'RunCreated'> = (state, { data, at }) => ({
  ...state, law: data.law, createdAt: at, title: data.title, owner: data.owner, agent: data.agent, pins: data.pins, seed: data.seed,
  inputDigest: data.inputDigest, inputRef: data.inputRef, ledgerIncarnation: data.ledgerIncarnation, budget: data.budget, epoch: data.epoch,
  ...(data.parent ? { parent: data.parent } : {}),
});

/** Requests of the lost execution: those with an effect are in doubt, the others are simply made again. */
export const runRestored: Fold<'RunRestored'> = (state, { data, at }) => {
  const calls: State['calls'] = {};
  for (const [id, call] of Object.entries(state.calls)) {
    if (call.phase !== 'sent') calls[id] = call;
    else if (call.effect !== 'none') calls[id] = { ...call, phase: 'doubt', dueAt: at, why: 'the run was restored', unsure: true };
    else calls[id] = { ...call, phase: 'ready', dueAt: at, reserved: NO_USAGE };
  }
  const reserved = Object.values(calls).reduce((sum, call) => ({
    calls: sum.calls + call.reserved.calls, tokens: sum.tokens + call.reserved.tokens,
    microUsd: sum.microUsd + call.reserved.microUsd, failures: sum.failures + call.reserved.failures,
  }), NO_USAGE);
  return lookAtOnce({ ...state, epoch: data.epoch, calls, reserved }, at);
};

/** Only the versions change: what the new law makes of the run is decided from here on. */
export const runMigrated: Fold<'RunMigrated'> = (state, { data }) => ({ ...state, law: data.law, pins: { ...state.pins, build: data.build, eventSchema: data.eventSchema } });

export const factConfirmed: Fold<'FactConfirmed'> = (state, { data }) => ({ ...state, facts: keep(state.facts, 'key', { key: data.key, value: data.value, source: data.source }, CAPS.facts) });

export const artifactProduced: Fold<'ArtifactProduced'> = (state, { data }) => ({ ...state, artifacts: last([...state.artifacts, data], CAPS.artifacts) });

/** A new word of people is a new beginning for a planner that was refused before. */
export const userMessageReceived: Fold<'UserMessageReceived'> = (state, { seq }) => ({ ...state, noted: last([...(state.noted ?? []), seq], CAPS.noted), plan: { ...state.plan, rejections: 0 } });

export const checkpointSaved: Fold<'CheckpointSaved'> = (state, { data }) => ({ ...state, checkpointed: data.version, checkpointedTurns: state.turns });

export const budgetExhausted: Fold<'BudgetExhausted'> = (state, { data }) => ({ ...state, exhausted: state.exhausted.includes(data.kind) ? state.exhausted : [...state.exhausted, data.kind] });

export const budgetExtended: Fold<'BudgetExtended'> = (state, { data }) => ({ ...state, budget: data.budget, exhausted: [] });

export const runPaused: Fold<'RunPaused'> = (state, { data }) => ({ ...state, paused: { actor: data.actor, reason: data.reason } });

export const runResumed: Fold<'RunResumed'> = (state) => ({ ...state, paused: null });

export const runBlocked: Fold<'RunBlocked'> = (state, { data }) => ({ ...state, blocked: { why: data.why, failure: data.failure, steps: data.steps } });

export const runUnblocked: Fold<'RunUnblocked'> = (state, { data }) => {
  const named = new Set(data.steps);
  const steps = state.steps.map((step) => {
    if (!named.has(step.id)) return step;
    if (data.as === 'skip') return { ...step, status: 'skipped' as const, waived: true as const, callId: undefined };
    return { ...step, status: 'pending' as const, callId: undefined, failure: undefined, prepared: step.prepared + 1, prepareFailures: 0 };
  });
  return { ...state, steps, blocked: null, refused: state.refused.map((no) => ({ ...no, again: 0 })), plan: { ...state.plan, rejections: 0 } };
};

export const cancelRequested: Fold<'CancelRequested'> = (state, { data }) => ({
  ...state, paused: null, blocked: null, exhausted: [],
  cancel: { actor: data.actor, reason: data.reason, deadline: data.deadline, report: { finished: [], undone: [], unknown: [], needsPerson: [] } },
});

export const runCompleted: Fold<'RunCompleted'> = (state, { data }) => ({ ...state, end: { status: 'completed', outcome: data.outcome, summary: data.summary, result: data.result } });

export const runFailed: Fold<'RunFailed'> = (state, { data }) => ({ ...state, end: { status: 'failed', outcome: null, summary: data.failure.message, failure: data.failure } });

export const runCancelled: Fold<'RunCancelled'> = (state, { data }) => ({ ...state, end: { status: 'cancelled', outcome: null, summary: data.reason, report: data.report } });
