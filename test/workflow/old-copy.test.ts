// An older copy of longhaul.db is put back while a run is under way, and the run is restored from it: what was done since the
// copy stands in no journal and no ledger any more. It is looked up before anything is sent, or a person is asked; never done twice.
import { copyFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createClient } from '../../src/client/client';
import { workflowIdOf, WORKFLOW_TYPE } from '../../src/messages';
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
const mark = (): string => path.join(rig.stateDir, 'ledger.mark');
const copy = (): Promise<void> => rig.meanwhile(() => { for (const one of [file(), mark()]) copyFileSync(one, `${one}.copy`); });
/** Puts back the database alone, or the mark as well, as a backup of the whole folder does. */
const putBack = (marked: boolean): Promise<void> => rig.meanwhile(() => {
  for (const end of ['-wal', '-shm']) rmSync(`${file()}${end}`, { force: true });
  for (const one of marked ? [file(), mark()] : [file()]) copyFileSync(`${one}.copy`, one);
});
const restored = async (runId: string): Promise<void> => {
  const client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
  expect(await client.restore(runId)).toMatchObject({ kind: 'restored' });
};

test.each([
  ['alone, the run terminated', false, true], ['alone, the run still open', false, false],
  ['with its mark, the run terminated', true, true], ['with its mark, the run still open', true, false],
])('R4.2 put back %s: what was done since the copy is found or asked about, and nothing is done twice', async (_name, marked, terminated) => {
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
  if (terminated) await rig.client.workflow.getHandle(workflowIdOf(runId)).terminate('the machine burnt');
  await putBack(marked);
  expect((await rig.types(runId)).filter((type) => type === 'ToolCallSucceeded')).toHaveLength(1);

  worker = await rig.worker();
  await restored(runId);
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

test('R4.2 put back to when the run was accepted and had not begun: what it did since is found or asked about all the same', async () => {
  const runId = await rig.run({ plan: { goal: 'Do each thing once', steps: [tool('found', 'stamp', []), tool('asked', 'blind', []), ask('end', ['found', 'asked'])] } });
  await copy();
  let worker = await rig.worker();
  await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  await worker.kill();
  await putBack(true);
  expect(await rig.types(runId)).toEqual([]);

  worker = await rig.worker();
  await restored(runId);
  const decision = await rig.until(runId, (state) => Object.values(state.decisions)[0]);
  expect(decision.tool).toBe('blind');
  await rig.until(runId, (_, events) => events.some((event) => event.type === 'ToolCallSucceeded' && event.data.via === 'look-up'));
  await rig.send(runId, { kind: 'resolve', callId: decision.callId, verdict: 'happened', reference: 'seen in the file' });
  await answer(runId, 'end');
  expect([(await rig.end(runId)).state.end?.outcome, rig.effects(runId).map(({ text }) => text).sort()]).toEqual(['full', ['asked', 'found']]);
  await worker.kill();
}, 120_000);

/** A run that has come further than the copy, with an execution that no worker has begun: `begin` starts that before the copy is put back. */
async function unbegun(begin: (runId: string) => Promise<void>): Promise<string> {
  let worker = await rig.worker();
  const runId = await rig.run({ plan: PLAN });
  await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  await worker.kill();
  await copy();
  worker = await rig.worker();
  await answer(runId, 'go');
  await rig.until(runId, (state) => Object.values(state.questions).find((one) => one.stepId === 'end'));
  await worker.kill();
  await begin(runId);
  await putBack(true);
  return runId;
}

test.each([
  ['a generation', /ends at \d+ in epoch 0, and the run had come to \d+: events were lost/, async (runId: string) => {
    const [row, state, handle] = [await rig.stores.journal.row(runId), await rig.state(runId), rig.client.workflow.getHandle(workflowIdOf(runId))];
    await handle.terminate('it continues as new');
    const { epoch, inputDigest, inputRef } = row!;
    await rig.client.workflow.start(WORKFLOW_TYPE, { taskQueue: 'rig', workflowId: workflowIdOf(runId), args: [{ v: 1, runId, epoch, inputDigest, inputRef, version: state.version }] });
  }],
  ['a restore', /in epoch 0, and the run had come to epoch 1: events were lost/, (runId: string) => rig.restore(runId)],
])('R4.2 put back with its mark while no worker has begun %s: it does not go on by itself, and what was done is found or asked about', async (_name, sentence, begin) => {
  const runId = await unbegun(begin);
  const lines = (): string[] => rig.effects(runId).map(({ text }) => text).sort();
  const worker = await rig.worker();
  const client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
  for (let said = ''; !sentence.test(said); await new Promise((resolve) => { setTimeout(resolve, 200); })) {
    said = (await client.execution(runId)).activities.map(({ lastFailure }) => lastFailure).join();
  }
  await restored(runId);
  await answer(runId, 'go');
  const decision = await rig.until(runId, (state) => Object.values(state.decisions)[0]);
  await rig.send(runId, { kind: 'resolve', callId: decision.callId, verdict: 'happened', reference: 'seen in the file' });
  await answer(runId, 'end');
  expect([(await rig.end(runId)).state.end?.outcome, lines()]).toEqual(['full', ['first', 'second', 'third']]);
  await worker.kill();
}, 120_000);

test('R4.2 put back with its mark, and the run reset in Temporal before it was restored: the history that was reset tells how far it had got', async () => {
  const runId = await unbegun(async (id) => {
    const reset = await rig.server.temporalCli(['workflow', 'reset', '-w', workflowIdOf(id), '--type', 'FirstWorkflowTask', '--reason', 'again']);
    expect(reset.code).toBe(0);
  });
  await restored(runId);
  const worker = await rig.worker();
  await answer(runId, 'go');
  expect((await rig.until(runId, (state) => Object.values(state.decisions)[0])).tool).toBe('blind');
  expect(rig.effects(runId).map(({ text }) => text).sort()).toEqual(['first', 'second', 'third']);
  await worker.kill();
}, 120_000);
