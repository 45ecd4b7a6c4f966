// A worker that is stopped (SIGSTOP) in the middle of calls for longer than their lease, while a second worker takes over, and woken
// again (SIGCONT): one effect each or a named unknown, never two. Two workers at one time. The Temporal server killed in the middle
// of a call and while a run waits. The effect server, a process of its own, is the judge.
import path from 'node:path';
import type { EffectServer } from '../../src/testing';
import { effectsOf, OUTSIDE_KINDS, prepareOutside, thingOf, type OutsideKind } from '../rig/outside-tools';
import { sleep, type Rig } from '../rig/rig';
import { attend } from './support/person';
import { withOutside } from './support/outside';
import { tally } from './support/tally';

/** ms of a claim's lease (src/activities/call.ts). */
const LEASE_MS = 15_000;

let outside: EffectServer;
let rig: Rig;
withOutside((...opened) => { [rig, outside] = opened; });

const worker = (taskQueue: string) => rig.worker({ taskQueue, env: { LONGHAUL_SERVICE_OUTSIDE: outside.url } });
const plan = (kind: OutsideKind, before = 0) => ({ goal: 'One effect', steps: [{ id: 'only', title: 'Only', action: { type: 'tool', tool: kind, args: { text: 'once', ...(before ? { before } : {}) } } }] });

/** Waits until the claim of the run's call stands in the ledger; answers the process that holds it. */
async function claimedBy(runId: string): Promise<number> {
  for (let i = 0; i < 600; i += 1) {
    const [row] = await rig.stores.ledger.byRun(runId);
    if (row?.state === 'claimed') return row.owner.pid;
    await sleep(50);
  }
  throw new Error(`No call of ${runId} was claimed.`);
}

async function run(runId: string, given: unknown, taskQueue: string): Promise<string> {
  await prepareOutside(outside, runId);
  return rig.run({ runId, plan: given, taskQueue });
}

/** Attends to all at once; answers what a person was asked, by run. */
async function attendAll(ids: string[]): Promise<Record<string, string[]>> {
  return Object.fromEntries(await Promise.all(ids.map(async (runId) => [runId, await attend(rig, outside, runId, 180_000)] as const)));
}

test('R6.1 B18 a worker that is stopped for longer than its lease and woken: one effect of each kind of tool, or a named unknown, never two', async () => {
  const taskQueue = 'stopped';
  const first = await worker(taskQueue);
  // `early` is stopped before its request leaves, `late` when the effect took place and the reply is still to come.
  const early = OUTSIDE_KINDS.map((kind) => ({ kind, runId: `early-${kind}` }));
  const late = OUTSIDE_KINDS.map((kind) => ({ kind, runId: `late-${kind}` }));
  for (const { kind, runId } of late) await outside.trouble(thingOf(kind, runId), { kind: 'slow', afterMs: 2_500 });
  await Promise.all([...early.map(({ kind, runId }) => run(runId, plan(kind, 8_000), taskQueue)), ...late.map(({ kind, runId }) => run(runId, plan(kind), taskQueue))]);
  const owners = await Promise.all([...early, ...late].map(({ runId }) => claimedBy(runId)));
  expect(new Set(owners)).toEqual(new Set([first.pid]));
  while (late.some(({ kind, runId }) => effectsOf(outside, kind, runId) === 0)) await sleep(20);
  first.freeze();
  const stopped = Date.now();
  const second = await worker(taskQueue);
  try {
    // The second worker looks while the first is stopped, well beyond the lease.
    await Promise.all([...early, ...late].map(({ runId }) => rig.until(runId, (_, events) => events.some((event) => event.type === 'RecoveryChecked'), 60_000)));
    await sleep(Math.max(0, stopped + LEASE_MS + 5_000 - Date.now()));
  } finally {
    first.thaw();
  }
  const asked = await attendAll([...early, ...late].map(({ runId }) => runId));
  for (const { kind, runId } of [...early, ...late]) {
    const unknown = asked[runId] ?? [];
    const { state, status } = await rig.end(runId);
    const seen = effectsOf(outside, kind, runId);
    tally({ suite: 'stopped for longer than the lease, and woken', point: runId, kills: 0, expected: 1, seen, unknown });
    expect({ runId, status, outcome: state.end?.outcome, seen }).toEqual({ runId, status: 'COMPLETED', outcome: 'full', seen: 1 });
    if (kind !== 'mute') expect([runId, unknown]).toEqual([runId, []]);
  }
  await Promise.all([first.stop(), second.stop()]);
}, 300_000);

test('R6.1 two workers on one queue, each killed once in the middle: twelve runs, one effect of each kind a run', async () => {
  const taskQueue = 'two';
  const steps = OUTSIDE_KINDS.map((kind) => ({ id: kind, title: kind, action: { type: 'tool', tool: kind, args: { text: kind } } }));
  const marks = ['call:settled:keyed:2', 'call:sent:found:2'].map((point, i) => ({ LONGHAUL_CRASH_AT: point, LONGHAUL_CRASH_ONCE: path.join(rig.stateDir, `two-${i}`) }));
  const workers = await Promise.all(marks.map((mark) => rig.supervised({ taskQueue, env: { LONGHAUL_SERVICE_OUTSIDE: outside.url, ...mark } })));
  const ids = await Promise.all(Array.from({ length: 12 }, (_, i) => run(`two-${i + 1}`, { goal: 'Each once', steps }, taskQueue)));
  const asked = await attendAll(ids);
  for (const runId of ids) {
    const unknown = asked[runId] ?? [];
    const { status } = await rig.end(runId);
    const seen = OUTSIDE_KINDS.map((kind) => effectsOf(outside, kind, runId));
    tally({ suite: 'two workers on one queue', point: runId, kills: 0, expected: 3, seen: seen.reduce((sum, n) => sum + n, 0), unknown });
    expect([runId, status, seen, unknown.filter((call) => !call.startsWith('mute'))]).toEqual([runId, 'COMPLETED', [1, 1, 1], []]);
  }
  expect(workers.map((one) => one.deaths())).toEqual([1, 1]);
  await Promise.all(workers.map((one) => one.stop()));
}, 300_000);

test('R1.1 B17 the Temporal server is killed in the middle of calls and while a run waits, and started again: nothing is lost, nothing done twice', async () => {
  const taskQueue = 'server';
  const ask = { id: 'ask', title: 'Ask', action: { type: 'question', question: 'Go on?' } };
  await worker(taskQueue);
  const calls = OUTSIDE_KINDS.map((kind) => ({ kind, runId: `server-${kind}` }));
  for (const { kind, runId } of calls) await outside.trouble(thingOf(kind, runId), { kind: 'slow', beforeMs: 1_500, afterMs: 1_500 });
  const waiting = await run('server-waits', { goal: 'Wait', steps: [ask, { id: 'then', title: 'Then', dependsOn: ['ask'], action: { type: 'tool', tool: 'found', args: { text: 'later' } } }] }, taskQueue);
  await rig.until(waiting, (state) => Object.keys(state.questions).length > 0);
  await Promise.all(calls.map(({ kind, runId }) => run(runId, plan(kind), taskQueue)));
  await Promise.all(calls.map(({ runId }) => claimedBy(runId)));
  await rig.server.kill();
  // The calls end while there is no server to tell.
  while (calls.some(({ kind, runId }) => effectsOf(outside, kind, runId) === 0)) await sleep(50);
  await sleep(4_000);
  await rig.server.restart();
  const all = [...calls, { kind: 'found' as const, runId: waiting }];
  const asked = await attendAll(all.map(({ runId }) => runId));
  for (const { kind, runId } of all) {
    const unknown = asked[runId] ?? [];
    const { status } = await rig.end(runId);
    const seen = effectsOf(outside, kind, runId);
    tally({ suite: 'the server killed and started again', point: runId, kills: 1, expected: 1, seen, unknown });
    expect([runId, status, seen, unknown]).toEqual([runId, 'COMPLETED', 1, []]);
  }
  expect(await rig.types(waiting)).not.toContain('RecoveryChecked');
}, 300_000);
