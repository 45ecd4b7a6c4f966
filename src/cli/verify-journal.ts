// Replays events offline: checks the envelope of each, its link in the chain where an export carries one, and folds them; at every
// checkpoint the folded state must be byte-equal (I10). The first fault is named by its event. Reads no store and no clock.
import { canonical, digestOf, sha256Hex } from '../core/canonical';
import { chainNext, chainStart } from '../core/chain';
import type { RunEvent } from '../core/events';
import { evolve } from '../core/evolve';
import { initialState } from '../core/initial';
import { isOver } from '../core/lookups';
import { STATE_VERSION, type State } from '../core/state';
import { atDoor, isNewer } from '../core/versions/door';
import type { CheckpointRow } from '../ports/journal';

export interface Judgement { ok: boolean; runId: string; events: number; checkpoints: number; digest: string; state: State; fault?: { seq: number; type: string; why: string } }

export interface ReplayedEvent { event: RunEvent; chain?: string }

class Fault extends Error {
  constructor(readonly seq: number, readonly type: string, why: string) {
    super(why);
  }
}

/** Folds a journal and judges it. `checkpoints` are those that were saved beside it; those in CheckpointSaved count as well. */
export async function judgeJournal(runId: string, events: AsyncIterable<ReplayedEvent>, checkpoints: readonly CheckpointRow[]): Promise<Judgement> {
  const replay = new Replay(runId, checkpoints);
  const judgement = (fault?: Judgement['fault']): Judgement => ({
    ok: fault === undefined, runId, events: replay.state.version, checkpoints: replay.compared, digest: digestOf(replay.state), state: replay.state, ...(fault ? { fault } : {}),
  });
  try {
    for await (const one of events) replay.take(one);
    replay.close();
    return judgement();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return judgement({ seq: error.seq, type: error.type, why: error.message });
  }
}

class Replay {
  state: State;
  compared = 0;
  private chain: string;
  private readonly keys = new Map<string, number>();
  /** Digests that the state must have at a version. */
  private readonly wanted = new Map<number, string>();
  /** Digests that it had, for checkpoints that an event names later. */
  private readonly had = new Map<number, string>();

  constructor(private readonly runId: string, checkpoints: readonly CheckpointRow[]) {
    this.state = initialState(runId);
    this.chain = chainStart(runId);
    for (const { version, stateVersion, ref } of checkpoints) if (stateVersion === STATE_VERSION) this.wanted.set(version, ref.sha256);
  }

  take({ event: written, chain }: ReplayedEvent): void {
    this.envelope(written);
    // The chain covers what was written, whatever it is brought to here.
    this.chain = chainNext(this.chain, written);
    if (chain !== undefined && chain !== this.chain) throw this.fault(written, 'its content, or that of an event left out before it, is not what was exported');
    const event = this.known(written);
    if (isOver(this.state)) throw this.fault(event, 'it stands after the end of the run');
    const before = this.state;
    this.state = evolve(before, event);
    const digest = this.wanted.has(event.seq) || event.type === 'CheckpointSaved' ? sha256Hex(canonical(this.state)) : '';
    if (event.type === 'CheckpointSaved') this.saved(event, before);
    const wanted = this.wanted.get(event.seq);
    if (wanted === undefined) return;
    this.had.set(event.seq, digest);
    this.compared += 1;
    if (wanted !== digest) throw this.fault(event, `the state folded up to it is ${digest.slice(0, 12)}, and the checkpoint at ${event.seq} says ${wanted.slice(0, 12)}`);
  }

  private saved(event: Extract<RunEvent, { type: 'CheckpointSaved' }>, before: State): void {
    const { version, ref, of } = event.data;
    // A state of the run that this one was forked from, whose id stands in it.
    if (of !== undefined) return;
    const had = this.had.get(version) ?? (version === before.version ? sha256Hex(canonical(before)) : undefined);
    if (had !== undefined && had !== ref.sha256) throw this.fault(event, `it names ${ref.sha256.slice(0, 12)} for version ${version}, and the folded state was ${had.slice(0, 12)}`);
  }

  /** What every envelope must say, whatever the event. */
  private envelope(event: RunEvent): void {
    const expected = this.state.version + 1;
    if (event.seq !== expected) throw this.fault(event, `its number is ${event.seq}, and ${expected} must follow ${this.state.version}`);
    if (event.runId !== this.runId) throw this.fault(event, `it belongs to run ${event.runId}`);
    if (!Number.isFinite(event.at) || event.at < this.state.at) throw this.fault(event, 'its time is before the time of the event before it');
    if (!event.causationId || !event.correlationId || !event.actor?.id) throw this.fault(event, 'its envelope lacks a cause, a thread or an actor');
    const key = event.idempotencyKey;
    if (key === undefined) return;
    const first = this.keys.get(key);
    if (first !== undefined) throw this.fault(event, `its idempotency key ${key} stands on event ${first} already`);
    this.keys.set(key, event.seq);
  }

  private known(written: RunEvent): RunEvent {
    try {
      return atDoor(written);
    } catch (error) {
      if (isNewer(error)) throw this.fault(written, 'a newer build wrote it; replay it with that build');
      throw error;
    }
  }

  close(): void {
    for (const version of this.wanted.keys()) {
      if (version > this.state.version) throw new Fault(this.state.version, 'end', `the journal ends at ${this.state.version}, and a checkpoint was saved at ${version}`);
    }
  }

  private fault(event: RunEvent, why: string): Fault {
    return new Fault(event.seq, event.type, why);
  }
}
