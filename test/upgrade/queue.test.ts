// Who has a queue when a first version of a deployment comes to one that unversioned workers serve, on the real server: it takes
// nothing by itself, takes it when told to, and the doctor's words give it back.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { deployed, type Deployed } from './support/deployed';

let at: Deployed;
beforeAll(async () => {
  at = await deployed();
  writeFileSync(path.join(at.stateDir, 'plan.json'), JSON.stringify({ goal: 'Send it', steps: [{ id: 'send', title: 'Send it', action: { type: 'tool', tool: 'send', args: { to: 'ann' } } }] }));
}, 120_000);
afterAll(() => at.stop(), 60_000);

const queue = ['--task-queue', 'shared'];
const begin = async (runId: string): Promise<string> => (await at.cli(['run', 'clerk', '--plan', 'plan.json', '--run-id', runId, ...queue])).stderr;
const doctor = async (): Promise<{ what: string; state: string; detail: string; next?: string }[]> => {
  const { stdout } = await at.cli(['doctor', '--json', ...queue]);
  return stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as Awaited<ReturnType<typeof doctor>>[number]).filter(({ what }) => /^(worker|deployment )/.test(what));
};

test('R9.2 a first version takes no queue from unversioned workers by itself; made current it does and says so, and without workers the doctor names the way back', async () => {
  const version = ['--deployment', 'crew', '--build-id', 'v2', ...queue];
  const plain = await at.worker(queue);
  await begin('one');
  await at.until('one', 'ApprovalRequested');
  const beside = await at.worker(version);
  expect(beside.words()).toMatch(/crew v2 polls and gets no runs: runs still go to the unversioned workers \(longhaul \d+@.*\); start it with --current to move the queue "shared" to it\./);
  await begin('two');
  await at.until('two', 'ApprovalRequested');
  expect(await doctor()).toEqual([expect.objectContaining({ what: 'worker', state: 'ok' }), expect.objectContaining({ what: 'deployment crew', state: 'note' })]);
  await beside.stop();

  // The open runs alone hold the queue too.
  await plain.stop();
  const later = await at.worker(version);
  expect(later.words()).toMatch(/runs still go to unversioned workers, one of which began run (one|two), which is open; start it with --current/);
  await later.stop();

  const again = await at.worker(queue);
  const taker = await at.worker([...version, '--current']);
  expect(taker.words()).toMatch(/crew v2 is the current version now: runs begin on it, and those that unversioned workers began go on with it\. Unversioned workers \(longhaul \d+@.*\) get no new work from now on/);
  expect(await doctor()).toEqual([expect.objectContaining({ state: 'ok' }), expect.objectContaining({ state: 'note', detail: expect.stringContaining('unversioned, and gets nothing') })]);
  await taker.stop();

  expect(await begin('three')).toContain('The queue "shared" belongs to crew v2, and no worker of that version polls');
  const found = await doctor();
  expect(found).toEqual([expect.objectContaining({ what: 'worker', state: 'wrong', detail: expect.stringContaining('the queue "shared" belongs to crew v2, the current version, and no worker of that version polls') })]);
  const words = /npx longhaul temporal (.*)$/.exec(found[0]?.next ?? '')?.[1] ?? '';
  expect(await at.server.temporalCli(words.split(' '))).toMatchObject({ code: 0 });
  await at.until('three', 'ApprovalRequested');
  expect(await doctor()).toEqual([expect.objectContaining({ what: 'worker', state: 'ok' })]);
  const restarted = await at.worker([...version, '--current']);
  expect(restarted.words()).toContain('crew v2 was current before its queues were given to unversioned workers');
  await Promise.all([restarted.stop(), again.stop()]);
}, 240_000);
