// Recorded journals of every version fold to the very bytes that were stored when they were written: after every event, at every
// checkpoint, at the end. Whatever was changed in one is refused in one sentence that names run, event and fault.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { canonical, sha256Hex } from '../../src/core/canonical';
import { openExport } from '../../src/cli/journal-file';
import { judgeJournal, type Judgement } from '../../src/cli/verify-journal';
import { commandLine } from './support/command-line';
import { relinked, type Damaged, type Line } from '../rig/damaged';
import { DAMAGED, folderOf, provenanceOf, recorded, VERSIONS } from './support/corpus';

const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-journals-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const judge = async (file: string, more: object = {}): Promise<Judgement> => judgeJournal({ ...await openExport(file), ...more });
const linesOf = (file: string): string[] => readFileSync(file, 'utf8').trimEnd().split('\n');

test('R9.4 R9.3 I10 every recorded journal replays byte for byte: at every version, at every checkpoint, to its end', async () => {
  for (const version of VERSIONS) {
    for (const { file, runId, events, chain, status } of provenanceOf(version).journals) {
      const journal = path.join(folderOf(version), 'journals', file);
      const judged = await judge(journal);
      expect([file, judged]).toMatchObject([file, { ok: true, runId, events, states: events }]);
      expect(judged.checkpoints).toBeGreaterThanOrEqual(2);
      const [header, end] = [linesOf(journal)[0], linesOf(journal).at(-1)].map((line) => JSON.parse(line ?? '') as Line & { row: { status: string } });
      expect([end?.chain, header?.row.status]).toEqual([chain, status]);
    }
  }
});

test('I10 every recorded checkpoint is the state that its journal folds to, byte for byte', async () => {
  for (const version of VERSIONS) {
    for (const { file, journal, version: at, sha256 } of provenanceOf(version).checkpoints) {
      const text = readFileSync(path.join(folderOf(version), 'checkpoints', file), 'utf8');
      const { state } = await judge(path.join(folderOf(version), 'journals', journal), { until: at });
      expect([file, sha256Hex(text), canonical(state)]).toEqual([file, sha256, text]);
    }
  }
});

/** What `longhaul replay` would say. */
const told = ({ runId, fault }: Judgement): string => (fault === undefined ? `${runId} is whole` : fault.type === 'end' ? `${runId}: ${fault.why}` : fault.type === 'line' ? `${runId}: the line after event ${fault.seq} does not fit: ${fault.why}` : `${runId}: event ${fault.seq} (${fault.type}) does not fit: ${fault.why}`);
const shelf = JSON.parse(readFileSync(path.join(DAMAGED, 'damaged.json'), 'utf8')) as Damaged[];

test.each(shelf.map(({ file, says, is }) => [file, says, is]))('R9.4 %s is refused: %s', async (file, says) => {
  const judged = await judge(path.join(DAMAGED, file));
  expect(told(judged)).toContain(says);
  expect(told(judged)).toContain(judged.runId);
  expect(({} as { polluted?: true }).polluted).toBeUndefined();
});

test('R9.4 the shelf holds a future version, a missing one, a foreign run, a prototype key, a torn batch, a gap, a wrong order and a mutated byte', () => {
  const files = shelf.map(({ file }) => file);
  for (const name of ['future-version', 'missing-version', 'foreign-run', 'prototype-key', 'torn-batch', 'gap', 'wrong-order', 'mutated-byte']) expect(files).toContain(`${name}.jsonl`);
});

test('R9.4 any changed byte of any line is found and named by its line: in the header, in an event, in a digest, in the closing line', async () => {
  const source = recorded('journals').find(({ name }) => name.endsWith('/retried.jsonl'))?.file ?? '';
  const bytes = readFileSync(source);
  const [starts, every] = [[0], process.env['LONGHAUL_EXHAUSTIVE'] ? 1 : 151];
  bytes.forEach((byte, i) => { if (byte === 10) starts.push(i + 1); });
  const file = path.join(folder, 'changed.jsonl');
  for (let at = 0; at < bytes.length - 1; at += every) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 7));
    writeFileSync(file, changed);
    const line = starts.filter((start) => start <= at).length - 1;
    const found = await judge(file).then(({ fault }) => fault ?? null, (error: Error) => error.message);
    expect([at, found]).not.toEqual([at, null]);
    // A header that is no header any more is no export. What comes after it is named by its own line, or by the one that it broke.
    if (typeof found === 'string') expect([at, line]).toEqual([at, 0]);
    else if (found) expect([at, found, Math.abs(found.seq - line) <= 1]).toEqual([at, found, true]);
  }
}, 120_000);

test('R9.4 an event that was changed and linked anew is found by the state that it leads to', async () => {
  const source = recorded('journals').find(({ name }) => name.endsWith('/everything.jsonl'))?.file ?? '';
  const lines = linesOf(source).map((line) => JSON.parse(line) as Line);
  const at = lines.findIndex(({ event }) => event?.type === 'StepCompleted');
  const event = lines[at]!.event!;
  const file = path.join(folder, 'relinked.jsonl');
  writeFileSync(file, relinked(lines.map((line, i) => (i === at ? { ...line, event: { ...event, data: { ...event.data, output: { value: 'another' } } } } : line))).join('\n'));
  expect((await judge(file)).fault).toMatchObject({ seq: event.seq, type: 'StepCompleted', why: expect.stringMatching(/^the state folded up to it is [0-9a-f]{12}, and the export says [0-9a-f]{12}$/) });
});

describe('longhaul replay, with nothing but an export', () => {
  const replay = commandLine(folder);
  const journalOf = (name: string): string => recorded('journals').find((one) => one.name.endsWith(`/${name}.jsonl`))?.file ?? '';

  test('R9.4 R2.3 it says how many events, checkpoints and versions were equal, and what the state was at a version', async () => {
    const file = journalOf('everything');
    const { runId, events } = provenanceOf(VERSIONS[0] ?? '').journals.find((one) => one.file === 'everything.jsonl')!;
    expect(await replay('replay', file)).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`^${runId}: ${events} events folded, 2 checkpoints and ${events} versions byte-equal, status completed, state [0-9a-f]{64}\n$`)) });
    // The folder of an archive is read by the export in it.
    mkdirSync(path.join(folder, 'archive'));
    copyFileSync(file, path.join(folder, 'archive', 'journal.jsonl'));
    expect((await replay('replay', path.join(folder, 'archive'))).stdout).toBe((await replay('replay', file)).stdout);
    const at = JSON.parse((await replay('replay', file, '--until', '7', '--json')).stdout) as { digest: string };
    expect(at).toMatchObject({ ok: true, runId, events: 7, states: 7 });
    const { stdout: state } = await replay('replay', file, '--until', '7', '--state');
    expect([sha256Hex(state.trimEnd()), JSON.parse(state)]).toEqual([at.digest, expect.objectContaining({ runId, version: 7 })]);
    expect(at.digest).toBe((JSON.parse(linesOf(file)[7] ?? '') as { state: string }).state);
    expect(await replay('replay', file, '--until', '999')).toMatchObject({ code: 2, stderr: `${runId}: there is no event 999: the journal ends at ${events}.\n` });
  });

  test('R9.4 --diff tells the changes of the state between two versions, steps by their ids', async () => {
    const file = journalOf('retried');
    const { code, stdout } = await replay('replay', file, '--diff', '2');
    expect([code, stdout.split('\n')]).toEqual([0, expect.arrayContaining([expect.stringMatching(/^\S+: \d+ changes of the state from version 2 to \d+$/), '~ steps[only].status: "pending" -> "done"', expect.stringMatching(/^~ end: null -> \{"status":"completed"/)])]);
    const back = JSON.parse((await replay('replay', file, '--diff', '0', '--until', '1', '--json')).stdout) as { changes: { path: string }[] };
    expect(back.changes.map((change) => change.path)).toContain('inputDigest');
    expect((await replay('replay', file, '--diff', '999')).code).toBe(2);
  });

  test('R9.4 --diff with another journal names the first event that differs, or that one alone has, exit 1; the same journal is alike, exit 0', async () => {
    const file = journalOf('retried');
    const lines = linesOf(file).map((line) => JSON.parse(line) as Line);
    expect(await replay('replay', file, '--diff', file)).toMatchObject({ code: 0, stdout: expect.stringContaining('all events are alike') });
    // What an export of an earlier moment holds: up to the end of a batch, with the row of then.
    const short = path.join(folder, 'short.jsonl');
    const header = { ...lines[0], checkpoints: [], row: { ...(lines[0] as unknown as { row: object }).row, version: 3, status: 'running' } } as Line;
    writeFileSync(short, relinked([header, ...lines.slice(1, 4), lines.at(-1)!]).join('\n'));
    const longer = await replay('replay', short, '--diff', file);
    expect([longer.code, longer.stderr, longer.stdout]).toEqual([1, '', expect.stringMatching(/: event 4 \(\w+\) stands only in the second\n\d+ changes of the state at the end\n/)]);
    const other = await replay('replay', file, '--diff', journalOf('exhausted'));
    expect([other.code, other.stdout]).toEqual([1, expect.stringMatching(/: event 1 \(RunCreated\) is the first that differs\n/)]);
  });

  test('R9.4 what does not fit is one sentence on stderr, exit 1; what is no export says how to make one', async () => {
    const damaged = await replay('replay', path.join(DAMAGED, 'gap.jsonl'));
    expect([damaged.code, damaged.stdout, damaged.stderr]).toEqual([1, '', expect.stringMatching(/^\S+: event \d+ \(\w+\) does not fit: its number is \d+, and \d+ must follow \d+\.\n$/)]);
    writeFileSync(path.join(folder, 'other.txt'), 'not an export\n');
    expect(await replay('replay', path.join(folder, 'other.txt'))).toMatchObject({ code: 1, stderr: expect.stringContaining('is no export of a run: make one with `npx longhaul runs export RUN --out FILE`') });
  });
});
