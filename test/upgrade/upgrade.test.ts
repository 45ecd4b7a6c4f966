// Old runs under new deployments, on the real server with real builds: the second has another order of commands behind a patch, the
// third another event shape and another law, the fourth a new major version of a tool. Run by `npm run test:upgrade`.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { RunEvent } from '../../src/core/events';
import { makeBuild, removeBuild } from './support/builds';
import { deployed, type Deployed, type Where, type WorkerProcess } from './support/deployed';

let at: Deployed;
let builds: { second: string; third: string; careless: string };
beforeAll(async () => {
  builds = { second: await makeBuild('second'), third: await makeBuild('third'), careless: await makeBuild('careless') };
  at = await deployed();
  writeFileSync(path.join(at.stateDir, 'plan.json'), JSON.stringify({ goal: 'Send it', steps: [{ id: 'send', title: 'Send it', action: { type: 'tool', tool: 'send', args: { to: 'ann' } } }] }));
}, 600_000);
afterAll(async () => {
  await at.stop();
  Object.values(builds).forEach(removeBuild);
}, 60_000);

const crew = (name: string, buildId: string, ...more: string[]): string[] => ['--deployment', name, '--build-id', buildId, '--task-queue', name, ...more];
const begin = async (runId: string, taskQueue: string, where?: Where): Promise<string> => {
  const { code, stderr } = await at.cli(['run', 'clerk', '--plan', 'plan.json', '--run-id', runId, '--task-queue', taskQueue], where);
  if (code !== 0) throw new Error(stderr);
  const asked = await at.until(runId, 'ApprovalRequested') as Extract<RunEvent, { type: 'ApprovalRequested' }>;
  return asked.data.approvalId;
};
const approve = async (approvalId: string, where?: Where): Promise<void> => {
  const { code, stderr } = await at.cli(['approvals', 'approve', approvalId], where);
  expect([code, stderr]).toEqual([0, expect.stringContaining('Approved')]);
};
const end = async (runId: string): Promise<string> => ((await at.until(runId, 'RunCompleted')) as Extract<RunEvent, { type: 'RunCompleted' }>).data.summary;
const types = async (runId: string): Promise<string[]> => (await at.written(runId)).map(({ type }) => type);
const effects = (runId: string): string[] => at.effects().filter((line) => line.runId === runId).map(({ by }) => by);
const all = (...workers: WorkerProcess[]): Promise<unknown> => Promise.all(workers.map((worker) => worker.stop()));

test('R9.2 a run of the first build waits for an approval while three later builds are deployed: it goes on under the newest, by one RunMigrated, and ends as the new law says', async () => {
  const third = { build: builds.third, config: 'both' } as const;
  const one = await at.worker(crew('main', 'b1'));
  expect(one.words()).toContain('main had no current version, so that no run could begin; it is b1 now.');
  const [early, late] = [await begin('early', 'main'), await begin('late', 'main')];
  await at.cli(['runs', 'pause', 'late', '--reason', 'until the deploy is over']);
  await at.until('late', 'RunPaused');
  await approve(early);
  expect(await end('early')).toBe('1 of 1 steps done.');

  const two = await at.worker(crew('main', 'b2', '--current'), { build: builds.second });
  const three = await at.worker(crew('main', 'b3', '--current'), { build: builds.third });
  const four = await at.worker(crew('main', 'b4', '--current'), third);
  expect(four.words()).toContain('main b4 is the current version now, after b3');
  const looked = await at.cli(['migrate', '--dry-run', '--json'], third);
  expect([looked.code, JSON.parse(looked.stdout)]).toEqual([0, expect.objectContaining({ runId: 'late', verdict: 'migrates', why: 'RunMigrated begins its next generation: law 1 to 2, event schema 1 to 2.', pins: expect.objectContaining({ build: 'b1', law: 1, eventSchema: 1, tools: ['send@1.0.0'] }) })]);
  // An event of the old shape is read by the new build.
  expect((await at.cli(['runs', 'show', 'late'], third)).stdout).toContain('until the deploy is over');
  expect(await types('late')).not.toContain('RunMigrated');

  await at.cli(['runs', 'resume', 'late'], third);
  await approve(late, third);
  expect(await end('late')).toBe('All 1 steps done, by the second law.');
  const journal = await at.written('late');
  const migrated = journal.find((event) => event.type === 'RunMigrated');
  expect(migrated).toMatchObject({ v: 2, data: { law: 2, eventSchema: 2, build: 'b4', from: { law: 1, eventSchema: 1, build: 'b1' } } });
  expect(journal.filter((event) => event.type === 'RunMigrated')).toHaveLength(1);
  expect(journal.filter(({ v, seq }) => (v === 2) !== (seq >= (migrated?.seq ?? 0)))).toEqual([]);
  expect([effects('early'), effects('late')]).toEqual([['send@1'], ['send@1']]);
  expect((await at.cli(['replay', 'late'], third)).stdout).toContain('byte-equal');
  // New runs begin under the newest build, with the new law and the new major version.
  await approve(await begin('new', 'main', third), third);
  expect([await end('new'), effects('new'), await types('new')]).toEqual(['All 1 steps done, by the second law.', ['send@2'], expect.not.arrayContaining(['RunMigrated'])]);
  await all(one, two, three, four);
}, 600_000);

test('R9.2 a build that does not know what an open run was written with does not become current: a sentence says why, and the run is untouched', async () => {
  const three = await at.worker(crew('back', 'b3'), { build: builds.third });
  const asked = await begin('ahead', 'back', { build: builds.third });
  const before = await at.written('ahead');
  await expect(at.worker(crew('back', 'b1', '--current'))).rejects.toThrow(/ended with 1: back b1 does not become current, and nothing was touched: run ahead: Event 1 of run ahead \(RunCreated, schema 2\) is newer than this build, which knows schema 1; start a worker of the newer build/);
  const looked = await at.cli(['migrate', '--dry-run', '--json', 'ahead']);
  expect([looked.code, JSON.parse(looked.stdout)]).toEqual([1, expect.objectContaining({ verdict: 'refused', why: expect.stringContaining('is newer than this build') })]);
  const found = await at.cli(['doctor', '--json', '--task-queue', 'back']);
  expect(found.stdout.split('\n').filter((line) => line.includes('"wrong"'))).toEqual([expect.stringMatching(/run ahead.*this build leaves it alone: Event 1 .*start a worker of the build that wrote it/)]);
  expect(await at.written('ahead')).toEqual(before);
  await approve(asked, { build: builds.third });
  expect([await end('ahead'), effects('ahead')]).toEqual(['All 1 steps done, by the second law.', ['send@1']]);
  await three.stop();
}, 300_000);

test('R9.1 a run is pinned to the major version of its tools: where no worker has it the run says so and waits, and goes on by itself once one has', async () => {
  const old = await at.worker(['--task-queue', 'tools']);
  const asked = await begin('pinned', 'tools');
  await old.stop();
  const newer = await at.worker(['--task-queue', 'tools'], { config: 'two' });
  await approve(asked, { config: 'two' });
  await at.until('pinned', 'RetryScheduled');
  // Each time it looks again it runs for a moment.
  const show = async (): Promise<string> => (await at.cli(['runs', 'show', 'pinned'], { config: 'two' })).stdout;
  let shown = await show();
  for (const until = Date.now() + 20_000; !shown.includes('waits for a worker') && Date.now() < until;) shown = await show();
  expect(shown).toContain('waits for a worker that has the tool send@1');
  const found = await at.cli(['doctor', '--json', '--task-queue', 'tools'], { config: 'two' });
  expect(found.stdout).toMatch(/it needs the tool send@1 \(it began with 1\.0\.0\), and .*two\.config\.cjs has version 2\.0\.0 of it/);
  expect([found.code, effects('pinned')]).toEqual([1, []]);
  await newer.stop();
  const both = await at.worker(['--task-queue', 'tools'], { config: 'both' });
  expect([await end('pinned'), effects('pinned')]).toEqual(['1 of 1 steps done.', ['send@1']]);
  expect(await types('pinned')).not.toContain('ToolCallFailed');
  await both.stop();
}, 300_000);

test('R9.2 without deployment versions: a history of the first build goes on under a patched one; under one that changed the order without a patch it waits, untouched', async () => {
  const old = await at.worker(['--task-queue', 'plain']);
  const asked = await begin('order', 'plain');
  await old.stop();
  const before = await at.written('order');
  const looked = await at.cli(['migrate', '--dry-run', '--json', 'order'], { build: builds.careless });
  expect([looked.code, JSON.parse(looked.stdout)]).toEqual([1, expect.objectContaining({ runId: 'order', verdict: 'refused', why: expect.stringMatching(/^Its history does not replay: event \d+: /) })]);
  const fits = await at.cli(['migrate', '--dry-run', '--json', 'order'], { build: builds.second });
  expect([fits.code, JSON.parse(fits.stdout), fits.stderr]).toEqual([0, expect.objectContaining({ verdict: 'as-is' }), expect.stringContaining('Histories replayed: 1.')]);
  const careless = await at.worker(['--task-queue', 'plain'], { build: builds.careless });
  const sent = await at.cli(['approvals', 'approve', asked, '--message-id', 'ok'], { build: builds.careless });
  expect([sent.code, sent.stderr]).toEqual([1, expect.stringContaining('No worker has answered for run order')]);
  expect([await at.written('order'), effects('order')]).toEqual([before, []]);
  await careless.stop();
  const second = await at.worker(['--task-queue', 'plain'], { build: builds.second });
  expect([await end('order'), effects('order')]).toEqual(['1 of 1 steps done.', ['send@1']]);
  await second.stop();
}, 300_000);

test('R9.2 where a build that is too old is made current all the same, the run waits at its door, untouched, and goes on once the newer build is current again', async () => {
  const third = { build: builds.third };
  const three = await at.worker(crew('forced', 'b3'), third);
  const asked = await begin('forced', 'forced', third);
  const one = await at.worker(crew('forced', 'b1', '--current', '--force'));
  await approve(asked, third);
  // The generation that would begin on the old build fails its workflow task: nothing of it comes into the journal.
  await sleep(10_000);
  const before = await types('forced');
  expect([before.includes('ApprovalGranted'), before.includes('ToolCallRequested'), effects('forced')]).toEqual([true, false, []]);
  expect((await at.cli(['runs', 'show', 'forced'])).stderr).toContain('is newer than this build');
  const restarted = await at.worker(crew('forced', 'b3', '--current'), third);
  expect(restarted.words()).toContain('forced b3 was current before b1 took its place');
  const again = await at.worker(crew('forced', 'b3', '--current', '--force'), third);
  expect([await end('forced'), effects('forced')]).toEqual(['All 1 steps done, by the second law.', ['send@1']]);
  await all(one, three, restarted, again);
}, 300_000);

test('R9.2 R10.6 a run whose version has no workers left is named by the doctor, and goes on under the current version by the command that it names', async () => {
  const one = await at.worker(crew('gone', 'b1'));
  const asked = await begin('left', 'gone');
  await one.stop();
  const second = { build: builds.second };
  const two = await at.worker(crew('gone', 'b2', '--current'), second);
  const found = await at.cli(['doctor', '--json', '--task-queue', 'gone'], second);
  const wrong = found.stdout.split('\n').filter((line) => line.includes('"wrong"') && line.includes('run left')).map((line) => JSON.parse(line) as { detail: string; next: string });
  expect(wrong).toEqual([expect.objectContaining({ detail: 'it is pinned to gone b1, and no worker of that version polls, so that nothing wakes it' })]);
  const words = /npx longhaul temporal (.*)$/.exec(wrong[0]?.next ?? '')?.[1] ?? '';
  expect(await at.server.temporalCli(words.split(' '))).toMatchObject({ code: 0 });
  await approve(asked, second);
  expect([await end('left'), effects('left')]).toEqual(['1 of 1 steps done.', ['send@1']]);
  await two.stop();
  expect(await at.cli(['worker', '--build-id', 'b3'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--build-id belongs to a deployment') });
}, 300_000);

const sleep = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });
