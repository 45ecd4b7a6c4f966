// Registry of changes in the order of the conductor's commands. Each entry says why it came, since which version, and when it
// may go; `patched()` is called with an id from here and nowhere else. The law is not patched: it has versions of its own
// (core/versions).
import { patched } from '@temporalio/workflow';
import type { Change } from '../core/versions/change';

export interface Patch extends Change { id: string }

export const PATCHES: readonly Patch[] = [
  {
    id: 'long-line', since: '0.1.0', until: 'no open run was created before 0.2.0',
    why: 'A workflow task that brings a burst of messages ends before their turns begin: lost in the middle of them, it came again and again.',
  },
  {
    id: 'long-tails', since: '0.1.0', until: 'no open run was created before 0.2.0',
    why: 'What a lost workflow task has left in the journal is folded by a hand, where it is long: Temporal takes no end of a task above 4 MiB.',
  },
];

/** Does this execution go the new way of a patch? One that began before it keeps the old way. Call it once at the top of a step. */
export function goesBy(id: string): boolean {
  if (!PATCHES.some((patch) => patch.id === id)) throw new Error(`No patch is called ${id}; it needs its row in workflows/patches.ts.`);
  return patched(id);
}
