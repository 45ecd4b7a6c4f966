// What binds a run id to what was asked for: the digest over agent, input, plan and budget (R1.2), and where two requests differ.
// The owner is not part of it: the same request by somebody else is the same run. Pure.
import { canonical, digestOf, type Json } from './canonical';
import type { RunSpec } from './run';

const bound = ({ agent, input, plan, budget, fork }: RunSpec): Json => ({ agent, input, plan, budget: budget as Json, ...(fork ? { fork: { ...fork } } : {}) });

/** Digest of agent, input, plan, budget, and of where a fork begins. */
export const inputDigestOf = (spec: RunSpec): string => digestOf(bound(spec));

/** One member that two requests do not share; `null` stands for a member that is not there as well. */
export interface Difference { path: string; before: Json; now: Json }

/** Where two requests differ, member by member, in the order of their names; at most `limit`. */
export function differencesOf(before: RunSpec, now: RunSpec, limit = 10): Difference[] {
  return compare('', bound(before), bound(now)).slice(0, limit);
}

const isMembers = (value: Json | undefined): value is { [key: string]: Json } => typeof value === 'object' && value !== null && !Array.isArray(value);

function compare(path: string, before: Json | undefined, now: Json | undefined): Difference[] {
  if (isMembers(before) && isMembers(now)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
    return names.flatMap((name) => compare(path === '' ? name : `${path}.${name}`, before[name], now[name]));
  }
  if (Array.isArray(before) && Array.isArray(now)) {
    return Array.from({ length: Math.max(before.length, now.length) }, (_, i) => compare(`${path}[${i}]`, before[i], now[i])).flat();
  }
  return canonical(before ?? null) === canonical(now ?? null) ? [] : [{ path, before: before ?? null, now: now ?? null }];
}
