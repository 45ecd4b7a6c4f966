// What `doctor`, `runs list` and `runs show` say when something is wrong with runs on a real server: terminated in the Web UI in
// the middle of a call, workflow tasks and activities that fail again and again, artifacts and tools that are missing. Each
// finding has its next command, and the exit code is 1 as long as something needs a person.
import { execFile } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { NativeConnection, Worker } from '@temporalio/worker';
import Database from 'libsql';
import { createClient } from '../../src/client/client';
import { workflowIdOf } from '../../src/messages';
import { ANN, quietRuntime, sleep, startRig, type Rig } from '../rig/rig';
import type { WorkerProcess } from '../rig/worker-process';

const ROOT = path.join(__dirname, '..', '..');
let rig: Rig;
let worker: WorkerProcess;
beforeAll(async () => {
  rig = await startRig();
  worker = await rig.worker();
  for (const [name, without] of [['whole', ''], ['less', 'stamp']]) writeFileSync(path.join(rig.stateDir, `${name}.config.cjs`), `
    const load = require(${JSON.stringify(path.join(ROOT, 'node_modules', 'jiti'))}).createJiti(${JSON.stringify(ROOT)});
    const config = load(${JSON.stringify(path.join(ROOT, 'test', 'rig', 'config.ts'))}).rigConfig(${JSON.stringify(path.join(rig.stateDir, 'effects.jsonl'))});
    const left = (name) => name !== ${JSON.stringify(without)};
    module.exports = {
      ...config, tools: config.tools.filter(({ name }) => left(name)), agents: config.agents.map((agent) => ({ ...agent, ...(agent.tools ? { tools: agent.tools.filter(left) } : {}) })),
    };`);
}, 120_000);
afterAll(() => rig.stop(), 60_000);

interface Said { code: number; stdout: string; stderr: string }
async function longhaul(...args: string[]): Promise<Said> {
  const env = { ...process.env, TEMPORAL_ADDRESS: rig.server.address, LONGHAUL_STATE_DIR: rig.stateDir, NO_COLOR: '1' };
  return promisify(execFile)(process.execPath, [path.join(ROOT, 'bin', 'longhaul.js'), ...args], { env, cwd: rig.stateDir })
    .then(({ stdout, stderr }) => ({ code: 0, stdout, stderr }), (error: Said) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }));
}

interface Finding { what: string; state: string; detail: string; next?: string }
/** The exit code, and what is wrong with this run or of this kind. */
async function doctor(about: string, config = 'whole'): Promise<{ code: number; wrong: Finding[] }> {
  const { code, stdout } = await longhaul('doctor', '--json', '--task-queue', 'rig', '--config', path.join(rig.stateDir, `${config}.config.cjs`));
  const all = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as Finding);
  return { code, wrong: all.filter(({ what, state }) => state === 'wrong' && what.includes(about)) };
}

const step = (id: string, action: object, dependsOn: string[] = []) => ({ id, title: id, dependsOn, action });
const tool = (name: string, args: object) => ({ type: 'tool', tool: name, args });
const ASK = { type: 'question', question: 'Well?' };
const asked = (runId: string) => rig.until(runId, (state) => Object.keys(state.questions)[0]);
const over = async (runId: string): Promise<void> => { await rig.send(runId, { kind: 'cancel', reason: 'seen enough' }); await rig.end(runId); };

test('R10.6 a run that was terminated in the middle of a call: lists and its page say so, its claim is an orphan, a restore mends both', async () => {
  const runId = await rig.run({ plan: { goal: 'Once', steps: [step('only', tool('searched', { text: 'x', before: 60_000 }))] } });
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
  for (let i = 0; i < 100 && rig.effects(runId).length === 0; i += 1) await sleep(100);
  expect((await longhaul('runs', 'show', runId)).stdout).not.toContain('nothing runs it');
  await rig.server.temporalCli(['workflow', 'terminate', '-w', workflowIdOf(runId), '--reason', 'by hand']);

  expect((await longhaul('runs', 'list')).stdout).toMatch(new RegExp(`${runId} +lost .*terminated in Temporal \\d+ s ago: npx longhaul runs restore ${runId}`));
  expect((await longhaul('runs', 'show', runId)).stdout).toMatch(new RegExp(`nothing runs it: it is terminated in Temporal [^]*next +npx longhaul runs restore ${runId}`));
  expect(JSON.parse((await longhaul('runs', 'show', runId, '--json')).stdout)).toMatchObject({ status: 'running', execution: 'TERMINATED' });
  expect(await longhaul('runs', 'watch', runId, '--after', '3')).toMatchObject({ code: 1, stderr: expect.stringMatching(new RegExp(`nothing runs it: it is terminated in Temporal [^]*npx longhaul runs restore ${runId}`)) });
  const living = await doctor(runId);
  expect(living).toMatchObject({ code: 1, wrong: [
    { what: `run ${runId}`, detail: expect.stringMatching(/it is running, and its execution is terminated in Temporal/), next: `npx longhaul runs restore ${runId}` },
    { what: `claim c1 of run ${runId}`, detail: expect.stringMatching(new RegExp(`searched was claimed by longhaul ${worker.pid}@.*process ${worker.pid} still runs and may act; not looked up yet`)), next: expect.stringContaining(`npx longhaul runs restore ${runId}`) },
  ] });
  await worker.kill();
  expect((await doctor(runId)).wrong[1]?.detail).toContain(`process ${worker.pid} is gone`);

  worker = await rig.worker();
  expect((await longhaul('runs', 'restore', runId, '--task-queue', 'rig')).code).toBe(0);
  const { status } = await rig.end(runId);
  expect([status, rig.effects(runId).length, (await doctor(runId)).wrong]).toEqual(['COMPLETED', 1, []]);
}, 120_000);

test('R10.6 workflow tasks and activities that fail again and again are named with what they say', async () => {
  quietRuntime();
  const connection = await NativeConnection.connect(rig.server.connectionOptions);
  const wrongBuild = await Worker.create({ connection, taskQueue: 'wrong-build', workflowsPath: require.resolve('../rig/no-workflows') });
  const polling = wrongBuild.run();
  try {
    const stuck = await rig.run({ plan: { goal: 'Stuck', steps: [step('ask', ASK)] }, taskQueue: 'wrong-build' });
    const { runId: unknown } = await createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' }).start({ agent: 'nobody', plan: null, owner: ANN }) as { runId: string };
    const pending = async (runId: string) => (await rig.client.workflow.getHandle(workflowIdOf(runId)).describe()).raw;
    while (((await pending(stuck)).pendingWorkflowTask?.attempt ?? 0) < 3 || ((await pending(unknown)).pendingActivities?.[0]?.attempt ?? 0) < 10) await sleep(500);
    const found = await doctor('run ');
    expect(found.code).toBe(1);
    expect(found.wrong).toEqual(expect.arrayContaining([
      { what: `run ${stuck}`, state: 'wrong', detail: expect.stringMatching(/workflow task fails again and again \(attempt \d+\): .*agentRun/), next: expect.stringContaining(`npx longhaul runs restore ${stuck} --force`) },
      { what: `run ${unknown}`, state: 'wrong', detail: expect.stringMatching(/activity open is tried for the \d+th time: .*nobody/), next: expect.stringContaining('npx longhaul worker') },
    ]));
    for (const runId of [stuck, unknown]) await rig.server.temporalCli(['workflow', 'terminate', '-w', workflowIdOf(runId)]);
  } finally {
    wrongBuild.shutdown();
    await polling;
    await connection.close();
  }
}, 180_000);

test('R10.6 an artifact that an open run refers to and that is gone is named with its place; put back, all is well', async () => {
  const runId = await rig.run({ plan: { goal: 'Big', steps: [step('big', tool('big', { text: 'x' })), step('ask', ASK, ['big'])] } });
  await asked(runId);
  const [made] = (await rig.events(runId)).flatMap((event) => (event.type === 'ToolCallSucceeded' && 'ref' in event.data.output ? [event.data.output.ref.sha256] : []));
  const file = path.join(rig.stateDir, 'artifacts', made?.slice(0, 2) ?? '', made?.slice(2) ?? '');
  renameSync(file, `${file}.aside`);
  expect(await doctor(runId)).toMatchObject({ code: 1, wrong: [{ detail: `it refers to what the store has not whole: ${made} is missing`, next: expect.stringContaining(file) }] });
  renameSync(`${file}.aside`, file);
  expect((await doctor(runId)).wrong).toEqual([]);
  await over(runId);
}, 90_000);

test('R10.6 a tool that an open run needs and that the configuration lacks is named with its version', async () => {
  const runId = await rig.run({ plan: { goal: 'Tool', steps: [step('ask', ASK), step('stamp', tool('stamp', { text: 'x' }), ['ask']), step('look', tool('look', { text: 'x' }), ['ask'])] } });
  await asked(runId);
  expect((await doctor(runId)).wrong).toEqual([]);
  expect(await doctor(runId, 'less')).toMatchObject({ code: 1, wrong: [{ detail: expect.stringMatching(/it needs the tool stamp@1 \(it began with 1\.0\.0\), and .*less\.config\.cjs has none of that name/), next: expect.stringContaining('add stamp with major version 1 to the configuration') }] });
  await over(runId);
}, 90_000);

test('a journal with a hole is named by doctor and by every command that folds it, and goes on once it is whole again', async () => {
  const runId = await rig.run({ plan: { goal: 'Whole', steps: [step('ask', ASK)] } });
  await asked(runId);
  const db = new Database(path.join(rig.stateDir, 'longhaul.db'), { timeout: 10_000 });
  const move = (from: string, to: string) => db.prepare('UPDATE event SET run_id = ? WHERE run_id = ? AND seq = 2').run(to, from);
  move(runId, 'aside');
  const words = `Run ${runId} has no event 2 in the database, and one 3`;
  expect(await doctor(`run ${runId}`)).toMatchObject({ code: 1, wrong: [{ detail: expect.stringContaining(words), next: expect.stringContaining(`npx longhaul replay ${runId}`) }] });
  expect(await longhaul('runs', 'show', runId)).toMatchObject({ code: 1, stderr: expect.stringContaining(words) });
  expect((await longhaul('replay', runId)).stderr).toContain('its number is 3, and 2 must follow 1');
  move('aside', runId);
  db.close();
  await over(runId);
}, 60_000);
