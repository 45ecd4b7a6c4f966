// R10.8: the readers stay in the run's folder, whatever a model asks for and whatever lies in the folder.
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readWithin } from '../../examples/folder-report/folder/folder';
import { decode, encode, encodingOf } from '../../examples/folder-report/folder/encoding';
import { notReadLines, survey } from '../../examples/folder-report/folder/survey';
import { cutBytes, Lines } from '../../examples/folder-report/folder/text';
import { gitLog } from '../../examples/folder-report/tools/git-log';
import { inventory } from '../../examples/folder-report/tools/inventory';
import { readChunk } from '../../examples/folder-report/tools/read-chunk';
import { searchText } from '../../examples/folder-report/tools/search-text';
import { sha256Hex, type Json } from '../../src/core/canonical';
import { toolCall } from '../rig/tool-call';

let scratch: string;
let folder: string;
const SECRET = 'the outside secret';

beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'folder-'));
  folder = path.join(scratch, 'in');
  mkdirSync(path.join(folder, 'sub'), { recursive: true });
  writeFileSync(path.join(folder, 'a.md'), 'first line\nsecond line\nthird line\n');
  writeFileSync(path.join(folder, 'sub', 'b.txt'), 'hello\r\nworld');
  writeFileSync(path.join(scratch, 'outside.txt'), SECRET);
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

const chunk = readChunk({});
const read = async (args: Record<string, Json>, input: Json = { folder }): Promise<unknown> => chunk.execute(chunk.input.parse({ first: 1, last: 5, ...args }), toolCall({ input }));
const refusal = (args: Record<string, Json>, input?: Json): Promise<unknown> => read(args, input).then((value) => { throw new Error(`read ${JSON.stringify(value)}`); }, (error: unknown) => error);

test.each([
  '../outside.txt', 'sub/../../outside.txt', '..', 'sub/..', './../outside.txt', '/etc/passwd', '//etc/passwd', 'C:\\Windows\\win.ini', '\\\\host\\share', 'a.md\0.txt', '', '.', '/', 'sub/./../../outside.txt',
])('R10.8 the path %j is refused before anything is opened', async (file) => {
  const error = await refusal({ file }).catch((schema: unknown) => schema);
  expect(String(error)).not.toContain(SECRET);
  expect(error).toMatchObject(file === '' ? { name: 'ZodError' } : { name: 'ToolError', failureClass: 'argument' });
});

test.each(['.env', '.git/config', 'sub/.hidden/x', 'id_rsa', 'keys/server.pem', 'credentials.json', 'secrets.yaml', 'node_modules/x/readme.md'])('R10.8 the hidden or secret file %s is refused even when it exists', async (file) => {
  mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
  writeFileSync(path.join(folder, file), SECRET);
  expect(await refusal({ file })).toMatchObject({ failureClass: 'permission', code: 'kept-back' });
  const listed = await inventory({}).execute({}, toolCall({ input: { folder } }));
  expect(listed.files.map((entry) => entry.file)).toEqual(['a.md', 'sub/b.txt']);
});

test('R10.8 symbolic links are refused: to a file outside, to a folder outside, in the middle of a path, and to a file inside', async () => {
  symlinkSync('../outside.txt', path.join(folder, 'link.txt'));
  symlinkSync(scratch, path.join(folder, 'up'));
  symlinkSync('a.md', path.join(folder, 'alias.md'));
  for (const file of ['link.txt', 'up/outside.txt', 'alias.md']) expect(await refusal({ file })).toMatchObject({ failureClass: 'argument', code: 'link' });
  const listed = await inventory({}).execute({}, toolCall({ input: { folder } }));
  expect(listed.files.map((entry) => entry.file)).toEqual(['a.md', 'sub/b.txt']);
  expect(listed.leftOut.links).toBe(3);
});

test('R10.8 a folder that is swapped for a link between two reads is never followed', async () => {
  const out = path.join(scratch, 'out');
  mkdirSync(out);
  writeFileSync(path.join(out, 'b.txt'), SECRET);
  let stop = false;
  const swap = (async () => {
    while (!stop) {
      renameSync(path.join(folder, 'sub'), path.join(scratch, 'kept'));
      symlinkSync(out, path.join(folder, 'sub'));
      await new Promise((resolve) => { setImmediate(resolve); });
      rmSync(path.join(folder, 'sub'));
      renameSync(path.join(scratch, 'kept'), path.join(folder, 'sub'));
      await new Promise((resolve) => { setImmediate(resolve); });
    }
  })();
  const seen = new Set<string>();
  for (let n = 0; n < 400; n++) seen.add(await readWithin(folder, 'sub/b.txt').then(String, (error: Error) => error.name));
  stop = true;
  await swap;
  expect([...seen].filter((text) => text !== 'hello\r\nworld' && text !== 'Refusal')).toEqual([]);
});

test('R10.8 devices, pipes and folders are not read, and a pipe does not hang the reader', async () => {
  execFileSync('mkfifo', [path.join(folder, 'pipe.txt')]);
  expect(await refusal({ file: 'pipe.txt' })).toMatchObject({ failureClass: 'argument', code: 'not-a-file' });
  expect(await refusal({ file: 'sub' })).toMatchObject({ failureClass: 'argument', code: 'not-a-file' });
  const listed = await inventory({}).execute({}, toolCall({ input: { folder } }));
  expect(listed.leftOut.special).toBe(1);
});

test('R10.8 the folder comes from the run\'s input alone, and must be absolute, exist and lie under an allowed root', async () => {
  expect(chunk.input.parse.bind(chunk.input, { file: 'a.md', first: 1, last: 1, folder: '/' })).toThrow(/folder/);
  for (const input of [null, {}, { folder: 'in' }, { folder: 5 }] as Json[]) expect(await refusal({ file: 'a.md' }, input)).toMatchObject({ failureClass: 'argument', code: 'folder' });
  expect(await refusal({ file: 'a.md' }, { folder: path.join(scratch, 'nowhere') })).toMatchObject({ failureClass: 'not-found' });
  const bound = readChunk({ allowedRoots: [path.join(scratch, 'other')] });
  await expect(bound.execute({ file: 'a.md', first: 1, last: 1 }, toolCall({ input: { folder } }))).rejects.toMatchObject({ failureClass: 'permission' });
});

test('a chunk is the raw text of its lines with the checksum of the whole file', async () => {
  expect(await read({ file: 'a.md', first: 2, last: 9 })).toEqual({ file: 'a.md', first: 2, last: 3, text: 'second line\nthird line', type: 'text/markdown', eol: 'lf', cut: false, lines: 3, sha256: sha256Hex('first line\nsecond line\nthird line\n') });
  expect(await read({ file: 'sub/b.txt' })).toMatchObject({ first: 1, last: 2, text: 'hello\r\nworld', eol: 'crlf' });
  expect(await refusal({ file: 'a.md', first: 4, last: 9 })).toMatchObject({ failureClass: 'argument', message: expect.stringContaining('has 3 lines') });
  expect(await refusal({ file: 'nothing.md' })).toMatchObject({ failureClass: 'not-found' });
});

test('a chunk is cut at 8 KiB and says so; a result fits a model\'s input even when every character is escaped', async () => {
  writeFileSync(path.join(folder, 'long.txt'), 'é'.repeat(50_000));
  writeFileSync(path.join(folder, 'escaped.txt'), '"\\\u0001'.repeat(20_000));
  const long = await read({ file: 'long.txt' }) as { text: string; cut: boolean; last: number };
  expect([Buffer.byteLength(long.text) <= 8_192, long.cut, long.last]).toEqual([true, true, 1]);
  expect(JSON.stringify(await read({ file: 'escaped.txt' })).length).toBeLessThan(12 * 1024);
});

test('an inventory names media types, sizes, lines, checksums and tables, counts what it leaves out, and stays within 12 KiB', async () => {
  writeFileSync(path.join(folder, 'data.csv'), 'day;amount\n2025-01-01;3\n2025-01-02;4.5\n');
  writeFileSync(path.join(folder, 'image.png'), Buffer.from([0x89, 0x50, 0, 1, 2]));
  const call = toolCall({ input: { folder } });
  const before = await inventory({}).execute({}, call);
  expect(before).toMatchObject({
    files: [{ file: 'a.md', type: 'text/markdown', bytes: 34, lines: 3 }, { file: 'data.csv', type: 'text/csv', lines: 3 }, { file: 'sub/b.txt', type: 'text/plain', lines: 2 }],
    tables: [{ name: 'data', file: 'data.csv', rows: 2, columns: [{ name: 'day', type: 'date', distinct: 2 }, { name: 'amount', type: 'number', distinct: 2 }] }],
    totals: { text: 3, binary: 1 },
  });
  for (let n = 0; n < 300; n++) writeFileSync(path.join(folder, `note-${n}.md`), `note ${n}`);
  const after = await inventory({}).execute({}, call);
  expect(after.version).not.toBe(before.version);
  expect(after.files.length + after.notShown.files).toBe(303);
  expect(JSON.stringify(after).length).toBeLessThan(12 * 1024);
});

test('a search finds stems in the lines where they stand, best first, and answers at most 12 KiB', async () => {
  writeFileSync(path.join(folder, 'c.md'), `# Notes\n\nNothing here.\n\nThe refunded amount rose.\nBecause of late parcels.\n\n${'refund '.repeat(3_000)}\n`);
  writeFileSync(path.join(folder, 'd.html'), '<html><body class="refund">\n<p>Refunds were <b>late</b>.</p>\n</body></html>\n');
  const tool = searchText({});
  const found = await tool.execute(tool.input.parse({ query: 'refunds late OR "(' }), toolCall({ input: { folder } }));
  expect(found.terms).toEqual(['refunds', 'late', 'or']);
  expect(found.hits.slice(0, 2).map(({ file }) => file).sort()).toEqual(['c.md', 'd.html']);
  expect(found.hits.find(({ file }) => file === 'c.md')).toMatchObject({ first: 5, last: 6, snippet: 'The refunded amount rose. Because of late parcels.' });
  expect(JSON.stringify(found).length).toBeLessThan(12 * 1024);
  expect((await tool.execute(tool.input.parse({ query: '!?' }), toolCall({ input: { folder } }))).hits).toEqual([]);
});

test('a reader that is cancelled stops its process and says so', async () => {
  const gone = new AbortController();
  const tool = searchText({});
  const asked = tool.execute({ query: 'line' }, toolCall({ input: { folder } }, { signal: gone.signal }));
  gone.abort();
  await expect(asked).rejects.toMatchObject({ failureClass: 'cancelled' });
});

test('git_log lists commits of a repository, newest first, and is empty elsewhere; a .git that leads outside counts as none', async () => {
  const git = (...args: string[]): unknown => execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', '-c', 'init.defaultBranch=main', ...args], { cwd: folder, stdio: 'ignore' });
  const log = (args: Record<string, Json> = {}) => gitLog({}).execute(args, toolCall({ input: { folder } }));
  expect(await log()).toEqual({ repository: false, commits: [] });
  git('init');
  git('add', 'a.md');
  git('commit', '-m', 'Add a; $(touch pwned)');
  git('add', '.');
  git('commit', '-m', 'Add b');
  expect((await log()).commits.map(({ subject, author }) => [subject, author])).toEqual([['Add b', 'Ann'], ['Add a; $(touch pwned)', 'Ann']]);
  expect((await log({ file: 'a.md' })).commits).toHaveLength(1);
  await expect(log({ file: '--output=x' })).resolves.toMatchObject({ commits: [] });
  await expect(log({ file: '../x' })).rejects.toMatchObject({ failureClass: 'argument' });
  renameSync(path.join(folder, '.git'), path.join(scratch, 'real.git'));
  writeFileSync(path.join(folder, '.git'), `gitdir: ${path.join(scratch, 'real.git')}\n`);
  expect(await log()).toEqual({ repository: false, commits: [] });
});

test('a hard link inside the folder is a plain file of the folder', async () => {
  linkSync(path.join(folder, 'a.md'), path.join(folder, 'same.md'));
  expect(await read({ file: 'same.md', first: 1, last: 1 })).toMatchObject({ text: 'first line' });
});

test('quotes are compared byte by byte within their lines', () => {
  const lines = new Lines(Buffer.from('one two\r\nthree\nfour'));
  expect([lines.count, lines.holds('two', 1, 1), lines.holds('two\r\nthree', 1, 2), lines.holds('four', 3, 3)]).toEqual([3, true, true, true]);
  expect([lines.holds('two\nthree', 1, 2), lines.holds('two', 2, 3), lines.holds('', 1, 1), lines.holds('four', 3, 4), lines.holds('TWO', 1, 1)]).toEqual([false, false, false, false, false]);
  expect([new Lines(Buffer.from('')).count, new Lines(Buffer.from('x\n')).count, cutBytes('ééé', 5), cutBytes('a😀', 3)]).toEqual([0, 1, 'éé', 'a']);
});

test('bytes that are not UTF-8 are read as Windows-1252, and every text so read is found again byte for byte', () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, at) => at).filter((byte) => byte > 0x1f && ![0x7f, 0x81, 0x8d, 0x8f, 0x90, 0x9d].includes(byte)));
  expect([encodingOf(all), decode(all, 'windows-1252'), encode(decode(all, 'windows-1252'), 'windows-1252')]).toEqual(['windows-1252', expect.stringContaining('€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ\u00a0¡'), all]);
  expect(['ž', '\u0081', '\ufffd', 'Ā', '😀'].map((text) => encode(text, 'windows-1252')?.length)).toEqual([1, undefined, undefined, undefined, undefined]);
  expect([Buffer.from('café'), Buffer.from('caf\xe9', 'latin1'), Buffer.concat([Buffer.from('café, éé '), Buffer.from([0xe9])]), Buffer.from([0x81, 0xff])].map(encodingOf)).toEqual(['utf-8', 'windows-1252', 'damaged-utf-8', null]);
  const lines = new Lines(Buffer.from('un\ncaf\xe9 \x96 noir\n', 'latin1'));
  expect([lines.text(2, 2), lines.holds('café – noir', 2, 2), lines.holds('caf\ufffd', 2, 2), lines.holds('cafe', 2, 2)]).toEqual(['café – noir', true, false, false]);
});

test('a chunk, an inventory and a search say which files are not UTF-8 and what was left out', async () => {
  writeFileSync(path.join(folder, 'old.txt'), Buffer.from('le caf\xe9', 'latin1'));
  writeFileSync(path.join(folder, 'noise.txt'), Buffer.from([0x81, 0x8d, 0xff]));
  const call = toolCall({ input: { folder } });
  expect(await read({ file: 'old.txt' })).toMatchObject({ text: 'le café', encoding: 'windows-1252' });
  const listed = await inventory({}).execute({}, call);
  expect(listed.files.map(({ file, encoding }) => [file, encoding])).toEqual([['a.md', undefined], ['old.txt', 'windows-1252'], ['sub/b.txt', undefined]]);
  expect(listed.summary).toBe('3 text files, 0 tables; not read: 1 not text');
  expect(await searchText({}).execute({ query: 'café' }, call)).toMatchObject({ summary: '1 places in 3 files searched; not read: 1 not text', leftOut: 1, hits: [{ file: 'old.txt' }] });
  expect(notReadLines(await survey(folder, () => undefined))).toEqual(['1 file not text in UTF-8 or Windows-1252 (binary, or undecodable): noise.txt']);
});
