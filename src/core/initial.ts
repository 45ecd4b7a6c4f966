// The state of a run before its first event. Every member has its final type, so that `evolve` is total.
// Holds no rule.
import { NO_USAGE } from './rules/budgets';
import { CONDUCTOR, type ArtifactRef } from './run';
import { STATE_VERSION, type State } from './state';
import { LAW } from './versions/laws';

const NO_REF: ArtifactRef = { sha256: '', bytes: 0, mediaType: 'application/octet-stream', summary: '' };

export function initialState(runId: string): State {
  return {
    v: STATE_VERSION, law: LAW, runId, epoch: 0, version: 0, at: 0, createdAt: 0, activeMs: 0,
    title: '', owner: CONDUCTOR,
    agent: { name: '', version: '0.0.0', planner: 'declared', model: null, tools: [], budget: {}, maxParallel: 1, maxRejectedPlans: 1, maxOutputTokens: 0, maxInputTokens: 0 },
    pins: { build: '', manifest: NO_REF, prompts: NO_REF, policy: NO_REF, model: null, eventSchema: 0 },
    seed: '', inputDigest: '', inputRef: NO_REF, ledgerIncarnation: '',
    plan: { version: 0, goal: '', done: null, rejected: [], rejections: 0, changedAt: 0 },
    steps: [], settledBefore: { done: 0, failed: 0, skipped: 0 },
    calls: {}, callSeq: 0, asked: 0, approvals: {}, questions: {}, decisions: {}, remembered: [], closed: [],
    effects: [], refused: [], facts: [], artifacts: [],
    budget: {}, spent: NO_USAGE, reserved: NO_USAGE, exhausted: [], modelReached: false,
    paused: null, blocked: null, cancel: null, checkpointed: 0, checkpointedTurns: 0, turns: 0, end: null,
  };
}
