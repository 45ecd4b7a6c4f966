// The door through which written things come in: an event of an older schema is brought to this build's shape, and what a newer build
// wrote (an event, a law, a state) is refused by an error that says so, before anything is folded. Used wherever a journal, a
// checkpoint or an answer in history is read (I7, I9). Pure; `evolve` trusts what has passed here.
import { EVENT_SCHEMA, type RunEvent } from '../events';
import { knowsEvent } from '../evolve';
import { STATE_VERSION, type State } from '../state';
import { LAW } from './laws';
import { UPCASTERS, type Upcaster, type WrittenEvent } from './upcasters';

/** Thrown for what a newer build wrote. By this name it is known again behind Temporal and behind the door of an activity. */
export const NEWER = 'NewerBuild';

/** A newer build is needed; the run is untouched. The message is one sentence that says what was met and what to do. */
export class NewerBuild extends Error {
  override readonly name = NEWER;
}

/** Is this the error, also when it came through Temporal, which keeps names only? */
export function isNewer(error: unknown): boolean {
  const { name, type, cause } = error as { name?: unknown; type?: unknown; cause?: unknown };
  return name === NEWER || type === NEWER || (typeof cause === 'object' && cause !== null && isNewer(cause));
}

/** An event in this build's shape. Throws NewerBuild for a schema or a type that it does not know. */
export function atDoor(written: WrittenEvent | RunEvent): RunEvent {
  const event = upcast(written, UPCASTERS, EVENT_SCHEMA);
  if (event.v <= EVENT_SCHEMA && knowsEvent(event.type)) return event as RunEvent;
  throw new NewerBuild(`Event ${event.seq} of run ${event.runId} (${String(event.type).slice(0, 80)}, schema ${event.v}) is newer than this build, which knows schema ${EVENT_SCHEMA}; start a worker of the newer build.`);
}

/** Takes an event step by step to `schema`; one that is of it, or newer, is answered as it is. */
export function upcast(written: WrittenEvent, steps: readonly Upcaster[], schema: number): WrittenEvent {
  let event = written;
  for (let v = written.v; v < schema; v += 1) {
    const step = steps.find(({ from }) => from === v);
    if (step) event = { ...step.up(event), v: v + 1 };
  }
  return event;
}

/** A state, if this build follows its law. Throws NewerBuild. */
export function knownState(state: State): State {
  if (state.v !== STATE_VERSION) throw new NewerBuild(`This execution of run ${state.runId} began from a state of version ${state.v}, this build has ${STATE_VERSION}; start a worker of the build that began it.`);
  knownLaw(state.runId, state.law);
  return state;
}

/** Throws NewerBuild when this build does not know the law. */
export function knownLaw(runId: string, law: number): void {
  if (law > LAW) throw new NewerBuild(`Run ${runId} follows law ${law}, this build knows law ${LAW}; start a worker of the newer build.`);
}
