// A tool that can neither be looked up nor repeated, and a worker that is killed inside it: the run waits for a person, shows the five
// verdicts of the gate, and each of the three answers of `longhaul resolve` ends as it should. The built command line throughout; the
// effect server, a process of its own, says what really happened.
import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { RunRow } from '../../src/core/row';
import { startEffectServer, type EffectServer } from '../../src/testing';
import { cli, ROOT, until, type Cli } from './support/cli';

let here: Cli;
let outside: EffectServer;
const file = (name: string): string => path.join(here.stateDir, name);
const PLAN = { goal: 'Pay the rent', steps: [{ id: 'wire', title: 'Wire it', action: { type: 'tool', tool: 'wire', args: { amount: 120_000 } } }] };

beforeAll(async () => {
  here = cli();
  outside = await startEffectServer({ folder: file('outside') });
  mkdirSync(file('node_modules'));
  symlinkSync(ROOT, file('node_modules/longhaul'), 'dir');
  copyFileSync(path.join(__dirname, 'support', 'wire.config.ts'), file('longhaul.config.ts'));
  writeFileSync(file('plan.json'), JSON.stringify(PLAN));
}, 60_000);
afterAll(async () => {
  await here.stop();
  await outside.close();
}, 60_000);

const effects = (runId: string): number => outside.effects(`wire-${runId}`).length;
const devWith = (at: string) => here.dev({ OUTSIDE_URL: outside.url, LONGHAUL_CRASH_AT: at, LONGHAUL_CRASH_ONCE: file('marker') });

/** Starts a run whose worker is killed inside the call, and waits until it asks. */
async function asks(runId: string): Promise<RunRow> {
  rmSync(file('marker'), { force: true });
  expect((await here.run(['run', 'treasurer', '--plan', 'plan.json', '--run-id', runId])).code).toBe(0);
  return until(`${runId} asks a person`, async () => {
    const row = JSON.parse((await here.run(['runs', 'show', runId, '--json'])).stdout) as RunRow;
    return row.waits.some((wait) => wait.kind === 'decision') ? row : undefined;
  });
}

test('R4.3 killed after the effect: the five verdicts are on the screen, in lists, in the inbox and in Temporal, and nothing is repeated', async () => {
  const dev = await devWith('call:sent:wire');
  await asks('paid');
  const page = (await here.run(['runs', 'show', 'paid'])).stdout;
  expect(page).toMatch(/status +waiting: Waits for whether wire c1 happened: wire cannot be looked up/);
  expect(page).toMatch(/looked +.*ago, look 1\n +1 was the run cancelled +not cancelled\n +2 does its approval hold +not needed .*\n +3 is the thing unchanged +no resource\n +4 is there a result +ask-person \(ledger (dead|unknown), look-up none: wire cannot be looked up\)\n +5 do the premises hold +hold/);
  for (const verdict of ['--happened REFERENCE', '--not-happened', '--give-up']) expect(page).toContain(`npx longhaul resolve paid c1 ${verdict}\n`);
  expect((await here.run(['runs', 'list', '--waiting-for', 'decision'])).stdout).toContain('paid');
  const inbox = await here.run(['inbox']);
  expect(inbox.stdout + inbox.stderr).toContain('whether wire c1 happened');
  expect(effects('paid')).toBe(1);
  await until('Temporal lists it', async () => (await here.run(['temporal', 'workflow', 'list', '--query', 'AgentWaitingFor = "decision"'])).stdout.includes('run/paid') || undefined);
  expect((await here.run(['temporal', 'workflow', 'metadata', '--workflow-id', 'run/paid'])).stdout).toMatch(/whether wire c1 happened[^]*longhaul resolve paid c1 --happened REF/);

  expect((await here.run(['resolve', 'paid', 'c1', '--happened', 'statement of 3 May'])).code).toBe(0);
  const end = await here.run(['runs', 'watch', 'paid']);
  expect([end.code, effects('paid')]).toEqual([0, 1]);
  const recorded = (await here.events('paid')).filter((event) => event.type === 'ToolCallSucceeded');
  expect(recorded.map((event) => event.data.via)).toEqual(['person']);

  await asks('left');
  expect((await here.run(['resolve', 'left', 'c1', '--give-up'])).code).toBe(0);
  const stopped = await here.run(['runs', 'watch', 'left']);
  expect([stopped.code, effects('left')]).toEqual([6, 1]);
  const again = await here.run(['runs', 'settle', 'left', '--as', 'retry']);
  expect([again.code === 0, again.stderr]).toEqual([false, expect.stringContaining('trying it again could do it twice')]);
  expect((await here.run(['runs', 'settle', 'left', '--as', 'partial'])).code).toBe(0);
  expect([(await here.run(['runs', 'watch', 'left'])).code, effects('left')]).toEqual([0, 1]);
  await dev.stop();
}, 180_000);

test('R4.3 killed after the claim and before the send: --not-happened sends it once, under the same key', async () => {
  const dev = await devWith('call:claimed:wire');
  await asks('sent');
  expect(effects('sent')).toBe(0);
  expect((await here.run(['resolve', 'sent', 'c1', '--not-happened'])).code).toBe(0);
  expect([(await here.run(['runs', 'watch', 'sent'])).code, effects('sent')]).toEqual([0, 1]);
  const keys = (await here.events('sent')).flatMap((event) => (event.type === 'ToolCallRequested' ? [event.data.key] : []));
  expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  const late = await here.run(['resolve', 'sent', 'c1', '--give-up']);
  expect([late.code === 0, effects('sent')]).toEqual([false, 1]);
  await dev.stop();
}, 180_000);
