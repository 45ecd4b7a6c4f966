// Durations as people write them, in plans, options and declarations: `90s`, `24h`, `1d12h30m`. Pure and total.
// Units: ms, s, m, h, d, w.

/** ms of a duration such as `24h` or `1d12h30m`; null when the text is not one. */
export function durationMs(text: string): number | null {
  const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
  if (!/^([0-9]{1,9}(ms|s|m|h|d|w))+$/.test(text) || text.length > 60) return null;
  let sum = 0;
  for (const [, count, unit] of text.matchAll(/([0-9]+)(ms|s|m|h|d|w)/g)) sum += Number(count) * (units[unit ?? ''] ?? Number.NaN);
  return sum > 0 && Number.isSafeInteger(sum) ? sum : null;
}
