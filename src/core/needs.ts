// needs(state) -> Need[]: what the run now needs from the world. A pure reading of state and the time of the turn: the
// conductor starts what is needed and not in flight, and cancels what is in flight and no longer needed. `begun: false` marks
// a need whose event is still to be written (I2); `advance` writes it.
import { callIdOf, callKey, majorOf } from './keys';
import { LAST_LOOKS_MS, argsOfCall, argsOfOutput, argsOfStep, callbacksOf, callsOf, isAllowed, isFull, isReady, isSettled, ledgerOf, mayBegin, stepOf, toolOf } from './lookups';
import { signaturesOf } from './rules/authority';
import { carve, isLookDue, roomForChild, startsRun } from './rules/children';
import { termsFor } from './rules/grants';
import { idOf, nextReminder } from './rules/reminders';
import { mayHear } from './rules/steering';
import type { ToolManifest } from './run';
import type { CallbackState, CallState, EffectDone, State, StepState } from './state';
import type { CallNeed, CheckpointNeed, CollectNeed, GateNeed, ModelNeed, Need, PrepareNeed, TimerNeed } from './world';

/** All needs of a state at `now`, in a fixed order: what is under way first, then what may begin. */
export function needsOf(state: State, now: number): Need[] {
  if (state.version === 0 || state.end) return [];
  const out: Need[] = [...underWay(state, now), ...timers(state, now), ...checkpointNeed(state)];
  if (state.cancel) return [...out, ...undoNeed(state, out, now)];
  if (!mayBegin(state)) return out;
  const room = (): boolean => out.filter((need) => need.kind !== 'timer' && need.kind !== 'checkpoint').length < state.agent.maxParallel;
  for (const call of callsOf(state)) if (call.phase === 'ready' && call.dueAt <= now && room() && mayStart(state, call, out)) out.push(nextAttempt(state, call));
  for (const step of state.steps) {
    if (!room()) break;
    if (isReady(state, step) && (step.wakeAt ?? 0) <= now) out.push(...beginStep(state, step, now));
  }
  if (wantsPlan(state, out)) out.push(planNeed(state));
  return out;
}

/**
 * A call whose step hangs on one that a person has set to be done again waits for that. One that starts a run waits until one of the
 * runs before it is over, where there are as many as the agent may have at once.
 */
const mayStart = (state: State, call: CallState, out: readonly Need[]): boolean => !isHeldUp(state, call) && hasRoom(state, call, out);

function isHeldUp(state: State, { stepId, undoOf }: CallState): boolean {
  const step = stepId === undefined || undoOf !== undefined ? undefined : stepOf(state, stepId);
  return step !== undefined && !isAllowed(state, step);
}

const hasRoom = (state: State, call: CallState, out: readonly Need[]): boolean => !startsRun(state, call.tool) || call.undoOf !== undefined
  || roomForChild(state, out.filter((need) => need.kind === 'call' && !need.begun && need.carved !== undefined).length);

const CHECKPOINT_TURNS = 25;

/** A checkpoint every 25 turns of the agent; another state version or a failed one only makes a later opening slower. */
function checkpointNeed(state: State): CheckpointNeed[] {
  const block = Math.floor(state.turns / CHECKPOINT_TURNS);
  if (block === Math.floor(state.checkpointedTurns / CHECKPOINT_TURNS)) return [];
  return [{ kind: 'checkpoint', id: `checkpoint:t${block * CHECKPOINT_TURNS}`, begun: true, version: state.version, summary: 'checkpoint' }];
}

/** A planner by model is asked when nothing of its last plan is open any more, or when people have spoken and the run can only wait. */
function wantsPlan(state: State, others: readonly Need[]): boolean {
  if (state.agent.planner !== 'model' || state.plan.done || callsOf(state).some((call) => call.purpose === 'plan')) return false;
  return state.steps.every(isSettled) || (mayHear(state) && others.every((need) => need.kind === 'timer' || need.kind === 'checkpoint'));
}

function underWay(state: State, now: number): Need[] {
  const out: Need[] = [];
  for (const call of callsOf(state)) {
    if (call.phase === 'sent' && !state.cancel) out.push(request(state, call, call.attempt, true));
    else if (call.phase === 'sent' && call.undoOf !== undefined) out.push(request(state, call, call.attempt, true));
    else if (call.phase === 'doubt' && call.dueAt <= now) out.push(gateNeed(state, call));
  }
  for (const entry of callbacksOf(state)) if ((entry.open && isFull(entry)) || isLookDue(entry, now)) out.push(collectNeed(entry));
  return out;
}

function collectNeed({ callbackId, since, items, expect, child, looks = 0 }: CallbackState): CollectNeed {
  if (child !== undefined) return { kind: 'collect', id: `collect:${callbackId}#${looks + 1}`, begun: true, callbackId, since, count: 0, expect, child, n: looks + 1, summary: `look at run ${child}` };
  return { kind: 'collect', id: `collect:${callbackId}`, begun: true, callbackId, since, count: items.length, expect, summary: `what came by ${callbackId}` };
}

function nextAttempt(state: State, call: CallState): Need {
  return request(state, call, call.attempt + 1, false);
}

function request(state: State, call: CallState, attempt: number, begun: boolean): Need {
  return call.kind === 'model' ? modelNeed(state, call, attempt, begun) : callNeed(state, call, attempt, begun);
}

function modelNeed(state: State, call: Pick<CallState, 'callId' | 'callSeq' | 'purpose' | 'stepId' | 'upTo' | 'midway'>, attempt: number, begun: boolean): ModelNeed {
  const step = stepOf(state, call.stepId);
  return {
    kind: 'model', id: `model:${call.callId}#${attempt}`, begun, callId: call.callId, callSeq: call.callSeq, attempt,
    purpose: call.purpose ?? 'plan', upTo: call.upTo ?? state.version, rejected: state.plan.rejected, ...(call.midway ? { midway: true as const } : {}),
    ...(step ? { stepId: step.id, call: argsOfStep(state, step), ...(step.action.type === 'model' ? { prompt: step.action.prompt } : {}) } : {}),
    nextPlanVersion: state.plan.version + 1, maxOutputTokens: state.agent.maxOutputTokens, maxInputTokens: state.agent.maxInputTokens,
    firstContact: !state.modelReached,
    summary: step ? `model: ${step.title}` : `plan ${state.plan.version + 1}`,
  };
}

function planNeed(state: State): ModelNeed {
  const midway = state.steps.every(isSettled) ? {} : { midway: true as const };
  return modelNeed(state, { callId: callIdOf(state.callSeq + 1), callSeq: state.callSeq + 1, purpose: 'plan', upTo: state.version, ...midway }, 1, false);
}

function callNeed(state: State, call: CallState, attempt: number, begun: boolean): CallNeed {
  const tool = toolOf(state, call.tool);
  const step = stepOf(state, call.stepId);
  const undone = call.undoOf === undefined ? undefined : state.effects.find((done) => done.callId === call.undoOf);
  return {
    kind: 'call', id: `call:${call.callId}#${attempt}`, begun, callId: call.callId, callSeq: call.callSeq, attempt,
    ...(call.stepId === undefined ? {} : { stepId: call.stepId }),
    tool: call.tool, version: call.version, effect: call.effect, key: call.key, call: argsOfCall(state, call),
    ...(call.argsDigest === undefined ? {} : { argsDigest: call.argsDigest }),
    ...(call.approvalId !== undefined && call.approvedUntil > 0 ? { approval: { approvalId: call.approvalId, expiresAt: call.approvedUntil, argsDigest: call.argsDigest ?? '', ...signaturesOf(state, call) } } : {}),
    resourceVersion: call.resourceVersion, premises: step?.premises ?? [],
    ...(call.takeOver === undefined ? {} : { takeOver: call.takeOver }),
    ...(undone ? { undoOf: { callId: undone.callId, key: undone.key, output: undone.output } } : {}),
    ledgerIncarnation: ledgerOf(state, call), ...(tool?.carves && !undone ? { carved: call.carved ?? carve(state, call.wants) } : {}),
    timeoutMs: tool?.timeoutMs ?? 60_000, sendWindowMs: tool?.sendWindowMs ?? 60_000,
    summary: `${undone ? 'undo ' : ''}${call.tool}${step ? `: ${step.title}` : ''}`,
  };
}

function gateNeed(state: State, call: CallState): GateNeed {
  return {
    kind: 'gate', id: `gate:${call.callId}#${call.gate + 1}`, begun: true, callId: call.callId, n: call.gate + 1,
    tool: call.tool, version: call.version, effect: call.effect, key: call.key, call: argsOfCall(state, call),
    argsDigest: call.argsDigest ?? '', ledgerIncarnation: call.claimsLost ? '' : ledgerOf(state, call),
    resourceVersion: call.resourceVersion, premises: stepOf(state, call.stepId)?.premises ?? [], undo: call.undoOf !== undefined,
    summary: `look up ${call.tool} ${call.callId}`,
  };
}

/** First need of a ready step: prepare for an effect, the request itself for a reader or a model. */
function beginStep(state: State, step: StepState, now: number): Need[] {
  const callSeq = state.callSeq + 1;
  const callId = callIdOf(callSeq);
  if (step.action.type === 'model') return [modelNeed(state, { callId, callSeq, purpose: 'step', stepId: step.id, upTo: state.version }, 1, false)];
  if (step.action.type !== 'tool') return [];
  const tool = toolOf(state, step.action.tool);
  if (!tool) return [];
  if (tool.effect !== 'none') return [prepareNeed(state, step, tool, now)];
  const fresh: CallState = {
    callId, callSeq, kind: 'tool', phase: 'ready', stepId: step.id, tool: tool.name, version: tool.version, effect: 'none', key: '',
    attempt: 0, failures: 0, dueAt: 0, resourceVersion: null, planVersion: step.since, approvedUntil: 0, gate: 0, absent: 0,
    reserved: { calls: 0, tokens: 0, microUsd: 0, failures: 0 }, requestedAt: 0,
  };
  return [callNeed(state, fresh, 1, false)];
}

function prepareNeed(state: State, step: StepState, tool: ToolManifest, now: number): PrepareNeed {
  const n = step.prepared + 1;
  const grants = termsFor(state, tool, now);
  // Several steps may be prepared at once, so the call's own number is given when the answer is folded; the step's place keys the look.
  return {
    kind: 'prepare', id: `prepare:${step.id}#${n}`, begun: true, local: tool.localPrepare, n, stepId: step.id,
    tool: tool.name, version: tool.version, effect: tool.effect, owner: state.owner.id, agent: state.agent.name,
    callId: `${step.id}#${n}`, key: '', call: step.edited ? argsOfOutput(step.edited.args) : argsOfStep(state, step),
    ...(step.edited ? { edited: true as const } : {}), ...(grants ? { grants } : {}), summary: `prepare ${tool.name}: ${step.title}`,
  };
}

const timer = (name: string, dueAt: number, summary: string): TimerNeed => ({ kind: 'timer', id: `timer:${name}@${dueAt}`, begun: true, name, dueAt, summary });

function timers(state: State, now: number): TimerNeed[] {
  const out: TimerNeed[] = [];
  for (const call of callsOf(state)) {
    if (call.dueAt <= now) continue;
    if (call.phase === 'ready' && (!state.cancel || call.undoOf !== undefined)) out.push(timer(`retry:${call.callId}`, call.dueAt, `retry ${call.tool}`));
    if (call.phase === 'doubt') out.push(timer(`look:${call.callId}`, call.dueAt, `look again for ${call.tool}`));
  }
  if (state.cancel) return [...out, timer('cancel', state.cancel.deadline, 'cancel deadline'),
    ...(callsOf(state).some((call) => call.phase === 'doubt') ? [timer('looks', state.cancel.deadline + LAST_LOOKS_MS, 'last looks')] : [])].filter((need) => need.dueAt > now);
  for (const approval of Object.values(state.approvals)) out.push(timer(`approval:${approval.approvalId}`, approval.expiresAt, 'approval expires'));
  for (const question of Object.values(state.questions)) if (question.expiresAt !== null) out.push(timer(`question:${question.questionId}`, question.expiresAt, 'question expires'));
  const awaited = callbacksOf(state).filter((entry) => entry.open && !isFull(entry));
  for (const entry of awaited) if (entry.expiresAt !== null) out.push(timer(`callback:${entry.callbackId}`, entry.expiresAt, 'time for callbacks ends'));
  for (const asked of [...Object.values(state.approvals), ...Object.values(state.questions), ...awaited]) {
    const dueAt = nextReminder(asked);
    if (dueAt !== null) out.push(timer(`remind:${idOf(asked)}`, dueAt, 'reminder'));
  }
  for (const { open, callbackId, child, lookAt = 0 } of callbacksOf(state)) if (open && child !== undefined && lookAt > now) out.push(timer(`child:${callbackId}`, lookAt, `look at run ${child}`));
  for (const step of state.steps) if (step.wakeAt !== undefined && !isSettled(step) && step.wakeAt > now) out.push(timer(`step:${step.id}`, step.wakeAt, step.title));
  return out.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The next effect to take back: the newest reversible one, one at a time, once nothing else is open. */
export function nextUndo(state: State): EffectDone | undefined {
  return [...state.effects].reverse().find((done) => done.effect === 'reversible' && done.undone === 'no' && toolOf(state, done.tool)?.hasUndo === true);
}

function undoNeed(state: State, open: Need[], now: number): Need[] {
  const retrying = callsOf(state).find((call) => call.undoOf !== undefined && call.phase === 'ready' && call.dueAt <= now);
  if (retrying) return [nextAttempt(state, retrying)];
  const done = nextUndo(state);
  if (!done || Object.keys(state.calls).length > 0 || open.some((need) => need.kind === 'call' || need.kind === 'gate')) return [];
  const callSeq = state.callSeq + 1;
  const tool = toolOf(state, done.tool);
  return [{
    kind: 'call', id: `call:${callIdOf(callSeq)}#1`, begun: false, callId: callIdOf(callSeq), callSeq, attempt: 1,
    tool: done.tool, version: done.version, effect: 'manual', key: callKey(state.runId, callSeq, done.tool, majorOf(done.version)),
    call: argsOfOutput(done.args), resourceVersion: null, premises: [],
    undoOf: { callId: done.callId, key: done.key, output: done.output }, ledgerIncarnation: state.ledgerIncarnation,
    timeoutMs: tool?.timeoutMs ?? 60_000, sendWindowMs: tool?.sendWindowMs ?? 60_000, summary: `undo ${done.tool}`,
  }];
}
