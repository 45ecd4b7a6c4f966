// The ways in which a run can lose its execution, on the real server with real effects: one of many, on queues of their own, and with
// the database of Temporal deleted in the middle of a call. Same id, same keys; what was done is done once. What takes longer (a
// second server on an old copy, the limit of history, a lost build, a sleeper) is in test/disaster.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { createClient, type LonghaulClient } from '../../src/client/client';
import type { RestoreAnswer } from '../../src/client/types';
import { workflowIdOf } from '../../src/messages';
import { RIG_AGENT } from '../rig/config';
import { PLAN, tool } from '../rig/once';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
let client: LonghaulClient;
beforeAll(async () => {
  rig = await startRig();
  await rig.worker();
  client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
}, 120_000);
afterAll(() => rig.stop(), 60_000);

const lines = (runId: string): string[] => rig.effects(runId).map(({ text }) => text);
const asked = (runId: string) => rig.until(runId, (state) => Object.keys(state.questions)[0]);
const terminate = (runId: string) => rig.client.workflow.getHandle(workflowIdOf(runId)).terminate('by hand');
async function toTheEnd(runId: string): Promise<void> {
  const questionId = await asked(runId);
  await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'yes' } });
  const { state, status } = await rig.end(runId);
  expect([status, state.end?.outcome, lines(runId)]).toEqual(['COMPLETED', 'full', ['first', 'second']]);
}
async function restoredAll(): Promise<RestoreAnswer[]> {
  const answers: RestoreAnswer[] = [];
  for await (const { answer } of client.restoreAll()) answers.push(answer);
  return answers;
}

test('R1.3 a run goes back to its own queue, whatever queue the restoring client knows; another can be named', async () => {
  const elsewhere = await rig.worker({ taskQueue: 'elsewhere' });
  const there = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'elsewhere' });
  const answer = await there.start({ runId: 'own-queue', agent: RIG_AGENT, plan: PLAN as never, owner: ANN });
  expect(answer.kind).toBe('started');
  await asked('own-queue');
  await terminate('own-queue');
  expect(await client.restore('own-queue')).toMatchObject({ kind: 'restored', taskQueue: 'elsewhere', epoch: 2 });
  await rig.until('own-queue', (state) => state.epoch === 2);
  await elsewhere.kill();
  expect(await client.restore('own-queue')).toMatchObject({ kind: 'refused', code: 'runs' });
  expect(await client.restore('own-queue', { force: true, taskQueue: 'rig' })).toMatchObject({ kind: 'restored', taskQueue: 'rig', epoch: 3 });
  await toTheEnd('own-queue');
});

test('R1.3 after a disaster every open run is restored by one command; asked again, it does nothing', async () => {
  const runIds = await Promise.all([0, 1, 2].map(() => rig.run({ plan: PLAN })));
  const whole = await rig.run({ plan: PLAN });
  for (const runId of [...runIds, whole]) await asked(runId);
  for (const runId of runIds) await terminate(runId);
  const answers = await restoredAll();
  expect(answers.map((answer) => (answer.kind === 'restored' ? answer.runId : answer.kind)).sort()).toEqual([...runIds].sort());
  expect(await restoredAll()).toEqual([]);
  for (const runId of [...runIds, whole]) await toTheEnd(runId);
});

test('a wake of a run that waits, of one that works and of one that is over changes nothing', async () => {
  const runId = await rig.run({ plan: PLAN });
  await asked(runId);
  const before = await rig.types(runId);
  for (let i = 0; i < 3; i += 1) await rig.client.workflow.getHandle(workflowIdOf(runId)).signal('wake');
  await sleep(1_000);
  expect(await rig.types(runId)).toEqual(before);
  await toTheEnd(runId);
  await expect(rig.client.workflow.getHandle(workflowIdOf(runId)).signal('wake')).rejects.toThrow(/completed|not found/i);
});

const databases = (folder: string): string[] => ['temporal.db', 'temporal.db-wal', 'temporal.db-shm'].map((name) => path.join(folder, name));

test('R1.3 with Temporal\'s database deleted in the middle of a call, the run is restored: the call that was made is recorded, not repeated', async () => {
  const runId = await rig.run({ plan: { ...PLAN, steps: [tool('first', 'stamp', [], { after: 6_000 }), ...PLAN.steps.slice(1)] } });
  for (const until = Date.now() + 20_000; lines(runId).length === 0 && Date.now() < until;) await sleep(50);
  await rig.server.kill();
  for (const file of databases(rig.server.folder)) rmSync(file, { force: true });
  await rig.server.restart();
  expect(await client.execution(runId)).toMatchObject({ status: 'NOT_FOUND' });
  expect((await restoredAll()).map(({ kind }) => kind)).toEqual(['restored']);
  await toTheEnd(runId);
  const keys = (await rig.stores.ledger.byRun(runId)).map(({ key, state }) => [key.slice(0, 3), state]);
  expect(keys).toEqual([['k1:', 'done'], ['k1:', 'done']]);
}, 120_000);
