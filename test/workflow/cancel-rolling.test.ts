// A cancel at the very moment at which a run continues as new: at a hundred offsets over runs that roll all the time, by message
// and by Temporal's own cancel, and while the worker is away. No cancel is lost, and nothing begins after it.
import { workflowIdOf } from '../../src/messages';
import { sleep, startRig, type Rig } from '../rig/rig';

const LIMITS = { softEvents: 30, hardEvents: 1_000, hardUpdates: 400, waitEvents: 30 };
let rig: Rig;
beforeAll(async () => { rig = await startRig(); await rig.worker({ limits: LIMITS }); }, 120_000);
afterAll(() => rig.stop(), 120_000);

const STEPS = 80;
const CHAIN = { goal: 'Roll', steps: Array.from({ length: STEPS }, (_, i) => ({
  id: `s${i}`, title: `Step ${i}`, dependsOn: i > 0 ? [`s${i - 1}`] : [], action: { type: 'tool', tool: 'look', args: { text: `t${i}` } },
})) };

const native = (runId: string) => rig.client.workflow.getHandle(workflowIdOf(runId)).cancel();
const byMessage = (runId: string) => rig.send(runId, { kind: 'cancel', reason: 'enough' }).catch(() => undefined);

/** Executions of the run's chain, once it has ended as Canceled, with one cancel and nothing begun after it. */
async function expectCancelled(runId: string): Promise<number> {
  const { status, state } = await rig.end(runId);
  expect([status, state.end?.status]).toEqual(['CANCELLED', 'cancelled']);
  const types = await rig.types(runId);
  expect(types.filter((type) => type === 'CancelRequested')).toHaveLength(1);
  expect(types.slice(types.indexOf('CancelRequested'))).not.toContain('ToolCallRequested');
  return (await rig.histories(runId)).length;
}

/** Of twenty cancels each; a hundred in all with LONGHAUL_EXHAUSTIVE=1. */
const BATCHES = process.env['LONGHAUL_EXHAUSTIVE'] ? 5 : 2;

test('B27 cancels at many moments of runs that roll: none is lost, none lets anything begin', async () => {
  let rolled = 0;
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const ids = await Promise.all(Array.from({ length: 20 }, () => rig.run({ plan: CHAIN })));
    await Promise.all(ids.map((runId) => rig.until(runId, (_, events) => events.some((event) => event.type === 'CheckpointSaved'))));
    await Promise.all(ids.map(async (runId, i) => {
      await sleep(batch * 5 + i * 25);
      await (i % 2 === 0 ? native(runId) : byMessage(runId));
    }));
    for (const runId of ids) rolled += await expectCancelled(runId) - 1;
  }
  expect(rolled).toBeGreaterThanOrEqual(10 * BATCHES);
}, 240_000);

test('B27 a cancel while the worker is away, of a run that has rolled, counts in whichever execution comes next', async () => {
  const worker = await rig.worker({ limits: LIMITS, taskQueue: 'away' });
  const ids = await Promise.all(Array.from({ length: 4 }, () => rig.run({ plan: CHAIN, taskQueue: 'away' })));
  await Promise.all(ids.map((runId) => rig.until(runId, (_, events) => events.some((event) => event.type === 'CheckpointSaved'))));
  await worker.kill();
  await Promise.all(ids.map((runId, i) => (i % 2 === 0 ? native(runId) : rig.client.workflow.getHandle(workflowIdOf(runId)).signal('cancel', { reason: 'enough' }))));
  await rig.worker({ limits: LIMITS, taskQueue: 'away' });
  for (const runId of ids) await expectCancelled(runId);
}, 120_000);
