// The worker is killed with SIGKILL at a named point, once, and started again as a service manager would. Wherever it dies,
// the run ends in the same state with each effect once. A fixed sample by default; LONGHAUL_EXHAUSTIVE=1 takes every point.
import path from 'node:path';
import { existsSync } from 'node:fs';
import { canonical } from '../../src/core/canonical';
import type { State } from '../../src/core/state';
import { drive, EVERYTHING } from '../rig/drive';
import { sleep, startRig, type Rig } from '../rig/rig';
import { printTally, tally } from './support/tally';

/** The last event of each batch that the plan leads to however its results come together, with its number among batches of that kind. */
const BATCHES = ['ToolCallRequested:1', 'ToolCallRequested:2', 'ToolCallRequested:3', 'StepCompleted:1', 'QuestionOpened', 'WaitStarted', 'ApprovalRequested', 'RunCompleted'];
const CALLS = ['before', 'ready', 'claimed', 'sending', 'sent', 'blob', 'settled', 'answer'];
const SAMPLE = ['append:before:ToolCallRequested:1', 'append:after:QuestionOpened', 'call:claimed:stamp', 'call:sent:asked'];
const ALL = [
  ...BATCHES.flatMap((batch) => [`append:before:${batch}`, `append:after:${batch}`]),
  ...['stamp', 'asked'].flatMap((tool) => CALLS.map((point) => `call:${point}:${tool}`)), 'call:before:look', 'call:sent:look', 'call:answer:look',
];
const POINTS = process.env['LONGHAUL_EXHAUSTIVE'] ? ALL : SAMPLE;

let rig: Rig;
beforeAll(async () => { rig = await startRig(); }, 120_000);
afterAll(async () => {
  await rig.stop();
  printTally();
}, 120_000);

/** What must be equal however the run went: everything but times, attempts and what recovery looked at. */
const essence = (state: State): string => canonical({
  end: state.end?.status, outcome: state.end?.outcome, steps: state.steps.map(({ id, status }) => ({ id, status })), facts: state.facts,
});

async function killedAt(point: string): Promise<{ deaths: number; state: State; status: string; runId: string }> {
  const taskQueue = `at-${point}`;
  const marker = path.join(rig.stateDir, `marker-${point.replaceAll(':', '-')}`);
  const worker = await rig.supervised({ taskQueue, env: { LONGHAUL_CRASH_AT: point, LONGHAUL_CRASH_ONCE: marker } });
  try {
    const runId = await rig.run({ plan: EVERYTHING, taskQueue });
    await drive(rig, runId);
    const { state, status } = await rig.end(runId);
    expect([point, existsSync(marker)]).toEqual([point, true]);
    return { deaths: worker.deaths(), state, status, runId };
  } finally {
    await worker.stop();
  }
}

describe.each(Array.from({ length: Math.ceil(POINTS.length / 4) }, (_, i) => [POINTS.slice(i * 4, i * 4 + 4)]))('R9.5 killed at %j', (points) => {
  let whole: string;
  beforeAll(async () => {
    const worker = await rig.worker({ taskQueue: 'whole' });
    const runId = await rig.run({ plan: EVERYTHING, taskQueue: 'whole' });
    await drive(rig, runId);
    whole = essence(await rig.state(runId));
    await worker.kill();
  }, 60_000);

  test('each run ends like one that nobody killed, with each effect once', async () => {
    const ends = await Promise.all(points.map((point) => killedAt(point)));
    for (const [i, { deaths, state, status, runId }] of ends.entries()) {
      const seen = { point: points[i], deaths, status, essence: essence(state), effects: rig.effects(runId).map(({ tool, text }) => `${tool} ${text}`) };
      tally({ suite: 'a plan of everything, against a whole run', point: points[i] ?? '', kills: deaths, expected: 2, seen: seen.effects.length, unknown: [] });
      expect(seen).toEqual({ point: points[i], deaths: 1, status: 'COMPLETED', essence: whole, effects: ['stamp hello', 'asked Q3'] });
      const seqs = (await rig.events(runId)).map((event) => event.seq);
      expect(seqs).toEqual(seqs.map((_, at) => at + 1));
    }
  });
});

test('R4.3 a kill inside a call that nobody can look up asks a person, and the answer leads on', async () => {
  const worker = await rig.supervised({ taskQueue: 'blind', env: { LONGHAUL_CRASH_AT: 'call:sent:blind', LONGHAUL_CRASH_ONCE: path.join(rig.stateDir, 'marker-blind') } });
  const plan = { goal: 'Once', steps: [{ id: 'blind', title: 'Blind', action: { type: 'tool', tool: 'blind', args: { text: 'boom' } } }] };
  const runId = await rig.run({ plan, taskQueue: 'blind' });
  const callId = await rig.until(runId, (state) => Object.values(state.decisions)[0]?.callId);
  expect(rig.effects(runId)).toHaveLength(1);
  await rig.send(runId, { kind: 'resolve', callId, verdict: 'happened', reference: 'seen with own eyes' });
  const { state, status } = await rig.end(runId);
  expect([status, state.end?.outcome, rig.effects(runId).length]).toEqual(['COMPLETED', 'full', 1]);
  await worker.stop();
});

test('R1.4 a call in flight whose process died on this host goes to its gate without waiting for the heartbeat', async () => {
  const worker = await rig.worker({ taskQueue: 'reaped' });
  const plan = { goal: 'Once', steps: [{ id: 'stamp', title: 'Stamp', action: { type: 'tool', tool: 'stamp', args: { text: 'slow', before: 3_000 } } }] };
  const runId = await rig.run({ plan, taskQueue: 'reaped' });
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
  for (let i = 0; i < 100 && (await rig.stores.ledger.byRun(runId)).length === 0; i += 1) await sleep(50);
  await worker.kill();
  const next = await rig.worker({ taskQueue: 'reaped' });
  const ready = Date.now();
  await rig.until(runId, (_, events) => events.some((event) => event.type === 'RecoveryChecked'));
  expect(Date.now() - ready).toBeLessThan(3_000);
  const { status } = await rig.end(runId);
  expect([status, rig.effects(runId).length, (await rig.stores.ledger.byRun(runId))[0]?.fence]).toEqual(['COMPLETED', 1, 2]);
  await next.kill();
});
