// Which events of a journal a transcript is read from: all of a short run; of a long one those of its newest turns, so that a
// planning call costs the same at the ten-thousandth turn as at the thousandth. What stands before them (the goal, the count of
// turns, notes of people, a plan declared at the start) comes from the state and from the head of the journal.
import type { RunEvent } from '../core/events';
import { foldOn, startOf, type Stores } from './fold-journal';
import { MAX_TURNS, take, type Reading, type Sources } from './transcript';

/** Events in which a run is created and a declared plan begins. */
const HEAD = 8;
/** Events that are read back at first. */
const WINDOW = 2_048;

/** Reads up to version `upTo` into `reading`. The same version gives the same, whatever checkpoints there are. */
export async function readEvents(sources: Sources, runId: string, upTo: number, reading: Reading): Promise<void> {
  for (let size = WINDOW; size < upTo; size *= 2) {
    const events = await sources.recent.of(runId, upTo - size, upTo);
    const first = firstOf(events);
    if (first === null) continue;
    await before(sources, runId, first, upTo, reading);
    for (const event of events) if (event.seq >= first) take(reading, event);
    return;
  }
  for (const event of await sources.recent.of(runId, 0, upTo)) take(reading, event);
}

/** Where the last MAX_TURNS answered turns begin; null when there are fewer. */
function firstOf(events: readonly RunEvent[]): number | null {
  const begun = new Map<string, number>();
  const answered: number[] = [];
  for (const event of events) {
    if (event.type === 'ModelCallRequested' && event.data.purpose === 'plan' && !begun.has(event.data.callId)) begun.set(event.data.callId, event.seq);
    const seq = event.type === 'ModelCallSucceeded' ? begun.get(event.data.callId) : undefined;
    if (seq !== undefined) answered.push(seq);
  }
  return answered.at(-MAX_TURNS) ?? null;
}

/** What the events before `first` come to. */
async function before(stores: Stores, runId: string, first: number, upTo: number, reading: Reading): Promise<void> {
  const { state } = await foldOn(stores, await startOf(stores, runId, upTo), upTo);
  reading.unread = state.turns - MAX_TURNS;
  await head(stores, runId, first, reading);
  reading.goal = state.plan.goal;
  for (const seq of (state.noted ?? []).filter((noted) => noted < first)) {
    for (const event of (await stores.journal.read(runId, seq - 1, 1)).events) take(reading, event);
  }
}

/** The beginning of the run, read on until every step of a plan that was declared there has come to its end. */
async function head({ journal }: Stores, runId: string, first: number, reading: Reading): Promise<void> {
  const open = (): boolean => reading.declared.some(({ id }) => reading.steps.get(id)?.is === 'open');
  for (let after = 0, more = true; more && (after === 0 || open()); ) {
    const page = await journal.read(runId, after, after === 0 ? HEAD : undefined);
    for (const event of page.events) if (event.seq < first && SETS_OUT.has(event.type) && !isTurns(event)) take(reading, event);
    after = page.events.at(-1)?.seq ?? first;
    more = page.more && after < first - 1;
  }
}

const SETS_OUT: ReadonlySet<RunEvent['type']> = new Set(['RunCreated', 'PlanAccepted', 'CallPrepared', 'StepCompleted', 'StepFailed', 'StepSkipped']);
/** A plan of one of the turns that are left out. */
const isTurns = (event: RunEvent): boolean => event.type === 'PlanAccepted' && /^c\d+$/.test(event.data.by);
