// The pump: the only writer of state (I3). A turn takes the waiting commands, decides them on a draft, appends what happened
// as one batch with epoch and expected version (I4), publishes the draft, answers the senders, and only then lets begun
// needs start (I2). It follows the journal wherever that is ahead: a lost workflow task decides again, never otherwise.
import { log, workflowInfo } from '@temporalio/workflow';
import { identityOf, type Answer } from '../core/commands';
import { LIMITS, type RunInput } from '../core/run';
import type { State } from '../core/state';
import { rowOf } from '../core/summary';
import { turn, type TurnResult } from '../core/turn';
import type { Need } from '../core/world';
import type { Entry, Inbox } from './inbox';
import { append, foldTail } from './journal';
import { goesBy } from './patches';
import { perform } from './perform';
import type { Flights } from './reconcile';

/** What a turn came to. `behind`: another execution carried the journal on, so this one continues as new. */
export interface Turned { verdict: 'followed' | 'behind' | 'superseded'; needs: readonly Need[]; answered: ReadonlySet<string> }

/** Bytes of messages in one turn: a batch must fit into an activity's arguments when the store is away. */
const TURN_BYTES = 256 * 1024;
/** Commands in line that take more than ten turns. */
const LONG_LINE = 10 * LIMITS.commandsPerTurn;
const REPLACED: Answer = { kind: 'busy', text: 'This execution of the run was replaced by a newer one; ask again.' };

export class Pump {
  private published: State;
  private long = false;

  constructor(
    private readonly input: RunInput,
    private readonly inbox: Inbox,
    private readonly flights: Flights,
    opened: State,
  ) {
    this.published = opened;
  }

  get state(): State {
    return this.published;
  }

  /** Reads on in the journal: an Update whose workflow task was lost after its append is there, and nobody has told this execution. */
  async follow(): Promise<void> {
    this.published = await foldTail(this.published, [], true, this.input);
  }

  /**
   * Where a burst has come in, looks at the journal by an activity, with which this workflow task ends. Thousands of messages at once
   * have used up much of its time: lost in the middle of their turns, it would come again with the same messages, over and over.
   */
  async rest(): Promise<void> {
    const before = this.long;
    this.long = this.inbox.length > LONG_LINE;
    if (this.long && !before && goesBy('long-line')) this.published = await foldTail(this.published, [], true, this.input, 0);
  }

  /** One turn. `hold` is asked with the needs that the taken commands answer: true lets no new need begin. */
  async turn(hold: (answered: ReadonlySet<string>) => boolean): Promise<Turned> {
    let entries = this.inbox.take(LIMITS.commandsPerTurn, TURN_BYTES);
    const answered = new Set(entries.flatMap((entry) => entry.needId ?? []));
    const prepared = new Set<string>();
    let behind = false;
    for (;;) {
      const held = behind || hold(answered);
      const result = turn(this.published, entries.map((entry) => entry.command), Date.now(), { hold: held });
      const local = held ? [] : result.needs.filter((need) => need.kind === 'prepare' && need.local && !prepared.has(need.id) && !this.flights.has(need.id));
      if (local.length > 0) {
        entries = entries.concat(await this.prepare(local));
        for (const need of local) prepared.add(need.id);
        continue;
      }
      const answer = result.events.length === 0 ? null : await this.append(result);
      switch (answer?.kind) {
        case undefined:
        case 'appended':
          this.publish(result, entries, answered, held);
          return { verdict: behind ? 'behind' : 'followed', needs: result.needs, answered };
        case 'diverged':
          this.published = await foldTail(this.published, answer.tail, answer.more, this.input);
          break;
        case 'behind':
          behind = true;
          this.published = await foldTail(this.published, [], true, this.input);
          break;
        case 'duplicate':
          entries = this.withoutKnown(entries, answer.hits);
          break;
        case 'fenced':
          this.flights.cancelAll();
          for (const entry of entries) entry.answer(REPLACED);
          return { verdict: 'superseded', needs: [], answered };
      }
    }
  }

  /**
   * Prepares calls within the turn, where that takes no I/O beyond the stores: what came before and the prepared calls are one
   * batch then. Nothing outside changes by preparing, so a turn that is lost prepares again.
   */
  private async prepare(needs: readonly Need[]): Promise<Entry[]> {
    const commands = await Promise.all(needs.map((need) => perform(this.input, need)));
    return commands.flatMap((command) => (command ? [{ command, answer: () => undefined }] : []));
  }

  /** Answers everything that waits, when this execution has no say any more. */
  dismiss(): void {
    for (const entry of this.inbox.drain()) entry.answer(REPLACED);
  }

  private append({ events, draft }: TurnResult) {
    return append({
      runId: this.input.runId, epoch: this.input.epoch, executionId: workflowInfo().runId,
      expectedVersion: this.published.version, events, row: rowOf(draft),
    });
  }

  private publish(result: TurnResult, entries: Entry[], answered: Set<string>, held: boolean): void {
    this.published = result.draft;
    entries.forEach((entry, index) => entry.answer(result.answers[index] ?? null));
    this.flights.landed(answered);
    this.flights.reconcile(result.needs, held);
  }

  /** Drops the commands that the journal holds already although the state has forgotten them. */
  private withoutKnown(entries: Entry[], hits: { idempotencyKey: string; seq: number }[]): Entry[] {
    const known = new Map(hits.map((hit) => [hit.idempotencyKey, hit.seq]));
    const left = entries.filter((entry) => !known.has(identityOf(entry.command)));
    if (left.length === entries.length) throw new Error(`The journal refuses ${hits.map((hit) => hit.idempotencyKey).join(', ')} as known, but no waiting command has that identity.`);
    log.info('commands that the journal knows already were dropped', { keys: [...known.keys()] });
    for (const entry of entries) {
      const seq = known.get(identityOf(entry.command));
      if (seq !== undefined) entry.answer({ kind: 'already-decided', text: `This was recorded before, as event ${seq} of the run.` });
    }
    return left;
  }
}
