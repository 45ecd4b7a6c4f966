// Runs that lose more than their execution, on real servers with real effects: a second server on an old copy of Temporal's database
// beside the first, the limit of history, the build that a run began on, and an execution that sleeps behind its own journal.
// Run by `npm run test:disaster`: each takes longer than CI has time for.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { startDevServer } from '../../src/adapters/temporal/dev-server';
import { createClient, type LonghaulClient } from '../../src/client/client';
import { isLost } from '../../src/client/execution';
import { rowOf } from '../../src/core/summary';
import { turn } from '../../src/core/turn';
import { workflowIdOf } from '../../src/messages';
import { RIG_AGENT } from '../rig/config';
import { PLAN, tool } from '../rig/once';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';
import { startWorkerProcess, type WorkerProcess } from '../rig/worker-process';

const ROOT = path.join(__dirname, '..', '..');
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
async function toTheEnd(runId: string): Promise<void> {
  const questionId = await asked(runId);
  await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'yes' } });
  const { state, status } = await rig.end(runId);
  expect([status, state.end?.outcome, lines(runId)]).toEqual(['COMPLETED', 'full', ['first', 'second']]);
}

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
  const env = { ...process.env, TEMPORAL_ADDRESS: rig.server.address, LONGHAUL_STATE_DIR: rig.stateDir, NO_COLOR: '1' };
  const doctor = await promisify(execFile)(process.execPath, [path.join(ROOT, 'bin', 'longhaul.js'), 'doctor', '--task-queue', 'rig'], { env, cwd: rig.stateDir }).catch((error: { stdout: string }) => error);
  expect(doctor.stdout).toMatch(new RegExp(`run ${runId}: .*has fallen behind its journal.*\\n +next: npx longhaul runs restore ${runId}: it wakes it`));
  expect(await client.restore(runId)).toMatchObject({ kind: 'woken', runId });
  const { status } = await rig.end(runId);
  expect([status, lines(runId), (await rig.types(runId)).filter((type) => type === 'RunRestored' || type === 'MessageRejected')]).toEqual(['COMPLETED', ['first', 'second'], []]);
}, 120_000);

const databases = (folder: string): string[] => ['temporal.db', 'temporal.db-wal', 'temporal.db-shm'].map((name) => path.join(folder, name));

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

test('R1.3 a run that the server ended at its limit of history is restored by workers that renew it in time, and does the rest once', async () => {
  const folder = path.join(rig.stateDir, 'small-server');
  mkdirSync(folder);
  const extra = ['limit.historyCount.error=90', 'limit.historyCount.warn=80'].flatMap((value) => ['--dynamic-config-value', value]);
  const small = await startDevServer({ stateDir: folder, binary: rig.server.temporalBinary, usualPorts: { port: 0, uiPort: 0 }, extra });
  const connection = await Connection.connect({ address: small.address });
  const settings = { address: small.address, taskQueue: 'small', stateDir: rig.stateDir, effects: rig.effectsFile, logFile: rig.logFile };
  const far = 1_000_000;
  const never = await startWorkerProcess({ ...settings, limits: { softEvents: far, hardEvents: far, hardUpdates: far, waitEvents: far } });
  const there = createClient({ stores: rig.stores, connection, taskQueue: 'small' });
  const names = Array.from({ length: 24 }, (_, i) => `s${i}`);
  const plan = { goal: 'Many', steps: names.map((name, i) => tool(name, 'stamp', i === 0 ? [] : [names[i - 1]!])) };
  let renews: WorkerProcess | undefined;
  try {
    await there.start({ runId: 'long-history', agent: RIG_AGENT, plan: plan as never, owner: ANN });
    for (const until = Date.now() + 60_000; (await there.execution('long-history')).status === 'RUNNING' && Date.now() < until;) await sleep(200);
    const view = await there.execution('long-history');
    expect([view.status, isLost((await there.show('long-history')).row, view)]).toEqual(['TERMINATED', true]);
    await never.kill();
    renews = await startWorkerProcess({ ...settings, limits: { softEvents: 40, hardEvents: 60, hardUpdates: 1_000, waitEvents: 1_000 } });
    expect(await there.restore('long-history')).toMatchObject({ kind: 'restored', taskQueue: 'small' });
    await rig.until('long-history', (state) => state.end, 90_000);
    expect([(await rig.state('long-history')).end?.outcome, lines('long-history')]).toEqual(['full', names]);
  } finally {
    await never.kill();
    await renews?.kill();
    await connection.close();
    await small.stop();
  }
}, 240_000);

test('R1.3 R9.2 a run whose build is gone is restored with --force on the version that is there now', async () => {
  const config = path.join(rig.stateDir, 'deployed.config.cjs');
  writeFileSync(config, `
    const load = require(${JSON.stringify(path.join(ROOT, 'node_modules', 'jiti'))}).createJiti(${JSON.stringify(ROOT)});
    module.exports = load(${JSON.stringify(path.join(ROOT, 'test', 'rig', 'config.ts'))}).rigConfig(${JSON.stringify(rig.effectsFile)});`);
  const deployed = async (build: string): Promise<ChildProcess> => {
    const args = ['worker', '--deployment', 'restored', '--build-id', build, '--current', '--task-queue', 'deployed', '--config', config];
    const child = spawn(process.execPath, [path.join(ROOT, 'bin', 'longhaul.js'), ...args], { cwd: rig.stateDir, stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, TEMPORAL_ADDRESS: rig.server.address, LONGHAUL_STATE_DIR: rig.stateDir, NO_COLOR: '1' } });
    let said = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on('data', (chunk: Buffer) => { said += chunk.toString(); if (/polls/.test(said)) resolve(); });
      child.once('exit', () => reject(new Error(`the worker of ${build} ended: ${said}`)));
    });
    return child;
  };
  const gone = async (child: ChildProcess): Promise<void> => {
    const ended = new Promise((resolve) => { child.once('exit', resolve); });
    child.kill('SIGKILL');
    await ended;
  };
  const first = await deployed('b1');
  const there = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'deployed' });
  await there.start({ runId: 'on-a-lost-build', agent: RIG_AGENT, plan: PLAN as never, owner: ANN });
  const questionId = await asked('on-a-lost-build');
  await gone(first);
  const second = await deployed('b2');
  try {
    expect(await there.message('on-a-lost-build', { kind: 'answer', questionId, answer: { value: 'yes' } }, { actor: ANN, messageId: 'kept' })).toMatchObject({ known: false, state: 'kept' });
    expect(await there.restore('on-a-lost-build', { force: true })).toMatchObject({ kind: 'restored', taskQueue: 'deployed' });
    await toTheEnd('on-a-lost-build');
  } finally {
    await gone(second);
  }
}, 180_000);
