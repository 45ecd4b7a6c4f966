// Who decides, at the command line: under `longhaul dev` in production mode tokens are made, used once and refused; at this machine
// the command line signs for its user as long as the keys are there for that user alone.
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { RunRow } from '../../src/core/row';
import { cli, ROOT, until, type Cli } from './support/cli';

const CONFIG = `import { appendFile } from 'node:fs/promises';
import { defineAgent, defineConfig, defineTool, z } from 'longhaul';
const pay = defineTool({ name: 'pay', version: '1.0.0', description: 'Pays', effect: 'irreversible', honoursKey: true,
  input: z.strictObject({ amount: z.number() }), execute: async (args, call) => { await appendFile(process.env.OUT ?? '/dev/null', JSON.stringify({ ...args, key: call.key }) + '\\n'); return args; } });
export default defineConfig({ agents: [defineAgent({ name: 'payer', version: '1.0.0', planner: 'declared' })], tools: [pay] });
`;

let here: Cli;
const file = (name: string): string => path.join(here.stateDir, name);
beforeAll(async () => {
  here = cli();
  mkdirSync(file('node_modules'));
  symlinkSync(ROOT, file('node_modules/longhaul'), 'dir');
  writeFileSync(file('longhaul.config.ts'), CONFIG);
  writeFileSync(file('plan.json'), JSON.stringify({ goal: 'Pay', steps: [{ id: 'p', title: 'Pay it', action: { type: 'tool', tool: 'pay', args: { amount: 3 } } }] }));
  await here.dev({ OUT: file('out.jsonl') }, ['--production']);
}, 120_000);
afterAll(() => here.stop(), 60_000);

const payments = (): number => (existsSync(file('out.jsonl')) ? readFileSync(file('out.jsonl'), 'utf8').split('\n').filter(Boolean).length : 0);
const rowOf = async (runId: string): Promise<RunRow> => JSON.parse((await here.run(['runs', 'show', runId, '--json'])).stdout) as RunRow;

async function asked(runId: string): Promise<string> {
  expect((await here.run(['run', 'payer', '--plan', 'plan.json', '--run-id', runId])).code).toBe(0);
  return until(`${runId} waits for an approval`, async () => (await rowOf(runId)).waits.find((wait) => wait.kind === 'approval')?.waitId);
}
const over = (runId: string): Promise<true> => until(`${runId} is over`, async () => ((await rowOf(runId)).status === 'completed' ? true : undefined));

test('R6.3 a token from the command line decides once, for its person, and the page of the approval says who signed it', async () => {
  const id = await asked('by-token');
  const made = await here.run(['approvals', 'token', id, '--for', 'ann', '--expires', '1h']);
  expect([made.code, made.stdout.trim().split('.').length, made.stderr]).toEqual([0, 3, expect.stringContaining(`approvals approve ${id} --token FILE`)]);
  writeFileSync(file('ann.token'), made.stdout);
  const mallory = await here.run(['approvals', 'approve', id, '--token', 'ann.token', '--as', 'mallory']);
  expect([mallory.code, mallory.stderr]).toEqual([1, expect.stringContaining('was made for ann')]);
  expect(payments()).toBe(0);
  expect(await here.run(['approvals', 'approve', id, '--token', 'ann.token'])).toMatchObject({ code: 0, stderr: expect.stringContaining('Approved by ann.') });
  await over('by-token');
  expect(payments()).toBe(1);
  // The same decision again is the same message; another use of the same token is refused.
  expect(await here.run(['approvals', 'approve', id, '--token', 'ann.token'])).toMatchObject({ code: 0, stderr: expect.stringContaining('Approved by ann.') });
  expect((await here.run(['approvals', 'show', id])).stdout).toMatch(new RegExp(`granted +.* by ann \\(signed by ${os.userInfo().username}, key k-[0-9a-f]{8}\\)`));
  expect(JSON.stringify(await here.events('by-token'))).not.toContain(made.stdout.trim().split('.')[2]);
});

test('at this machine the command line signs for its user, and says what to do where the keys cannot be used', async () => {
  const id = await asked('by-hand');
  const ring = file('decision-keys.json');
  expect(statSync(ring).mode & 0o777).toBe(0o600);
  chmodSync(ring, 0o644);
  const open = await here.run(['approvals', 'approve', id, '--as', 'ann']);
  expect([open.code, open.stderr]).toEqual([1, expect.stringContaining('chmod 600')]);
  expect((await here.run(['doctor'])).stdout).toMatch(/wrong decision keys: .*chmod 600/);
  chmodSync(ring, 0o600);
  expect(await here.run(['approvals', 'approve', id, '--as', 'ann'])).toMatchObject({ code: 0, stderr: expect.stringContaining('Approved by ann.') });
  await over('by-hand');
  const granted = (await here.events('by-hand')).find((event) => event.type === 'ApprovalGranted');
  expect(granted?.actor).toMatchObject({ id: 'ann', assurance: 'token', proof: { iss: os.userInfo().username } });
});

test("Temporal's own signal decides nothing in production, and the reason is shown", async () => {
  const id = await asked('by-signal');
  const before = payments();
  expect((await here.run(['temporal', 'workflow', 'signal', '-w', 'run/by-signal', '--name', 'approve', '--input', JSON.stringify({ approvalId: id, actor: 'ann' })])).code).toBe(0);
  await until('the refusal stands in the journal', async () => ((await here.events('by-signal')).some((event) => event.type === 'MessageRejected') ? true : undefined));
  expect((await here.run(['runs', 'events', 'by-signal'])).stdout).toMatch(/MessageRejected +.*must be signed/);
  expect(payments()).toBe(before);
  expect((await here.run(['runs', 'cancel', 'by-signal', '--reason', 'done'])).code).toBe(0);
});

test('keys are listed, added and taken out by name, and never shown', async () => {
  const list = async (): Promise<{ kid: string; signs: boolean }[]> => (await here.run(['approvals', 'keys', '--json'])).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as { kid: string; signs: boolean });
  const [first] = await list();
  const rotated = await here.run(['approvals', 'keys', '--rotate']);
  expect([rotated.code, rotated.stderr]).toEqual([0, expect.stringMatching(/^Key k-[0-9a-f]{8} signs from now on/)]);
  expect((await list()).map(({ signs }) => signs)).toEqual([false, true]);
  const secrets = (JSON.parse(readFileSync(file('decision-keys.json'), 'utf8')) as { keys: { secret: string }[] }).keys.map(({ secret }) => secret);
  for (const secret of secrets) expect(rotated.stdout + rotated.stderr).not.toContain(secret);
  expect((await here.run(['approvals', 'keys', '--remove', first?.kid ?? ''])).code).toBe(0);
  expect((await here.run(['approvals', 'keys', '--remove', first?.kid ?? ''])).stderr).toContain('There is no key');
  expect(await list()).toHaveLength(1);
  expect((await here.run(['approvals', 'token', 'a-000000000000', '--for', 'ann'])).code).toBe(1);
});
