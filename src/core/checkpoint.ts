// Checkpoints: canonical(state) with its digest. One that does not fit, or is of another state version, is ignored and the run
// is folded from its start; so a checkpoint can only make an opening faster, never wrong (I10).
import { canonical, sha256Hex } from './canonical';
import { LIMITS } from './run';
import { STATE_VERSION, type State } from './state';

/** Canonical text of a state and its digest. */
export function snapshot(state: State): { text: string; digest: string } {
  const text = canonical(state);
  return { text, digest: sha256Hex(text) };
}

/** Is the text of a state small enough to be kept as a checkpoint? */
export const fits = (text: string): boolean => text.length <= LIMITS.checkpointBytes;

/** A state from a checkpoint's text, or null when this build cannot use it. */
export function restore(text: string): State | null {
  const state = JSON.parse(text) as State;
  return state.v === STATE_VERSION ? state : null;
}
