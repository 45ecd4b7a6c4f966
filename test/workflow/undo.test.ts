// Taking back on the real server: several reversible effects, in reverse order, each once, while the run is cancelled a second
// time and its worker dies in the middle; also when an undo has to wait. What cannot be known is named for a person.
import path from 'node:path';
import { workflowIdOf } from '../../src/messages';
import { sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

const step = (id: string, tool: string, args: object, dependsOn: string[] = []) => ({ id, title: id, dependsOn, action: { type: 'tool', tool, args: { text: id, ...args } } });
const ask = (after: string) => ({ id: 'ask', title: 'Ask', dependsOn: [after], action: { type: 'question', question: 'Well?' } });
const native = (runId: string) => rig.client.workflow.getHandle(workflowIdOf(runId)).cancel();
const asked = (runId: string) => rig.until(runId, (state) => Object.keys(state.questions)[0]);
const lines = (runId: string): string[] => rig.effects(runId).map(({ tool, text }) => `${tool} ${text}`);

async function dying(taskQueue: string, at: string) {
  return rig.supervised({ taskQueue, env: { LONGHAUL_CRASH_AT: at, LONGHAUL_CRASH_ONCE: path.join(rig.stateDir, `marker-${taskQueue}`) } });
}

test('R7.4 B30 an undo that has to wait, a second cancel and a crash in the middle: each is taken back once, in reverse order', async () => {
  const worker = await dying('waiting', 'call:sent:reserve:5');
  const runId = await rig.run({ taskQueue: 'waiting', plan: { goal: 'Undo', steps: [step('a', 'reserve', {}), step('b', 'reserve', { undoRetryAfterMs: 3_000 }, ['a']), step('c', 'reserve', {}, ['b']), ask('c')] } });
  await asked(runId);
  await native(runId);
  await rig.until(runId, (state) => Object.values(state.calls).some((call) => call.undoOf !== undefined && call.phase === 'ready' && call.dueAt > Date.now()));
  await rig.send(runId, { kind: 'cancel', reason: 'a second time' });
  const { state, status } = await rig.end(runId, 90_000);
  expect([status, worker.deaths()]).toEqual(['CANCELLED', 1]);
  expect(lines(runId)).toEqual(['reserve a', 'reserve b', 'reserve c', 'undo c', 'undo b', 'undo a']);
  expect(state.end?.report).toEqual({ finished: [], undone: ['reserve c1 (a)', 'reserve c2 (b)', 'reserve c3 (c)'], unknown: [], needsPerson: [] });
  const types = await rig.types(runId);
  expect([types.filter((type) => type === 'CancelRequested').length, types.includes('RetryScheduled')]).toEqual([1, true]);
  await worker.stop();
}, 120_000);

test('R7.4 an undo of unknown outcome is not repeated but named, and the others are taken back all the same', async () => {
  const worker = await dying('unknown', 'call:sent:undoable:3');
  const runId = await rig.run({ taskQueue: 'unknown', plan: { goal: 'Undo', steps: [step('a', 'undoable', {}), step('b', 'undoable', {}, ['a']), ask('b')] } });
  await asked(runId);
  await native(runId);
  await sleep(200);
  await native(runId);
  const { state, status } = await rig.end(runId, 90_000);
  expect([status, worker.deaths()]).toEqual(['CANCELLED', 1]);
  expect(lines(runId)).toEqual(['undoable a', 'undoable b', 'undo b', 'undo a']);
  expect(state.end?.report).toMatchObject({ undone: ['undoable c1 (a)'], unknown: ['undoable c3'], needsPerson: ['undoable c2 (b): could not be undone', 'undoable c3: find out whether it happened'] });
  await worker.stop();
}, 120_000);
