// How a fold replaces one part of a state without touching the old one, and how capped lists are trimmed (I3, I10).
// Pure; every fold goes through these, so that nothing shares members with an older state.
import { callOf } from '../lookups';
import { NO_USAGE, subtract } from '../rules/budgets';
import type { EventOf, EventType } from '../events';
import type { CallState, CallbackState, State, StepState } from '../state';

export type Fold<T extends EventType> = (state: State, event: EventOf<T>) => State;

/** Together they keep a checkpoint far under its limit; what left the state is still in the journal. */
export const CAPS = { closed: 64, effects: 256, refused: 32, facts: 40, artifacts: 60, settledSteps: 24, rejected: 8, noted: 20 } as const;

export function setStep(state: State, stepId: string | undefined, change: Partial<StepState>): State {
  if (stepId === undefined) return state;
  return { ...state, steps: state.steps.map((step) => (step.id === stepId ? { ...step, ...change } : step)) };
}

export function setCall(state: State, callId: string, change: Partial<CallState>): State {
  const call = callOf(state, callId);
  return call ? { ...state, calls: { ...state.calls, [callId]: { ...call, ...change } } } : state;
}

export function without<T>(record: Record<string, T>, key: string): Record<string, T> {
  const { [key]: _gone, ...rest } = record;
  return rest;
}

/** Puts an entry at the end of a capped list, in place of one with the same identity. */
export function keep<T, K extends keyof T>(list: T[], identity: K, entry: T, cap: number): T[] {
  return last([...list.filter((old) => old[identity] !== entry[identity]), entry], cap);
}

export const last = <T>(list: T[], cap: number): T[] => (list.length > cap ? list.slice(list.length - cap) : list);

/** Gives back what a call has reserved. */
export function release(state: State, callId: string): State {
  const call = callOf(state, callId);
  if (!call) return state;
  return setCall({ ...state, reserved: subtract(state.reserved, call.reserved) }, callId, { reserved: NO_USAGE });
}

/** The call is over: its reservation is given back and it leaves the state. */
export function closeCall(state: State, callId: string): State {
  const freed = release(state, callId);
  const decisions = Object.fromEntries(Object.entries(freed.decisions).filter(([, asked]) => asked.callId !== callId));
  return dropCallbacks({ ...freed, calls: without(freed.calls, callId), decisions }, (entry) => entry.callId === callId);
}

/** These callbacks are over: what comes late hears so. */
export function dropCallbacks(state: State, over: (entry: CallbackState) => boolean): State {
  const ended = Object.values(state.callbacks ?? {}).filter(over);
  return ended.reduce((next, { callbackId }) => ({
    ...next, callbacks: without(next.callbacks ?? {}, callbackId),
    closed: keep(next.closed, 'id', { id: callbackId, kind: 'closed' as const, text: 'What this callback was for is over; this is not counted.' }, CAPS.closed),
  }), state);
}
