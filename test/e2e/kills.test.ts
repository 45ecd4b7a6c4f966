// The worker of the demo is killed with SIGKILL at a named point and started again, as a service manager would. Wherever it dies
// the run ends as if nothing had happened, with one publication; only a kill inside `notify`, which can neither be looked up nor
// repeated, ends with a question to a person, and `resolve` leads on. `npm run test:kills` takes every moment.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { RunEvent } from '../../src/core/events';
import { cli, type Cli, type Ended } from './support/cli';

interface Killed { point: string; here: Cli; end: Ended; events: RunEvent[]; died: boolean }

/** Stopped at the end, whatever failed before. */
const open: Cli[] = [];
afterAll(async () => { for (const one of open) await one.stop(); }, 60_000);

async function killedAt(point: string): Promise<Killed> {
  const here = cli();
  open.push(here);
  const marker = path.join(here.stateDir, 'marker');
  const end = await here.demo(['--yes', '--run-id', 'killed'], { LONGHAUL_CRASH_AT: point, LONGHAUL_CRASH_ONCE: marker });
  return { point, here, end, events: await here.events('killed'), died: existsSync(marker) };
}

const outbox = (here: Cli): number => {
  const file = path.join(here.stateDir, 'outbox.jsonl');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).length : 0;
};

const steps = (events: RunEvent[]): string => events.flatMap((event) => (event.type === 'StepCompleted' ? [event.data.stepId] : [])).sort().join(' ');

const SAMPLE = ['append:after:ApprovalRequested', 'call:claimed:publish', 'call:settled:publish'];
const EFFECTS = ['write_report', 'publish', 'notify'];
/** Between the claim and the settlement of `notify` nobody can know whether it happened. */
const IN_DOUBT = ['claimed', 'sending', 'sent', 'blob'];
/** Every batch of the demo, by number (there are fewer than 50), and every moment of a call but those inside `notify`. */
const ALL = [
  ...Array.from({ length: 50 }, (_, i) => [`append:before:*:${i + 1}`, `append:after:*:${i + 1}`]).flat(),
  ...EFFECTS.flatMap((tool) => ['before', 'ready', 'claimed', 'sending', 'sent', 'blob', 'settled', 'answer'].map((moment) => `call:${moment}:${tool}`)),
].filter((point) => !IN_DOUBT.some((moment) => point === `call:${moment}:notify`));
const exhaustive = process.env['LONGHAUL_EXHAUSTIVE'] !== undefined;
const POINTS = exhaustive ? ALL : SAMPLE;
const GROUPS = Array.from({ length: Math.ceil(POINTS.length / 3) }, (_, i) => [POINTS.slice(i * 3, i * 3 + 3)]);

let whole = '';

test.each(GROUPS)('R9.5 killed at %j: the same end, one publication, one notice', async (points) => {
  const [unhurt, ...ends] = await Promise.all([whole === '' ? killedAt('call:before:nothing') : undefined, ...points.map(killedAt)]);
  if (unhurt) whole = steps(unhurt.events);
  for (const { point, here, end, events, died } of ends as Killed[]) {
    if (!exhaustive) expect([point, died]).toEqual([point, true]);
    expect([point, end.code, end.code === 0 ? '' : end.stderr.slice(-800)]).toEqual([point, 0, '']);
    const seen = { point, steps: steps(events), publications: here.publications().length, outbox: outbox(here) };
    expect(seen).toEqual({ point, steps: whole, publications: 1, outbox: 1 });
    expect((await here.run(['replay', 'killed'])).code).toBe(0);
    await here.stop();
  }
}, 240_000);

/** The moments inside `notify`, and whether the line stands in the outbox by then. */
const INSIDE: [string, boolean][] = exhaustive ? IN_DOUBT.map((moment) => [moment, moment === 'sent' || moment === 'blob']) : [['sent', true]];

test.each(INSIDE)('R4.3 killed inside notify (%s): a person is asked, nothing is repeated, and resolve leads on', async (moment, written) => {
  const { here, end, events } = await killedAt(`call:${moment}:notify`);
  expect([end.code, end.stderr]).toEqual([5, expect.stringContaining('longhaul resolve killed c')]);
  expect([here.publications().length, outbox(here)]).toEqual([1, written ? 1 : 0]);
  const callId = events.flatMap((event) => (event.type === 'HumanDecisionRequested' ? [event.data.callId] : []))[0] ?? 'nobody asks';
  const dev = await here.dev();
  expect((await here.run(['resolve', 'killed', callId, ...(written ? ['--happened', 'seen in the outbox'] : ['--not-happened'])])).code).toBe(0);
  const watched = await here.run(['runs', 'watch', 'killed']);
  await dev.stop();
  expect([watched.code, watched.stderr]).toEqual([0, expect.stringContaining('completed')]);
  expect(outbox(here)).toBe(1);
  await here.stop();
}, 180_000);
