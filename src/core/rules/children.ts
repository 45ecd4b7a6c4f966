// Runs that a run starts by a call: what is set aside for one, how many there are at once, when it is looked at, and what its end
// means to the call. The child's own journal says how it ended; what it calls back only says that it is time to look.
// Pure; the reading of a child is activities/child.ts.
import { type Decision, draft, nothing, only } from '../draft';
import { callbackOf, callOf, callsOf, toolOf } from '../lookups';
import type { Budget, Usage } from '../run';
import type { CallState, CallbackState, State } from '../state';
import type { CollectResult } from '../world';
import { NO_USAGE, budgetLeft } from './budgets';
import { finalFailure, succeeded } from './outcomes';

/** Runs below one that a person started: a child, its child, and one more. */
export const MOST_DEPTH = 3;

const LOOK_MS = 60_000;
const LONGEST_PAUSE_MS = 3_600_000;

/** ms from one look at a child run to the next, when it does not call: a minute at first, an hour in the end. */
export const lookPauseMs = (looks: number): number => Math.min(LONGEST_PAUSE_MS, LOOK_MS * 2 ** Math.min(looks, 10));

/** May another call that starts a run begin, beside those whose runs are under way? `more`: such calls that this turn begins. */
export function roomForChild(state: State, more: number): boolean {
  const open = callsOf(state).filter((call) => call.carved !== undefined && call.phase !== 'ready').length;
  return open + more < state.agent.maxParallel;
}

export const startsRun = (state: State, tool: string): boolean => toolOf(state, tool)?.carves === true;

/** What a child run may use up: what the call asks for, at most what is left here; of what it does not name, half of what is left. */
export function carve(state: State, wants: Budget = {}): Budget {
  const left: Partial<Record<keyof Budget, number>> = budgetLeft(state);
  if (left.calls !== undefined) left.calls = Math.max(0, left.calls - 1);
  const out: Budget = {};
  for (const kind of ['calls', 'tokens', 'microUsd', 'failures', 'wallMs'] as const) {
    const [most, wanted] = [left[kind], wants[kind]];
    const share = most === undefined ? wanted : Math.min(most, wanted ?? Math.ceil(most / 2));
    if (share !== undefined) out[kind] = share;
  }
  return out;
}

/** What is set aside with the request: the call itself, and for its run at least one call more. */
export function reservedFor({ calls, tokens = 0, microUsd = 0, failures = 0 }: Budget): Usage {
  return { calls: 1 + (calls === undefined ? 0 : Math.max(1, calls)), tokens, microUsd, failures };
}

/** Is it time to look at the child run? */
export const isLookDue = ({ open, child, lookAt = 0 }: CallbackState, now: number): boolean => open && child !== undefined && lookAt <= now;

/** A look at a child run: it is over, and so is the call; or it is looked at again later. */
export function childSeen(state: State, callbackId: string, n: number | undefined, seen: CollectResult, now: number): Decision {
  const entry = callbackOf(state, callbackId);
  const call = entry?.callId === undefined ? undefined : callOf(state, entry.callId);
  if (!entry?.open || !call) return nothing;
  if (seen.open) {
    const looks = (entry.looks ?? 0) + 1;
    return n === looks ? only([draft('ChildChecked', { callbackId, n: looks, againAt: now + lookPauseMs(looks) }, callbackId)]) : nothing;
  }
  return only(ended(state, call, seen));
}

function ended(state: State, call: CallState, { output, summary, failure, usage = NO_USAGE, artifacts = [] }: CollectResult) {
  if (!failure) return succeeded(state, call, { output, summary, via: 'callback', settled: true, usage }, { artifacts });
  const made = artifacts.map(({ ref, role }) => draft('ArtifactProduced', { ref, callId: call.callId, role }, call.callId));
  return [...made, ...finalFailure(call.callId, call.stepId, call.attempt, failure, true, usage)];
}
