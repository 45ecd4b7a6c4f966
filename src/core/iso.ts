// Times as people read them. The only file of the core that may use Date, and only to format: it never asks for the time (I1).
// Total, because folds and rules call it (I7).

const LAST_MS = 8_640_000_000_000_000;

/** ISO 8601 of a time in ms; total, so that no odd number can make a fold throw (I7). */
export function iso(at: number): string {
  return Number.isFinite(at) && Math.abs(at) <= LAST_MS ? new Date(at).toISOString() : `${at} ms`;
}
