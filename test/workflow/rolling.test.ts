// Continue-as-new on the real server, with small limits: under a storm of Updates and of Signals nothing is lost or doubled,
// histories stay bounded, a burst that no worker was there for is taken in, and a run that rolls in the middle of its work does each thing once.
import { createClient } from '../../src/client/client';
import { readPayload } from '../../src/client/payloads';
import type { RunInput } from '../../src/core/run';
import { MESSAGE, workflowIdOf } from '../../src/messages';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';

const LIMITS = { softEvents: 200, hardEvents: 1_000, hardUpdates: 400, waitEvents: 60 };
let rig: Rig;
beforeAll(async () => { rig = await startRig(); await rig.worker({ limits: LIMITS }); }, 120_000);
afterAll(() => rig.stop(), 120_000);

const PARKED = { goal: 'Park', steps: [{ id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }] };

async function lengths(runId: string): Promise<number[]> {
  return (await rig.histories(runId)).map(({ history }) => history.events?.length ?? 0);
}

/** What each generation was started with: all but the first say how far the run had got. */
async function begunWith(runId: string): Promise<RunInput[]> {
  return Promise.all((await rig.histories(runId)).map(async ({ history }) => {
    const read = await readPayload(rig.client, history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]);
    return (read as { value: RunInput }).value;
  }));
}

async function park(taskQueue?: string): Promise<string> {
  const runId = await rig.run({ plan: PARKED, ...(taskQueue ? { taskQueue } : {}) });
  await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  return runId;
}

/** Every note arrived once, histories are bounded, and the run still ends. */
async function expectAll(runId: string, count: number): Promise<void> {
  const notes = await rig.until(runId, (_, events) => {
    const heard = events.filter((event) => event.type === 'UserMessageReceived');
    return heard.length >= count && heard;
  }, 120_000);
  expect(new Set(notes.map((event) => event.idempotencyKey)).size).toBe(count);
  expect(notes).toHaveLength(count);
  await rig.send(runId, { kind: 'cancel', reason: 'done' }, { timeoutMs: 60_000 });
  expect((await rig.end(runId, 90_000)).status).toBe('CANCELLED');
  const all = await lengths(runId);
  expect(all.length).toBeGreaterThan(1);
  const [first, ...later] = await begunWith(runId);
  expect([first?.version, later.every(({ version = 0 }) => version > 0)]).toEqual([undefined, true]);
  expect(Math.max(...all)).toBeLessThan(LIMITS.hardEvents);
}

test('400 Updates from 16 senders: each is answered and counted once, over several generations', async () => {
  const runId = await park();
  let next = 0;
  const kinds = new Set<string>();
  await Promise.all(Array.from({ length: 16 }, async () => {
    while (next < 400) {
      const n = (next += 1);
      kinds.add((await rig.send(runId, { kind: 'note', text: { value: n } }, { messageId: `note-${n}`, timeoutMs: 60_000 })).kind);
    }
  }));
  expect([...kinds]).toEqual(['done']);
  await expectAll(runId, 400);
}, 180_000);

/** Of each client; with LONGHAUL_EXHAUSTIVE=1 it is 3,000 in all. */
const EACH = process.env.LONGHAUL_EXHAUSTIVE ? 600 : 150;

test('messages of five clients as fast as they are taken: every one counts once, over many generations, and the run stays awake', async () => {
  await rig.worker({ taskQueue: 'storm', limits: { softEvents: LIMITS.softEvents } });
  const runId = await park('storm');
  const clients = Array.from({ length: 5 }, () => createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'storm' }));
  const began = Date.now();
  const answers = await Promise.all(clients.flatMap((client, c) => Array.from({ length: EACH }, (_, n) =>
    client.message(runId, { kind: 'note', text: { value: n } }, { actor: { ...ANN, id: `client-${c}` }, messageId: `c${c}-${n}` }))));
  const rate = Math.round((answers.length * 1_000) / (Date.now() - began));
  // What no worker confirms in five seconds is kept as a Signal: on a busy machine some are. Each counts once all the same.
  const heard = answers.map((delivery) => (delivery.known ? delivery.answer.kind : delivery.state)).filter((kind) => kind !== 'kept');
  expect([new Set(heard), heard.length > answers.length / 2]).toEqual([new Set(['done']), true]);
  await expectAll(runId, 5 * EACH);
  const generations = (await lengths(runId)).length;
  process.stderr.write(`${answers.length} messages of 5 clients: ${rate} a second, ${generations} generations\n`);
  expect(generations).toBeGreaterThanOrEqual(EACH / 60);
}, 400_000);

test('I12 a message id is known in every later generation: the same again counts no second time, whichever way it comes', async () => {
  const runId = await park();
  const approve = { kind: 'note' as const, text: { value: 'once' } };
  const first = await rig.send(runId, approve, { messageId: 'wake' });
  for (let n = 0; (await lengths(runId)).length < 3; n += 1) await Promise.all(Array.from({ length: 20 }, (_, i) => rig.send(runId, { kind: 'note', text: { value: i } }, { messageId: `fill-${n}-${i}`, timeoutMs: 60_000 })));
  const handle = rig.client.workflow.getHandle(workflowIdOf(runId));
  await handle.signal(MESSAGE, { messageId: 'wake', actor: ANN, body: approve });
  const again = await handle.executeUpdate(MESSAGE, { args: [{ messageId: 'wake', actor: ANN, body: approve }], updateId: 'another' });
  expect([first.kind, (again as { kind: string }).kind]).toEqual(['done', expect.stringMatching(/^(done|already-decided)$/)]);
  expect((await rig.events(runId)).filter((event) => event.idempotencyKey === 'msg:wake')).toHaveLength(1);
  await rig.send(runId, { kind: 'cancel', reason: 'done' }, { timeoutMs: 60_000 });
  await rig.end(runId);
}, 180_000);

test('Signals at 100 a second for ten seconds: none is lost, none counts twice, histories stay bounded', async () => {
  const runId = await park();
  const handle = rig.client.workflow.getHandle(workflowIdOf(runId));
  const sent: Promise<void>[] = [];
  for (let n = 1; n <= 1_000; n += 1) {
    sent.push(handle.signal(MESSAGE, { messageId: `signal-${n}`, actor: ANN, body: { kind: 'note', text: { value: n } } }));
    if (n % 10 === 0) await sleep(100);
  }
  await Promise.all(sent);
  await expectAll(runId, 1_000);
}, 240_000);

/** Signals of 1 KB; with LONGHAUL_EXHAUSTIVE=1 nearly as many as Temporal takes for one execution, which is 10,000. */
const BURST = process.env.LONGHAUL_EXHAUSTIVE ? 9_000 : 1_500;

test('B33 a burst of Signals that comes while no worker runs starves no run: each counts once, and the approval that follows is taken within a minute', async () => {
  const taskQueue = 'burst';
  const parked = await rig.worker({ taskQueue, limits: { softEvents: LIMITS.softEvents } });
  const runId = await rig.run({ plan: { goal: 'Burst', steps: [{ id: 'a', title: 'A', action: { type: 'tool', tool: 'asked', args: { text: 'burst' } } }] }, taskQueue });
  const approvalId = await rig.until(runId, (state) => Object.keys(state.approvals)[0]);
  await parked.kill();
  const handle = rig.client.workflow.getHandle(workflowIdOf(runId));
  const note = (n: number): Promise<void> => handle.signal(MESSAGE, { messageId: `burst-${n}`, actor: ANN, body: { kind: 'note', text: { value: `${n} `.padEnd(1_000, 'and so on ') } } });
  let sent = 0;
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (sent < BURST) await note(sent += 1);
  }));
  await rig.worker({ taskQueue, limits: { softEvents: LIMITS.softEvents } });
  const began = Date.now();
  expect((await rig.send(runId, { kind: 'approve', approvalId }, { timeoutMs: 60_000 })).kind).toBe('granted');
  const tookMs = Date.now() - began;
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(rig.effects(runId)).toHaveLength(1);
  const keys = (await rig.events(runId)).filter(({ type }) => type === 'UserMessageReceived').map((event) => event.idempotencyKey);
  expect([keys.length, new Set(keys).size]).toEqual([BURST, BURST]);
  const history = (await rig.histories(runId)).flatMap(({ history: { events } }) => events ?? []);
  const after = history.slice(history.map((event) => Boolean(event.workflowExecutionSignaledEventAttributes)).lastIndexOf(true));
  // The task that brought the burst ended before its turns began; they are local activities, whose markers follow.
  const rested = after.findIndex((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'open');
  expect([rested > 0, rested < after.findIndex((event) => event.markerRecordedEventAttributes?.markerName === 'core_local_activity')]).toEqual([true, true]);
  const lost = history.filter((event) => event.workflowTaskTimedOutEventAttributes?.timeoutType === 1);
  process.stderr.write(`${BURST} Signals while no worker ran: approved after ${tookMs} ms, ${lost.length} workflow tasks timed out\n`);
}, 300_000);

test('a long plan rolls between its calls, with a checkpoint, and does each thing once', async () => {
  const steps = Array.from({ length: 60 }, (_, i) => ({
    id: `s${i}`, title: `Step ${i}`, dependsOn: i > 0 ? [`s${i - 1}`] : [],
    action: { type: 'tool', tool: i % 5 === 0 ? 'stamp' : 'look', args: { text: `t${i}` } },
  }));
  const runId = await rig.run({ plan: { goal: 'Long', steps } });
  const { state, status } = await rig.end(runId, 120_000);
  expect([status, state.end?.outcome]).toEqual(['COMPLETED', 'full']);
  expect(rig.effects(runId).map((line) => line.text)).toEqual(steps.filter((_, i) => i % 5 === 0).map((_, i) => `t${i * 5}`));
  const all = await lengths(runId);
  expect(all.length).toBeGreaterThanOrEqual(2);
  expect(Math.max(...all)).toBeLessThan(LIMITS.softEvents + 100);
  expect((await rig.types(runId)).filter((type) => type === 'CheckpointSaved').length).toBeGreaterThanOrEqual(all.length - 1);
}, 180_000);

test('before a long wait the run continues as new, and wakes with a short history', async () => {
  const steps = [...Array.from({ length: 12 }, (_, i) => ({ id: `s${i}`, title: `Step ${i}`, dependsOn: i > 0 ? [`s${i - 1}`] : [], action: { type: 'tool', tool: 'look', args: { text: `t${i}` } } })),
    { id: 'ask', title: 'Ask', dependsOn: ['s11'], action: { type: 'question', question: 'Well?' } }];
  const runId = await rig.run({ plan: { goal: 'Long wait', steps } });
  const questionId = await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  for (let i = 0; i < 100 && (await lengths(runId)).length < 2; i += 1) await sleep(100);
  await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'yes' } });
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  const all = await lengths(runId);
  expect(all).toHaveLength(2);
  expect(all[1]).toBeLessThan(30);
  const started = (await rig.histories(runId)).map(({ history }) => history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowTaskTimeout?.seconds);
  expect(started.map(Number)).toEqual([5, 5]);
});
