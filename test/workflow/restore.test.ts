// Terminate and restore, and Temporal's own reset, on the real server: the journal is followed, nothing that was finished is
// done again, and an execution that lost its run to a newer epoch ends without a word.
import { workflowIdOf } from '../../src/messages';
import { drive, EVERYTHING } from '../rig/drive';
import { sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); await rig.worker(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

const approvalOf = (runId: string) => rig.until(runId, (state) => Object.keys(state.approvals)[0]);
const lines = (runId: string): string[] => rig.effects(runId).map(({ tool, text }) => `${tool} ${text}`);
const one = (tool: string, args: object) => ({ goal: 'One', steps: [{ id: 'only', title: 'Only', action: { type: 'tool', tool, args } }] });

/** Runs the plan up to its approval. */
async function upToApproval(): Promise<{ runId: string; approvalId: string }> {
  const runId = await rig.run({ plan: EVERYTHING });
  const questionId = await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'Q3' } });
  return { runId, approvalId: await approvalOf(runId) };
}

async function approveToEnd(runId: string): Promise<void> {
  const approvalId = await approvalOf(runId);
  await rig.send(runId, { kind: 'approve', approvalId });
  const { state, status } = await rig.end(runId);
  expect([status, state.end?.status, lines(runId)]).toEqual(['COMPLETED', 'completed', ['stamp hello', 'asked Q3']]);
}

test('R1.3 a run that was terminated while it waited is restored, and what was finished is not done again', async () => {
  const { runId } = await upToApproval();
  await rig.server.temporalCli(['workflow', 'terminate', '-w', workflowIdOf(runId)]);
  await rig.restore(runId);
  await rig.until(runId, (state) => state.epoch === 1);
  await approveToEnd(runId);
  expect((await rig.types(runId)).filter((type) => type === 'RunRestored')).toHaveLength(1);
});

test('a tool that hears of the termination gives its claim back, and the restored run sends at once', async () => {
  const runId = await rig.run({ plan: one('stamp', { text: 'late', before: 20_000 }) });
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
  await sleep(1_500);
  const from = Date.now();
  await rig.restore(runId);
  const row = async () => (await rig.stores.ledger.byRun(runId))[0];
  while ((await row())?.fence !== 2 && Date.now() - from < 15_000) await sleep(100);
  expect((await row())?.fence).toBe(2);
  await rig.send(runId, { kind: 'cancel', reason: 'seen enough' });
  const { status } = await rig.end(runId);
  expect([status, lines(runId)]).toEqual(['CANCELLED', []]);
});

test('a deaf tool of the old execution settles under the old epoch, and the restored run records it without sending', async () => {
  const runId = await rig.run({ plan: one('stamp', { text: 'deaf', before: 4_000, deaf: true }) });
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
  await sleep(1_000);
  await rig.restore(runId);
  const { status, state } = await rig.end(runId);
  expect([status, state.epoch, lines(runId)]).toEqual(['COMPLETED', 1, ['stamp deaf']]);
});

test('an execution whose run was given to a newer epoch ends as superseded, without an event', async () => {
  const { runId, approvalId } = await upToApproval();
  const before = await rig.types(runId);
  await rig.stores.journal.raiseEpoch(runId, 0);
  await rig.client.workflow.getHandle(workflowIdOf(runId)).signal('approve', { approvalId });
  expect(await rig.client.workflow.getHandle(workflowIdOf(runId)).result()).toEqual({ status: 'superseded' });
  expect(await rig.types(runId)).toEqual(before);
  await rig.restore(runId);
  await approveToEnd(runId);
});

test('reset to the first workflow task follows the journal: nothing is done twice', async () => {
  const { runId } = await upToApproval();
  const reset = await rig.server.temporalCli(['workflow', 'reset', '-w', workflowIdOf(runId), '--type', 'FirstWorkflowTask', '--reason', 'test']);
  expect(reset.code).toBe(0);
  await approveToEnd(runId);
});

test.each(['middle', 'last'])('reset to the %s workflow task continues as new and follows the journal', async (where) => {
  const { runId } = await upToApproval();
  const [{ history }] = await rig.histories(runId) as [Awaited<ReturnType<Rig['histories']>>[number]];
  const tasks = (history.events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes).map((event) => Number(event.eventId));
  const at = where === 'middle' ? ['--event-id', String(tasks[Math.floor(tasks.length / 2)])] : ['--type', 'LastWorkflowTask'];
  const reset = await rig.server.temporalCli(['workflow', 'reset', '-w', workflowIdOf(runId), ...at, '--reason', 'test']);
  expect(reset.code).toBe(0);
  await approveToEnd(runId);
});

test('I2 what one execution has sent before it was reset is in the report of a run that is cancelled right after', async () => {
  const steps = ['stamp', 'blind'].map((tool) => ({ id: tool, title: tool, action: { type: 'tool', tool, args: { text: tool, after: 3_000 } } }));
  const runId = await rig.run({ plan: { goal: 'Send', steps } });
  for (let i = 0; i < 200 && rig.effects(runId).length < 2; i += 1) await sleep(50);
  const reset = await rig.server.temporalCli(['workflow', 'reset', '-w', workflowIdOf(runId), '--type', 'LastWorkflowTask', '--reason', 'test']);
  expect(reset.code).toBe(0);
  await rig.send(runId, { kind: 'cancel', reason: 'enough' });
  const { state, status } = await rig.end(runId, 120_000);
  const { finished = [], unknown = [], undone = [] } = state.end?.report ?? {};
  expect([status, rig.effects(runId).map(({ tool }) => tool).sort(), [...finished, ...unknown, ...undone].map((line) => line.split(' ')[0] ?? '').sort()]).toEqual(['CANCELLED', ['blind', 'stamp'], ['blind', 'stamp']]);
}, 180_000);

test('I6 a finished run that is reset ends again with the same end and does nothing', async () => {
  const runId = await rig.run({ plan: EVERYTHING });
  await drive(rig, runId);
  await rig.end(runId);
  const before = await rig.types(runId);
  await rig.server.temporalCli(['workflow', 'reset', '-w', workflowIdOf(runId), '--type', 'FirstWorkflowTask', '--reason', 'test']);
  expect(await rig.client.workflow.getHandle(workflowIdOf(runId)).result()).toMatchObject({ status: 'completed', outcome: 'full' });
  expect(await rig.types(runId)).toEqual(before);
  expect(lines(runId)).toEqual(['stamp hello', 'asked Q3']);
});
