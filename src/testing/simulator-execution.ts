// One Temporal execution of the run in the simulation: inbox, pump, rolling, as src/workflows has them, with workflow tasks
// that can be lost at every boundary. What a lost task did in memory is gone; what it appended stands in the journal.
import type { AppendAnswer, AppendRequest } from '../core/append';
import { identityOf, type Answer, type Command, type FreshRun } from '../core/commands';
import { canonical } from '../core/canonical';
import { restore } from '../core/checkpoint';
import { fold } from '../core/evolve';
import { initialState } from '../core/initial';
import { rowOf } from '../core/summary';
import type { State } from '../core/state';
import { turn, type TurnResult } from '../core/turn';
import { SimulatedFlights } from './simulator-flights';
import type { Stage } from './simulator-stage';

interface Entry { command: Command; needId?: string; answer: (given: Answer) => void }

export interface ExecutionSpec {
  stage: Stage;
  runId: string;
  epoch: number;
  executionId: string;
  fresh: FreshRun;
  /** The execution continues as new. */
  roll(): void;
  /** A batch of these events was appended and published. */
  committed(where: string): void;
}

const REPLACED: Answer = { kind: 'busy', text: 'This execution was replaced.' };

export class SimulatedExecution {
  ended: 'concluded' | 'superseded' | 'rolled' | 'terminated' | null = null;
  private published: State;
  private inbox: Entry[] = [];
  private working = false;
  private wantsRoll = false;
  private behind = false;
  private readonly flights: SimulatedFlights;
  /** Earlier published states: where a reset may lead. */
  readonly past: State[] = [];

  constructor(private readonly spec: ExecutionSpec, from?: State) {
    const { stage, runId, epoch, executionId } = spec;
    this.flights = new SimulatedFlights({
      stage, runId, epoch, executionId, over: () => this.ended !== null,
      land: (command, needId) => this.submit(command, () => undefined, needId),
    });
    this.published = from ?? this.opened();
    if (this.published.version === 0) this.inbox.push({ command: { type: 'Start', runId, epoch, fresh: spec.fresh }, answer: () => undefined });
    else if (epoch > this.published.epoch) this.inbox.push({ command: { type: 'Restore', epoch, executionId, why: 'restored' }, answer: () => undefined });
    stage.trace(() => `${executionId} opens epoch ${epoch} at version ${this.published.version}`);
    this.working = true;
    stage.clock.after(stage.random.delay(10, 1_000), () => this.task());
  }

  get epoch(): number {
    return this.spec.epoch;
  }

  get id(): string {
    return this.spec.executionId;
  }

  get state(): State {
    return this.published;
  }

  /** As `open` answers: a checkpoint and what follows it, or the whole journal. */
  private opened(): State {
    const { stage, runId } = this.spec;
    const saved = stage.journal.checkpoint();
    const from = saved && stage.random.chance(0.7) ? restore(saved.text) : null;
    return this.caughtUp(from ?? initialState(runId));
  }

  private caughtUp(state: State): State {
    let folded = state;
    for (let more = true; more;) {
      const page = this.spec.stage.journal.read(folded.version);
      folded = fold(folded, page.events);
      more = page.more;
    }
    return folded;
  }

  submit(command: Command, answer: (given: Answer) => void, needId?: string): void {
    if (this.ended) return answer(REPLACED);
    this.inbox.push({ command, answer, ...(needId === undefined ? {} : { needId }) });
    this.wake();
  }

  /** Continue as new at the next quiet moment. */
  wishRoll(): void {
    this.wantsRoll = true;
    this.wake();
  }

  /** Ended from outside, e.g. for a restore or a reset: an append under way may still land, nothing else happens. */
  terminate(): void {
    this.ended ??= 'terminated';
    this.flights.abandon();
  }

  private wake(): void {
    if (this.working || this.ended || (this.inbox.length === 0 && !this.wantsRoll)) return;
    this.working = true;
    this.spec.stage.clock.after(this.spec.stage.random.delay(5, 500), () => this.task());
  }

  private task(): void {
    if (this.ended) return;
    const { random } = this.spec.stage;
    this.decide(this.published, this.inbox.splice(0, random.chance(0.2) ? random.int(1, 3) : 100), this.behind);
  }

  private holds(): boolean {
    return !this.published.cancel && !this.published.end && (this.wantsRoll || this.behind);
  }

  private decide(base: State, entries: Entry[], behind: boolean): void {
    const { stage, runId, epoch, executionId } = this.spec;
    const held = behind || this.holds();
    const result = turn(base, entries.map((entry) => entry.command), stage.clock.now, { hold: held });
    stage.trace(() => `${executionId} decides ${entries.map((entry) => identityOf(entry.command)).join(', ') || 'by itself'}: ${result.events.map((event) => event.type).join(' ') || 'nothing'}`);
    if (stage.mutant === 'start-before-append') this.flights.reconcile(result.needs, held);
    if (stage.mutant === 'answer-before-append') entries.forEach((entry, i) => entry.answer(result.answers[i] ?? null));
    if (result.events.length === 0) return this.commit(result, entries, behind, held);
    const request: AppendRequest = { runId, epoch, executionId, expectedVersion: base.version, events: result.events, row: rowOf(result.draft) };
    const where = result.events.map((event) => event.type).join(' ');
    if (stage.fault(0.02) || stage.strikes('task lost before its append', where)) return this.lose(entries, 'before its append');
    if (stage.fault(0.02) || stage.strikes('task lost while its append sleeps', where)) {
      stage.clock.after(stage.random.int(100, 12_000), () => stage.journal.append(request));
      return this.lose(entries, 'while its append slept');
    }
    stage.clock.after(stage.random.delay(3, 1_500), () => this.append(base, entries, behind, held, result, request));
  }

  private append(base: State, entries: Entry[], behind: boolean, held: boolean, result: TurnResult, request: AppendRequest): void {
    const { stage, executionId } = this.spec;
    let answer: AppendAnswer = stage.journal.append(request);
    const where = result.events.map((event) => event.type).join(' ');
    if (stage.fault(0.03) || stage.strikes('reply of an append lost', where)) answer = stage.journal.append(request); // the reply was lost, the same is asked again
    stage.trace(() => `${executionId} append at ${request.expectedVersion}: ${answer.kind}`);
    if (this.ended) return;
    if (stage.fault(0.06) || stage.strikes('task lost after its append', where)) return this.lose(entries, 'after its append');
    if (answer.kind === 'diverged' && stage.mutant === 'ignore-diverged') return this.commit(result, entries, behind, held);
    switch (answer.kind) {
      case 'appended': return this.commit(result, entries, behind, held);
      case 'diverged': return this.decide(this.caughtUp(fold(base, answer.tail)), entries, behind);
      case 'behind': return this.decide(this.caughtUp(base), entries, true);
      case 'duplicate': return this.decide(base, this.withoutKnown(entries, new Set(answer.hits.map((hit) => hit.idempotencyKey))), behind);
      case 'fenced': return this.supersede(entries);
    }
  }

  /** The workflow task is lost: the same commands come again later, in another order, with what arrived meanwhile among them. */
  private lose(entries: Entry[], when: string): void {
    const { stage, executionId } = this.spec;
    stage.trace(() => `${executionId} loses its task ${when}`);
    stage.clock.after(stage.random.pick([1_000, 5_000]), () => {
      const all = [...entries, ...this.inbox];
      const first = all.filter((entry) => entry.command.type === 'Start' || entry.command.type === 'Restore');
      this.inbox = [...first, ...stage.random.shuffled(all.filter((entry) => !first.includes(entry)))];
      this.task();
    });
  }

  private withoutKnown(entries: Entry[], known: ReadonlySet<string>): Entry[] {
    const left = entries.filter((entry) => !known.has(identityOf(entry.command)));
    if (left.length === entries.length) throw new Error(`The journal refuses ${[...known].join(', ')} as known, but no waiting command has that identity.`);
    for (const entry of entries) if (!left.includes(entry)) entry.answer({ kind: 'already-decided', text: 'This was recorded before.' });
    return left;
  }

  private supersede(entries: Entry[]): void {
    this.ended = 'superseded';
    this.flights.abandon();
    for (const entry of [...entries, ...this.inbox.splice(0)]) entry.answer(REPLACED);
  }

  private commit(result: TurnResult, entries: Entry[], behind: boolean, held: boolean): void {
    const { stage } = this.spec;
    this.published = result.draft;
    this.past.push(result.draft);
    stage.judge.published(this.id, this.published);
    entries.forEach((entry, i) => entry.answer(result.answers[i] ?? null));
    this.flights.landed(entries.flatMap((entry) => entry.needId ?? []));
    this.flights.reconcile(result.needs, held);
    this.working = false;
    this.behind ||= behind;
    if (result.events.length > 0) this.spec.committed(result.events.map((event) => event.type).join(' '));
    this.after();
  }

  private after(): void {
    const { stage, runId } = this.spec;
    if (this.published.end && this.inbox.length === 0) {
      this.ended = 'concluded';
      this.flights.abandon();
      return;
    }
    if (this.inbox.length > 0) return this.wake();
    if (this.published.end || (this.published.cancel && !this.behind)) return;
    if (!this.wantsRoll && !this.behind && stage.fault(0.03)) this.wantsRoll = true;
    if (!this.behind && !(this.wantsRoll && this.flights.activities() === 0)) return;
    if (stage.random.chance(0.3)) stage.journal.saveCheckpoint(stage.journal.version, canonical(fold(initialState(runId), stage.journal.all())));
    this.ended = 'rolled';
    this.flights.abandon();
    stage.trace(() => `${this.id} continues as new`);
    this.spec.roll();
  }
}
