// Replays events offline: checks the envelope of each and folds them; where a digest of the state was stored (in an export, by a
// checkpoint, in CheckpointSaved) the folded state must be byte-equal (I10). The first fault is named by its event, in words.
// Reads no store, no clock and no server. What is checked of the lines of a file stands in journal-file.ts.
import { digestOf } from '../core/canonical';
import { snapshot } from '../core/checkpoint';
import type { RunEvent } from '../core/events';
import { evolve } from '../core/evolve';
import { initialState } from '../core/initial';
import { isOver } from '../core/lookups';
import type { RunRow } from '../core/row';
import { STATE_VERSION, type State } from '../core/state';
import { statusOf } from '../core/summary';
import { atDoor, isNewer, knownLaw } from '../core/versions/door';
import type { CheckpointRow } from '../ports/journal';
import { shapeFault } from './journal-shape';

/** Where a journal does not fit, and why. `type`: of the event `seq`; or `header`, `line` (after event `seq`), `end`. */
export interface Fault { seq: number; type: string; why: string }

export interface Judgement {
  ok: boolean; runId: string; events: number;
  /** How many stored digests were compared: of checkpoints, and of single versions. */
  checkpoints: number; states: number;
  digest: string; state: State;
  /** States at the versions that were asked for. */
  at: ReadonlyMap<number, State>;
  fault?: Fault;
}

/** One event as it was written, with what an export says of it. `state`: digest of the state that it led to. */
export interface ReplayedEvent { event: RunEvent; epoch?: number; state?: string }

export interface JournalToJudge {
  runId: string;
  events: AsyncIterable<ReplayedEvent>;
  /** Those that were saved beside the journal; those in CheckpointSaved count as well. */
  checkpoints: readonly CheckpointRow[];
  /** The list row, written with the last batch; the events must lead to it. */
  row?: Pick<RunRow, 'version' | 'status'>;
  /** Ends here, and judges nothing after it. */
  until?: number;
  /** Versions whose states are wanted. */
  keep?: readonly number[];
}

/** Thrown by whoever reads a journal, to have a fault named as its place. */
export class JournalFault extends Error {
  constructor(readonly seq: number, readonly type: string, why: string) {
    super(why);
  }
}

/** Folds a journal and judges it. */
export async function judgeJournal(journal: JournalToJudge): Promise<Judgement> {
  const replay = new Replay(journal);
  const judgement = (fault?: Fault): Judgement => ({
    ok: fault === undefined, runId: journal.runId, events: replay.state.version, checkpoints: replay.compared, states: replay.states,
    digest: digestOf(replay.state), state: replay.state, at: replay.at, ...(fault ? { fault } : {}),
  });
  try {
    if (journal.until === 0) return judgement();
    for await (const one of journal.events) {
      replay.take(one);
      if (replay.state.version === journal.until) return judgement();
    }
    replay.close();
    return judgement();
  } catch (error) {
    if (!(error instanceof JournalFault)) throw error;
    return judgement({ seq: error.seq, type: error.type, why: error.message });
  }
}

class Replay {
  state: State;
  compared = 0;
  states = 0;
  readonly at = new Map<number, State>();
  private epoch = 0;
  private readonly keys = new Map<string, number>();
  /** Digests that the state must have at a version, as checkpoints say. */
  private readonly wanted = new Map<number, string>();
  /** Digests that it had, for checkpoints that an event names later. */
  private readonly had = new Map<number, string>();

  constructor(private readonly journal: JournalToJudge) {
    this.state = initialState(journal.runId);
    this.at.set(0, this.state);
    for (const { version, stateVersion, ref } of journal.checkpoints) if (stateVersion === STATE_VERSION) this.wanted.set(version, ref.sha256);
  }

  take({ event: written, epoch, state: stored }: ReplayedEvent): void {
    this.envelope(written, epoch);
    const event = this.known(written);
    if (isOver(this.state)) throw this.fault(event, 'it stands after the end of the run');
    const before = this.state;
    this.state = this.folded(before, event);
    if (this.journal.keep?.includes(event.seq)) this.at.set(event.seq, this.state);
    if (event.type === 'CheckpointSaved') this.saved(event, before);
    const saved = this.wanted.get(event.seq);
    if (saved === undefined && stored === undefined) return;
    const { digest } = snapshot(this.state);
    this.had.set(event.seq, digest);
    if (stored !== undefined) this.compare(event, digest, stored, 'states', 'the export');
    if (saved !== undefined) this.compare(event, digest, saved, 'compared', `the checkpoint at ${event.seq}`);
  }

  private compare(event: RunEvent, digest: string, wanted: string, counter: 'states' | 'compared', who: string): void {
    this[counter] += 1;
    if (wanted !== digest) throw this.fault(event, `the state folded up to it is ${digest.slice(0, 12)}, and ${who} says ${wanted.slice(0, 12)}`);
  }

  /** The event in this build's shape. */
  private known(written: RunEvent): RunEvent {
    const { type, v } = written;
    try {
      return atDoor(written);
    } catch (error) {
      throw this.fault(written, isNewer(error) ? `a newer build wrote it (${type}, schema ${v}); replay it with that build` : `its data has not the shape of its type in schema ${v}`);
    }
  }

  private folded(before: State, event: RunEvent): State {
    try {
      const state = evolve(before, event);
      knownLaw(state.runId, state.law);
      return state;
    } catch (error) {
      throw this.fault(event, isNewer(error) ? 'it begins a law that this build does not know; replay it with the build that wrote it' : 'its data has not the shape of its type');
    }
  }

  private saved(event: Extract<RunEvent, { type: 'CheckpointSaved' }>, before: State): void {
    const { version, ref, of } = event.data;
    // A state of the run that this one was forked from, whose id stands in it.
    if (of !== undefined) return;
    const had = this.had.get(version) ?? (version === before.version ? snapshot(before).digest : undefined);
    if (had !== undefined && had !== ref.sha256) throw this.fault(event, `it names ${ref.sha256.slice(0, 12)} for version ${version}, and the folded state was ${had.slice(0, 12)}`);
  }

  /** What every envelope must say, whatever the event. */
  private envelope(event: RunEvent, epoch = this.epoch): void {
    const expected = this.state.version + 1;
    const odd = shapeFault(event);
    if (odd !== null) throw new JournalFault(Number.isSafeInteger(event?.seq) ? event.seq : expected, typeof event?.type === 'string' ? event.type : 'unknown', odd);
    if (event.seq !== expected) throw this.fault(event, `its number is ${event.seq}, and ${expected} must follow ${this.state.version}`);
    if (event.runId !== this.journal.runId) throw this.fault(event, `it belongs to run ${event.runId}`);
    if (event.at < this.state.at) throw this.fault(event, 'its time is before the time of the event before it');
    // A fork begins with what its parent's epochs wrote.
    if (epoch < this.epoch && event.type !== 'RunForked') throw this.fault(event, `epoch ${epoch} wrote it after epoch ${this.epoch} had taken the run over`);
    this.epoch = epoch;
    const key = event.idempotencyKey;
    if (key === undefined) return;
    const first = this.keys.get(key);
    if (first !== undefined) throw this.fault(event, `its idempotency key ${key} stands on event ${first} already`);
    this.keys.set(key, event.seq);
  }

  close(): void {
    const { row, until } = this.journal;
    const { version } = this.state;
    const end = (why: string): JournalFault => new JournalFault(version, 'end', why);
    if (until !== undefined) throw end(`there is no event ${until}: the journal ends at ${version}`);
    if (row && row.version > version) throw end(`the journal ends at ${version}, and its list row was written with event ${row.version}: the last batch is torn`);
    for (const at of this.wanted.keys()) if (at > version) throw end(`the journal ends at ${version}, and a checkpoint was saved at ${at}`);
    if (row && row.version > 0 && row.version === version && row.status !== statusOf(this.state)) throw end(`the list row says ${row.status} at ${version}, and the events say ${statusOf(this.state)}`);
  }

  private fault(event: RunEvent, why: string): JournalFault {
    return new JournalFault(event.seq, event.type, why);
  }
}
