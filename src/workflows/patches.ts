// Registry of changes in the order of the conductor's commands. Each entry says why it came, since which version, and when it
// may go; `patched()` is called with an id from here and nowhere else. The law is not patched: it has versions of its own.
// Empty until a released version has written histories.

export interface Patch { id: string; why: string; since: string; until: string }

export const PATCHES: readonly Patch[] = [];
