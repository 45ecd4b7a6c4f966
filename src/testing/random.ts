// A deterministic source of chance for tests and simulations: the same seed gives the same numbers on every machine.
// Algorithm: sfc32, seeded through splitmix32 (both public domain). Never for secrets; knows no clock.

export class Random {
  private a = 0;
  private b = 0;
  private c = 0;
  private counter = 1;

  constructor(seed: number) {
    let state = seed >>> 0;
    const mix = (): number => {
      state = (state + 0x9e3779b9) >>> 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return (z ^ (z >>> 15)) >>> 0;
    };
    this.a = mix();
    this.b = mix();
    this.c = mix();
    for (let i = 0; i < 12; i += 1) this.next();
  }

  /** Fraction in [0, 1). */
  next(): number {
    const sum = (((this.a + this.b) >>> 0) + this.counter) >>> 0;
    this.counter = (this.counter + 1) >>> 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) >>> 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) >>> 0;
    return sum / 0x1_0000_0000;
  }

  /** Whole number from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** True with probability `p`. */
  chance(p: number): boolean {
    return p > 0 && this.next() < p;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('There is nothing to pick from an empty list.');
    return list[this.int(0, list.length - 1)] as T;
  }

  /** A copy of the list in another order. */
  shuffled<T>(list: readonly T[]): T[] {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i -= 1) {
      const j = this.int(0, i);
      [out[i], out[j]] = [out[j] as T, out[i] as T];
    }
    return out;
  }

  /** Mostly short, sometimes long: a delay in ms as networks and stores have it. */
  delay(usual: number, worst: number): number {
    return this.chance(0.1) ? this.int(usual, worst) : this.int(1, usual);
  }
}
