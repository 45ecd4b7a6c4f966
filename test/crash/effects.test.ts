// The worker is killed with SIGKILL at every moment of a call with an effect, for each way in which the outside can be asked
// afterwards, and between all batches of a run that has all of them. The effect server, a process of its own, is the judge: each
// effect once, none lost; a person is asked exactly where nobody else can know. A fixed sample by default, all with
// LONGHAUL_EXHAUSTIVE=1.
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { EffectServer } from '../../src/testing';
import { effectsOf, OUTSIDE_KINDS, prepareOutside, thingOf, type OutsideKind } from '../rig/outside-tools';
import { sleep, type Rig } from '../rig/rig';
import { attend } from './support/person';
import { withOutside } from './support/outside';
import { tally } from './support/tally';

/** In the order of a call: named points of the worker, and `flight` and `done`, when the request is on its way and when it has had its effect. */
const MOMENTS = ['before', 'ready', 'claimed', 'sending', 'flight', 'done', 'sent', 'blob', 'settled', 'answer'] as const;
type Moment = (typeof MOMENTS)[number];
/** From the claim until the settlement nobody but the outside can know. */
const IN_DOUBT: readonly Moment[] = ['claimed', 'sending', 'flight', 'done', 'sent', 'blob'];
const exhaustive = process.env['LONGHAUL_EXHAUSTIVE'] !== undefined;

const CALLS: [OutsideKind, Moment][] = exhaustive ? OUTSIDE_KINDS.flatMap((kind) => MOMENTS.map((moment): [OutsideKind, Moment] => [kind, moment]))
  : [['keyed', 'done'], ['found', 'flight'], ['mute', 'claimed'], ['mute', 'settled']];
/** Batches of the run below, by number; it has fewer than this. */
const BATCHES = exhaustive ? Array.from({ length: 16 }, (_, i) => [`append:before:*:${i + 1}`, `append:after:*:${i + 1}`]).flat() : ['append:after:*:3', 'append:before:*:5', 'append:after:*:6', 'append:before:*:8'];

const tool = (id: string, kind: string, dependsOn: string[] = []) => ({ id, title: id, dependsOn, action: { type: 'tool', tool: kind, args: { text: id } } });
const ONE = (kind: OutsideKind) => ({ goal: 'One effect', steps: [tool('only', kind)] });
const ALL = {
  goal: 'One effect of each kind, and all that a run can wait for',
  steps: [
    tool('look', 'look'), tool('k', 'keyed', ['look']), tool('f', 'found', ['look']), { id: 'ask', title: 'Ask', dependsOn: ['k'], action: { type: 'question', question: 'Go on?' } },
    { id: 'pause', title: 'Pause', dependsOn: ['ask', 'f'], action: { type: 'wait', for: '1s' } }, tool('approved', 'asked', ['pause']), tool('m', 'mute', ['approved']),
  ],
};

let outside: EffectServer;
let rig: Rig;
withOutside((...opened) => { [rig, outside] = opened; });

const groups = <T>(list: readonly T[], size: number): T[][] => Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size));

interface Killed { runId: string; deaths: number; reached: boolean; status: string; ended: string; asked: string[] }

/** One run on a worker of its own that is killed at `at`, by itself, or from here when the outside has seen what `at` waits for. */
async function killedRun(name: string, plan: unknown, at: { point: string } | { seen: (runId: string) => boolean; prepare: (runId: string) => Promise<void> }): Promise<Killed> {
  const runId = `x-${name.replaceAll(/[^a-z0-9]+/gi, '-')}`;
  const marker = path.join(rig.stateDir, `marker-${runId}`);
  const env = { LONGHAUL_SERVICE_OUTSIDE: outside.url, ...('point' in at ? { LONGHAUL_CRASH_AT: at.point, LONGHAUL_CRASH_ONCE: marker } : {}) };
  await prepareOutside(outside, runId);
  if ('prepare' in at) await at.prepare(runId);
  const worker = await rig.supervised({ taskQueue: runId, env });
  try {
    await rig.run({ runId, plan, taskQueue: runId });
    if ('seen' in at) {
      while (!at.seen(runId)) await sleep(20);
      await worker.current().kill();
    }
    const asked = await attend(rig, outside, runId);
    const { state, status } = await rig.end(runId);
    return { runId, deaths: worker.deaths(), reached: 'seen' in at || existsSync(marker), status, ended: `${state.end?.status} ${state.end?.outcome}`, asked };
  } finally {
    await worker.stop();
  }
}

const arrived = (kind: OutsideKind, trouble: string) => (runId: string): boolean =>
  outside.requests().some((line) => line.path === `/things/${encodeURIComponent(thingOf(kind, runId))}` && line.outcome === trouble);

function killedCall(kind: OutsideKind, moment: Moment): Promise<Killed> {
  const name = `${kind}-${moment}`;
  if (moment === 'flight') return killedRun(name, ONE(kind), { seen: arrived(kind, 'trouble slow'), prepare: (runId) => outside.trouble(thingOf(kind, runId), { kind: 'slow', beforeMs: 1_000 }) });
  if (moment === 'done') return killedRun(name, ONE(kind), { seen: (runId) => effectsOf(outside, kind, runId) > 0, prepare: (runId) => outside.trouble(thingOf(kind, runId), { kind: 'hang' }) });
  return killedRun(name, ONE(kind), { point: `call:${moment}:${kind}` });
}

describe.each(groups(CALLS, 4).map((points) => [points.map((point) => point.join(' ')).join(', '), points] as const))('killed in a call: %s', (_name, points) => {
  test('R9.5 one effect each, and a person is asked exactly where neither look-up nor keys can tell', async () => {
    const ends = await Promise.all(points.map(([kind, moment]) => killedCall(kind, moment)));
    for (const [i, { runId, deaths, reached, status, ended, asked }] of ends.entries()) {
      const [kind, moment] = points[i] as [OutsideKind, Moment];
      const seen = effectsOf(outside, kind, runId);
      tally({ suite: `in a call of a tool that is ${kind}`, point: `${kind} ${moment}`, kills: deaths, expected: 1, seen, unknown: asked });
      const unknown = kind === 'mute' && IN_DOUBT.includes(moment) ? ['mute c1'] : [];
      expect({ kind, moment, deaths, reached, status, ended, seen, asked }).toEqual({ kind, moment, deaths: 1, reached: true, status: 'COMPLETED', ended: 'completed full', seen: 1, asked: unknown });
    }
  }, 240_000);
});

describe.each(groups(BATCHES, 4).map((points) => [points.join(', '), points] as const))('killed at %s', (_name, points) => {
  test('R9.5 I2 between two batches: the run completes, with one effect of each kind and no question but the one of its plan', async () => {
    const ends = await Promise.all(points.map((point) => killedRun(point, ALL, { point })));
    for (const [i, { runId, deaths, reached, status, ended, asked }] of ends.entries()) {
      const point = points[i] ?? '';
      const seen = OUTSIDE_KINDS.map((kind) => effectsOf(outside, kind, runId));
      const approved = rig.effects(runId).length;
      if (reached) tally({ suite: 'between two batches', point, kills: deaths, expected: 4, seen: seen.reduce((sum, n) => sum + n, approved), unknown: asked });
      if (!exhaustive) expect([point, reached]).toEqual([point, true]);
      // A batch may be appended while a call of another step is under way: only of the mute one nobody can know.
      expect({ point, deaths, status, ended, seen, approved, asked: asked.filter((call) => !call.startsWith('mute')) })
        .toEqual({ point, deaths: reached ? 1 : 0, status: 'COMPLETED', ended: 'completed full', seen: [1, 1, 1], approved: 1, asked: [] });
    }
  }, 240_000);
});
