// `write_report`, `publish` and `notify` against real files and the real publisher process.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { unifiedDiff } from '../../examples/folder-report/report/diff';
import { notify as makeNotify } from '../../examples/folder-report/tools/notify';
import { publish as makePublish } from '../../examples/folder-report/tools/publish';
import { writeReport } from '../../examples/folder-report/tools/write-report';
import type { Json } from '../../src/core/canonical';
import type { ToolCall } from '../../src/ports/tool';
import { publisherLog, startPublisher, type Publisher } from '../rig/publisher';
import { toolCall, type Bench } from '../rig/tool-call';

const SOURCE = 'Title\n\nRefunds were 12.\nThey rose in\r\nJuly.\n';
const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const [write, publish, notify] = [writeReport({}), makePublish(), makeNotify()];

let scratch: string;
let bench: Bench & { artifacts: Map<string, Uint8Array> };
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'report-'));
  const folder = path.join(scratch, 'folder');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'a.md'), SOURCE);
  writeFileSync(path.join(folder, 'n.csv'), 'k,v\nx,1\ny,2\n');
  bench = { input: { folder }, artifacts: new Map(), services: { reports: `${pathToFileURL(scratch).href}/reports/`, outbox: pathToFileURL(path.join(scratch, 'out', 'box.jsonl')).href } };
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

const evidence = (change: Record<string, Json> = {}): Record<string, Json> => ({ file: 'a.md', first: 3, last: 3, quote: 'Refunds were 12.', sha256: sha(SOURCE), ...change });
const report = (proof: Record<string, Json>, change: Record<string, Json> = {}): Json => ({
  title: 'T', question: 'Q?', sections: [{ heading: 'H', statements: [{ text: 'Refunds were 12.', evidence: [proof] }] }], contradictions: [], openQuestions: [], ...change,
});
const written = (args: Json, about: Partial<ToolCall> = {}) => write.execute(write.input.parse(args), toolCall(bench, about));
const text = (ref: { sha256: string }): string => Buffer.from(bench.artifacts.get(ref.sha256) ?? []).toString('utf8');

describe('write_report', () => {
  test('stores the report and its evidence as artifacts and as files of the run, and cites file and lines', async () => {
    const result = await written(report(evidence(), { tables: [{ title: 'Sum', sql: 'SELECT SUM(v) AS total FROM n' }], openQuestions: ['Why?'], author: 'me' }));
    expect(result).toMatchObject({ title: 'T', version: 1, statements: 1, sha256: result.report.sha256 });
    expect(text(result.report)).toContain('- Refunds were 12. [a.md:3]');
    expect(text(result.report)).toMatch(/\| total \|\n\| --- \|\n\| 3 \|/);
    expect(readFileSync(result.path, 'utf8')).toBe(text(result.report));
    expect(JSON.parse(text(result.evidence))).toMatchObject({ version: 1, report: result.report.sha256, sections: [{ statements: [{ evidence: [{ file: 'a.md', quote: 'Refunds were 12.' }] }] }], tables: [{ rows: [[3]], tables: [{ file: 'n.csv' }] }] });
  });

  test.each<[string, Record<string, Json>, RegExp]>([
    ['a quote that is not in its lines', { first: 4, last: 4 }, /does not stand in these lines/],
    ['a quote that differs by one character', { quote: 'Refunds were 13.' }, /does not stand/],
    ['a quote with other line ends than the file', { first: 4, last: 5, quote: 'in\nJuly' }, /does not stand/],
    ['a checksum of another version of the file', { sha256: sha('old') }, /is not the one that was read/],
    ['lines beyond the file', { first: 3, last: 99 }, /has 5 lines/],
    ['lines in the wrong order', { first: 3, last: 2 }, /has 5 lines/],
    ['a file outside of the folder', { file: '../report.txt' }, /leads out of the folder/],
    ['a file that does not exist', { file: 'b.md' }, /no file b.md/],
    ['a hidden file', { file: '.env' }, /hidden, secret/],
  ])('refuses %s, naming the evidence, and writes nothing', async (_, change, message) => {
    const refused = written(report(evidence(change)));
    await expect(refused).rejects.toMatchObject({ name: 'ToolError', failureClass: 'argument', code: 'evidence' });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toThrow(/section "H", statement 1, evidence 1 \(/);
    expect([bench.artifacts.size, existsSync(path.join(scratch, 'reports'))]).toEqual([0, false]);
  });

  test('takes a quote over line ends exactly as the file has them', async () => {
    await expect(written(report(evidence({ first: 4, last: 5, quote: 'rose in\r\nJuly' })))).resolves.toMatchObject({ version: 1 });
  });

  test('refuses a claim without evidence, a contradiction with one side, and a table that does more than read', async () => {
    expect(() => write.input.parse(report(evidence(), { sections: [{ heading: 'H', statements: [{ text: 'So.', evidence: [] }] }] }))).toThrow();
    const claim = { text: 'Refunds were 12.', evidence: [evidence()] };
    await expect(written(report(evidence(), { contradictions: [{ about: 'x', claims: [claim] }] }))).rejects.toThrow(/one side only/);
    await expect(written(report(evidence(), { contradictions: [{ about: 'x', claims: [claim], table: 1 }] }))).rejects.toThrow(/table 1, which the report does not have/);
    await expect(written(report(evidence(), { tables: [{ title: 'x', sql: "SELECT readfile('/etc/passwd')" }] }))).rejects.toMatchObject({ failureClass: 'policy' });
  });

  test('the same key answers the same, also when the folder has changed since; a look-up finds it', async () => {
    const first = await written(report(evidence()));
    writeFileSync(path.join(scratch, 'folder', 'a.md'), 'changed');
    expect(await written(report(evidence()))).toEqual(first);
    expect(await write.lookUp?.({ key: toolCall(bench).key, args: {} as never, since: 0 }, toolCall(bench))).toMatchObject({ found: true, output: { version: 1 } });
    expect(await write.lookUp?.({ key: 'k1:other', args: {} as never, since: 0 }, toolCall(bench))).toEqual({ found: false });
  });

  test('a version that revises another counts on from it', async () => {
    const first = await written(report(evidence()));
    const second = await written(report(evidence(), { revises: { sha256: first.evidence.sha256 } }), { key: 'k1:second' });
    expect([second.version, path.basename(second.path)]).toEqual([2, 'report-v2.md']);
    await expect(written(report(evidence(), { revises: { sha256: first.report.sha256 } }), { key: 'k1:third' })).rejects.toThrow();
  });

  test('undo takes the files back and leaves the artifacts as the record', async () => {
    const result = await written(report(evidence()));
    await write.undo?.({ args: {} as never, output: result as unknown as Json, key: toolCall(bench).key }, toolCall(bench));
    expect(readdirSync(path.dirname(result.path))).toEqual([]);
    expect(text(result.report)).toContain('# T');
    expect(await write.lookUp?.({ key: toolCall(bench).key, args: {} as never, since: 0 }, toolCall(bench))).toEqual({ found: false });
  });

  test('text of the sources cannot open a tag or a heading in the report', async () => {
    const hostile = 'x <script>alert(1)</script>\n# Not a heading | nor a cell';
    const result = await written(report(evidence(), { title: hostile, sections: [{ heading: hostile, statements: [{ text: hostile, evidence: [evidence()] }] }], openQuestions: [hostile] }));
    expect(text(result.report)).not.toContain('<script>');
    expect(text(result.report)).not.toMatch(/^# Not/m);
  });
});

describe('publish', () => {
  let publisher: Publisher;
  let storage: string;
  let ref: { sha256: string };
  beforeEach(async () => {
    storage = path.join(scratch, 'publisher');
    await start();
    ref = await toolCall(bench).artifacts.write('line one\nline two\n', { mediaType: 'text/markdown', summary: 'r' });
  });
  afterEach(() => publisher.end('SIGKILL'));
  const start = async (env?: Record<string, string>): Promise<void> => {
    publisher = await startPublisher(storage, env);
    bench.services = { ...bench.services, publisher: publisher.url };
  };
  const args = (change: Record<string, Json> = {}) => publish.input.parse({ slug: 'refunds', report: { ...ref, bytes: 1, mediaType: 'text/markdown', summary: 'x' }, ...change });
  const publications = (): unknown[] => publisherLog(storage).filter(({ kind }) => kind === 'publication');

  test('publishes once a key, for the version that was approved, and the look-up finds it', async () => {
    const call = toolCall(bench, { resourceVersion: await publish.resourceVersion?.(args(), toolCall(bench)) ?? null });
    expect(call.resourceVersion).toBe('absent');
    const done = await publish.execute(args(), call);
    expect(done).toMatchObject({ slug: 'refunds', revision: 1, url: `${publisher.url}/reports/refunds` });
    expect(await publish.execute(args(), call)).toEqual(done);
    expect(publications()).toHaveLength(1);
    expect(await publish.lookUp?.({ key: call.key, args: args(), since: 0 }, call)).toMatchObject({ found: true, output: done, reference: expect.stringContaining('/reports/refunds revision 1') });
    expect(await publish.lookUp?.({ key: 'k1:unknown-key', args: args(), since: 0 }, call)).toEqual({ found: false });
    expect(await publish.resourceVersion?.(args(), call)).toBe(done.etag);
  });

  test('R4.4 what changed since the approval is not overwritten', async () => {
    await publish.execute(args(), toolCall(bench, { resourceVersion: 'absent' }));
    const late = publish.execute(args(), toolCall(bench, { key: 'k1:another-key', resourceVersion: 'absent' }));
    await expect(late).rejects.toMatchObject({ failureClass: 'business-refusal', code: 'changed' });
    expect(publications()).toHaveLength(1);
  });

  test('R4.2 killed with the answer under way, the key tells after a restart that it happened', async () => {
    await publisher.end('SIGKILL');
    await start({ PUBLISHER_DELAY_AFTER_MS: '10000' });
    const call = toolCall(bench);
    const lost = publish.execute(args(), call).then(() => 'answered', (error: { failureClass?: string }) => error.failureClass ?? 'unknown');
    while (publications().length === 0) await new Promise((resolve) => { setTimeout(resolve, 20); });
    await publisher.end('SIGKILL');
    expect(await lost).toBe('unknown');
    await start();
    expect(await publish.lookUp?.({ key: call.key, args: args(), since: 0 }, toolCall(bench))).toMatchObject({ found: true });
    expect(publications()).toHaveLength(1);
  });

  test('a publisher that is not there is `network`: certainly nothing was sent', async () => {
    await publisher.end('SIGKILL');
    await expect(publish.execute(args(), toolCall(bench))).rejects.toMatchObject({ failureClass: 'network', code: 'ECONNREFUSED' });
    await expect(publish.lookUp?.({ key: 'k1:unknown-key', args: args(), since: 0 }, toolCall(bench))).rejects.toMatchObject({ failureClass: 'network' });
  });

  test('the same key with another report is a mismatch', async () => {
    await publish.execute(args(), toolCall(bench));
    const other = await toolCall(bench).artifacts.write('other', { mediaType: 'text/markdown', summary: 'o' });
    await expect(publish.execute(args({ report: other as unknown as Json }), toolCall(bench, { resourceVersion: 'absent' }))).rejects.toMatchObject({ failureClass: 'mismatch' });
  });

  test('the preview shows what would be new, then what would change, then that nothing does', async () => {
    expect(await publish.preview?.(args(), toolCall(bench))).toMatch(/Nothing is published under refunds yet[^]*\+line one\n\+line two/);
    await publish.execute(args(), toolCall(bench));
    expect(await publish.preview?.(args(), toolCall(bench))).toMatch(/No difference\.$/);
    ref = await toolCall(bench).artifacts.write('line one\nline 2\n', { mediaType: 'text/markdown', summary: 'r' });
    expect(await publish.preview?.(args(), toolCall(bench))).toMatch(/--- published\/refunds\n\+\+\+ new\/refunds\n@@ -1,2 \+1,2 @@\n line one\n-line two\n\+line 2/);
  });
});

describe('notify', () => {
  const outbox = (): Record<string, unknown>[] => readFileSync(path.join(scratch, 'out', 'box.jsonl'), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as Record<string, unknown>);

  test('appends one line for each call and changes none that stands', async () => {
    for (const subject of ['one', 'two\n{"forged": true}']) await notify.execute(notify.input.parse({ subject, message: 'm' }), toolCall(bench));
    expect(outbox()).toMatchObject([{ subject: 'one', runId: 'run-1', callId: 'c1', link: null }, { subject: 'two\n{"forged": true}' }]);
  });

  test('an outbox that cannot be opened, or is a link, is refused before anything is written', async () => {
    writeFileSync(path.join(scratch, 'out'), 'in the way');
    await expect(notify.execute({ subject: 's', message: 'm' }, toolCall(bench))).rejects.toMatchObject({ failureClass: 'permission' });
    rmSync(path.join(scratch, 'out'));
    mkdirSync(path.join(scratch, 'out'));
    symlinkSync(path.join(scratch, 'folder', 'a.md'), path.join(scratch, 'out', 'box.jsonl'));
    await expect(notify.execute({ subject: 's', message: 'm' }, toolCall(bench))).rejects.toMatchObject({ failureClass: 'permission' });
    expect(readFileSync(path.join(scratch, 'folder', 'a.md'), 'utf8')).toBe(SOURCE);
  });
});

test('a difference names the lines around each change and where they stand', () => {
  const before = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`);
  const after = before.flatMap((line, at) => (at === 4 ? ['line five'] : at === 15 ? [] : [line]));
  expect(unifiedDiff('a', 'b', `${before.join('\n')}\n`, `${after.join('\n')}\n`)).toBe([
    '--- a', '+++ b', '@@ -2,7 +2,7 @@', ' line 2', ' line 3', ' line 4', '-line 5', '+line five', ' line 6', ' line 7', ' line 8',
    '@@ -13,7 +13,6 @@', ' line 13', ' line 14', ' line 15', '-line 16', ' line 17', ' line 18', ' line 19', '',
  ].join('\n'));
  expect(unifiedDiff('a', 'b', '', 'x\n')).toBe('--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n');
  expect(unifiedDiff('a', 'b', 'x\n', 'x\n')).toBe('');
});
