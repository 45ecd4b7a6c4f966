// How a test plays many seeds: which ones, and what is printed for a seed that fails, its trace included.
import { simulate, type SimulateOptions } from '../../../src/testing/simulator';

/** Seeds per mode: some hundreds for every commit, ten thousand with LONGHAUL_EXHAUSTIVE=1 (`npm run test:seeds`). */
export const SEEDS = process.env.LONGHAUL_EXHAUSTIVE ? 10_000 : 200;
/** Seeds that one test plays. */
export const BLOCK = 100;
export const BLOCKS = Array.from({ length: SEEDS / BLOCK }, (_, i) => [i * BLOCK + 1, (i + 1) * BLOCK] as const);

/** What went wrong with a seed, with the end of its trace; '' when nothing did. */
export function fault(options: SimulateOptions): string {
  if (simulate(options).violations.length === 0) return '';
  const { violations, trace } = simulate({ ...options, trace: true });
  return [`seed ${options.seed}, ${options.mode}:`, ...violations, ...trace.slice(-60)].join('\n');
}

/** The first seed fault between two seeds, both included; '' when there is none. */
export function firstFault(mode: SimulateOptions['mode'], from: number, to: number): string {
  for (let seed = from; seed <= to; seed += 1) {
    const found = fault({ seed, mode });
    if (found) return found;
  }
  return '';
}
