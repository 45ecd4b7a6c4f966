// Folds of model and tool calls, their retries and their recovery: how a call's state follows its events.
// Pure and total: an event of an unknown call leaves the state as it is (I3, I7).
import { iso } from '../iso';
import { callOf, stepOf, toolOf } from '../lookups';
import { NO_USAGE, add } from '../rules/budgets';
import type { EventOf } from '../events';
import type { ErrorClass } from '../failure';
import type { Output } from '../run';
import type { CallState, EffectDone, State } from '../state';
import { CAPS, type Fold, closeCall, keep, last, release, setCall, setStep, without } from './parts';

export const modelCallRequested: Fold<'ModelCallRequested'> = (state, { data, at, seq }) => {
  const old = callOf(state, data.callId);
  const call: CallState = {
    callId: data.callId, callSeq: data.callSeq, kind: 'model', phase: 'sent', purpose: data.purpose, stepId: data.stepId,
    tool: 'model', version: '1.0.0', effect: 'none', key: '', attempt: data.attempt, failures: old?.failures ?? 0, dueAt: 0,
    resourceVersion: null, planVersion: state.plan.version, approvedUntil: 0, gate: 0, absent: 0,
    upTo: old?.upTo ?? seq - 1, reserved: data.reserved, requestedAt: at, ...(data.midway ? { midway: true as const } : {}),
  };
  const plan = data.purpose === 'plan' ? { ...state.plan, heard: call.upTo } : state.plan;
  const next = { ...state, plan, callSeq: Math.max(state.callSeq, data.callSeq), reserved: add(state.reserved, data.reserved), calls: { ...state.calls, [data.callId]: call } };
  return setStep(next, data.stepId, { status: 'active', callId: data.callId });
};

export const modelCallSucceeded: Fold<'ModelCallSucceeded'> = (state, { data }) => {
  const purpose = callOf(state, data.callId)?.purpose;
  const next = closeCall(state, data.callId);
  return { ...next, spent: add(next.spent, data.usage), modelReached: true, turns: next.turns + (purpose === 'plan' ? 1 : 0) };
};

export const modelCallFailed: Fold<'ModelCallFailed'> = (state, { data }) => {
  const spent = { ...state, spent: add(state.spent, data.usage) };
  if (data.final) return closeCall(spent, data.callId);
  const failures = (callOf(state, data.callId)?.failures ?? 0) + 1;
  return setCall(release(spent, data.callId), data.callId, { phase: 'failed', failures });
};

/** Notes when the run first met a ledger. */
const met = (state: State, incarnation: string | undefined, at: number): State =>
  (incarnation === undefined || incarnation === (state.otherLedger?.incarnation ?? state.ledgerIncarnation) ? state : { ...state, otherLedger: { incarnation, since: at } });

export const callPrepared: Fold<'CallPrepared'> = (state, { data, at }) => {
  const step = stepOf(state, data.stepId);
  const call: CallState = {
    callId: data.callId, callSeq: data.callSeq, kind: 'tool', phase: 'ready', stepId: data.stepId,
    tool: data.tool, version: data.version, effect: toolOf(state, data.tool)?.effect ?? 'irreversible', key: data.key,
    attempt: 0, failures: 0, dueAt: at, args: data.args, argsDigest: data.argsDigest, resourceVersion: data.resourceVersion,
    planVersion: step?.since ?? state.plan.version, approvedUntil: 0, gate: 0, absent: 0, reserved: NO_USAGE, requestedAt: 0,
    ...(data.ledgerIncarnation === undefined ? {} : { ledgerIncarnation: data.ledgerIncarnation }),
    ...(data.wants ? { wants: data.wants } : {}),
    // The run began under another ledger: what was put back is older than the run, which may have made this very call before.
    ...(data.ledgerIncarnation === undefined || data.ledgerIncarnation === state.ledgerIncarnation ? {} : { claimsLost: true as const }),
  };
  const next = { ...met(state, data.ledgerIncarnation, at), callSeq: Math.max(state.callSeq, data.callSeq), calls: { ...state.calls, [data.callId]: call } };
  return setStep(next, data.stepId, {
    status: 'active', callId: data.callId, prepared: (step?.prepared ?? 0) + 1, prepareFailures: 0, missing: undefined, ...(step?.edited ? { edited: { ...step.edited, fresh: false } } : {}),
  });
};

export const toolCallRequested: Fold<'ToolCallRequested'> = (state, { data, at }) => {
  const old = callOf(state, data.callId);
  const undone = data.undoOf === undefined ? undefined : state.effects.find((done) => done.callId === data.undoOf);
  const fresh: CallState = {
    callId: data.callId, callSeq: data.callSeq, kind: 'tool', phase: 'sent', stepId: data.stepId,
    tool: data.tool, version: data.version, effect: data.undoOf ? 'manual' : toolOf(state, data.tool)?.effect ?? 'irreversible',
    key: data.key, attempt: 0, failures: 0, dueAt: 0, resourceVersion: null, planVersion: state.plan.version,
    approvedUntil: 0, gate: 0, absent: 0, reserved: NO_USAGE, requestedAt: 0,
    ...(undone ? { undoOf: undone.callId, args: undone.args ?? undefined } : {}),
  };
  const call: CallState = { ...(old ?? fresh), phase: 'sent', attempt: data.attempt, absent: 0, cause: undefined, reserved: data.reserved, requestedAt: at, ...(data.carved ? { carved: data.carved } : {}) };
  const next: State = {
    ...state, callSeq: Math.max(state.callSeq, data.callSeq), reserved: add(state.reserved, data.reserved),
    calls: { ...state.calls, [data.callId]: call },
    effects: undone ? state.effects.map((done) => (done === undone ? { ...done, undone: 'asked' } : done)) : state.effects,
  };
  return setStep(next, data.stepId, { status: 'active', callId: data.callId });
};

export const toolCallSucceeded: Fold<'ToolCallSucceeded'> = (state, { data }) => {
  const call = callOf(state, data.callId);
  const next = closeCall(state, data.callId);
  const own = { ...NO_USAGE, calls: call?.phase === 'waiting' ? 0 : 1 };
  const spent = { ...next, spent: add(add(next.spent, own), data.usage ?? NO_USAGE) };
  if (!call) return spent;
  if (call.undoOf !== undefined) return markUndone(spent, call.undoOf, 'yes');
  return tookEffect(spent, call, data.output);
};

/** The effect is listed, once: a result that comes later takes the place of what the outside said at first. */
export function tookEffect(state: State, call: CallState, output: Output): State {
  if (call.effect === 'none') return state;
  const undoable = call.effect === 'reversible' && toolOf(state, call.tool)?.hasUndo === true;
  const done: EffectDone = {
    callId: call.callId, stepId: call.stepId ?? '', tool: call.tool, version: call.version, effect: call.effect, key: call.key,
    output: undoable ? output : { value: null }, args: undoable ? call.args ?? null : null, undone: 'no',
  };
  if (state.effects.some((one) => one.callId === call.callId)) return { ...state, effects: state.effects.map((one) => (one.callId === call.callId ? done : one)) };
  return trimmed({ ...state, effects: [...state.effects, done] });
}

/** What can still be taken back leaves the list last. Whatever left it is counted, so that a report can say so. */
function trimmed(state: State): State {
  const { effects, effectsBefore = { standing: 0, undoable: 0 } } = state;
  if (effects.length <= CAPS.effects) return state;
  const isUndoable = (one: EffectDone): boolean => one.effect === 'reversible' && one.undone === 'no';
  const gone = effects.find((one) => !isUndoable(one)) ?? effects[0]!;
  const counted = { standing: effectsBefore.standing + (gone.undone === 'yes' ? 0 : 1), undoable: effectsBefore.undoable + (isUndoable(gone) ? 1 : 0) };
  return { ...state, effects: effects.filter((one) => one !== gone), effectsBefore: counted };
}

function markUndone(state: State, callId: string, undone: EffectDone['undone']): State {
  return { ...state, effects: state.effects.map((done) => (done.callId === callId ? { ...done, undone } : done)) };
}

/** What a person or the runtime stopped is no failure of the tool. */
const UNCOUNTED: ReadonlySet<ErrorClass> = new Set(['cancelled', 'rejected', 'expired', 'policy']);

export const toolCallFailed: Fold<'ToolCallFailed'> = (state, { data }) => {
  const call = callOf(state, data.callId);
  if (!call) return state;
  const counts = UNCOUNTED.has(data.failure.class) ? 0 : 1;
  const own = { ...NO_USAGE, calls: call.attempt > 0 && call.phase !== 'waiting' ? 1 : 0, failures: counts };
  const spent = { ...state, spent: add(add(state.spent, own), data.usage ?? NO_USAGE) };
  if (!data.final) return setCall(release(spent, data.callId), data.callId, { phase: 'failed', failures: call.failures + 1 });
  const closed = closeCall(spent, data.callId);
  const marked = call.undoOf === undefined ? closed : markUndone(closed, call.undoOf, 'failed');
  if (data.failure.class !== 'rejected' || !call.argsDigest) return marked;
  const known = marked.refused.find((no) => no.tool === call.tool && no.argsDigest === call.argsDigest);
  const rest = marked.refused.filter((no) => no !== known);
  const entry = { tool: call.tool, argsDigest: call.argsDigest, reason: known?.reason ?? data.failure.message, again: (known?.again ?? -1) + 1 };
  return { ...marked, refused: last([...rest, entry], CAPS.refused) };
};

/** In a run that is being cancelled, what the gate could not settle either goes into the report and is left to a person. */
export const toolCallUnknown: Fold<'ToolCallUnknown'> = (state, { data, at }) => {
  const call = callOf(state, data.callId);
  const looked = call?.phase === 'doubt' || call?.phase === 'person';
  if (!state.cancel || !call || !looked) return setCall(state, data.callId, { phase: 'doubt', dueAt: at, why: data.why, unsure: true, cause: data.cause });
  const closed = closeCall(call.undoOf === undefined ? state : markUndone(state, call.undoOf, 'failed'), data.callId);
  const report = { ...state.cancel.report, unknown: [...state.cancel.report.unknown, `${call.tool} ${call.callId}`] };
  return { ...closed, cancel: { ...state.cancel, report } };
};

/** Looks in vain for a worker with the tool; anything else that is waited for tells that one was found. */
const looked = (one: { missing?: number } | undefined, why: ErrorClass): number | undefined => (why === 'tool-missing' ? (one?.missing ?? 0) + 1 : undefined);

export const retryScheduled: Fold<'RetryScheduled'> = (state, { data }) => {
  if (data.stepId !== undefined && !callOf(state, data.callId)) {
    const step = stepOf(state, data.stepId);
    const missing = looked(step, data.class);
    return setStep(state, data.stepId, { prepared: (step?.prepared ?? 0) + 1, prepareFailures: (step?.prepareFailures ?? 0) + (missing === undefined ? 1 : 0), missing, wakeAt: data.dueAt });
  }
  return setCall(release(state, data.callId), data.callId, { phase: 'ready', dueAt: data.dueAt, missing: looked(callOf(state, data.callId), data.class), lacks: data.lacks });
};

export const recoveryChecked: Fold<'RecoveryChecked'> = (before, { data, at }) => {
  const call = callOf(before, data.callId);
  if (!call) return before;
  const state = met(before, data.incarnation, at);
  const certain = data.unsure === undefined && (data.decision === 'send' || data.decision === 'retry');
  const known = certain ? { unsure: undefined, claimsLost: undefined } : data.decision === 'retry' ? { unsure: data.unsure } : {};
  // What comes after this look is claimed in the ledger that was looked at.
  const moves = data.incarnation !== undefined && data.decision !== 'wait';
  const ledger = moves ? { ledgerIncarnation: data.incarnation, ...(certain ? {} : { claimsLost: true as const }) } : {};
  const seen = { gate: data.n, missing: data.missing ? (call.missing ?? 0) + 1 : undefined, ...known, ...ledger, ...(data.fence === undefined ? {} : { takeOver: data.fence }), ...(data.absent === undefined ? {} : { absent: data.absent }) };
  switch (data.decision) {
    case 'send':
    case 'retry': return setCall(release(state, data.callId), data.callId, { ...seen, phase: 'ready', dueAt: at });
    case 'wait': return setCall(state, data.callId, { ...seen, phase: 'doubt', dueAt: data.againAt ?? at });
    case 'ask-person': return setCall(state, data.callId, { ...seen, phase: 'person' });
    default: return setCall(state, data.callId, seen);
  }
};

export const humanDecisionRequested: Fold<'HumanDecisionRequested'> = (state, { data, at }) => {
  const tool = callOf(state, data.callId)?.tool ?? '';
  const next = setCall(state, data.callId, { phase: 'person', decisionId: data.decisionId });
  return { ...next, asked: next.asked + 1, decisions: { ...next.decisions, [data.decisionId]: { decisionId: data.decisionId, callId: data.callId, tool, why: data.why, askedAt: at } } };
};

export const humanDecided: Fold<'HumanDecided'> = (state, { data, at }: EventOf<'HumanDecided'>) => {
  const text = `${data.actor.id} decided ${data.verdict} at ${iso(at)}.`;
  const next = { ...state, decisions: without(state.decisions, data.decisionId), closed: keep(state.closed, 'id', { id: data.callId, kind: 'already-decided' as const, text }, CAPS.closed) };
  if (data.verdict !== 'not-happened') return next;
  // What somebody has told under its id before is of nothing that happened, and is not the result of what is sent next.
  const kept = Object.fromEntries(Object.entries(next.callbacks ?? {}).filter(([, entry]) => entry.open || entry.callId !== data.callId));
  return setCall(release(next.callbacks ? { ...next, callbacks: kept } : next, data.callId), data.callId, { phase: 'ready', dueAt: at, decisionId: undefined, unsure: undefined, claimsLost: undefined });
};

