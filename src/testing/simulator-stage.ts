// What all parts of a simulation share: time, chance, the stores, the outside, the processes, and the mutants that are
// switched on to prove that the checks bite. Owns no rule of the system under test.
import type { ClaimOwner } from '../ports/ledger';
import type { EffectWorld } from './effect-world';
import type { Random } from './random';
import type { Judge } from './simulator-judge';
import type { VirtualClock } from './simulator-clock';
import type { SimulatedJournal } from './simulator-journal';
import type { SimulatedLedger } from './simulator-ledger';
import type { Mutant, SimulatedScenario, Strike } from './simulator-types';

export interface Stage {
  clock: VirtualClock;
  random: Random;
  journal: SimulatedJournal;
  ledger: SimulatedLedger;
  outside: EffectWorld;
  scenario: SimulatedScenario;
  judge: Judge;
  mutant: Mutant | null;
  /** True with probability `p` while faults may happen, else false. */
  fault(p: number): boolean;
  /** Does this go wrong here? Each boundary asks once for each kind; at most one of a run does. */
  strikes(kind: Strike, where: string): boolean;
  /** Do people change their minds, reject and give up? */
  whims: boolean;
  trace(line: () => string): void;
  processes: Processes;
}

/** A worker process: what runs in it stops for ever when it dies, and for a while when it stalls. */
export class WorkerProcess {
  alive = true;
  private stalledUntil = 0;
  private readonly onDeath: (() => void)[] = [];
  private readonly onStall: ((ms: number) => void)[] = [];

  constructor(readonly pid: number, private readonly clock: VirtualClock, readonly host: string) {}

  /** Does `run` in this process after `ms`: never once it is dead, later while it is stalled. */
  after(ms: number, run: () => void): void {
    this.clock.after(ms, () => this.resume(run));
  }

  private resume(run: () => void): void {
    if (!this.alive) return;
    const left = this.stalledUntil - this.clock.now;
    if (left > 0) this.clock.after(left, () => this.resume(run));
    else run();
  }

  /** `died` hears of the death, `stalled` of a stall with its length in ms. */
  watch(died: () => void, stalled: (ms: number) => void): void {
    this.onDeath.push(died);
    this.onStall.push(stalled);
  }

  kill(): void {
    if (!this.alive) return;
    this.alive = false;
    for (const hear of this.onDeath) hear();
  }

  stall(ms: number): void {
    this.stalledUntil = Math.max(this.stalledUntil, this.clock.now + ms);
    for (const hear of this.onStall) hear(ms);
  }
}

/** The worker processes, two at a time; a dead one is replaced by a new one. */
export class Processes {
  private readonly all: WorkerProcess[] = [];

  constructor(private readonly clock: VirtualClock, private readonly random: Random, private readonly oneHost: boolean) {
    this.spawn();
    this.spawn();
  }

  private spawn(): WorkerProcess {
    const pid = this.all.length + 1;
    const process = new WorkerProcess(pid, this.clock, this.oneHost ? 'host' : `host-${pid}`);
    this.all.push(process);
    return process;
  }

  /** A living process to work in. */
  any(): WorkerProcess {
    const alive = this.all.filter((process) => process.alive);
    return alive.length < 2 ? this.spawn() : this.random.pick(alive);
  }

  /** Is the owner of a claim known to be gone? Only its own host can tell. */
  gone(owner: ClaimOwner, asker: WorkerProcess): boolean {
    return owner.host === asker.host && this.all.find((process) => process.pid === owner.pid)?.alive === false;
  }

  /** Is the owner of a claim known to be there still? */
  lives(owner: ClaimOwner, asker: WorkerProcess): boolean {
    return owner.host === asker.host && this.all.find((process) => process.pid === owner.pid)?.alive === true;
  }
}
