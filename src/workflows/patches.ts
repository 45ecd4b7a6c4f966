// Registry of changes in the order of the conductor's commands. Each entry says why it came, since which version, and when it
// may go; `patched()` is called with an id from here and nowhere else. The law is not patched: it has versions of its own
// (core/versions).
import { patched } from '@temporalio/workflow';
import type { Change } from '../core/versions/change';

export interface Patch extends Change { id: string }

export const PATCHES: readonly Patch[] = [];

/** Does this execution go the new way of a patch? One that began before it keeps the old way. Call it once at the top of a step. */
export function goesBy(id: string): boolean {
  if (!PATCHES.some((patch) => patch.id === id)) throw new Error(`No patch is called ${id}; it needs its row in workflows/patches.ts.`);
  return patched(id);
}
