// The hands of the simulation that have no effect: the gate's look, the model's answer, the checkpoint. Step by step like
// simulator-hands.ts; the gate gathers what src/activities/gate.ts gathers, and judges nothing.
import { canonical } from '../core/canonical';
import type { Failure } from '../core/failure';
import { fold } from '../core/evolve';
import { initialState } from '../core/initial';
import { toolOf } from '../core/lookups';
import type { PlanPatch } from '../core/plan';
import type { State } from '../core/state';
import type { CheckpointNeed, CheckpointResult, CollectNeed, CollectResult, GateEvidence, GateNeed, ModelNeed, ModelResult } from '../core/world';
import type { Attempt, Steps } from './simulator-hands';
import { toolStep } from './simulator-scenarios';
import type { Stage, WorkerProcess } from './simulator-stage';

export function* gate(stage: Stage, attempt: Attempt, need: GateNeed): Steps<GateEvidence> {
  yield stage.random.delay(20, 2_000);
  const tool = toolOf({ agent: stage.scenario.agent } as State, need.tool);
  const { incarnation } = stage.ledger;
  const now = stage.clock.now;
  const ledger = stage.mutant === 'gate-skipped' ? { state: 'none' as const } : ledgerEvidence(stage, attempt.process, need.key);
  const settled = ledger.state === 'done' || ledger.state === 'refused' || ledger.state === 'live';
  const neverSent = (ledger.state === 'none' || ledger.state === 'released') && incarnation === need.ledgerIncarnation;
  const asks = !settled && !neverSent;
  if (asks) yield stage.random.delay(20, 1_000);
  const lookUp = asks ? looked(stage, need, tool?.hasLookUp === true) : { kind: 'not-asked' as const };
  yield stage.random.delay(5, 200);
  const resource = `tool:${need.tool}`;
  return {
    incarnation, ledger, now, lookUp,
    resourceVersion: settled || need.resourceVersion === null ? need.resourceVersion : stage.outside.version(resource),
    premises: settled ? [] : need.premises.map((premise) => {
      const seen = stage.outside.version(premise.resource);
      return { resource: premise.resource, expected: String(premise.version), now: seen, holds: seen === premise.version };
    }),
    honoursKey: tool?.honoursKey === true,
  };
}

function ledgerEvidence(stage: Stage, asker: WorkerProcess, key: string): GateEvidence['ledger'] {
  const row = stage.ledger.get(key);
  if (!row) return { state: 'none' };
  if (row.outcome?.kind === 'done') return { state: 'done', output: row.outcome.output, summary: row.outcome.summary, ...(row.outcome.pending ? { pending: row.outcome.pending } : {}) };
  if (row.outcome?.kind === 'refused') return { state: 'refused', failure: row.outcome.failure };
  if (row.state === 'released') return { state: 'released' };
  const ownerGone = stage.processes.gone(row.owner, asker);
  if (row.state === 'claimed' && stage.clock.now < row.leaseUntil && !ownerGone) return { state: 'live', leaseUntil: row.leaseUntil };
  const { fence, firstClaimedAt, sendWindowUntil } = row;
  const stray = row.state === 'claimed' && stage.processes.lives(row.owner, asker) ? { ownerLives: true as const } : {};
  return { state: row.state === 'unknown' ? 'unknown' : 'dead', fence, firstClaimedAt, sendWindowUntil, ownerGone, ...stray };
}

function looked(stage: Stage, need: GateNeed, hasLookUp: boolean): GateEvidence['lookUp'] {
  if (!hasLookUp || need.undo) return { kind: 'none' };
  if (stage.fault(0.1)) return stage.random.chance(0.3) ? { kind: 'no-tool', why: `this worker does not have the tool ${need.tool}` } : { kind: 'cannot-say', why: 'the service does not answer' };
  const effect = stage.outside.lookUp(need.key);
  const later = stage.scenario.later?.[need.tool];
  return effect ? { kind: 'found', output: effect.output, summary: `${need.tool} found`, reference: need.key, ...(later ? { pending: later } : {}) } : { kind: 'absent' };
}

const MODEL_TROUBLES: Failure['class'][] = ['network', 'server', 'rate-limited', 'timeout-before-send', 'unknown', 'model-output', 'model-key', 'argument'];

export function* model(stage: Stage, attempt: Attempt, need: ModelNeed): Steps<ModelResult> {
  yield stage.random.delay(200, 10_000);
  const tokens = stage.random.int(1, need.maxInputTokens + need.maxOutputTokens);
  const usage = { calls: 1, tokens, microUsd: tokens * 3, failures: 0 };
  const failed = (failure: Failure): ModelResult => ({ kind: 'failed', failure, usage: { calls: 1, tokens: 0, microUsd: 0, failures: 1 } });
  if (attempt.aborted) return failed({ class: 'cancelled', code: 'cancelled', message: 'cancelled' });
  if (stage.fault(0.1)) {
    const cls = stage.random.pick(MODEL_TROUBLES);
    if (cls === 'rate-limited' && tokens % 2 === 0) return { kind: 'busy', why: 'the provider has its fill', retryAfterMs: 500 + tokens };
    if (cls === 'argument' && tokens % 2 === 0 && need.purpose === 'plan') return { kind: 'no-tool', lacks: ['publish@2'] };
    return failed({ class: cls, code: cls, message: cls });
  }
  if (need.purpose === 'step') return { kind: 'succeeded', usage, text: `answer to ${need.stepId ?? ''}`, output: { value: `answer to ${need.stepId ?? ''}` } };
  if (stage.fault(0.1)) return { kind: 'succeeded', usage, text: 'junk', patch: { add: [{ id: 'no such tool', title: 'x', dependsOn: ['nothing'], uses: [], action: { type: 'tool', tool: 'made-up', args: {} } }], drop: [] } };
  if (stage.fault(0.05)) return { kind: 'succeeded', usage, text: 'nothing', rejected: ['The call was cut off.'] };
  if (need.midway) return { kind: 'succeeded', usage, text: 'as you say', patch: steered(stage, need) };
  const patch = stage.scenario.proposals[need.nextPlanVersion - 1] ?? { add: [], drop: [], done: { outcome: 'full' as const, summary: 'All done.' } };
  const rejected = stage.fault(0.1) ? ['One of the calls could not be read.'] : undefined;
  return { kind: 'succeeded', usage, text: 'a plan', patch, ...(rejected ? { rejected } : {}) };
}

/** What a planner says to a note while steps wait: words, a step less (it may be done by now), or another in its place. */
function steered({ journal, random }: Stage, { callSeq }: ModelNeed): PlanPatch {
  if (random.chance(0.4)) return { add: [], drop: [], done: { outcome: 'full', summary: 'It stays.' } };
  const steps = journal.all().flatMap((event) => (event.type === 'PlanAccepted' ? event.data.add : []));
  return { add: random.chance(0.4) ? [toolStep(`instead-${callSeq}`, random.pick(['read', 'stage', 'mail']))] : [], drop: [random.pick(steps.slice(-3)).id] };
}

/** What came by a callback, read from the journal. */
export function* collect(stage: Stage, need: CollectNeed): Steps<CollectResult> {
  yield stage.random.delay(20, 500);
  const came = stage.journal.all().slice(need.since).flatMap((event) => (event.type === 'CallbackReceived' && event.data.callbackId === need.callbackId ? [event.data] : [])).slice(0, need.count);
  const [first] = came;
  if (need.expect === null && first) return { output: first.payload, summary: 'called back' };
  const items = came.map(({ item, eventId, payload }) => ({ item: item ?? eventId, value: 'value' in payload ? payload.value : payload.ref.sha256 })).sort((a, b) => (a.item < b.item ? -1 : 1));
  return { output: { value: { expected: need.expect ?? 1, came: came.length, items } }, summary: `${came.length} items` };
}

/** Folds the journal itself, as the real one does: a checkpoint never comes from live state. */
export function* checkpoint(stage: Stage, runId: string, need: Pick<CheckpointNeed, 'version'>): Steps<CheckpointResult> {
  yield stage.random.delay(20, 1_000);
  if (stage.fault(0.1)) return { kind: 'failed', why: 'the store is away' };
  const state = fold(initialState(runId), stage.journal.all().slice(0, need.version));
  const text = canonical(state);
  stage.journal.saveCheckpoint(need.version, text);
  return { kind: 'saved', version: need.version, ref: { sha256: 'c'.repeat(64), bytes: text.length, mediaType: 'application/json', summary: `checkpoint ${need.version}` } };
}
