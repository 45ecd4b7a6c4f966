// What is in flight: starts what is needed and not in flight, cancels what is in flight and no longer needed. Nothing else
// starts or stops work. Each need flies in its own cancellable scope and lands as exactly one command.
// A need stays in flight until the pump turn that folds its answer, so that no turn in between starts it again.
import { CancellationScope } from '@temporalio/workflow';
import type { Command } from '../core/commands';
import type { RunInput } from '../core/run';
import type { Need } from '../core/world';
import { perform } from './perform';

interface Flight { scope: CancellationScope; kind: Need['kind']; cancelled: boolean }

export class Flights {
  private readonly flying = new Map<string, Flight>();
  /** Timers that fired and are needed all the same: they rest a second, so that a deadline that nobody folds cannot spin. */
  private readonly fired = new Set<string>();
  /** Checkpoints asked for in this generation: one that failed is not asked for again, since nothing depends on it. */
  private readonly asked = new Set<string>();

  constructor(
    private readonly input: RunInput,
    /** Takes the answer of a need into the inbox. */
    private readonly land: (command: Command, needId: string) => void,
  ) {}

  has(id: string): boolean {
    return this.flying.has(id);
  }

  /** Activities in flight, without those that `answered` in the turn that is about to run. Timers do not count: they are absolute. */
  activities(answered: ReadonlySet<string> = new Set()): number {
    let count = 0;
    for (const [id, flight] of this.flying) if (flight.kind !== 'timer' && !answered.has(id)) count += 1;
    return count;
  }

  /** The answers of these needs have been folded. */
  landed(ids: Iterable<string>): void {
    for (const id of ids) {
      if (this.flying.get(id)?.kind === 'timer') this.fired.add(id);
      this.flying.delete(id);
    }
  }

  /** Makes what flies equal to what is needed. With `hold` only timers start: the next generation starts the rest. */
  reconcile(needs: readonly Need[], hold: boolean): void {
    const wanted = new Map(needs.filter((need) => need.begun).map((need) => [need.id, need]));
    for (const [id, flight] of this.flying) if (!wanted.has(id)) this.cancel(id, flight);
    for (const id of this.fired) if (!wanted.has(id)) this.fired.delete(id);
    for (const [id, need] of wanted) if (!this.flying.has(id) && (!hold || need.kind === 'timer')) this.start(id, need);
  }

  /** Cancels everything: another execution owns the run. */
  cancelAll(): void {
    for (const [id, flight] of this.flying) this.cancel(id, flight);
  }

  private cancel(id: string, flight: Flight): void {
    if (flight.cancelled) return;
    flight.cancelled = true;
    flight.scope.cancel();
    if (flight.kind === 'timer') this.flying.delete(id);
  }

  private start(id: string, need: Need): void {
    if (need.kind === 'checkpoint') {
      if (this.asked.has(id)) return;
      this.asked.add(id);
    }
    const flight: Flight = { scope: new CancellationScope({ cancellable: true }), kind: need.kind, cancelled: false };
    this.flying.set(id, flight);
    void flight.scope.run(() => perform(this.input, need, this.fired.has(id) ? 1_000 : 0)).then((command) => {
      if (this.flying.get(id) !== flight) return;
      if (command) this.land(command, id);
      else this.flying.delete(id);
    });
  }
}
