// Virtual time of the simulator: one queue of what is to happen, in order of time and then of being asked for.
// Single-threaded; no wall clock is read, so a run of weeks takes milliseconds and repeats exactly.

interface Due { at: number; order: number; run: () => void }

/** Where virtual time begins: an arbitrary date, in ms. */
export const BEGINNING = 1_700_000_000_000;

export class VirtualClock {
  private time = BEGINNING;
  private asked = 0;
  /** A binary heap: the soonest stands first. */
  private readonly heap: Due[] = [];

  get now(): number {
    return this.time;
  }

  /** Does `run` once `ms` have passed. */
  after(ms: number, run: () => void): void {
    const due: Due = { at: this.time + Math.max(0, Math.round(ms)), order: this.asked, run };
    this.asked += 1;
    this.heap.push(due);
    let i = this.heap.length - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(due, this.heap[parent] as Due)) break;
      this.heap[i] = this.heap[parent] as Due;
      i = parent;
    }
    this.heap[i] = due;
  }

  /** Moves time to the next thing and does it; false when nothing is left. */
  step(): boolean {
    const first = this.heap[0];
    const last = this.heap.pop();
    if (!first || !last) return false;
    if (this.heap.length > 0) this.sink(last);
    this.time = first.at;
    first.run();
    return true;
  }

  private sink(due: Due): void {
    const { heap } = this;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Due, heap[child] as Due)) child += 1;
      if (!before(heap[child] as Due, due)) break;
      heap[i] = heap[child] as Due;
      i = child;
    }
    heap[i] = due;
  }
}

const before = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
