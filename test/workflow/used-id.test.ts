// Starting under an id that is taken, on the real server, also once Temporal has forgotten its executions, as retention makes it do:
// the journal alone says what an id is. Asked again with the same input it is the same run, and an open one that lost its execution goes
// on; with other input the difference is named and nothing is touched. What was done is done once, whatever was asked meanwhile.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { createClient, type LonghaulClient } from '../../src/client/client';
import type { StartRequest } from '../../src/client/types';
import { workflowIdOf } from '../../src/messages';
import { RIG_AGENT } from '../rig/config';
import { PLAN, tool } from '../rig/once';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
let client: LonghaulClient;
beforeAll(async () => {
  rig = await startRig();
  client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
}, 120_000);
afterAll(() => rig.stop(), 60_000);

const request = (runId: string, plan: object = PLAN, input = 'the same'): StartRequest => ({ runId, agent: RIG_AGENT, plan: plan as StartRequest['plan'], input, owner: ANN });
const lines = (runId: string): string[] => rig.effects(runId).map(({ text }) => text);
const asked = (runId: string) => rig.until(runId, (state) => Object.keys(state.questions)[0]);
const statusOf = async (runId: string): Promise<string> => (await client.execution(runId)).status;

/** Makes Temporal forget an open run, as somebody who deletes it does. */
async function forget(runId: string): Promise<void> {
  const { workflowService, options: { namespace } } = rig.client;
  await workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId: workflowIdOf(runId) } });
  for (const until = Date.now() + 20_000; await statusOf(runId) !== 'NOT_FOUND' && Date.now() < until;) await sleep(50);
  expect(await statusOf(runId)).toBe('NOT_FOUND');
}

async function toTheEnd(runId: string): Promise<void> {
  await rig.send(runId, { kind: 'answer', questionId: await asked(runId), answer: { value: 'yes' } });
  const { status, state } = await rig.end(runId);
  expect([status, state.end?.outcome, lines(runId)]).toEqual(['COMPLETED', 'full', ['first', 'second']]);
}

/** The same request, and one with other input: the row is the same, whatever is answered. */
async function expectKnown(runId: string, plan: object = PLAN): Promise<void> {
  const { inputDigest, createdAt } = (await rig.stores.journal.row(runId))!;
  expect(await client.start(request(runId, plan, 'another'))).toMatchObject({ kind: 'other-input', differences: [{ path: 'input', before: 'the same', now: 'another' }] });
  expect(await client.start(request(runId, plan))).toMatchObject({ kind: 'known', runId });
  expect(await rig.stores.journal.row(runId)).toMatchObject({ inputDigest, createdAt });
}

test('B21 R1.2 an open run that Temporal has forgotten is not harmed by other input, and goes on when the same is asked for again', async () => {
  const worker = await rig.worker();
  await client.start(request('open'));
  await asked('open');
  await forget('open');
  expect(await client.start(request('open', PLAN, 'another'))).toMatchObject({ kind: 'other-input' });
  expect(await statusOf('open')).toBe('NOT_FOUND');
  const answers = await Promise.all([0, 1, 2].map(() => client.start(request('open'))));
  expect(answers.map(({ kind }) => kind)).toEqual(['known', 'known', 'known']);
  await toTheEnd('open');
  await worker.kill();
});

test('B21 a run in the middle of a call is not harmed by starts under its id, nor when its worker dies or Temporal forgets it meanwhile', async () => {
  const plan = { ...PLAN, steps: [tool('first', 'stamp', [], { after: 4_000 }), ...PLAN.steps.slice(1)] };
  const worker = await rig.worker();
  await Promise.all(['killed', 'forgotten'].map((runId) => client.start(request(runId, plan))));
  while (lines('killed').length + lines('forgotten').length < 2) await sleep(20);
  await forget('forgotten');
  await Promise.all(['killed', 'forgotten'].map((runId) => expectKnown(runId, plan)));
  await sleep(500);
  await worker.kill();
  await rig.worker();
  await expectKnown('killed', plan);
  await Promise.all(['killed', 'forgotten'].map(toTheEnd));
});

test('B21 R1.2 a run that is over keeps its id when Temporal has forgotten it: the same request gets its end, another is refused, and nothing begins', async () => {
  const worker = await rig.worker();
  await client.start(request('over'));
  await toTheEnd('over');
  await worker.kill();
  // A closed run is only deleted after half a minute: all that Temporal knows is taken away in its place.
  await rig.server.kill();
  for (const end of ['', '-wal', '-shm']) rmSync(path.join(rig.server.folder, `temporal.db${end}`), { force: true });
  await rig.server.restart();
  await expectKnown('over');
  expect([await client.start(request('over')), await statusOf('over'), lines('over')]).toMatchObject([{ row: { status: 'completed', outcome: 'full' } }, 'NOT_FOUND', ['first', 'second']]);
});
