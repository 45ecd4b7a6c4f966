// What the command line writes: data on stdout, everything else on stderr. With --json, data is one JSON value a line.
// Owns formats of times and tables; knows nothing of runs.
import Table from 'cli-table3';
import pc from 'picocolors';

/** Data, as text. */
export function data(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** Data, as one line of JSON. */
export function json(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** A message for the person at the keyboard. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** A next command, as it is written everywhere. */
export const command = (words: string): string => pc.cyan(`npx ${words}`);

export const isTerminal = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** `2026-03-01 09:30:05` in local time. */
export function time(ms: number): string {
  const d = new Date(ms);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** `in 3 h`, `2 min ago`. */
export function distance(ms: number, now = Date.now()): string {
  const seconds = Math.round(Math.abs(ms - now) / 1000);
  const [n, unit] = seconds < 90 ? [seconds, 's'] : seconds < 5400 ? [Math.round(seconds / 60), 'min'] : seconds < 129_600 ? [Math.round(seconds / 3600), 'h'] : [Math.round(seconds / 86_400), 'days'];
  return ms >= now ? `in ${n} ${unit}` : `${n} ${unit} ago`;
}

/** A plain table without frame. */
export function table(head: string[], rows: string[][]): void {
  const blank = { top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '', left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' };
  const made = new Table({ head: head.map((name) => pc.bold(name)), chars: blank, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 } });
  made.push(...rows);
  data(made.toString());
}

/** Cuts a text to one line of at most `width` characters. */
export function line(text: string, width = 100): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > width ? `${flat.slice(0, width - 1)}…` : flat;
}
