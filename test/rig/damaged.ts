// The negative shelf: journals that must be refused, each made from a recorded one by one change and, where somebody could have done
// so, linked anew, so that the chain of digests fits and the fault itself has to be seen. Written beside what is expected of each.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chainNext, chainStart } from '../../src/core/chain';

export interface Line { kind: string; event?: { seq: number; v?: number; type: string; runId: string; at: number; data: Record<string, unknown> }; events?: number; chain?: string; [name: string]: unknown }
export interface Damaged { file: string; is: string; says: string }

/** Links lines anew and counts them, as somebody would who hides what he has changed. */
export function relinked(lines: Line[]): string[] {
  const events = lines.filter(({ kind }) => kind === 'event').length;
  let chain = chainStart(String(lines[0]?.['runId']));
  return lines.map((line) => {
    const counted = { ...line, chain: undefined, ...(line.kind === 'end' ? { events } : {}) };
    chain = chainNext(chain, counted);
    return JSON.stringify({ ...counted, chain });
  });
}

interface Change { name: string; is: string; says: (at: Line['event'] & object) => string; change: (lines: Line[], at: number) => Line[] }

const put = (lines: Line[], at: number, event: object): Line[] => lines.map((line, i) => (i === at ? { ...line, event: { ...line.event, ...event } as Line['event'] } : line));

/** `at` is the index of a line in the middle; its event is what is changed. */
const CHANGES: Change[] = [
  { name: 'future-version', is: 'an event of a schema that no build knows yet', says: ({ seq, type }) => `event ${seq} (${type}) does not fit: a newer build wrote it (${type}, schema 99)`, change: (lines, at) => put(lines, at, { v: 99 }) },
  { name: 'missing-version', is: 'an event without the version of its schema', says: ({ seq, type }) => `event ${seq} (${type}) does not fit: it lacks the version of its schema`, change: (lines, at) => put(lines, at, { v: undefined }) },
  { name: 'unknown-type', is: 'an event of a type that no build knows yet', says: ({ seq }) => `event ${seq} (RunTeleported) does not fit: a newer build wrote it`, change: (lines, at) => put(lines, at, { type: 'RunTeleported' }) },
  { name: 'foreign-run', is: 'an event of another run', says: ({ seq, type }) => `event ${seq} (${type}) does not fit: it belongs to run somebody-else`, change: (lines, at) => put(lines, at, { runId: 'somebody-else' }) },
  { name: 'prototype-key', is: 'an event with a member called __proto__', says: ({ seq, type }) => `event ${seq} (${type}) does not fit: it has a member called __proto__`, change: (lines, at) => put(lines, at, { data: JSON.parse('{"__proto__":{"polluted":true}}') }) },
  { name: 'prototype-type', is: 'an event whose type is __proto__', says: ({ seq }) => `event ${seq} (__proto__) does not fit: a newer build wrote it`, change: (lines, at) => put(lines, at, { type: '__proto__' }) },
  { name: 'gap', is: 'an event left out', says: ({ seq, type }) => `event ${seq + 1} (${type}) does not fit: its number is ${seq + 1}, and ${seq} must follow ${seq - 1}`, change: (lines, at) => lines.filter((_, i) => i !== at) },
  { name: 'wrong-order', is: 'two events that changed places', says: ({ seq, type }) => `event ${seq + 1} (${type}) does not fit: its number is ${seq + 1}, and ${seq} must follow ${seq - 1}`, change: (lines, at) => [...lines.slice(0, at), lines[at + 1]!, lines[at]!, ...lines.slice(at + 2)] },
  { name: 'twice', is: 'an event that stands twice', says: ({ seq, type }) => `event ${seq} (${type}) does not fit: its number is ${seq}, and ${seq + 1} must follow ${seq}`, change: (lines, at) => [...lines.slice(0, at), lines[at]!, ...lines.slice(at)] },
  { name: 'time-runs-back', is: 'an event that is older than the one before it', says: ({ seq, type }) => `event ${seq} (${type}) does not fit: its time is before`, change: (lines, at) => put(lines, at, { at: 1 }) },
  { name: 'other-state', is: 'an event with other content, linked anew', says: ({ seq, type }) => `event ${seq} (${type}) does not fit: the state folded up to it is`, change: (lines, at) => put(lines, at, { at: lines[at]!.event!.at + 1 }) },
  { name: 'shapeless', is: 'an event whose data has not the shape of its type', says: ({ seq }) => `event ${seq} (PlanAccepted) does not fit: `, change: (lines, at) => put(lines, at, { type: 'PlanAccepted', data: {} }) },
  { name: 'torn-batch', is: 'a last batch of which the last event is missing', says: () => 'the last batch is torn', change: (lines) => lines.filter((_, i) => i !== lines.length - 2) },
  { name: 'after-the-end', is: 'an event after the end of the run', says: () => 'it stands after the end of the run', change: (lines) => {
    const last = lines.at(-2)!.event!;
    return [...lines.slice(0, -1), { ...lines.at(-2)!, event: { ...last, idempotencyKey: undefined, message: undefined, seq: last.seq + 1, type: 'RunPaused', data: { reason: 'late', actor: { id: 'ann', via: 'cli', assurance: 'claimed' } } } as never }, lines.at(-1)!];
  } },
];

/** Makes every damaged journal from `edited.jsonl` and writes them with `damaged.json`, which says what each is and what replay says. */
export function damage(journals: string, folder: string): void {
  const source = readFileSync(path.join(journals, 'edited.jsonl'), 'utf8').trimEnd().split('\n');
  const lines = (): Line[] => source.map((line) => JSON.parse(line) as Line);
  const at = Math.floor(source.length / 2);
  const middle = lines()[at]!.event!;
  const next = lines()[at + 1]!.event!;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const made: Damaged[] = [];
  const write = (name: string, is: string, says: string, text: string[]): void => {
    writeFileSync(path.join(folder, `${name}.jsonl`), `${text.join('\n')}\n`);
    made.push({ file: `${name}.jsonl`, is, says });
  };
  for (const { name, is, says, change } of CHANGES) {
    const told = says(name === 'gap' || name === 'wrong-order' ? { ...next, seq: middle.seq } : middle);
    write(name, is, told, relinked(change(lines(), at)));
  }
  const byte = source.map((line, i) => (i === at ? line.replace(/"at":(\d)/, (_, digit: string) => `"at":${(Number(digit) + 1) % 10}`) : line));
  write('mutated-byte', 'one byte of an event changed', `event ${middle.seq} (${middle.type}) does not fit: its line, or one left out before it, is not what was exported`, byte);
  write('cut-off', 'a file that ends in the middle of a line', `the line after event ${middle.seq - 1} does not fit: it is not JSON`, [...source.slice(0, at), source[at]!.slice(0, 40)]);
  writeFileSync(path.join(folder, 'damaged.json'), `${JSON.stringify(made, null, 2)}\n`);
}
