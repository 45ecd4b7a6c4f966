// Cancelling on the real server through every door (a message, `longhaul runs cancel`, Temporal's own cancel) in every state in
// which a run can be: what can be stopped is stopped within seconds, nothing new begins, the report is true, and the run ends
// as Canceled in Temporal. What cannot be stopped is said to be unknown.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { workflowIdOf } from '../../src/messages';
import type { State } from '../../src/core/state';
import { sleep, startRig, type Rig } from '../rig/rig';
import { groupRuns, groupsOf } from '../rig/stop-tools';
import type { WorkerProcess } from '../rig/worker-process';

let rig: Rig;
let worker: WorkerProcess;
beforeAll(async () => { rig = await startRig(); worker = await rig.worker(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

const BIN = path.join(__dirname, '..', '..', 'bin', 'longhaul.js');
async function longhaul(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, TEMPORAL_ADDRESS: rig.server.address, LONGHAUL_STATE_DIR: rig.stateDir, NO_COLOR: '1' };
  return promisify(execFile)(process.execPath, [BIN, ...args], { env, cwd: rig.stateDir })
    .then(({ stdout, stderr }) => ({ code: 0, stdout, stderr }), (error: { code: number; stdout: string; stderr: string }) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }));
}

const DOORS: Record<string, (runId: string) => Promise<unknown>> = {
  'by message': (runId) => rig.send(runId, { kind: 'cancel', reason: 'enough' }).catch(() => undefined),
  'longhaul runs cancel': (runId) => longhaul('runs', 'cancel', runId, '--reason', 'enough'),
  'temporal workflow cancel': (runId) => rig.server.temporalCli(['workflow', 'cancel', '-w', workflowIdOf(runId)]),
};
const doors = Object.keys(DOORS);
/** Where no worker runs, a message goes as a Signal: Temporal keeps it. */
const KEPT: typeof DOORS = { ...DOORS, 'by message': (runId) => rig.client.workflow.getHandle(workflowIdOf(runId)).signal('cancel', { reason: 'enough' }) };
/** Cancels each run through its own door, all at once. */
const cancel = async (ids: string[], through = DOORS): Promise<void> => { await Promise.all(doors.map(async (door, i) => { await through[door]?.(ids[i] ?? ''); })); };

const step = (id: string, action: object, dependsOn: string[] = []) => ({ id, title: id, dependsOn, action });
const tool = (name: string, args: object) => ({ type: 'tool', tool: name, args });
const plan = (...steps: object[]) => ({ goal: 'Stop me', steps: [...steps, step('never', tool('stamp', { text: 'never' }), [(steps.at(-1) as { id: string }).id])] });
const ASK = step('ask', { type: 'question', question: 'Well?' });
const until = (seen: (state: State) => unknown) => async (runId: string): Promise<void> => { await rig.until(runId, (state) => Boolean(seen(state)) || undefined); };
const sent = until((state) => Object.values(state.calls)[0]?.phase === 'sent');
const asks = until((state) => Object.keys(state.questions)[0]);

/** Each state: the plan that leads there, how it is known to be there, and what brings it there. */
const STATES: Record<string, { plan: object; there: (runId: string) => Promise<void>; bring?: (runId: string) => Promise<unknown> }> = {
  'runs a tool that listens': { plan: plan(step('look', tool('look', { text: 'x', before: 60_000 }))), there: async (runId) => { await sent(runId); await sleep(500); } },
  'runs a child process': { plan: plan(step('sleep', tool('sleeper', { text: 'x' }))), there: async (runId) => { await sent(runId); await sleep(1_000); } },
  'waits a minute before another try': { plan: plan(step('turned', tool('turned', { text: 'x' }))), there: until((state) => (Object.values(state.calls)[0]?.dueAt ?? 0) > Date.now() + 30_000) },
  'waits for an approval': { plan: plan(step('asked', tool('asked', { text: 'x' }))), there: until((state) => Object.keys(state.approvals)[0]) },
  'waits for an answer': { plan: plan(ASK), there: asks },
  'waits for a time': { plan: plan(step('wait', { type: 'wait', for: '1h' })), there: until((state) => state.steps[0]?.wakeAt) },
  'waits for room': { plan: plan(step('one', tool('single', { text: 'x', before: 60_000 }))), there: async (runId) => { await sent(runId); await sleep(1_500); } },
  'is paused': { plan: plan(ASK), bring: async (runId) => { await asks(runId); await rig.send(runId, { kind: 'pause', reason: 'a moment' }); }, there: until((state) => state.paused) },
  'is blocked': { plan: plan(step('look', tool('look', { text: 'x', fail: 'permission' }))), there: until((state) => state.blocked) },
  'is at its beginning': { plan: plan(ASK), there: async () => undefined },
};

/** Canceled on both sides, once, with nothing begun after it. */
async function expectCancelled(runId: string): Promise<State> {
  const { state, status } = await rig.end(runId);
  expect([status, state.end?.status]).toEqual(['CANCELLED', 'cancelled']);
  const events = await rig.events(runId);
  const types = events.map(({ type }) => type);
  expect(types.filter((type) => type === 'CancelRequested' || type === 'RunCompleted')).toEqual(['CancelRequested']);
  const at = types.indexOf('CancelRequested');
  expect(types.slice(at).filter((type) => type === 'ToolCallRequested' || type === 'ModelCallRequested' || type === 'CallPrepared')).toEqual([]);
  expect(rig.effects(runId)).toEqual([]);
  return state;
}

/** ms from the cancel to the end, by the journal's own times. */
async function took(runId: string): Promise<number> {
  const events = await rig.events(runId);
  const at = (type: string): number => events.find((event) => event.type === type)?.at ?? 0;
  return at('RunCancelled') - at('CancelRequested');
}

describe.each(Object.keys(STATES))('a run that %s', (name) => {
  test('R7.1 B28 B31 is cancelled within 3 s through each door, with a report', async () => {
    const { plan: steps, there, bring } = STATES[name] as (typeof STATES)[string];
    const ids = await Promise.all(doors.map(() => rig.run({ plan: steps })));
    await Promise.all(ids.map(async (runId) => { await bring?.(runId); }));
    await Promise.all(ids.map(there));
    await cancel(ids);
    for (const runId of ids) {
      const state = await expectCancelled(runId);
      expect(state.end?.report).toEqual({ finished: [], undone: [], unknown: [], needsPerson: [] });
      expect(await took(runId)).toBeLessThan(3_000);
    }
    expect(groupsOf(path.join(rig.stateDir, 'effects.jsonl')).filter(groupRuns)).toEqual([]);
    const page = await longhaul('runs', 'show', ids[1] ?? '');
    expect(page.stdout).toMatch(/cancel report\s+finished +none\s+undone +none\s+unknown +none\s+needs a person +none/);
  }, 90_000);
});

test('R7.1 a run that nobody has begun yet is cancelled through each door, and nothing of it is done', async () => {
  const ids = await Promise.all(doors.map(() => rig.run({ plan: plan(ASK), taskQueue: 'later' })));
  await cancel(ids, KEPT);
  await rig.worker({ taskQueue: 'later' });
  for (const runId of ids) await expectCancelled(runId);
}, 90_000);

test('R7.1 a cancel that comes while no worker runs counts when one does, and the call under way is not tried again', async () => {
  const first = await rig.worker({ taskQueue: 'away' });
  const ids = await Promise.all(doors.map(() => rig.run({ plan: plan(step('look', tool('look', { text: 'x', before: 60_000 }))), taskQueue: 'away' })));
  await Promise.all(ids.map(sent));
  await first.kill();
  await cancel(ids, KEPT);
  await rig.worker({ taskQueue: 'away' });
  for (const runId of ids) await expectCancelled(runId);
}, 90_000);

test('R7.1 R7.2 a tool that ignores its signal is unknown after the deadline, the run says so, and what it does later is known as late', async () => {
  const runId = await rig.run({ plan: { goal: 'Deaf', steps: [step('deaf', tool('stamp', { text: 'deaf', before: 45_000, deaf: true }))] } });
  await sent(runId);
  await sleep(500);
  await DOORS['longhaul runs cancel']?.(runId);
  const { state, status } = await rig.end(runId, 60_000);
  expect([status, state.end?.status, rig.effects(runId).length]).toEqual(['CANCELLED', 'cancelled', 0]);
  expect(state.end?.report).toEqual({ finished: [], undone: [], unknown: ['stamp c1'], needsPerson: ['stamp c1: find out whether it happened'] });
  expect((await longhaul('runs', 'show', runId)).stdout).toMatch(/unknown +stamp c1\s+needs a person +stamp c1: find out/);
  const doctor = (await longhaul('doctor', '--json')).stdout.split('\n').filter((one) => one.includes(`claim c1 of run ${runId}`)).map((one) => JSON.parse(one) as object);
  expect(doctor).toMatchObject([{ state: 'note', detail: expect.stringMatching(/its lease runs; process \d+ still runs and may act; the run is cancelled, so nothing follows it any more/) }]);
  const types = await rig.types(runId);
  for (let i = 0; i < 300 && (await rig.stores.ledger.byRun(runId))[0]?.state !== 'done'; i += 1) await sleep(100);
  expect([rig.effects(runId).length, await rig.types(runId)]).toEqual([1, types]);
  expect((await longhaul('runs', 'show', runId)).stdout).toMatch(/status +cancelled[^]*known late +stamp c1: it happened/);
  expect((await rig.client.workflow.getHandle(workflowIdOf(runId)).describe()).status.name).toBe('CANCELLED');
}, 120_000);

test('a shutdown is no cancel: a child process is ended, and the next worker starts it anew', async () => {
  const old = await rig.worker({ taskQueue: 'deploy', graceMs: 1_000 });
  const runId = await rig.run({ plan: plan(step('sleep', tool('sleeper', { text: 'x' }))), taskQueue: 'deploy' });
  await sent(runId);
  await sleep(1_000);
  const [group] = groupsOf(path.join(rig.stateDir, 'effects.jsonl')).slice(-1);
  expect(groupRuns(group ?? 0)).toBe(true);
  await old.stop();
  expect([await old.ended, groupRuns(group ?? 0)]).toEqual(['0', false]);
  await rig.worker({ taskQueue: 'deploy' });
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.attempt === 2);
  expect([(await rig.state(runId)).spent.failures, (await rig.types(runId)).includes('CancelRequested')]).toEqual([0, false]);
  await DOORS['temporal workflow cancel']?.(runId);
  await expectCancelled(runId);
  expect(worker.pid).toBeGreaterThan(0);
}, 90_000);
