// What binds a run id to what was asked for: the digest over agent, input, plan and budget (R1.2), and where two requests differ.
// The owner is not part of it: the same request by somebody else is the same run. Pure.
import { digestOf, type Json } from './canonical';
import { changesOf } from './differences';
import type { RunSpec } from './run';

const bound = ({ agent, input, plan, budget, fork }: RunSpec): Json => ({ agent, input, plan, budget: budget as Json, ...(fork ? { fork: { ...fork } } : {}) });

/** Digest of agent, input, plan, budget, and of where a fork begins. */
export const inputDigestOf = (spec: RunSpec): string => digestOf(bound(spec));

/** One member that two requests do not share; `null` stands for a member that is not there as well. */
export interface Difference { path: string; before: Json; now: Json }

/** Where two requests differ, member by member, in the order of their names; at most `limit`. */
export function differencesOf(before: RunSpec, now: RunSpec, limit = 10): Difference[] {
  return changesOf(bound(before), bound(now)).slice(0, limit).map(({ path, before: then = null, now: fresh = null }) => ({ path, before: then, now: fresh }))
    .filter(({ before: then, now: fresh }) => then !== fresh);
}
