// What is in flight in one execution of the simulation: starts activities and timers for begun needs, cancels what is no
// longer needed, and lands each answer as one command, as src/workflows/reconcile.ts and perform.ts do on the real server.
// Also plays the server: an attempt whose worker is lost times out once, and what it answers later is refused.
import type { Command } from '../core/commands';
import type { CallResult, Need } from '../core/world';
import { call, prepare, type Attempt, type Steps } from './simulator-hands';
import { checkpoint, collect, gate, model } from './simulator-looks';
import type { Stage } from './simulator-stage';

interface Flight { need: Need; cancelled: boolean; attempt: Attempt | null; answered: boolean }

export interface Ground {
  stage: Stage;
  runId: string;
  epoch: number;
  executionId: string;
  /** Takes the answer of a need into the inbox. */
  land(command: Command, needId: string): void;
  /** Has the execution ended? Then nobody hears an answer. */
  over(): boolean;
}

/** ms after which the server notices a lost worker, by missing heartbeats or told by the reaper. */
const NOTICE_MS = [200, 400, 2_000, 10_000] as const;

export class SimulatedFlights {
  private readonly flying = new Map<string, Flight>();
  private readonly fired = new Set<string>();
  private tokens = 0;

  constructor(private readonly ground: Ground) {}

  activities(): number {
    return [...this.flying.values()].filter((flight) => flight.need.kind !== 'timer').length;
  }

  landed(ids: Iterable<string>): void {
    for (const id of ids) {
      if (this.flying.get(id)?.need.kind === 'timer') this.fired.add(id);
      this.flying.delete(id);
    }
  }

  reconcile(needs: readonly Need[], hold: boolean): void {
    const wanted = new Map(needs.map((need) => [need.id, need]));
    for (const [id, flight] of this.flying) if (!wanted.has(id)) this.cancel(id, flight);
    for (const id of this.fired) if (!wanted.has(id)) this.fired.delete(id);
    for (const [id, need] of wanted) if (!this.flying.has(id) && (!hold || need.kind === 'timer')) this.start(id, need);
  }

  /** The execution is over: what still runs hears it at its next heartbeat, and nobody hears what it says. */
  abandon(): void {
    for (const [id, flight] of this.flying) this.cancel(id, flight);
    this.flying.clear();
  }

  private cancel(id: string, flight: Flight): void {
    if (flight.cancelled) return;
    flight.cancelled = true;
    const { attempt } = flight;
    if (flight.need.kind === 'timer') this.flying.delete(id);
    else if (attempt) attempt.process.after(this.ground.stage.random.int(50, 1_500), () => { attempt.aborted ??= 'cancelled'; });
  }

  private start(id: string, need: Need): void {
    const { stage } = this.ground;
    const flight: Flight = { need, cancelled: false, attempt: null, answered: false };
    this.flying.set(id, flight);
    if (need.kind === 'timer') {
      const late = stage.fault(0.1) ? stage.random.int(1, 30_000) : 0;
      const wait = Math.max(need.dueAt - stage.clock.now, this.fired.has(id) ? 1_000 : 0) + late;
      stage.clock.after(wait, () => this.answer(flight, { type: 'TimerFired', name: need.name, dueAt: need.dueAt }));
      return;
    }
    stage.judge.started(need);
    this.run(flight, need);
  }

  private run(flight: Flight, need: Exclude<Need, { kind: 'timer' }>): void {
    const { stage, runId, epoch, executionId } = this.ground;
    const process = stage.processes.any();
    this.tokens += 1;
    const attempt: Attempt = { runId, epoch, token: `${executionId}-${this.tokens}`, process, aborted: null };
    flight.attempt = attempt;
    const lost = (): void => this.lost(flight, attempt, need);
    process.watch(() => stage.clock.after(stage.random.pick(NOTICE_MS), lost), (ms) => { if (ms > 10_000) stage.clock.after(10_000, lost); });
    this.advance(flight, attempt, this.steps(attempt, need));
  }

  private *steps(attempt: Attempt, need: Exclude<Need, { kind: 'timer' }>): Steps<Command> {
    const { stage, runId } = this.ground;
    switch (need.kind) {
      case 'model': return { type: 'ModelReturned', callId: need.callId, attempt: need.attempt, result: yield* model(stage, attempt, need) };
      case 'prepare': return { type: 'PrepareReturned', stepId: need.stepId, n: need.n, result: yield* prepare(stage, attempt, need) };
      case 'call': return { type: 'CallReturned', callId: need.callId, attempt: need.attempt, result: yield* call(stage, attempt, need) };
      case 'gate': return { type: 'GateReturned', callId: need.callId, n: need.n, evidence: yield* gate(stage, attempt, need) };
      case 'collect': return { type: 'CollectReturned', callbackId: need.callbackId, result: yield* collect(stage, need) };
      case 'checkpoint': return { type: 'CheckpointReturned', result: yield* checkpoint(stage, runId, need) };
    }
  }

  private advance(flight: Flight, attempt: Attempt, steps: Steps<Command>): void {
    const { stage } = this.ground;
    if (stage.fault(0.01)) attempt.process.kill();
    if (stage.fault(0.01)) attempt.process.stall(stage.random.int(1_000, 40_000));
    if (stage.strikes('worker killed', flight.need.id)) attempt.process.kill();
    if (stage.strikes('worker stalled for 40 s', flight.need.id)) attempt.process.stall(40_000);
    if (!attempt.process.alive) return;
    const next = steps.next();
    if (!next.done) return attempt.process.after(next.value, () => this.advance(flight, attempt, steps));
    const late = stage.strikes('reply late', flight.need.id) ? 60_000 : stage.random.delay(5, stage.fault(0.05) ? 20_000 : 200);
    attempt.process.after(late, () => this.answer(flight, next.value, attempt));
    if (stage.strikes('reply lost with its worker', flight.need.id)) attempt.process.kill();
  }

  /** The server has had no heartbeat: the attempt is over for the run, whatever it still does. */
  private lost(flight: Flight, attempt: Attempt, need: Exclude<Need, { kind: 'timer' }>): void {
    if (flight.answered || flight.attempt !== attempt || this.ground.over()) return;
    this.ground.stage.trace(() => `worker-${attempt.process.pid} is lost under ${need.id}`);
    switch (need.kind) {
      case 'gate':
      case 'collect':
      case 'checkpoint': return this.run(flight, need);
      case 'model': return this.answer(flight, { type: 'ModelReturned', callId: need.callId, attempt: need.attempt, result: { kind: 'failed', failure: LOST, usage: { calls: 1, tokens: 0, microUsd: 0, failures: 1 } } });
      case 'prepare': return this.answer(flight, { type: 'PrepareReturned', stepId: need.stepId, n: need.n, result: { kind: 'failed', failure: LOST } });
      case 'call': {
        const result: CallResult = need.effect === 'none' ? { kind: 'failed', failure: LOST, sent: true } : { kind: 'unknown', why: LOST.message };
        return this.answer(flight, { type: 'CallReturned', callId: need.callId, attempt: need.attempt, result });
      }
    }
  }

  private answer(flight: Flight, command: Command, attempt?: Attempt): void {
    if (flight.answered || this.ground.over() || this.flying.get(flight.need.id) !== flight) return;
    if (attempt && flight.attempt !== attempt) return;
    flight.answered = true;
    if (flight.cancelled && (flight.need.kind === 'gate' || flight.need.kind === 'collect')) {
      this.flying.delete(flight.need.id);
      return;
    }
    this.ground.land(command, flight.need.id);
    const { stage } = this.ground;
    if (stage.fault(0.02) || stage.strikes('reply doubled', flight.need.id)) this.ground.land(command, `again:${flight.need.id}`);
  }
}

const LOST = { class: 'network' as const, code: 'worker-lost', message: 'The worker gave no answer in time.' };
