// Cancelling on the real server, by Temporal's own cancel and by our message, at many moments: one CancelRequested each time,
// Canceled on both sides, and a late result never turns the end into a success.
import { workflowIdOf } from '../../src/messages';
import { sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); await rig.worker(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

const step = (id: string, action: object, dependsOn: string[] = []) => ({ id, title: id, dependsOn, action });
const tool = (name: string, args: object) => ({ type: 'tool', tool: name, args });
const PARKED = { goal: 'Park', steps: [step('ask', { type: 'question', question: 'Well?' })] };
const READING = { goal: 'Read', steps: [step('look', tool('look', { text: 'x', before: 30_000 }))] };
const RETRYING = { goal: 'Retry', steps: [step('wait', { type: 'wait', for: '1h' })] };

const native = (runId: string) => rig.client.workflow.getHandle(workflowIdOf(runId)).cancel();
const byMessage = (runId: string) => rig.send(runId, { kind: 'cancel', reason: 'enough' });
const ready: Record<string, (runId: string) => Promise<unknown>> = {
  parked: (runId) => rig.until(runId, (state) => Object.keys(state.questions)[0]),
  reading: async (runId) => { await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent'); await sleep(1_000); },
  'just started': async () => undefined,
  'waiting for time': (runId) => rig.until(runId, (state) => state.steps[0]?.wakeAt),
};
const plans: Record<string, object> = { parked: PARKED, reading: READING, 'just started': PARKED, 'waiting for time': RETRYING };

async function expectCanceled(runId: string): Promise<void> {
  const { state, status } = await rig.end(runId);
  expect([status, state.end?.status]).toEqual(['CANCELLED', 'cancelled']);
  expect((await rig.types(runId)).filter((type) => type === 'CancelRequested')).toHaveLength(1);
}

describe.each(Object.keys(plans))('a run that is %s', (moment) => {
  test.each(['native', 'by message', 'both'])('R7.1 is cancelled %s once', async (how) => {
    const runId = await rig.run({ plan: plans[moment] });
    await ready[moment]?.(runId);
    const from = Date.now();
    await Promise.all([...(how === 'by message' ? [] : [native(runId)]), ...(how === 'native' ? [] : [byMessage(runId).catch(() => undefined)])]);
    await expectCanceled(runId);
    expect(Date.now() - from).toBeLessThan(8_000);
  });
});

test('I6 R7.2 a tool that answers after the cancel is recorded, and the run ends as cancelled', async () => {
  const runId = await rig.run({ plan: { goal: 'Late', steps: [step('stamp', tool('stamp', { text: 'late', before: 3_000, deaf: true })), step('next', tool('look', { text: 'x' }), ['stamp'])] } });
  await ready['reading']?.(runId);
  await native(runId);
  await expectCanceled(runId);
  const types = await rig.types(runId);
  expect(types).toContain('ToolCallSucceeded');
  expect(types.indexOf('ToolCallSucceeded')).toBeGreaterThan(types.indexOf('CancelRequested'));
  expect((await rig.state(runId)).end?.report?.finished.join()).toContain('stamp');
  expect(rig.effects(runId)).toHaveLength(1);
});

test('R7.4 what can be taken back is taken back once, also when the worker dies and the cancel comes twice', async () => {
  const taskQueue = 'undo';
  const worker = await rig.supervised({ taskQueue, env: { LONGHAUL_CRASH_AT: 'call:sent:undoable:2', LONGHAUL_CRASH_ONCE: `${rig.stateDir}/marker-undo` } });
  const runId = await rig.run({ taskQueue, plan: { goal: 'Undo', steps: [step('do', tool('undoable', { text: 'done' })), step('ask', { type: 'question', question: 'Well?' }, ['do'])] } });
  await ready['parked']?.(runId);
  await native(runId);
  await byMessage(runId).catch(() => undefined);
  const { state, status } = await rig.end(runId, 90_000);
  expect([status, worker.deaths()]).toEqual(['CANCELLED', 1]);
  const lines = rig.effects(runId).map(({ tool: name }) => name);
  expect(lines).toEqual(['undoable', 'undo']);
  const report = state.end?.report;
  expect([...(report?.undone ?? []), ...(report?.unknown ?? []), ...(report?.needsPerson ?? [])].join()).toContain('undoable');
  await worker.stop();
});
