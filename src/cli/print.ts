// What the command line writes: data on stdout, everything else on stderr. With --json, data is one JSON value a line.
// Owns formats of times and tables; knows nothing of runs.
import Table from 'cli-table3';
import pc from 'picocolors';
import { redactText } from '../ports/redaction';

/** Colours that this command line sets itself. Whatever else would move the cursor, hide text or turn it round is no text. */
const UNSEEN = /[^\P{Cc}\n\t](?:\[(?:1|2|22|3[1236]|39)m)?|[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * What models, tools and senders wrote, as it can be shown: a control character is written out as JSON writes it, so that no text can
 * paint over what a person decides by.
 */
export const plain = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(UNSEEN, (found) => (found.length > 1 && found.startsWith('\u001b') ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}${found.slice(1)}`));

/** Data, as text. */
export function data(text: string): void {
  const shown = plain(text);
  process.stdout.write(shown.endsWith('\n') ? shown : `${shown}\n`);
}

/** Data, as one line of JSON. */
export function json(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** A message for the person at the keyboard. */
export function say(text: string): void {
  process.stderr.write(`${plain(redactText(text))}\n`);
}

/** A next command, as it is written everywhere. */
export const command = (words: string): string => pc.cyan(`npx ${words}`);

/** Commands within a sentence that was made elsewhere, as they are written everywhere. */
export const asTyped = (text: string): string => text.replace(/`longhaul /g, '`npx longhaul ');

/** `1 event`, `2 events`. */
export const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

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

/** Columns of the terminal behind a stream; undefined when there is none. */
export const columnsOf = (out: NodeJS.WriteStream): number | undefined => (out.isTTY && out.columns > 0 ? out.columns : undefined);

/** `90 s`, `30 min`, `2 h 5 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return hours < 48 ? `${hours} h${rest > 0 ? ` ${rest} min` : ''}` : `${Math.round(hours / 24)} days`;
}

/** An amount of one kind of a budget: money in dollars, time as a duration, everything else as a count. */
export function amount(kind: string, n: number): string {
  if (kind === 'wallMs') return duration(n);
  return kind === 'microUsd' ? String(Number((n / 1_000_000).toFixed(4))) : String(n);
}

/** One kind of a budget under the name that --budget gives it, with its amount. */
export const budgetWords = (kind: string, n: number): string => `${({ wallMs: 'wall', microUsd: 'usd' } as Record<string, string>)[kind] ?? kind} ${amount(kind, n)}`;

/** Cuts a text to one line of at most `width` characters. */
export function line(text: string, width = 100): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > width ? `${flat.slice(0, width - 1)}…` : flat;
}
