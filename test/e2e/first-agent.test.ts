// The README's first agent as a user runs it: `dev` with its configuration, a plan in YAML, an approval, one payment in the file.
// Then with a worker that is killed inside `pay`, after the line was written and before anybody knows: still one payment.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cli, ROOT, type Cli, type Ended } from './support/cli';

const EXAMPLE = path.join(ROOT, 'examples', 'first-agent');

let here: Cli;
const file = (name: string): string => path.join(here.stateDir, name);
beforeAll(async () => {
  here = cli();
  const crash = { LONGHAUL_CRASH_AT: 'call:sent:pay:2', LONGHAUL_CRASH_ONCE: file('marker') };
  // As in a user's folder: the configuration stands where the command line is started.
  writeFileSync(file('longhaul.config.ts'), `export { default } from ${JSON.stringify(path.join(EXAMPLE, 'longhaul.config.ts'))};\n`);
  await here.dev({ PAYMENTS_FILE: file('payments.jsonl'), ...crash });
}, 60_000);
afterAll(() => here.stop(), 60_000);

const payments = (): { key: string; customer: string; amount: number }[] =>
  (existsSync(file('payments.jsonl')) ? readFileSync(file('payments.jsonl'), 'utf8') : '').split('\n').filter(Boolean).map((line) => JSON.parse(line));

/** Starts the plan, approves the payment and follows the run to its end. */
async function paid(runId: string): Promise<Ended> {
  const waiting = await here.run(['run', 'payer', '--plan', path.join(EXAMPLE, 'plan.yaml'), '--run-id', runId, '--watch']);
  expect([waiting.code, waiting.stderr]).toEqual([5, expect.stringContaining('waits for approval of pay')]);
  const { stdout } = await here.run(['approvals', 'list', '--json']);
  const { waitId } = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as { runId: string; waitId: string }).find((one) => one.runId === runId)!;
  expect((await here.run(['approvals', 'approve', waitId])).code).toBe(0);
  return here.run(['runs', 'watch', runId]);
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
