// The README's first agent as a user runs it, in a folder that has the package and the two files alone: `dev` there, a plan in YAML, an approval, one payment in the file.
// Then with a worker that is killed inside `pay`, after the line was written and before anybody knows: still one payment.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cli, ROOT, until, type Cli, type Dev, type Ended } from './support/cli';

const EXAMPLE = path.join(ROOT, 'examples', 'first-agent');

let here: Cli;
let dev: Dev;
const file = (name: string): string => path.join(here.stateDir, name);
beforeAll(async () => {
  here = cli();
  const crash = { LONGHAUL_CRASH_AT: 'call:sent:pay:2', LONGHAUL_CRASH_ONCE: file('marker') };
  // As `npm i PATH` leaves it: a link to the package and nothing else, no zod.
  mkdirSync(file('node_modules'));
  symlinkSync(ROOT, file('node_modules/longhaul'), 'dir');
  mkdirSync(file('node_modules/.bin'));
  symlinkSync('../longhaul/bin/longhaul.js', file('node_modules/.bin/longhaul'));
  for (const name of ['longhaul.config.ts', 'plan.yaml']) copyFileSync(path.join(EXAMPLE, name), file(name));
  dev = await here.dev({ PAYMENTS_FILE: file('payments.jsonl'), ...crash });
}, 60_000);
afterAll(() => here.stop(), 60_000);

const payments = (): { key: string; customer: string; amount: number }[] =>
  (existsSync(file('payments.jsonl')) ? readFileSync(file('payments.jsonl'), 'utf8') : '').split('\n').filter(Boolean).map((line) => JSON.parse(line));

/** Starts the plan, approves the payment and follows the run to its end. */
async function paid(runId: string): Promise<Ended> {
  const waiting = await here.run(['run', 'payer', '--plan', 'plan.yaml', '--run-id', runId, '--watch']);
  expect([waiting.code, waiting.stderr]).toEqual([5, expect.stringContaining('waits for approval of pay')]);
  const { stdout } = await here.run(['approvals', 'list', '--json']);
  const { waitId } = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as { runId: string; waitId: string }).find((one) => one.runId === runId)!;
  if (runId === 'first') await looksRight(waitId);
  expect((await here.run(['approvals', 'approve', waitId])).code).toBe(0);
  return here.run(['runs', 'watch', runId]);
}

/** What a person sees who is asked: the step, what the tool does to the outside, and commands as they are typed. */
async function looksRight(waitId: string): Promise<void> {
  const { stdout } = await here.run(['approvals', 'show', waitId]);
  expect(stdout).toMatch(/^ {2}step +pay: Pay it$/m);
  expect(stdout).toMatch(/^ {2}effect +manual$/m);
  expect(stdout).not.toMatch(/^ {2}changes/m);
  const inbox = await here.run(['inbox']);
  expect(inbox.stdout).toContain('the run is cancelled');
  expect(inbox.stdout).toMatch(/approval · manual · asked .* · until in 7 days, then the run is cancelled · for anyone/);
  expect(inbox.stdout).toContain(`    npx longhaul approvals approve ${waitId}\n`);
}

test('the plan runs, asks once, and pays once what is due', async () => {
  const end = await paid('first');
  expect([end.code, end.stderr]).toEqual([0, expect.stringContaining('completed')]);
  const events = await here.events('first');
  const keys = events.flatMap((event) => (event.type === 'ToolCallRequested' && event.data.tool === 'pay' ? [event.data.key] : []));
  expect(keys).toHaveLength(1);
  expect(payments()).toEqual([{ key: keys[0], customer: 'acme', amount: 4200 }]);
  expect(events.some((event) => event.type === 'StepCompleted' && event.data.stepId === 'pay' && 'value' in event.data.output && JSON.stringify(event.data.output.value) === '{"paid":4200}')).toBe(true);
});

test('R4.2 the worker is killed inside pay, after the payment and before anybody knows: the key is looked up, found, recorded, and paid once', async () => {
  const before = payments().length;
  const end = await paid('killed');
  expect(existsSync(file('marker'))).toBe(true);
  expect([end.code, end.stderr]).toEqual([0, expect.stringContaining('completed')]);
  const events = await here.events('killed');
  const pay = events.flatMap((event) => (event.type === 'ToolCallRequested' && event.data.tool === 'pay' ? [event.data.key] : []));
  expect(pay).toHaveLength(1);
  expect(payments().slice(before).map(({ key }) => key)).toEqual(pay);
  expect(events.find((event) => event.type === 'RecoveryChecked')?.data).toMatchObject({ decision: 'record' });
  expect(events.some((event) => event.type === 'ToolCallSucceeded' && event.data.via === 'look-up' && JSON.stringify(event.data.output) === '{"value":{"paid":4200}}')).toBe(true);
  expect((await here.run(['replay', 'killed'])).code).toBe(0);
});

const ASK = `goal: Ask twice
steps:
  - { id: one, title: Ask, action: { type: question, question: "Shall it be paid?" } }
  - { id: two, title: Ask again, dependsOn: [one], action: { type: question, question: "Really?" } }
`;
const questionOf = (runId: string, text: string): Promise<string> => until(`${runId} asks`, async () => {
  const { waits } = JSON.parse((await here.run(['runs', 'show', runId, '--json'])).stdout) as { waits: { waitId: string; what: string }[] };
  return waits.find(({ what }) => what === text)?.waitId;
});

test('another answer to an answered question is not taken and ends with 1; the same again, by whoever, with 0', async () => {
  writeFileSync(file('ask.yaml'), ASK);
  expect((await here.run(['run', 'payer', '--plan', 'ask.yaml', '--run-id', 'asks'])).code).toBe(0);
  const one = await questionOf('asks', 'Shall it be paid?');
  const answer = async (...args: string[]): Promise<(string | number | null)[]> => {
    const { code, stderr } = await here.run(['answer', one, ...args]);
    return [code, stderr];
  };
  expect((await answer('yes'))[0]).toBe(0);
  const two = await questionOf('asks', 'Really?');
  expect(await answer('no')).toEqual([1, expect.stringMatching(/your answer was not taken; Already answered by /)]);
  expect(await answer('no')).toEqual([1, expect.stringContaining('your answer was not taken')]);
  expect((await answer('yes'))[0]).toBe(0);
  expect((await answer('yes', '--by', 'somebody-else'))[0]).toBe(0);
  const runs = await here.run(['runs', 'restore', 'asks']);
  expect([runs.code, runs.stderr]).toEqual([1, expect.stringContaining('Run asks runs; nothing to restore')]);
  expect((await here.run(['answer', two, 'yes'])).code).toBe(0);
  await until('it is over', async () => ((await here.run(['runs', 'watch', 'asks'])).stderr.includes('completed') ? true : undefined));
});

test('a dev whose npx was ended stops everything that it started', async () => {
  const other = cli();
  try {
    const npx = spawn('npx', ['longhaul', 'dev', '--json', '--port', '0', '--ui-port', '0', '--state-dir', other.stateDir], { cwd: here.stateDir, stdio: ['ignore', 'pipe', 'ignore'] });
    await once(npx.stdout, 'data');
    npx.kill('SIGTERM');
    await until('nothing runs', () => (other.running().length === 0 ? true : undefined));
  } finally {
    await other.stop();
  }
});

test('dev names its own process and the agents of this folder, and a TERM to it stops everything; that nothing runs then is no fault', async () => {
  const end = await dev.stop('SIGTERM');
  expect([dev.said, end.code, here.running()]).toEqual([dev.pid, 0, []]);
  expect(end.stderr).toContain(`Process   ${dev.pid};`);
  expect(end.stderr).toContain('npx longhaul run payer --plan FILE');
  expect(end.stderr).not.toContain('longhaul demo');
  const { code, stdout } = await here.run(['doctor']);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/note +Temporal server: none runs here/)]);
  const elsewhere = await here.run(['doctor', '--state-dir', file('nowhere/yet')]);
  expect([elsewhere.code, elsewhere.stdout, existsSync(file('nowhere'))]).toEqual([0, expect.stringContaining('npx longhaul dev, then npx longhaul run payer --plan FILE'), false]);
});

test('the doctor shows a configuration that cannot be loaded as a line with a next step', async () => {
  writeFileSync(file('longhaul.config.ts'), "import 'not-installed';\nexport default {};\n");
  const { code, stdout } = await here.run(['doctor'], { LONGHAUL_STATE_DIR: '' });
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^wrong configuration: .*not-installed.*\n +next: npm i not-installed/m)]);
});
