// Going on after the death of a worker, on the real server: whatever it had under way is reported by the next one at once,
// instead of being missed after ten seconds of heartbeats, and its sticky queues are not waited for. What matters is told by
// histories: no time-out stands in them. The times printed by `npm run bench:recovery` are only bounded here.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { workflowIdOf } from '../../src/messages';
import { startChatServer, type ChatServer } from '../../src/testing/chat-server';
import { sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
let chat: ChatServer;
let slow = 0;
beforeAll(async () => {
  rig = await startRig();
  chat = await startChatServer({ answers: async () => { await sleep(slow); return { text: 'word' }; } });
}, 120_000);
afterAll(async () => { await rig.stop(); await chat.close(); }, 60_000);

const tool = (name: string, args: object) => ({ goal: 'One', steps: [{ id: 'only', title: 'Only', action: { type: 'tool', tool: name, args } }] });
const PARKED = { goal: 'Park', steps: [{ id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }] };
const THINKING = { goal: 'Think', steps: [{ id: 'think', title: 'Think', action: { type: 'model', prompt: 'Say a word.', args: {} } }] };

/** What ended before its time was over, and by whose word, in all histories of the run. */
async function lost(runId: string): Promise<{ timeouts: number; reported: number }> {
  const events = (await rig.histories(runId)).flatMap(({ history }) => history.events ?? []);
  return {
    timeouts: events.filter((event) => event.activityTaskTimedOutEventAttributes ?? event.workflowTaskTimedOutEventAttributes).length,
    reported: events.filter((event) => event.activityTaskFailedEventAttributes?.failure?.applicationFailureInfo?.type === 'WorkerGone').length,
  };
}
const worker = (taskQueue: string) => rig.worker({ taskQueue, env: { LONGHAUL_MODEL: `openai-compatible:${chat.url}#rig` } });
/** No workflow task of the run is under way: a kill in the middle of one costs its time-out. */
async function idle(runId: string): Promise<void> {
  while ((await rig.client.workflow.getHandle(workflowIdOf(runId)).describe()).raw.pendingWorkflowTask) await sleep(50);
}
/** None before the first worker of this folder. */
const lists = (): string[] => (existsSync(path.join(rig.stateDir, 'running')) ? readdirSync(path.join(rig.stateDir, 'running')) : []);

test('R1.4 a run that waits answers within 3 s of a new worker, and no sticky queue is waited for', async () => {
  const first = await worker('idle');
  const ids = await Promise.all(Array.from({ length: 5 }, () => rig.run({ plan: PARKED, taskQueue: 'idle' })));
  const questions = await Promise.all(ids.map((runId) => rig.until(runId, (state) => Object.keys(state.questions)[0])));
  await Promise.all(ids.map(idle));
  await first.kill();
  await worker('idle');
  const ready = Date.now();
  await Promise.all(ids.map((runId, i) => rig.send(runId, { kind: 'answer', questionId: questions[i] ?? '', answer: { value: 'yes' } })));
  expect(Date.now() - ready).toBeLessThan(3_000);
  for (const runId of ids) {
    expect((await rig.end(runId)).status).toBe('COMPLETED');
    expect(await lost(runId)).toEqual({ timeouts: 0, reported: 0 });
  }
});

const UNDERWAY: [string, object, string, string][] = [
  ['a tool call with effect', tool('searched', { text: 'x', before: 20_000 }), 'ToolCallSucceeded', 'RecoveryChecked'],
  ['a reader', tool('look', { text: 'x', before: 8_000 }), 'ToolCallFailed', 'ToolCallRequested'],
  ['a model call', THINKING, 'ModelCallFailed', 'ModelCallRequested'],
];

test.each(UNDERWAY)('R1.4 %s in flight goes on within 3 s of another worker being up, on this host', async (what, plan, next, then) => {
  const queue = what.replaceAll(' ', '-');
  const first = await worker(queue);
  slow = 20_000;
  const runId = await rig.run({ plan, taskQueue: queue });
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
  await sleep(1_500);
  await idle(runId);
  const seen = (await rig.events(runId)).length;
  await first.kill();
  slow = 0;
  await worker(queue);
  const ready = Date.now();
  await rig.until(runId, (_, events) => events.slice(seen).some((event) => event.type === next || event.type === then));
  expect(Date.now() - ready).toBeLessThan(3_000);
  const { status } = await rig.end(runId, 60_000);
  expect([status, (await rig.types(runId)).filter((type) => type === then).length > 0]).toEqual(['COMPLETED', true]);
  expect(await lost(runId)).toEqual({ timeouts: 0, reported: 1 });
  expect(rig.effects(runId).length).toBeLessThanOrEqual(1);
}, 90_000);

test('a gate whose worker dies is looked at again by the next', async () => {
  const first = await worker('gate');
  const runId = await rig.run({ plan: tool('searched', { text: 'x', before: 20_000, lookMs: 3_000 }), taskQueue: 'gate' });
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
  await sleep(500);
  await first.kill();
  const second = await worker('gate');
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'doubt');
  await sleep(1_000);
  await second.kill();
  await worker('gate');
  const { status } = await rig.end(runId);
  expect([status, rig.effects(runId).length]).toEqual(['COMPLETED', 1]);
  expect(await lost(runId)).toMatchObject({ timeouts: 0 });
}, 90_000);

test('a worker that is only stopped is not taken for dead: its call ends by itself', async () => {
  const first = await worker('stopped');
  const runId = await rig.run({ plan: tool('stamp', { text: 'x', before: 3_000 }), taskQueue: 'stopped' });
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
  await sleep(1_000);
  first.freeze();
  try {
    await worker('stopped');
    await sleep(5_000);
  } finally {
    first.thaw();
  }
  const { status } = await rig.end(runId);
  expect([status, rig.effects(runId).length, (await lost(runId)).reported]).toEqual(['COMPLETED', 1, 0]);
}, 60_000);

test('B24 a call that was settled before its worker died is found, not done again, and what the dead worker left is cleared', async () => {
  const before = lists();
  const supervised = await rig.supervised({ taskQueue: 'settled', env: { LONGHAUL_CRASH_AT: 'call:settled:stamp', LONGHAUL_CRASH_ONCE: path.join(rig.stateDir, 'marker-settled') } });
  const runId = await rig.run({ plan: tool('stamp', { text: 'x' }), taskQueue: 'settled' });
  const { status } = await rig.end(runId);
  expect([status, supervised.deaths(), rig.effects(runId).length]).toEqual(['COMPLETED', 1, 1]);
  expect((await rig.stores.ledger.open()).filter((row) => row.runId === runId)).toEqual([]);
  expect(lists().filter((name) => !before.includes(name)).map((name) => Number(name.split('-')[0]))).toEqual([supervised.current().pid]);
  await supervised.stop();
}, 60_000);
