// The journal as the conductor reaches it: a quick local activity first; when that fails, the same as a regular activity
// with endless back-off, so that an outage holds no worker slot and shows in the Web UI. The answer stands in history, so a
// replay goes the same way and never touches the store. Owns no state.
import { log } from '@temporalio/workflow';
import type { Hands, OpenAnswer } from '../activities/types';
import type { RunEvent } from '../core/events';
import { evolve } from '../core/evolve';
import { initialState } from '../core/initial';
import type { RunInput } from '../core/run';
import type { State } from '../core/state';
import { atDoor, isNewer, knownLaw, knownState, NewerBuild } from '../core/versions/door';
import type { AppendAnswer, AppendRequest } from '../core/append';
import { patient, quick } from './hands';
import { goesBy } from './patches';

type Plumbing = Pick<Hands, 'open' | 'read' | 'append'>;

async function reach<T>(name: keyof Plumbing, ask: (hands: Plumbing) => Promise<T>): Promise<T> {
  try {
    return await ask(quick as unknown as Plumbing);
  } catch (error) {
    // Nothing of this build may come into the history of the run: the workflow task fails, and is tried again until a worker can.
    if (isNewer(error)) throw new NewerBuild(wordsOf(error));
    log.warn('the store did not answer in time; asking again with patience', { activity: name, error: String(error) });
    return ask(patient as unknown as Plumbing);
  }
}

export const open = (input: RunInput): Promise<OpenAnswer> => reach('open', (hands) => hands.open(input));

export const append = (request: AppendRequest): Promise<AppendAnswer> => reach('append', (hands) => hands.append(request));

/**
 * Pages that are read within one workflow task: it ends with all of them, and Temporal takes no end above 4 MiB. What is left after
 * these is not read through history at all, but folded by the hand that opens generations.
 */
const QUICK_PAGES = 16;

/** Folds `tail` and, while the journal has `more`, what follows it; at most `quickPages` of that in this way, where `input` is given. */
export async function foldTail(state: State, tail: readonly RunEvent[], more: boolean, input?: RunInput, quickPages = QUICK_PAGES): Promise<State> {
  let folded = tail.map(atDoor).reduce(evolve, state);
  let left = more;
  for (let pages = 0; left; pages += 1) {
    if (input && pages >= quickPages && goesBy('long-tails')) return (await reopened(input)) ?? folded;
    const { runId, version } = folded;
    const page = await reach('read', (hands) => hands.read({ runId, after: version }));
    folded = page.events.map(atDoor).reduce(evolve, folded);
    left = page.more && page.events.length > 0;
  }
  return folded;
}

/** What the journal holds, as a generation finds it at its start, by an activity with which this workflow task ends. Null when another execution owns the run: the next append hears so. */
async function reopened(input: RunInput): Promise<State | null> {
  const opened = await patient.open(input);
  return opened.kind === 'restored' ? stateOf(input.runId, opened) : null;
}

/** The state that `open` found: a checkpoint and what came after it. Throws NewerBuild when a newer build answered `open`. */
export async function stateOf(runId: string, opened: OpenAnswer): Promise<State> {
  if (opened.kind === 'fresh') knownLaw(runId, opened.fresh.law ?? 1);
  if (opened.kind !== 'restored') return initialState(runId);
  knownLaw(runId, opened.migrate?.law ?? 1);
  const state = await foldTail(opened.checkpoint ? knownState(opened.checkpoint) : initialState(runId), opened.tail, opened.more);
  knownLaw(runId, state.law);
  return state;
}

/** What the activity said, without Temporal's words around it. */
function wordsOf(error: unknown): string {
  const { cause, message } = error as { cause?: unknown; message?: string };
  return cause instanceof Error ? wordsOf(cause) : message ?? String(error);
}
