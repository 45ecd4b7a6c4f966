// What `longhaul replay --diff` says: how the state changed between two versions of a run, or where two journals part. Plain lines,
// one a change; reads nothing but what replay has folded.
import { canonical, type Json } from '../core/canonical';
import { changesOf, type Change } from '../core/differences';
import type { RunEvent } from '../core/events';
import type { State } from '../core/state';
import { line } from './print';

/** Changes of a state, steps and the like by their ids. */
export const stateChanges = (before: State, now: State): Change[] => changesOf(before as unknown as Json, now as unknown as Json, { byId: true });

export interface Parting {
  /** The first event that differs or that only one journal has; null when all are alike. */
  seq: number | null;
  /** In words. */
  where: string;
  changes: Change[];
}

/** Where two journals part. Of different runs only what happened is compared, not when and to whom. */
export function partingOf(one: readonly RunEvent[], other: readonly RunEvent[]): Parting {
  const sameRun = one[0]?.runId === other[0]?.runId;
  const seen = (event: RunEvent): Json => (sameRun ? event : { type: event.type, data: event.data }) as unknown as Json;
  for (const [i, before] of one.entries()) {
    const now = other[i];
    if (now === undefined) return { seq: before.seq, where: `event ${before.seq} (${before.type}) stands only in the first`, changes: [] };
    if (canonical(seen(before)) === canonical(seen(now))) continue;
    const kinds = before.type === now.type ? before.type : `${before.type}, ${now.type}`;
    return { seq: before.seq, where: `event ${before.seq} (${kinds}) is the first that differs`, changes: changesOf(seen(before), seen(now)) };
  }
  const more = other[one.length];
  return more ? { seq: more.seq, where: `event ${more.seq} (${more.type}) stands only in the second`, changes: [] } : { seq: null, where: 'all events are alike', changes: [] };
}

const WIDTH = 160;
const short = (value: Json | undefined): string => line(JSON.stringify(value) ?? '', WIDTH);

/** `+ path: value`, `- path: value`, or `~ path: before -> now`. */
export function tellChange({ path, before, now }: Change): string {
  const at = path === '' ? 'the whole' : path;
  if (before === undefined) return `+ ${at}: ${short(now)}`;
  return now === undefined ? `- ${at}: ${short(before)}` : `~ ${at}: ${short(before)} -> ${short(now)}`;
}
