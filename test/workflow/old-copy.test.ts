// An older copy of longhaul.db is put back while a run is under way, and the run is restored from it: what was done since the
// copy stands in no journal and no ledger any more. It is looked up before anything is sent, or a person is asked; never done twice.
import { copyFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createClient } from '../../src/client/client';
import { workflowIdOf } from '../../src/messages';
import { startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

const tool = (id: string, name: string, dependsOn: string[]) => ({ id, title: id, dependsOn, action: { type: 'tool', tool: name, args: { text: id } } });
const ask = (id: string, dependsOn: string[]) => ({ id, title: id, dependsOn, action: { type: 'question', question: `${id}?` } });
const PLAN = { goal: 'Do each thing once', steps: [tool('first', 'stamp', []), ask('go', ['first']), tool('second', 'stamp', ['go']), tool('third', 'blind', ['go']), ask('end', ['second', 'third'])] };

async function answer(runId: string, stepId: string): Promise<void> {
  const questionId = await rig.until(runId, (state) => Object.values(state.questions).find((one) => one.stepId === stepId)?.questionId);
  await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'yes' } });
}

const file = (): string => path.join(rig.stateDir, 'longhaul.db');
const copy = (): Promise<void> => rig.meanwhile(() => copyFileSync(file(), `${file()}.copy`));
const putBack = (): Promise<void> => rig.meanwhile(() => {
  for (const end of ['-wal', '-shm']) rmSync(`${file()}${end}`, { force: true });
  copyFileSync(`${file()}.copy`, file());
});

test('R4.2 what was done since the copy is found or asked about, and nothing is done twice', async () => {
  const lines = (): string[] => rig.effects(runId).map(({ text }) => text).sort();
  let worker = await rig.worker();
  const runId = await rig.run({ plan: PLAN });
  await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  await worker.kill();
  await copy();
  worker = await rig.worker();
  await answer(runId, 'go');
  await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  expect(lines()).toEqual(['first', 'second', 'third']);
  await worker.kill();
  await rig.client.workflow.getHandle(workflowIdOf(runId)).terminate('the machine burnt');
  await putBack();
  expect((await rig.types(runId)).filter((type) => type === 'ToolCallSucceeded')).toHaveLength(1);

  worker = await rig.worker();
  await rig.restore(runId);
  await answer(runId, 'go');
  const decision = await rig.until(runId, (state) => Object.values(state.decisions)[0]);
  expect(decision.tool).toBe('blind');
  await rig.until(runId, (_, events) => events.some((event) => event.type === 'ToolCallSucceeded' && event.data.via === 'look-up'));
  await rig.send(runId, { kind: 'resolve', callId: decision.callId, verdict: 'happened', reference: 'seen in the file' });
  await answer(runId, 'end');
  const { status, state } = await rig.end(runId);
  expect([status, state.end?.outcome, lines()]).toEqual(['COMPLETED', 'full', ['first', 'second', 'third']]);
  await worker.kill();
}, 180_000);

test('R1.3 an execution that is ahead of the journal cannot go on, says so, and is replaced without being forced', async () => {
  let worker = await rig.worker();
  const runId = await rig.run({ plan: { goal: 'Once', steps: [ask('go', []), tool('only', 'stamp', ['go']), ask('end', ['only'])] } });
  await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  await worker.kill();
  await copy();
  worker = await rig.worker();
  await answer(runId, 'go');
  const questionId = await rig.until(runId, (state) => Object.values(state.questions).find((one) => one.stepId === 'end')?.questionId);
  await worker.kill();
  await putBack();
  worker = await rig.worker();
  const client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
  expect(await client.restore(runId)).toMatchObject({ kind: 'refused', why: expect.stringContaining('runs; nothing to restore') });
  await rig.client.workflow.getHandle(workflowIdOf(runId)).signal('answer', { questionId, answer: 'yes' });
  let restored = await client.restore(runId);
  for (let tries = 0; restored.kind !== 'restored' && tries < 100; tries += 1) {
    await new Promise((resolve) => { setTimeout(resolve, 200); });
    restored = await client.restore(runId);
  }
  expect(restored).toMatchObject({ kind: 'restored' });
  await answer(runId, 'go');
  await answer(runId, 'end');
  const { status } = await rig.end(runId);
  expect([status, rig.effects(runId).map(({ text }) => text)]).toEqual(['COMPLETED', ['only']]);
}, 180_000);
