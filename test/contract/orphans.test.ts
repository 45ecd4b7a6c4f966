// What tools of a killed worker have started and was stopped by a signal meanwhile, with real processes: it would act when it is
// continued, since nothing in it can notice that the worker is gone. The judges are the process table and the effects file.
import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ownerHere } from '../../src/adapters/claims/owner';
import { startReaper, type ReaperSettings } from '../../src/adapters/claims/reaper';
import { keepNotes, readLists } from '../../src/adapters/claims/running';
import { groupRuns, identify, killGroup } from '../../src/adapters/temporal/process-identity';

let folder: string;
const effects = (): string => path.join(folder, 'effects.jsonl');
const lines = (): { what: string; pid: number }[] => (existsSync(effects()) ? readFileSync(effects(), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as { what: string; pid: number }) : []);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });
const until = async (holds: () => boolean): Promise<void> => { while (!holds()) await sleep(10); };

/** A process with a worker's notes that runs one tool, and what the tool writes as it begins. */
const WORKER = `const { createJiti } = require('jiti'); const load = createJiti(${JSON.stringify(__filename)});
const [folder, how] = process.argv.slice(1);
const { keepNotes } = load('../../src/adapters/claims/running'); const { ownerHere } = load('../../src/adapters/claims/owner');
const { installGroupNote } = load('../../src/adapters/tools/groups'); const { withIsolation } = load('../../src/adapters/tools/isolated');
const { tools } = load('../rig/isolated.config');
const notes = keepNotes(folder, ownerHere('killed'), 'default', (error) => { throw error; });
installGroupNote(notes.group);
notes.begin({ token: 'left', workflowId: 'run/left', type: 'call' });
const known = new Map(tools.map((tool) => [tool.name, tool]));
const isolated = withIsolation(known, { file: require('node:path').resolve('test/rig/isolated.config.ts'), env: process.env });
const call = { runId: 'r', callId: 'c', attempt: 1, input: {}, key: 'k', signal: new AbortController().signal, log: () => undefined, secret: () => 'x', service: () => '' };
void (how.startsWith('inside:') ? known : isolated).get('blind').execute({ how: how.split(':').at(-1) }, call);`;

let worker: ChildProcess | undefined;
let started: number[] = [];
beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'longhaul-orphans-')); });
afterEach(() => {
  worker?.kill('SIGKILL');
  for (const pid of started.splice(0)) try { process.kill(-pid, 'SIGKILL'); } catch { /* It is gone, as it should be. */ }
  rmSync(folder, { recursive: true, force: true });
});

/** A reaper whose server only tells what was so when it was asked to fail an activity. */
async function reaped(look: () => unknown): Promise<unknown[]> {
  const seen: unknown[] = [];
  const client = { workflowService: { resetStickyTaskQueue: async () => undefined }, activity: { fail: async (token: Uint8Array) => { seen.push([Buffer.from(token).toString('base64'), look()]); } } } as unknown as ReaperSettings['client'];
  const reaper = startReaper({ stateDir: folder, notes: keepNotes(folder, ownerHere('new'), 'default', (error) => { throw error; }), client, namespace: 'default', log: () => undefined });
  await reaper.first;
  reaper.stop();
  return seen;
}

test.each(['waits', 'program', 'inside:program'])('R4.2 what a tool (%s) has started and was stopped when its worker died is killed before its call is told, and does nothing any more', async (how) => {
  worker = spawn(process.execPath, ['-e', WORKER, folder, how], { cwd: path.join(__dirname, '../..'), stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ISOLATED_FILE: effects() } });
  await until(() => lines().length >= (how === 'waits' ? 1 : 2));
  const groups = readLists(folder).flatMap((list) => list.groups.map(({ pid }) => pid));
  started = [...groups];
  expect(groups).toHaveLength(how === 'program' ? 2 : 1);
  expect(groups).toContain(lines().at(-1)?.pid);
  for (const pid of groups) process.kill(-pid, 'SIGSTOP');
  worker.kill('SIGKILL');
  await until(() => identify(worker?.pid ?? 0) === undefined);
  await sleep(100);
  expect(groups.map(groupRuns)).toEqual(groups.map(() => true));
  expect(await reaped(() => groups.map(groupRuns))).toEqual([['left', groups.map(() => false)]]);
  for (const pid of groups) try { process.kill(-pid, 'SIGCONT'); } catch { /* Nobody is there, as it should be. */ }
  await sleep(1_500);
  expect(lines().map(({ what }) => what)).not.toContain('late');
  expect(readLists(folder).map(({ owner }) => owner.worker)).toEqual(['new']);
}, 90_000);

test('a group whose leader began at another time is somebody else: it is left alone, and the call is told', async () => {
  const other = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  const pid = other.pid ?? 0;
  mkdirSync(path.join(folder, 'running'));
  appendFileSync(path.join(folder, 'running', '0.jsonl'), '{"owner":null,"namespace":"default"}\n');
  const lost = [{ owner: { ...ownerHere('dead'), processStart: '1' }, namespace: 'default' }, { begin: 1, token: 'left', workflowId: 'run/left', type: 'call' }, { group: 2, pid, startedAt: '1' }, { group: 3, pid: process.pid, startedAt: identify(process.pid)?.startedAt }];
  appendFileSync(path.join(folder, 'running', '1.jsonl'), lost.map((line) => `${JSON.stringify(line)}\n`).join(''));
  expect(await reaped(() => groupRuns(pid))).toEqual([['left', true]]);
  expect([killGroup({ pid, startedAt: identify(pid)?.startedAt ?? '' }), killGroup({ pid, startedAt: '1' })]).toEqual([true, false]);
  await until(() => !groupRuns(pid));
});
