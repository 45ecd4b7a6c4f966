// Two waits of a run answered in the reverse order of their asking, with the worker killed between: each answer goes to its own call.
// What waits, what is answered and where the kill falls is chosen by a seed. Five seeds by default; LONGHAUL_EXHAUSTIVE=1 takes a
// hundred (`npm run test:orders`). The runs of a batch share a worker and its death.
import { createClient, type LonghaulClient } from '../../src/client/client';
import { MESSAGE, workflowIdOf, type MessageAnswer } from '../../src/messages';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';
import { answerTo, bothOpen, cameOf, orderOf, oughtOf, planOf, type Order, type Place } from './support/orders';
import { printTally, tally } from './support/tally';

const BATCH = 10;
const SEEDS = Array.from({ length: process.env['LONGHAUL_EXHAUSTIVE'] ? 100 : 5 }, (_, i) => i + 1);
const BATCHES = Array.from({ length: Math.ceil(SEEDS.length / BATCH) }, (_, i) => SEEDS.slice(i * BATCH, (i + 1) * BATCH));

let rig: Rig;
let door: LonghaulClient;
beforeAll(async () => {
  rig = await startRig();
  door = createClient({ stores: rig.stores, connection: rig.client.connection });
}, 120_000);
afterAll(async () => {
  await rig.stop();
  printTally();
}, 240_000);

interface Played extends Order { runId: string; answers: ReturnType<typeof answerTo>[]; ids: string[] }

async function begun(seed: number, taskQueue: string): Promise<Played> {
  const order = orderOf(seed);
  const runId = await rig.run({ runId: `order-${seed}`, plan: planOf(order), taskQueue });
  const state = await rig.until(runId, (seen) => bothOpen(seen) && seen);
  const answers = order.waits.map((wait) => answerTo(wait, state));
  const ids = answers.map(({ body }) => ('approvalId' in body ? body.approvalId : 'questionId' in body ? body.questionId : 'callbackId' in body ? body.callbackId : ''));
  return { ...order, runId, answers, ids };
}

/** Asks through the front door until it is heard; the same message again counts once. `which`: 1 was asked last, and is answered first. */
async function say({ runId, answers }: Played, which: 0 | 1): Promise<MessageAnswer['kind']> {
  const { body, messageId } = answers[which]!;
  for (;;) {
    const told = body.kind === 'callback' ? await door.callback(body.callbackId, { eventId: body.eventId, payload: 'value' in body.payload ? body.payload.value : null }, { actor: ANN }) : await door.message(runId, body, { actor: ANN, messageId });
    if (told.known && told.answer.kind !== 'busy') return told.answer.kind;
  }
}
const leave = ({ runId, answers }: Played, which: 0 | 1): Promise<void> => rig.client.workflow.getHandle(workflowIdOf(runId)).signal(MESSAGE, { messageId: answers[which]!.messageId, actor: ANN, body: answers[which]!.body });

test.each(BATCHES.map((seeds) => ({ seeds })))('B14 R6.3 two waits answered in the reverse order with a crash between: each answer reaches its own call, seeds $seeds', async ({ seeds }) => {
  const taskQueue = `orders-${seeds[0]}`;
  const worker = await rig.worker({ taskQueue });
  const orders = await Promise.all(seeds.map((seed) => begun(seed, taskQueue)));
  const at = (...places: Place[]): Played[] => orders.filter(({ place }) => places.includes(place));

  await Promise.all(at('heard').map((order) => say(order, 1)));
  let heard = 0;
  const underWay = at('under way').map(async (order) => {
    await sleep(order.delayMs);
    await say(order, 1);
    heard += 1;
  });
  // Of those that are under way some have been heard, some recorded, and some have not arrived when the worker dies.
  while (heard < underWay.length / 3) await sleep(5);
  await worker.kill();
  const recorded = new Map(await Promise.all(orders.map(async ({ seed, runId, ids }) => [seed, (await cameOf(rig, runId)).decided.includes(ids[1]!)] as const)));
  for (const order of at('one away', 'both away')) await leave(order, 1);
  for (const order of at('both away')) await leave(order, 0);

  const next = await rig.worker({ taskQueue });
  await Promise.all(underWay);
  for (const order of orders) expect([order.seed, await say(order, 1)]).toEqual([order.seed, order.answers[1]!.hears]);
  for (const order of orders) expect([order.seed, await say(order, 0)]).toEqual([order.seed, order.answers[0]!.hears]);
  for (const [i, order] of orders.entries()) {
    const { status } = await rig.end(order.runId);
    const [came, ought] = [await cameOf(rig, order.runId), oughtOf(order)];
    const kinds = order.waits.map(({ kind, verdict }) => (kind === 'approval' ? verdict : kind)).join(' + ');
    tally({ suite: 'two waits, answered in the reverse order', point: `seed ${order.seed}, ${kinds}, ${order.place}${recorded.get(order.seed) ? ', recorded' : ''}`, kills: i === 0 ? 1 : 0, expected: ought.effects.length, seen: came.effects.length, unknown: [] });
    expect({ seed: order.seed, status, steps: came.steps, effects: came.effects }).toEqual({ seed: order.seed, status: 'COMPLETED', ...ought });
    expect([order.seed, came.decided.filter((id) => order.ids.includes(id)).sort()]).toEqual([order.seed, decidedOf(order)]);
  }
  await next.kill();
}, 180_000);

/** Each wait was decided once. */
const decidedOf = ({ ids }: Played): string[] => [...ids].sort();
