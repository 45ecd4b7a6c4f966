// What a worker process notes of its activities, as others read it: after a kill -9, cut off, grown, or of another host.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ownerGone, ownerHere } from '../../src/adapters/claims/owner';
import { keepNotes, readLists, removeList } from '../../src/adapters/claims/running';
import { workersInPlain } from '../../src/cli/workers';

let folder: string;
beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'longhaul-running-')); });
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const fails = (error: unknown): never => { throw error; };
const keep = () => keepNotes(folder, ownerHere('test'), 'default', fails);
const activity = (n: number) => ({ token: `token-${n}`, workflowId: `run/${n}`, type: 'call' });
const [HEAD] = [{ owner: { host: 'elsewhere', pid: 1, processStart: '1', worker: 'x' }, namespace: 'default' }];

test('what has begun and not ended is read by others, with who runs it and on which runs it has worked', () => {
  const notes = keep();
  const ended = [1, 2, 3].map((n) => { notes.saw(`run/${n}`); return notes.begin(activity(n)); });
  ended[1]?.();
  expect(readLists(folder)).toMatchObject([{ owner: { pid: process.pid, worker: 'test' }, namespace: 'default', runs: ['run/1', 'run/2', 'run/3'], underway: [activity(1), activity(3)] }]);
  ended[0]?.();
  ended[2]?.();
  notes.close();
  expect(readLists(folder)).toEqual([]);
  expect(readdirSync(path.join(folder, 'running'))).toEqual([]);
});

test('R1.4 the notes of a process that was killed outlive it, and it is known to be gone; a living one is not', async () => {
  keep().begin(activity(1));
  const script = `const { createJiti } = require('jiti'); const load = createJiti(${JSON.stringify(__filename)});
    const { keepNotes } = load('../../src/adapters/claims/running'); const { ownerHere } = load('../../src/adapters/claims/owner');
    const notes = keepNotes(${JSON.stringify(folder)}, ownerHere('killed'), 'default', (error) => { throw error; });
    notes.begin({ token: 'left', workflowId: 'run/left', type: 'model' }); process.kill(process.pid, 'SIGKILL');`;
  await new Promise((resolve) => { spawn(process.execPath, ['-e', script], { cwd: path.join(__dirname, '..', '..'), stdio: 'inherit' }).on('exit', resolve); });
  const seen = readLists(folder).map((list) => [list.owner.worker, list.underway.map(({ token }) => token).join(), ownerGone(list.owner)]);
  expect(new Set(seen.map((one) => one.join()))).toEqual(new Set(['killed,left,true', 'test,token-1,false']));
  for (const list of readLists(folder)) if (ownerGone(list.owner)) removeList(list);
  expect(readLists(folder).map(({ owner }) => owner.worker)).toEqual(['test']);
});

test('R10.9 a living worker that was started without keys is named as sending in plain, and no other', () => {
  const living = ownerHere('plain');
  keepNotes(folder, living, 'default', fails, false);
  keepNotes(folder, ownerHere('encrypting'), 'default', fails, true);
  keepNotes(folder, ownerHere('of an older build'), 'default', fails);
  keepNotes(folder, { ...living, processStart: 'another', worker: 'gone' }, 'default', fails, false);
  expect(readLists(folder).map(({ owner, encrypts }) => `${owner.worker} ${encrypts}`).sort()).toEqual(['encrypting true', 'gone false', 'of an older build undefined', 'plain false']);
  expect(workersInPlain(folder)).toEqual(['plain']);
});

test('a list stays small however much has run, and keeps what is under way and the newest 200 runs', () => {
  const notes = keep();
  notes.begin({ token: 'first', workflowId: 'run/first', type: 'call' });
  for (let n = 0; n < 5_000; n += 1) {
    notes.saw(`run/${n}`);
    notes.begin({ token: 't'.repeat(200), workflowId: `run/${n}`, type: 'call' })();
  }
  const [list] = readLists(folder);
  expect(list?.underway.map(({ token }) => token)).toEqual(['first']);
  expect([list?.runs.length, list?.runs.at(-1)]).toEqual([200, 'run/4999']);
  expect(statSync(list?.file ?? '').size).toBeLessThan(300 * 1024);
});

test('a line that was cut off is passed over, and a file without its first line is none', () => {
  keep().begin(activity(1));
  const [list] = readLists(folder);
  appendFileSync(list?.file ?? '', '{"begin":2,"token":"cu');
  appendFileSync(path.join(folder, 'running', 'other.jsonl'), '{"end":1}\nnonsense\n');
  expect(readLists(folder).map(({ underway }) => underway)).toEqual([[activity(1)]]);
});

test('process groups are noted with their start until they are ended, also when the list is written anew and after a clean end', () => {
  const notes = keep();
  const [first, second] = [41, 42].map((pid) => notes.group({ pid, startedAt: `s${pid}` }));
  for (let n = 0; n < 2_000; n += 1) notes.begin({ token: 't'.repeat(200), workflowId: 'run/1', type: 'call' })();
  second?.();
  expect(readLists(folder).map(({ groups }) => groups)).toEqual([[{ pid: 41, startedAt: 's41' }]]);
  notes.close();
  expect(readLists(folder)).toHaveLength(1);
  first?.();
});

test('lines of another shape are passed over, and a file whose owner is of another shape is no list', () => {
  keep().group({ pid: 41, startedAt: 's' });
  const [list] = readLists(folder);
  const strange = ['null', '[]', '7', '{"group":2}', '{"group":3,"pid":"42","startedAt":"s"}', '{"group":4,"pid":-1,"startedAt":"s"}', '{"group":5,"pid":0,"startedAt":"s"}',
    '{"begin":6,"token":7,"workflowId":"run/1","type":"call"}', '{"run":null}', '{"end":"1"}', '{"group":8,"pid":43,"star'];
  appendFileSync(list?.file ?? '', strange.join('\n'));
  [{ owner: null, namespace: 'default' }, { owner: { host: 'h' }, namespace: 'default' }, { owner: HEAD?.owner }, { owner: { ...HEAD?.owner, pid: '1' }, namespace: 'default' }, null]
    .forEach((head, i) => appendFileSync(path.join(folder, 'running', `${i}.jsonl`), `${JSON.stringify(head)}\n`));
  expect(readLists(folder)).toEqual([{ ...list, groups: [{ pid: 41, startedAt: 's' }], runs: [], underway: [] }]);
});

test('the list of another host is concluded nothing from, and is removed when nobody has touched it for a day', () => {
  const notes = keep();
  const file = path.join(folder, 'running', 'far.jsonl');
  appendFileSync(file, `${JSON.stringify(HEAD)}\n`);
  expect(readLists(folder).map(({ owner }) => ownerGone(owner))).toEqual([false, false]);
  const old = new Date(Date.now() - 25 * 3600 * 1000);
  for (const name of readdirSync(path.dirname(file))) utimesSync(path.join(path.dirname(file), name), old, old);
  notes.touch();
  expect(readLists(folder).map(({ owner }) => owner.worker)).toEqual(['test']);
  expect(existsSync(file)).toBe(false);
});

test('a folder that cannot be written is told once, and the worker goes on without a list', () => {
  const told: unknown[] = [];
  appendFileSync(path.join(folder, 'running'), '');
  const notes = keepNotes(folder, ownerHere('test'), 'default', (error) => told.push(error));
  notes.saw('run/1');
  notes.begin(activity(1))();
  notes.close();
  expect([told.length, readLists(folder)]).toEqual([1, []]);
});
