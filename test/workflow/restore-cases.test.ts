// The ways in which a run can lose its execution, each on the real server with real effects: many at once, on queues of their own;
// the database of Temporal deleted in the middle of a call, and put back from an old copy beside a server that goes on; the limit of
// history. Same id, same keys; what was done is done once. And a run that only sleeps is woken.
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { startDevServer } from '../../src/adapters/temporal/dev-server';
import { createClient, type LonghaulClient } from '../../src/client/client';
import type { RestoreAnswer } from '../../src/client/types';
import { rowOf } from '../../src/core/summary';
import { turn } from '../../src/core/turn';
import { workflowIdOf } from '../../src/messages';
import { RIG_AGENT } from '../rig/config';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';
import { startWorkerProcess } from '../rig/worker-process';

let rig: Rig;
let client: LonghaulClient;
beforeAll(async () => {
  rig = await startRig();
  await rig.worker();
  client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
}, 120_000);
afterAll(() => rig.stop(), 60_000);

const tool = (id: string, name: string, dependsOn: string[] = [], more: object = {}) => ({ id, title: id, dependsOn, action: { type: 'tool', tool: name, args: { text: id, ...more } } });
const ask = (id: string, dependsOn: string[]) => ({ id, title: id, dependsOn, action: { type: 'question', question: `${id}?` } });
const PLAN = { goal: 'Do each thing once', steps: [tool('first', 'stamp'), ask('go', ['first']), tool('second', 'stamp', ['go'])] };
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

test('a run that fell behind its journal, since its Update was lost with its task and no Signal came, is found and woken, without an event', async () => {
  const runId = await rig.run({ plan: PLAN });
  const questionId = await asked(runId);
  // What the lost workflow task appended.
  const [state, head] = [await rig.state(runId), await rig.stores.journal.head(runId)];
  const said = turn(state, [{ type: 'Message', message: { messageId: 'lost-with-its-task', actor: ANN, body: { kind: 'answer', questionId, answer: { value: 'yes' } } } }], Date.now());
  const { events, draft } = said;
  expect(await rig.stores.journal.append({ runId, epoch: state.epoch, executionId: head?.executionId ?? '', expectedVersion: state.version, events, row: rowOf(draft) })).toMatchObject({ kind: 'appended' });
  expect(await client.restore(runId)).toMatchObject({ kind: 'refused', code: 'runs' });
  await sleep(16_000);
  expect(lines(runId)).toEqual(['first']);
  const { row } = await client.show(runId);
  expect(await client.sleeps(row, await client.execution(runId))).toMatch(/prepare stamp|stamp/);
  expect(await client.restore(runId)).toMatchObject({ kind: 'woken', runId });
  const { status } = await rig.end(runId);
  expect([status, lines(runId), (await rig.types(runId)).filter((type) => type === 'RunRestored' || type === 'MessageRejected')]).toEqual(['COMPLETED', ['first', 'second'], []]);
}, 120_000);

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

test('R1.3 two servers believe in the run, one from an old copy: the restored one goes on, the other is fenced, and nothing is doubled', async () => {
  const runId = await rig.run({ plan: PLAN });
  await asked(runId);
  await rig.server.kill();
  const folder = path.join(rig.stateDir, 'second-server');
  mkdirSync(folder);
  databases(rig.server.folder).forEach((file, i) => { if (existsSync(file)) copyFileSync(file, databases(folder)[i]!); });
  await rig.server.restart();
  const second = await startDevServer({ stateDir: folder, binary: rig.server.temporalBinary, usualPorts: { port: 0, uiPort: 0 } });
  const connection = await Connection.connect({ address: second.address });
  const other = await startWorkerProcess({ address: second.address, taskQueue: 'rig', stateDir: rig.stateDir, effects: rig.effectsFile, logFile: rig.logFile });
  try {
    const there = createClient({ stores: rig.stores, connection, taskQueue: 'rig' });
    expect((await there.execution(runId)).status).toBe('RUNNING');
    expect(await there.restore(runId)).toMatchObject({ kind: 'refused', code: 'runs' });
    expect(await there.restore(runId, { force: true })).toMatchObject({ kind: 'restored' });
    await rig.until(runId, (_, events) => events.some(({ type }) => type === 'RunRestored'));
    const before = await rig.types(runId);
    // The first server still has the execution of the older epoch: what it is told counts for nothing, and ends it.
    const questionId = await asked(runId);
    await rig.client.workflow.getHandle(workflowIdOf(runId)).signal('answer', { questionId, answer: 'from the old one' });
    expect(await rig.client.workflow.getHandle(workflowIdOf(runId)).result()).toEqual({ status: 'superseded' });
    expect([await rig.types(runId), lines(runId)]).toEqual([before, ['first']]);
    expect(await there.message(runId, { kind: 'answer', questionId, answer: { value: 'yes' } }, { actor: ANN })).toMatchObject({ known: true });
    await rig.until(runId, (state) => state.end);
    expect([(await rig.state(runId)).end?.outcome, lines(runId)]).toEqual(['full', ['first', 'second']]);
  } finally {
    await other.kill();
    await connection.close();
    await second.stop();
  }
}, 180_000);
