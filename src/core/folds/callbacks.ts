// Folds of callbacks: what is awaited, what has come, what is over. State keeps counts and digests of items, never a payload.
// Pure and total (I3, I7); an event that comes before its call has said what it waits for is kept like any other.
import { sha256Hex } from '../canonical';
import { callbackOf, callCalledBack, callOf } from '../lookups';
import { NO_USAGE, add, subtract } from '../rules/budgets';
import { lookPauseMs } from '../rules/children';
import type { CallState, CallbackState, State } from '../state';
import { tookEffect } from './calls';
import { CAPS, type Fold, dropCallbacks, keep, release, setCall, setStep, without } from './parts';

/** How an item is known again. */
export const itemOf = ({ item, eventId }: { item?: string; eventId: string }): string => sha256Hex(`item|${item ?? eventId}`).slice(0, 16);

/** The effect took place; from now on only its result is waited for. */
export const toolCallPending: Fold<'ToolCallPending'> = (state, { data }) => {
  const call = callOf(state, data.callId);
  if (!call) return state;
  const freed = call.carved ? keepCarved(state, call) : release(state, data.callId);
  const asked = Object.values(freed.decisions).find(({ callId }) => callId === data.callId);
  const closed = asked ? keep(freed.closed, 'id', { id: data.callId, kind: 'already-decided' as const, text: 'It happened: the outside has accepted it.' }, CAPS.closed) : freed.closed;
  const spent = { ...freed, closed, decisions: asked ? without(freed.decisions, asked.decisionId) : freed.decisions, spent: add(freed.spent, { ...NO_USAGE, calls: 1 }) };
  return setCall(tookEffect(spent, call, data.output), data.callId, { phase: 'waiting', dueAt: 0, unsure: undefined, claimsLost: undefined, cause: undefined, decisionId: undefined });
};

const put = (state: State, entry: CallbackState): State => ({ ...state, callbacks: { ...state.callbacks, [entry.callbackId]: entry } });

export const callbackAwaited: Fold<'CallbackAwaited'> = (state, { data, at, seq }) => {
  const early = callbackOf(state, data.callbackId);
  const next = put(state, data.child === undefined
    ? { ...data, open: true, askedAt: at, items: early?.items ?? [], since: early?.since ?? seq, ...(early?.plain ? { plain: true as const } : {}) }
    : { ...data, open: true, askedAt: at, items: [], since: seq, looks: 0, lookAt: early ? at : at + lookPauseMs(0) });
  return data.callId === undefined ? setStep(next, data.stepId, { status: 'active', waitId: data.callbackId }) : next;
};

export const callbackReceived: Fold<'CallbackReceived'> = (state, { data, at, seq }) => {
  const known = callbackOf(state, data.callbackId) ?? early(state, data.callbackId, at);
  if (!known) return state;
  if (known.child !== undefined) return put(state, { ...known, looks: (known.looks ?? 0) + 1, lookAt: at });
  const since = known.items.length === 0 ? seq - 1 : known.since;
  return put(state, { ...known, since, items: [...known.items, itemOf(data)], ...(data.item === undefined ? { plain: true as const } : {}) });
};

/** The outside was faster than the answer of the call. */
function early(state: State, callbackId: string, at: number): CallbackState | undefined {
  const call = callCalledBack(state, callbackId);
  return call && { callbackId, callId: call.callId, ...(call.stepId === undefined ? {} : { stepId: call.stepId }), open: false, expect: null, expiresAt: null, onDeadline: { then: 'fail-step' }, askedAt: at, items: [], since: 0 };
}

export const callbackExpired: Fold<'CallbackExpired'> = (state, { data }) => {
  const entry = callbackOf(state, data.callbackId);
  if (entry && data.partial) return put(state, { ...entry, over: true });
  return dropCallbacks(state, ({ callbackId }) => callbackId === data.callbackId);
};

/** The call itself is made; what the run that it started may use up stays set aside until that is over. */
function keepCarved(state: State, call: CallState): State {
  const own = { ...NO_USAGE, calls: Math.min(1, call.reserved.calls) };
  return setCall({ ...state, reserved: subtract(state.reserved, own) }, call.callId, { reserved: subtract(call.reserved, own) });
}

export const childChecked: Fold<'ChildChecked'> = (state, { data }) => {
  const entry = callbackOf(state, data.callbackId);
  return entry ? put(state, { ...entry, looks: data.n, lookAt: data.againAt }) : state;
};

/** What a lost execution was told is lost with it, so that every child run is looked at now. */
export const lookAtOnce = (state: State, at: number): State =>
  Object.values(state.callbacks ?? {}).filter(({ child }) => child !== undefined).reduce((next, entry) => put(next, { ...entry, looks: (entry.looks ?? 0) + 1, lookAt: at }), state);
