// The simulator: a whole run in virtual time around the pure `turn`, with stores, worker processes, people, an outside that
// is the judge, and faults chosen by a seed. Same seed, same run. Safety: faults all the time, nothing forbidden may happen.
// Liveness: faults for a while, then the run must end. A failing seed can be played again with a trace.
import { canonical, digestOf } from '../core/canonical';
import type { FreshRun } from '../core/commands';
import type { RunEvent } from '../core/events';
import { callbackIdOf } from '../core/keys';
import type { ArtifactRef } from '../core/run';
import type { State } from '../core/state';
import { EffectWorld, type OutsideEffect } from './effect-world';
import { Random } from './random';
import { VirtualClock } from './simulator-clock';
import { SimulatedExecution } from './simulator-execution';
import { SimulatedJournal } from './simulator-journal';
import { SimulatedLedger } from './simulator-ledger';
import { Judge } from './simulator-judge';
import { People } from './simulator-people';
import { randomScenario } from './simulator-scenarios';
import { Processes, type Stage } from './simulator-stage';
import type { Mutant, SimulatedScenario, Strike } from './simulator-types';

export type { Mutant, SimulatedScenario, Strike } from './simulator-types';

export interface SimulateOptions {
  seed: number;
  /** `safety`: faults all the time. `liveness`: faults for a while, then the run must end. */
  mode: 'safety' | 'liveness';
  /** What is played; left out, the seed makes one up. */
  scenario?: SimulatedScenario;
  /** No fault at all: the run as it goes on a good day. */
  calm?: boolean;
  /** With `calm`: the one thing that goes wrong, at the `nth` boundary where it can (from 1). */
  strike?: { kind: Strike; nth: number };
  /** A deliberate bug that must be caught. */
  mutant?: Mutant;
  /** Keep a trace of what happened, one line each. */
  trace?: boolean;
}

export interface SimulationReport {
  seed: number;
  mode: 'safety' | 'liveness';
  /** What must never be and was; empty when all is well. */
  violations: string[];
  trace: string[];
  /** Fold of the journal at the end. */
  state: State;
  events: RunEvent[];
  effects: readonly OutsideEffect[];
  /** At how many boundaries each kind of strike could have hit. */
  boundaries: ReadonlyMap<Strike, number>;
  /** ms of virtual time. */
  tookMs: number;
}

/** ms of virtual time with faults in liveness mode, and the time after which a run counts as stuck. */
const FAULTY_MS = 180_000;
const STUCK_MS = 40 * 86_400_000;
/** ms of virtual time of a safety run. */
const SAFETY_MS = 1_200_000;
/** ms for late effects after the run's end. */
const AFTERWARDS_MS = 90_000;
const MOST_STEPS = 60_000;

/** Plays one run. Never throws for a fault of the system: that is a violation in the report. */
export function simulate(options: SimulateOptions): SimulationReport {
  return new Simulation(options).play();
}

class Simulation {
  private readonly trace: string[] = [];
  private readonly clock = new VirtualClock();
  private readonly random: Random;
  private readonly stage: Stage;
  private readonly people: People;
  private readonly executions: SimulatedExecution[] = [];
  private readonly runId = 'run-1';
  private readonly fresh: FreshRun;
  private readonly began: number;
  private endedAt: number | null = null;
  private readonly boundaries = new Map<Strike, number>();
  /** How many faults there are, against the usual. */
  private readonly weather: number;

  constructor(private readonly options: SimulateOptions) {
    this.began = this.clock.now;
    this.random = new Random(options.seed);
    const scenario = options.scenario ?? randomScenario(this.random);
    this.weather = this.random.pick([0.5, 1, 1, 2, 4]);
    const { clock, random } = this;
    const judge: Judge = new Judge(this.runId, scenario, (key) => ledger.get(key)?.outcome !== null);
    const { mutant = null } = options;
    const journal = new SimulatedJournal((events, epoch) => {
      this.note(() => `journal ${events.map((event) => `${event.seq} ${event.type}`).join(', ')}`);
      judge.committed(events, epoch);
    }, mutant === 'journal-unfenced');
    const ledger = new SimulatedLedger(() => clock.now, journal, {
      dealsDeadClaims: mutant === 'deals-dead-claims', unfenced: mutant === 'claims-unfenced', unaware: mutant === 'claims-unfenced',
    });
    const outside = new EffectWorld(() => clock.now, scenario.outputs ?? {}, (effect) => {
      this.note(() => `OUTSIDE ${effect.tool} ${effect.key.slice(0, 10)}${effect.undoes ? ' undoes' : ''}`);
      judge.effect(effect);
      this.calledBack(effect);
    });
    this.stage = {
      clock, random, journal, ledger, outside, scenario, judge, mutant, processes: new Processes(clock, random, scenario.oneHost),
      fault: (p) => this.faulty() && random.chance(Math.min(0.5, p * this.weather)), trace: (line) => this.note(line),
      whims: !this.options.calm, strikes: (kind, where) => this.strikes(kind, where),
    };
    this.fresh = freshRun(scenario, ledger.incarnation, options.seed);
    this.people = new People(this.stage, (message, hear) => this.carry(message, hear), () => !this.faulty());
  }

  /** The outside has accepted what it will tell of later, under the id that came with the request. */
  private calledBack({ tool, key, undoes }: OutsideEffect): void {
    const terms = undoes === undefined ? this.stage.scenario.later?.[tool] : undefined;
    const callId = this.stage.judge.callOf(key);
    if (terms && callId !== null) this.people.callBack(callbackIdOf(this.runId, callId), terms.expect);
  }

  private note(line: () => string): void {
    if (this.options.trace) this.trace.push(`${((this.clock.now - this.began) / 1000).toFixed(3)} ${line()}`);
  }

  private faulty(): boolean {
    if (this.options.calm) return false;
    return this.options.mode === 'safety' || this.clock.now - this.began < FAULTY_MS;
  }

  private strikes(kind: Strike, where: string): boolean {
    const n = (this.boundaries.get(kind) ?? 0) + 1;
    this.boundaries.set(kind, n);
    const { strike } = this.options;
    if (strike?.kind !== kind || strike.nth !== n) return false;
    this.note(() => `STRIKE ${n}: ${kind} (${where})`);
    return true;
  }

  /** Between two batches whoever operates the run may roll, restore or reset it. */
  private committed(where: string, execution: SimulatedExecution): void {
    if (this.stage.judge.reference.end) return;
    if (this.strikes('run continued as new', where)) this.clock.after(1, () => execution.wishRoll());
    if (this.strikes('run restored, the old execution alive', where)) this.clock.after(1, () => this.restore(execution));
    if (this.strikes('run reset to an older state', where)) this.clock.after(1, () => this.reset(execution));
  }

  private open(epoch: number, from?: State): SimulatedExecution {
    const execution: SimulatedExecution = new SimulatedExecution({
      stage: this.stage, runId: this.runId, epoch, executionId: `x${this.executions.length + 1}`, fresh: this.fresh,
      roll: () => this.clock.after(this.random.delay(10, 2_000), () => { if (this.stage.journal.epoch === epoch) this.open(epoch); }),
      committed: (where) => this.committed(where, execution),
    }, from);
    this.executions.push(execution);
    return execution;
  }

  /** The newest execution that is open. */
  private alive(): SimulatedExecution | undefined {
    return [...this.executions].reverse().find((execution) => !execution.ended);
  }

  private carry(message: Parameters<ConstructorParameters<typeof People>[1]>[0], hear: Parameters<ConstructorParameters<typeof People>[1]>[1]): boolean {
    const open = this.executions.filter((execution) => !execution.ended);
    const target = this.random.chance(0.2) ? open[0] : open[open.length - 1];
    if (!target) return false;
    target.submit({ type: 'Message', message }, hear);
    return true;
  }

  play(): SimulationReport {
    this.open(1);
    this.disturbLater();
    try {
      for (let steps = 0; steps < MOST_STEPS && !this.over() && this.clock.step(); steps += 1);
    } catch (error) {
      this.stage.judge.violated(`I7 something threw: ${error instanceof Error ? error.stack ?? error.message : String(error)}`);
    }
    const { judge, outside } = this.stage;
    judge.finish(outside.effects, this.options.mode === 'liveness', this.random.int(0, 1_000_000));
    return {
      seed: this.options.seed, mode: this.options.mode, violations: judge.violations, trace: this.trace, state: judge.reference,
      events: this.stage.journal.all(), effects: outside.effects, boundaries: this.boundaries, tookMs: this.clock.now - this.began,
    };
  }

  private over(): boolean {
    if (this.stage.judge.violations.length > 0) return true;
    if (this.stage.judge.reference.end) this.endedAt ??= this.clock.now;
    if (this.endedAt !== null) return this.clock.now > this.endedAt + AFTERWARDS_MS;
    return this.clock.now - this.began > (this.options.mode === 'safety' ? SAFETY_MS : STUCK_MS);
  }

  private disturbLater(): void {
    this.clock.after(this.random.delay(6_000, 40_000) / this.weather, () => {
      if (!this.faulty() || this.stage.judge.reference.end) return;
      this.disturb();
      this.disturbLater();
    });
  }

  private disturb(): void {
    const { random, stage } = this;
    const now = this.alive();
    const kind = random.int(1, 1000);
    if (kind <= 400) this.people.misbehave();
    else if (kind <= 550) stage.processes.any().kill();
    else if (kind <= 660) stage.processes.any().stall(random.int(1_000, 60_000));
    else if (kind <= 730) this.restore(now);
    else if (kind <= 780) this.reset(now);
    else if (kind <= 840) now?.wishRoll();
    else if (kind <= 845) this.people.cancel();
    else if (kind <= 850) now?.submit({ type: 'Cancel', actor: { id: 'temporal', via: 'temporal', assurance: 'claimed' }, reason: 'native' }, () => undefined);
    else if (kind <= 890) now?.submit({ type: 'Malformed', messageId: `junk-${random.int(1, 3)}`, why: 'junk', actor: { id: 'x', via: 'temporal', assurance: 'claimed' } }, () => undefined);
    else if (kind <= 985) stage.outside.change(random.pick(['tool:pay', 'tool:post', 'thing:s0', 'thing:s1', 'thing:s2']));
    else if (kind <= 990) this.loseLedger();
  }

  /**
   * Temporal's reset: the execution is ended, and another one goes on from an older state that it had, under the same epoch.
   * Whoever resets a run says a word to it afterwards: a state in which nothing is due would not notice that it is old.
   */
  private reset(old: SimulatedExecution | undefined): void {
    if (!old || old.past.length === 0) return;
    const from = this.random.pick(old.past);
    this.note(() => `RESET of ${old.id} to version ${from.version}`);
    old.terminate();
    this.open(old.epoch, from);
    this.people.note();
  }

  private loseLedger(): void {
    this.note(() => 'LEDGER put back from an older copy');
    this.stage.ledger.lose();
  }

  /** The run is carried on under a new epoch; the old execution may live on for a while, appending and settling. */
  private restore(old: SimulatedExecution | undefined): void {
    if (this.stage.journal.version === 0) return;
    const epoch = this.stage.journal.raiseEpoch();
    this.note(() => `RESTORE to epoch ${epoch}`);
    if (old && this.random.chance(0.7)) this.clock.after(this.random.delay(1, 20_000), () => old.terminate());
    this.clock.after(this.random.delay(10, 3_000), () => { if (this.stage.journal.epoch === epoch) this.open(epoch); });
  }
}

const NO_REF: ArtifactRef = { sha256: '0'.repeat(64), bytes: 2, mediaType: 'application/json', summary: 'input' };

function freshRun({ agent, plan, budget, owner, name }: SimulatedScenario, ledgerIncarnation: string, seed: number): FreshRun {
  return {
    agent, plan, budget, owner, title: name, seed: `seed-${seed}`, inputDigest: digestOf(canonical(name)), inputRef: NO_REF, ledgerIncarnation,
    pins: { build: 'simulated', manifest: NO_REF, prompts: NO_REF, policy: NO_REF, model: agent.model, eventSchema: 1 },
  };
}
