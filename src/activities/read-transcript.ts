// Reads the transcript of a run from its journal. Of a long run only the events of its newest turns are read, so that a planning
// call costs the same at the ten-thousandth turn as at the thousandth; what stands before them (the goal, the count of turns, notes
// of people, a plan declared at the start) comes from the state and from the head of the journal. Renders nothing.
// The same journal version gives the same transcript, whatever checkpoints there are: a retry sees what the first attempt saw.
import type { Json } from '../core/canonical';
import type { RunEvent } from '../core/events';
import type { Output } from '../core/run';
import { ArtifactError } from '../ports/artifacts';
import { foldOn, startOf, type Stores } from './fold-journal';
import { loadOutput } from './outputs';
import type { RecentEvents } from './recent-events';
import type { StoredAnswers } from './stored-answers';
import { MAX_TURNS, take, type Reading, type Transcript } from './transcript';

/** What it is read from: the stores, and what this worker still knows of them. */
export interface Sources extends Stores { recent: RecentEvents; answers: StoredAnswers }

/** Events in which a run is created and a declared plan begins. */
const HEAD = 8;
/** Events that are read back at first. */
const WINDOW = 2_048;

/**
 * What a run's journal says up to version `upTo`. Throws an Error when the run is not there, and ArtifactError when a stored
 * answer is missing or damaged: nothing partial is ever shown to a model. A note that cannot be read is told as such.
 */
export async function readTranscript(sources: Sources, runId: string, upTo: number): Promise<Transcript> {
  const { artifacts, answers } = sources;
  const reading: Reading = { created: null, goal: '', declared: [], steps: new Map(), edited: new Map(), turns: [], notes: [], planCalls: new Set(), calls: new Map(), said: new Set(), messages: [], unread: 0 };
  await readEvents(sources, runId, upTo, reading);
  if (!reading.created) throw new Error(`The journal holds no run ${runId}.`);
  // From the end, so that the places of those before stay as they were.
  for (const { text, actor, notes, at } of reading.messages.reverse()) notes.splice(at, 0, `Note from ${actor}: ${await noteText(artifacts, text)}`);
  const older = reading.turns.slice(0, Math.max(0, reading.turns.length - MAX_TURNS));
  const turns = await Promise.all(reading.turns.slice(older.length).map(async ({ output, text, ...turn }) => ({ ...turn, answer: output ? await answers.of(output) : { v: 1 as const, text, finish: 'stop', calls: [] } })));
  const { created, goal, declared, steps, edited } = reading;
  return { created, goal, declared, steps, edited, turns, olderTurns: reading.unread + older.length, notes: [...reading.notes, ...older.flatMap((turn) => turn.notes)] };
}

/** Reads up to version `upTo` into `reading`. */
async function readEvents(sources: Sources, runId: string, upTo: number, reading: Reading): Promise<void> {
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

const SETS_OUT: ReadonlySet<RunEvent['type']> = new Set(['RunCreated', 'PlanAccepted', 'CallPrepared', 'QuestionAnswered', 'CallbackReceived', 'StepCompleted', 'StepFailed', 'StepSkipped']);
/** A plan of one of the turns that are left out. */
const isTurns = (event: RunEvent): boolean => event.type === 'PlanAccepted' && /^c\d+$/.test(event.data.by);

/** Whoever sends a note by Temporal's own tools may name an artifact that nobody has stored, and a run shall not stop at it. */
async function noteText(artifacts: Stores['artifacts'], text: Output): Promise<string> {
  try {
    return asText(await loadOutput(artifacts, text));
  } catch (error) {
    if (error instanceof ArtifactError) return `(its text could not be read: artifact ${error.sha256.slice(0, 16)} is ${error.code})`;
    throw error;
  }
}

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
