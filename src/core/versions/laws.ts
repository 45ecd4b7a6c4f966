// The versions of the law. A run follows the law that it was created under until a generation of it begins on a build that knows a
// newer one: RunMigrated then raises `state.law`, as the first event of that generation. A rule that changed reads `state.law`; its
// old branch stays as long as `until` says. Pure; never reads an event.
import type { Change } from './change';

export interface Law extends Change { law: number }

/** Oldest first; numbers rise by one. */
export const LAWS: readonly [Law, ...Law[]] = [
  { law: 1, why: 'The law that longhaul began with.', since: '0.1.0', until: 'a law has come after it and no open run was created under this one' },
];

/** The law that new runs are created with. */
export const LAW: number = Math.max(...LAWS.map(({ law }) => law));
