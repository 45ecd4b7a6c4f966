// Judges an archive: by itself, as somebody would who has nothing else, and against the store whose run is about to go, since a
// folder of the same name may be of another store, or older than the last news of an effect. Writes and removes nothing.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { namesIn } from '../../adapters/stores/sql/journal-names';
import type { Stores } from '../../adapters/stores/open-stores';
import type { ExportLine } from '../../client/export';
import { canonical } from '../../core/canonical';
import { artifactsVouchedBy } from '../../core/run-artifacts';
import type { LedgerRow } from '../../ports/ledger';
import { EXIT, Stop } from '../exit';
import { linesOf, openExport } from '../journal-file';
import { judgeJournal } from '../verify-journal';

/** What stands in `archive.json`. */
export interface Archive {
  format: 'longhaul-archive'; v: 1; runId: string; archivedAt: number; events: number; chain: string;
  artifacts: number; bytes: number;
  /** Ids that only stand in arguments or values, and that the store does not have. */
  absent: string[];
}

export const JOURNAL = 'journal.jsonl';
export const LEDGER = 'ledger.json';
export const ABOUT = 'archive.json';

/** Rows of the ledger as an archive keeps them: without the time at which they were read. */
export const ledgerKept = (rows: readonly LedgerRow[]): Omit<LedgerRow, 'now'>[] => rows.map(({ now: _now, ...row }) => row);

/** Reads an archive as somebody would who has nothing else. Throws Stop naming what does not fit. */
export async function judged(folder: string, runId: string, events: number): Promise<Archive> {
  const wrong = (why: string): Stop => new Stop(EXIT.error, `The archive ${folder} cannot be relied on: ${why}. Nothing was removed from the store; move the folder away and archive ${runId} again, or choose another --out.`);
  const archive = await jsonIn<Archive>(path.join(folder, ABOUT), isArchive).catch(() => { throw wrong(`its ${ABOUT} cannot be read`); });
  if (archive.runId !== runId) throw wrong(`it is of run ${archive.runId}`);
  const { ok, fault, events: folded, state, runId: exported } = await judgeJournal(await openExport(path.join(folder, JOURNAL)));
  if (!ok) throw wrong(`event ${fault?.seq} does not fit: ${fault?.why}`);
  if (exported !== runId) throw wrong(`its ${JOURNAL} is of run ${exported}`);
  if (folded !== events || archive.events !== events) throw wrong(`it has ${folded} events, and the journal has ${events}`);
  if (state.end === null && events > 0) throw wrong('the run is not over in it');
  const { named, vouched, chain } = await namesOf(folder);
  if (chain !== archive.chain) throw wrong(`its ${JOURNAL} is not the one that its ${ABOUT} names`);
  const rows = await jsonIn<LedgerRow[]>(path.join(folder, LEDGER), isLedger).catch(() => { throw wrong(`its ${LEDGER} cannot be read`); });
  for (const id of namesIn(rows)) named.add(id);
  const there = new Set<string>();
  let size = 0;
  for await (const { id, bytes } of storedIn(folder)) {
    if (createHash('sha256').update(bytes).digest('hex') !== id) throw wrong(`artifact ${id} does not match its checksum`);
    there.add(id);
    size += bytes.byteLength;
  }
  if (there.size !== archive.artifacts || size !== archive.bytes) throw wrong(`it has ${there.size} artifacts of ${size} bytes, and should have ${archive.artifacts} of ${archive.bytes}`);
  for (const id of vouched) if (!there.has(id)) throw wrong(`artifact ${id} of the run is missing in it`);
  for (const id of named) if (!there.has(id) && !archive.absent.includes(id)) throw wrong(`artifact ${id} is missing in it`);
  return archive;
}

/**
 * Holds an archive that was judged against what the store would write now: the row, every event with who wrote it, the ledger, and
 * what was absent then. Checkpoints and digests of states follow from the events, and are another build's in an older archive.
 * Answers words on what differs, or null.
 */
export async function differenceFrom(stores: Stores, lines: AsyncIterable<ExportLine>, folder: string, { runId, absent }: Archive): Promise<string | null> {
  const archived = archivedLines(folder);
  for await (const line of lines) {
    const other = (await archived.next()).value as ExportLine | undefined;
    const what = difference(line, other);
    if (what !== null) return what;
  }
  const [kept, rows] = [byKey(await jsonIn<LedgerRow[]>(path.join(folder, LEDGER), isLedger)), byKey(await stores.ledger.byRun(runId))];
  for (const key of new Set([...kept.keys(), ...rows.keys()])) {
    if (kept.get(key)?.text === rows.get(key)?.text) continue;
    const { tool, callId } = (rows.get(key) ?? kept.get(key))!.row;
    return `the ledger has other news of ${tool} ${callId} than its ${LEDGER}`;
  }
  for (const id of absent) if (await stores.artifacts.has(id)) return `artifact ${id} was missing when it was made, and is here now`;
  return null;
}

/** Words on how two lines of exports differ in what was written; null when they do not. */
function difference(line: ExportLine, other: ExportLine | undefined): string | null {
  if (line.kind === 'header' && other?.kind === 'header') {
    if (line.row.inputDigest !== other.row.inputDigest) return `its input has digest ${other.row.inputDigest.slice(0, 16)}, and here ${line.row.inputDigest.slice(0, 16)}`;
    return canonical(line.row) === canonical(other.row) ? null : 'its row in the list of runs is another';
  }
  if (line.kind === 'event' && other?.kind === 'event') return canonical(written(line)) === canonical(written(other)) ? null : `event ${line.event.seq} (${line.event.type}) is another`;
  return line.kind === other?.kind ? null : 'it has other events';
}

const written = ({ event, epoch, executionId }: Extract<ExportLine, { kind: 'event' }>): unknown => ({ event, epoch, executionId });

const byKey = (rows: readonly LedgerRow[]): Map<string, { row: LedgerRow; text: string }> => new Map(rows.map((row) => [row.key, { row, text: canonical(ledgerKept([row])) }]));

/** What the journal of an archive names, what the run vouches for, and the last link of its chain. */
async function namesOf(folder: string): Promise<{ named: Set<string>; vouched: Set<string>; chain: string }> {
  const [named, vouched] = [new Set<string>(), new Set<string>()];
  let chain = '';
  for await (const line of archivedLines(folder)) {
    chain = line.chain;
    remember(line, named, vouched);
  }
  return { named, vouched, chain };
}

/** Takes up the artifacts that a line of an export names, and those that the run vouches for. */
export function remember(line: ExportLine, named: Set<string>, vouched: Set<string>): void {
  if (line.kind === 'header') for (const id of namesIn(line)) named.add(id);
  if (line.kind !== 'event') return;
  for (const id of namesIn(line.event.data)) named.add(id);
  for (const id of artifactsVouchedBy(line.event)) vouched.add(id);
}

async function* archivedLines(folder: string): AsyncGenerator<ExportLine> {
  for await (const text of linesOf(path.join(folder, JOURNAL))) yield JSON.parse(text) as ExportLine;
}

const isArchive = (value: unknown): boolean => {
  const { format, v, runId, chain, absent } = (value ?? {}) as Partial<Archive>;
  return format === 'longhaul-archive' && v === 1 && typeof runId === 'string' && typeof chain === 'string' && Array.isArray(absent);
};

const isLedger = (value: unknown): boolean => Array.isArray(value) && value.every((row: unknown) => typeof (row as Partial<LedgerRow> | null)?.key === 'string');

async function jsonIn<T>(file: string, fits: (value: unknown) => boolean): Promise<T> {
  const value: unknown = JSON.parse(await readFile(file, 'utf8'));
  if (!fits(value)) throw new Error(`${file} is something else.`);
  return value as T;
}

async function* storedIn(folder: string): AsyncGenerator<{ id: string; bytes: Uint8Array }> {
  const root = path.join(folder, 'artifacts');
  for (const shelf of existsSync(root) ? await readdir(root) : []) {
    for (const rest of await readdir(path.join(root, shelf))) yield { id: `${shelf}${rest}`, bytes: await readFile(path.join(root, shelf, rest)) };
  }
}
