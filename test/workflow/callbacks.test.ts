// Callbacks on the real server: a run that waits for the outside holds nothing, is woken by what comes however often, early or
// late it comes and whatever died meanwhile, and knows an event again when its state has forgotten it long ago.
import path from 'node:path';
import { createClient, type LonghaulClient } from '../../src/client/client';
import type { Delivery } from '../../src/client/types';
import type { Json } from '../../src/core/canonical';
import { callbackIdOf } from '../../src/core/keys';
import type { Output } from '../../src/core/run';
import { workflowIdOf } from '../../src/messages';
import { startRig, type Rig } from '../rig/rig';

let rig: Rig;
let client: LonghaulClient;
beforeAll(async () => {
  rig = await startRig();
  client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
}, 120_000);
afterAll(() => rig.stop(), 120_000);

const OUTSIDE = { actor: { id: 'outside', via: 'client' as const, assurance: 'claimed' as const } };
const order = (args: object, tool = 'order') => ({ goal: 'Order', steps: [{ id: 'order', title: 'Order', action: { type: 'tool', tool, args: { text: 'a book', ...args } } }] });
const ASK = { id: 'ask', title: 'Ask', action: { type: 'question', question: 'More?' } };
const idOf = (runId: string): string => callbackIdOf(runId, 'c1');
const kindOf = (delivery: Delivery): string => (delivery.known ? delivery.answer.kind : delivery.state);
const back = (runId: string, eventId: string, payload: Json = eventId, item?: string): Promise<string> =>
  client.callback(idOf(runId), { eventId, payload, ...(item === undefined ? {} : { item }) }, OUTSIDE).then(kindOf);
const waits = (runId: string): Promise<unknown> => rig.until(runId, (state) => Object.values(state.callbacks ?? {})[0]?.open);
const count = async (runId: string, type: string): Promise<number> => (await rig.types(runId)).filter((one) => one === type).length;

async function outputOf(runId: string): Promise<Json> {
  const output = (await rig.state(runId)).steps.find(({ id }) => id === 'order')?.output as Output;
  return 'value' in output ? output.value : JSON.parse(new TextDecoder().decode(await rig.stores.artifacts.read(output.ref.sha256))) as Json;
}

test('R5.1 R5.2 a callback wakes a run that was parked across a restart of its worker, and the same callback again acts once', async () => {
  const first = await rig.worker({ taskQueue: 'parked' });
  const runId = await rig.run({ plan: order({}), taskQueue: 'parked' });
  await waits(runId);
  const { raw } = await rig.client.workflow.getHandle(workflowIdOf(runId)).describe();
  expect(raw.pendingActivities ?? []).toEqual([]);
  expect(await rig.stores.journal.row(runId)).toMatchObject({ status: 'waiting', waits: [{ waitId: idOf(runId), kind: 'callback' }] });
  await first.kill();
  expect(await back(runId, 'e1', { paid: true })).toBe('kept');
  await rig.worker({ taskQueue: 'parked' });
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(await back(runId, 'e1', { paid: true })).toBe('done');
  expect(await back(runId, 'e1', { paid: false })).toBe('refused');
  expect([await outputOf(runId), await count(runId, 'CallbackReceived'), rig.effects(runId).length]).toEqual([{ paid: true }, 1, 1]);
}, 60_000);

test('a batch comes out of order, with one large payload, and is listed in the order of its items', async () => {
  await rig.worker();
  const runId = await rig.run({ plan: order({ expect: 3 }) });
  await waits(runId);
  expect(await back(runId, 'e2', 'second', 'b')).toBe('counted');
  expect(await back(runId, 'e9', 'x', 'b')).toBe('already-decided');
  expect(await back(runId, 'e3', { many: 'y'.repeat(20_000), n: 3 }, 'c')).toBe('counted');
  expect(await back(runId, 'e3', { n: 3, many: 'y'.repeat(20_000) }, 'c')).toBe('counted');
  expect(await back(runId, 'e1', 'first', 'a')).toBe('done');
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(await outputOf(runId)).toMatchObject({ expected: 3, came: 3, complete: true, items: [{ item: 'a', value: 'first' }, { item: 'b', value: 'second' }, { item: 'c', artifact: { bytes: 20_017 } }] });
}, 60_000);

test('a batch goes on at its deadline with what came; what comes later hears that it is over, also after the end of the run', async () => {
  const runId = await rig.run({ plan: { goal: 'Order', steps: [...order({ expect: 3, deadline: '3s', goOn: true }).steps, { ...ASK, dependsOn: ['order'] }] } });
  await waits(runId);
  expect(await back(runId, 'e1')).toBe('counted');
  const questionId = await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  expect(await outputOf(runId)).toMatchObject({ came: 1, complete: false, items: [{ item: 'e1', value: 'e1' }] });
  const before = (await rig.events(runId)).length;
  expect([await back(runId, 'e2'), (await rig.events(runId)).length - before]).toEqual(['closed', 0]);
  await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'no' } });
  await rig.end(runId);
  expect([await back(runId, 'e3'), await back(runId, 'e1')]).toEqual(['closed', 'counted']);
  await expect(client.callback('cb-nobody', { eventId: 'e1', payload: 1 }, OUTSIDE)).rejects.toMatchObject({ code: 'unknown-wait' });
}, 60_000);

test('a callback that is faster than the answer of its tool is not lost', async () => {
  const runId = await rig.run({ plan: order({ after: 4_000 }) });
  await rig.until(runId, () => rig.effects(runId).length === 1);
  expect(await back(runId, 'e1', { quick: true })).toBe('counted');
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  const types = await rig.types(runId);
  expect([types.indexOf('CallbackReceived') < types.indexOf('ToolCallPending'), await outputOf(runId)]).toEqual([true, { quick: true }]);
}, 60_000);

test('R4.2 a worker that dies after the outside has accepted: the look-up says that it waits, and nothing is ordered twice', async () => {
  const supervised = await rig.supervised({ taskQueue: 'accepted', env: { LONGHAUL_CRASH_AT: 'call:sent:order', LONGHAUL_CRASH_ONCE: path.join(rig.stateDir, 'marker-accepted') } });
  const runId = await rig.run({ plan: order({ expect: 1 }), taskQueue: 'accepted' });
  await waits(runId);
  expect(await back(runId, 'e1')).toBe('done');
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  const pending = (await rig.events(runId)).find(({ type }) => type === 'ToolCallPending')?.data;
  expect([pending, supervised.deaths(), rig.effects(runId).length]).toMatchObject([{ via: 'look-up' }, 1, 1]);
  await supervised.stop();
}, 90_000);

test('a request that nobody can look up, whose worker died, was accepted when it is called back: no person need say so', async () => {
  const supervised = await rig.supervised({ taskQueue: 'letter', env: { LONGHAUL_CRASH_AT: 'call:sent:letter', LONGHAUL_CRASH_ONCE: path.join(rig.stateDir, 'marker-letter') } });
  const runId = await rig.run({ plan: order({}, 'letter'), taskQueue: 'letter' });
  await rig.until(runId, () => rig.effects(runId).length === 1);
  await rig.until(runId, (state) => Object.keys(state.decisions)[0]);
  expect(await back(runId, 'e1', 'yes')).toBe('done');
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect([await outputOf(runId), rig.effects(runId).length, supervised.deaths()]).toEqual(['yes', 1, 1]);
  await supervised.stop();
}, 90_000);

test('B34 I12 an event that the state has forgotten, generations and a restore later, is known again by the journal', async () => {
  await rig.worker({ taskQueue: 'many', limits: { softEvents: 150, hardEvents: 10_000, hardUpdates: 1_500, waitEvents: 200 } });
  const runId = await rig.run({ plan: order({ expect: 120 }), taskQueue: 'many' });
  await waits(runId);
  const heard = await Promise.all(Array.from({ length: 100 }, (_, i) => back(runId, `e${i}`)));
  expect(new Set(heard)).toEqual(new Set(['counted']));
  await rig.restore(runId, 'many');
  expect([await back(runId, 'e0'), await back(runId, 'e0', 'something else')]).toEqual(['counted', 'refused']);
  const rest = await Promise.all(Array.from({ length: 20 }, (_, i) => back(runId, `f${i}`)));
  expect(rest.filter((kind) => kind === 'done')).toHaveLength(1);
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect([(await outputOf(runId) as { came: number }).came, await count(runId, 'CallbackReceived'), (await rig.histories(runId)).length > 2]).toEqual([120, 120, true]);
}, 120_000);

test('a step of a plan waits to be called back, and cancelling ends the wait', async () => {
  const plan = { goal: 'Wait', steps: [{ id: 'order', title: 'The bank', action: { type: 'wait', callback: 'the word of the bank', deadline: '1h', onDeadline: 'fail-step' } }] };
  const [runId, other] = [await rig.run({ plan }), await rig.run({ plan })];
  const callbackId = await rig.until(runId, (state) => Object.keys(state.callbacks ?? {})[0]);
  expect(kindOf(await client.callback(callbackId, { eventId: 'e1', payload: { ok: 1 } }, OUTSIDE))).toBe('done');
  expect([(await rig.end(runId)).status, await outputOf(runId)]).toEqual(['COMPLETED', { ok: 1 }]);
  await rig.until(other, (state) => Object.keys(state.callbacks ?? {})[0]);
  await rig.send(other, { kind: 'cancel', reason: 'enough' });
  expect((await rig.end(other)).status).toBe('CANCELLED');
}, 60_000);
