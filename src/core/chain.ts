// A chain of digests over the events of a run, carried by exports: each link covers the link before it and one event, so that
// an event which was changed, left out or put in is found and named. It detects damage and edits; it is no signature.
// Pure; the journal itself keeps no chain, since its store is trusted.
import { canonical, sha256Hex } from './canonical';
import type { RunEvent } from './events';

/** What the first event is linked to. */
export const chainStart = (runId: string): string => sha256Hex(`longhaul-journal|1|${runId}`);

/** The link of an event: hex sha256 of the link before and the canonical JSON of the event. */
export function chainNext(before: string, event: RunEvent): string {
  return sha256Hex(`${before}\n${canonical(event)}`);
}
