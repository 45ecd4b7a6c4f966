// Folds a run's journal: from its newest usable checkpoint, page by page. One place for `open` and `checkpoint`, so that
// both see the same state (I10). What a newer build wrote is never folded halfway: it throws and names what it met.
import type { RunEvent } from '../core/events';
import { evolve } from '../core/evolve';
import { restore } from '../core/checkpoint';
import { initialState } from '../core/initial';
import { STATE_VERSION, type State } from '../core/state';
import { atDoor, isNewer, knownLaw } from '../core/versions/door';
import type { HandsDeps } from './deps';
import { failureOf } from './failures';

export type Stores = Pick<HandsDeps, 'journal' | 'artifacts' | 'log'>;

/** The newest state that a checkpoint at or before `upTo` gives; the initial state where there is none that this build can use. */
export async function startOf({ journal, artifacts, log }: Stores, runId: string, upTo: number): Promise<State> {
  const saved = await journal.checkpoint(runId, upTo);
  if (!saved || saved.stateVersion !== STATE_VERSION) return initialState(runId);
  try {
    const state = restore(new TextDecoder().decode(await artifacts.read(saved.ref.sha256)));
    return state ? known(state) : initialState(runId);
  } catch (error) {
    if (isNewer(error)) throw error;
    log('a checkpoint could not be read; folding the journal from its start', { runId, version: saved.version, error: failureOf(error).message });
    return initialState(runId);
  }
}

/** Folds from `start` up to `upTo`; leaves the last page unfolded in `tail` when `leaveLast` is set. */
export async function foldOn({ journal }: Stores, start: State, upTo: number, leaveLast = false): Promise<{ state: State; tail: RunEvent[] }> {
  let state = start;
  while (state.version < upTo) {
    const page = await journal.read(state.runId, state.version);
    const events = page.events.filter((event) => event.seq <= upTo).map(atDoor);
    if (events.length === 0) break;
    if (leaveLast && (events.at(-1)?.seq ?? 0) >= upTo) return { state, tail: events };
    state = known(events.reduce(evolve, state));
  }
  return { state, tail: [] };
}

function known(state: State): State {
  knownLaw(state.runId, state.law);
  return state;
}
