// A run that is blocked, steered by the command line alone: watching ends with 6, what was made is listed and whole, and each way
// to settle leads on. The tools are those of a configuration in the folder; the outside has a log of its own.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startEffectServer, type EffectServer } from '../../src/testing/effect-server';
import { cli, ROOT, type Cli, type Dev } from './support/cli';

let here: Cli;
let dev: Dev;
let outside: EffectServer;
beforeAll(async () => {
  here = cli();
  outside = await startEffectServer({ folder: path.join(here.stateDir, 'outside') });
  writeFileSync(path.join(here.stateDir, 'longhaul.config.ts'), `export { default } from ${JSON.stringify(path.join(ROOT, 'test/rig/bench.config.ts'))};\n`);
  dev = await here.dev({ LONGHAUL_SERVICE_EFFECTS: outside.url, ISOLATED_FILE: path.join(here.stateDir, 'lines.jsonl') });
}, 120_000);
afterAll(async () => {
  await outside.close();
  await here.stop();
}, 60_000);

/** Starts a plan whose second step meets an outside that is away for three attempts, and follows it until it is blocked. */
async function blocked(runId: string): Promise<string> {
  await outside.trouble(runId, ...[1, 2, 3].map(() => ({ kind: 'fail' as const, status: 503 })));
  const plan = path.join(here.stateDir, `${runId}.yaml`);
  writeFileSync(plan, [
    'goal: Make something and publish it', 'steps:',
    '  - { id: made, title: Make it, action: { type: tool, tool: plain, args: { how: "answers:large" } } }',
    // An answer, so that what failed before does not open the breaker of this tool.
    `  - { id: well, title: Send another, action: { type: tool, tool: seen, args: { thing: well-${runId} } } }`,
    `  - { id: sent, title: Send it, dependsOn: [made, well], action: { type: tool, tool: seen, args: { thing: ${runId} } } }`, '',
  ].join('\n'));
  const { code, stderr } = await here.run(['run', 'tester', '--plan', plan, '--run-id', runId, '--watch']);
  expect([code, stderr]).toEqual([6, expect.stringContaining(`longhaul runs settle ${runId} --as`)]);
  return stderr;
}

test('R8.3 at the attempt limit the run is blocked: exit 6, its artifacts are listed and whole, and a retry sends once', async () => {
  expect(await blocked('retried')).toContain('The outside answers 503.');
  const shown = await here.run(['runs', 'show', 'retried']);
  expect(shown.stdout).toMatch(/blocked/);
  expect(shown.stdout).toMatch(/\[x\].*made/);
  const [, shownId] = /\n {2}artifacts .*\n {4}([0-9a-f]{16}) {2}result of made/.exec(shown.stdout) ?? [];
  const listed = (await here.run(['artifacts', 'list', 'retried', '--json'])).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as { sha256: string; bytes: number; summary: string });
  const made = listed.find(({ summary }) => summary === 'large');
  expect(made?.bytes).toBeGreaterThan(3_000_000);
  expect(shownId).toBe(made?.sha256.slice(0, 16));
  expect((await here.run(['artifacts', 'verify', 'retried'])).code).toBe(0);
  const out = path.join(here.stateDir, 'made.json');
  expect((await here.run(['artifacts', 'cat', made?.sha256 ?? '', '--out', out])).code).toBe(0);
  expect(readFileSync(out).length).toBe(made?.bytes);
  expect(outside.effects('retried')).toEqual([]);
  expect((await here.run(['runs', 'settle', 'retried', '--as', 'retry'])).code).toBe(0);
  const end = await here.run(['runs', 'watch', 'retried']);
  expect([end.code, end.stderr]).toEqual([0, expect.stringContaining('completed')]);
  expect(outside.effects('retried')).toHaveLength(1);
});

test('R8.3 settled as skip it completes in part; a step that has not failed cannot be skipped', async () => {
  await blocked('skipped');
  const wrong = await here.run(['runs', 'settle', 'skipped', '--as', 'skip', '--step', 'made']);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('failed steps are sent')]);
  expect((await here.run(['runs', 'settle', 'skipped', '--as', 'skip', '--step', 'sent'])).code).toBe(0);
  const end = await here.run(['runs', 'watch', 'skipped']);
  expect([end.code, end.stderr]).toEqual([0, expect.stringContaining('completed (partial)')]);
  expect(outside.effects('skipped')).toEqual([]);
});

test('R8.3 accepted as partial or failed by a person it ends so, sends nothing more, and its artifacts are still listed', async () => {
  for (const [as, code, words] of [['partial', 0, 'completed (partial)'], ['fail', 3, 'failed']] as const) {
    const runId = `as-${as}`;
    await blocked(runId);
    expect((await here.run(['runs', 'settle', runId, '--as', as, '--by', 'ann'])).code).toBe(0);
    const end = await here.run(['runs', 'watch', runId]);
    expect([as, end.code, end.stderr]).toEqual([as, code, expect.stringContaining(`${runId} is ${words}`)]);
    expect([outside.effects(runId), (await here.run(['runs', 'show', runId])).stdout]).toEqual([[], expect.stringMatching(/artifacts .*\n.*result of made/)]);
  }
  await dev.stop();
});
