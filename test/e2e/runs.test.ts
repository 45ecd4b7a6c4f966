// Runs under `longhaul dev`, steered by the command line alone: waiting, deciding, deciding again, killing everything, terminate
// and restore, reset, cancel. One development server for the whole file.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { RunRow } from '../../src/core/row';
import { cli, ROOT, until, type Cli, type Dev, type Ended } from './support/cli';

const FOLDER = path.join(ROOT, 'examples', 'folder-report', 'corpus');
const inputOf = (question: string): string => JSON.stringify({ folder: FOLDER, question });

let here: Cli;
let dev: Dev;
beforeAll(async () => {
  here = cli();
  dev = await here.dev();
}, 120_000);
afterAll(() => here.stop(), 60_000);

const rowOf = async (runId: string): Promise<RunRow> => JSON.parse((await here.run(['runs', 'show', runId, '--json'])).stdout) as RunRow;
const begin = (runId: string, question: string): Promise<Ended> => here.run(['run', 'folder-report', '--run-id', runId, '--input', inputOf(question)]);
const approvalOf = (runId: string): Promise<string> => until(`${runId} asks for an approval`, async () => (await rowOf(runId)).waits.find((wait) => wait.kind === 'approval')?.waitId);
const overOf = (runId: string): Promise<RunRow> => until(`${runId} is over`, async () => {
  const row = await rowOf(runId);
  return ['completed', 'failed', 'cancelled'].includes(row.status) ? row : undefined;
});
/** What the publisher did for this run: its keys are those that the run's events name. */
async function publishedBy(runId: string): Promise<number> {
  const keys = (await here.events(runId)).flatMap((event) => (event.type === 'ToolCallRequested' ? [event.data.key] : []));
  return here.publications().filter(({ key }) => keys.includes(key)).length;
}

describe('a run that waits', () => {
  test('R5.5 it says what for, for whom, until when, what then, and the command; in lists, on its page and in Temporal', async () => {
    const started = await begin('waits', 'How large were refunds in Q3?');
    expect([started.code, started.stdout.trim(), started.stderr]).toEqual([0, 'waits', expect.stringContaining('longhaul runs watch waits')]);
    const approvalId = await approvalOf('waits');
    const page = (await here.run(['runs', 'show', 'waits'])).stdout;
    expect(page).toMatch(/waits for approval of publish/);
    expect(page).toMatch(/for whom +anyone/);
    expect(page).toMatch(/until +\d{4}-\d{2}-\d{2} .*\(in 7 days\)/);
    expect(page).toMatch(/what then +the run is cancelled/);
    expect(page).toContain(`npx longhaul approvals approve ${approvalId}`);
    expect(page).toMatch(/\[x\].*inventory/);
    expect((await here.run(['inbox'])).stdout).toContain(approvalId);
    expect((await here.run(['approvals', 'show', approvalId])).stdout).toContain('+# ');
    await until('Temporal lists the run', async () => {
      const { stdout } = await here.run(['temporal', 'workflow', 'list', '--query', 'AgentWaitingFor = "approval"']);
      return stdout.includes('run/waits') ? true : undefined;
    });
  });

  test('R9.3 B36 replay-check --open replays it, names run and event where the code differs, and leaves it as it is', async () => {
    const check = (...args: string[]): Promise<Ended> => here.run(['replay-check', '--open', ...args]);
    const before = (await rowOf('waits')).version;
    expect(await check()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ok {4}waits: \d+ events .*\n1 passed, 0 failed\n$/) });
    const bundle = readFileSync(path.join(ROOT, 'dist', 'workflow-bundle.js'), 'utf8');
    const changed = (name: string, from: string, to: string): string => {
      const file = path.join(here.stateDir, name);
      expect(bundle.split(from)).toHaveLength(2);
      writeFileSync(file, bundle.replace(from, to));
      return file;
    };
    const other = await check('--bundle', changed('other.js', 'hands_1.once.call.executeWithOptions', 'hands_1.once.other.executeWithOptions'));
    expect([other.code, other.stdout]).toEqual([1, expect.stringMatching(/^FAIL {2}waits: event \d+: history holds activity call here, and this code asks for activity other /)]);
    expect(await rowOf('waits')).toMatchObject({ status: 'waiting', version: before });
  });

  test('R10.7 its page in Temporal says the same', async () => {
    const { stdout } = await here.run(['temporal', 'workflow', 'metadata', '--workflow-id', 'run/waits']);
    for (const said of ['approval of publish', 'for whom: anyone', 'until: 20', 'what then: the run is cancelled', 'npx longhaul approvals approve a-', '[x]']) expect(stdout).toContain(said);
  });

  test('Ctrl-C while watching detaches, says so, and the run goes on', async () => {
    const { code, stderr } = await here.interrupted('ApprovalRequested', ['runs', 'watch', 'waits', '--stay']);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/Detached; the run goes on\..*longhaul runs watch waits --after \d+/)]);
    expect((await rowOf('waits')).status).toBe('waiting');
  });

  test('a worker that dies is started again by dev', async () => {
    process.kill(dev.worker, 'SIGKILL');
    const started = await begin('after-death', 'How large were refunds in Q2?');
    expect(started.code).toBe(0);
    await approvalOf('after-death');
  });

  test('without a terminal, watching ends with 5 when only a person can go on', async () => {
    const { code, stderr } = await here.run(['run', 'folder-report', '--run-id', 'waits', '--input', inputOf('How large were refunds in Q3?'), '--watch']);
    expect([code, stderr]).toEqual([5, expect.stringContaining('waits for approval of publish')]);
  });

  test('the doctor finds nothing wrong, and a second dev is told about the first', async () => {
    const { code, stdout } = await here.run(['doctor'], { LONGHAUL_MODEL: 'rules@1' });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/ok +worker: longhaul \d+@/)]);
    const second = await here.run(['dev', '--port', '0', '--ui-port', '0']);
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining(`runs for ${here.stateDir} already (process ${dev.pid}`)]);
  });

  test('R1.1 after every process was killed and started again the approval works, and the same decision again does nothing', async () => {
    const approvalId = await approvalOf('waits');
    await here.killAll();
    expect((await here.run(['runs', 'show', 'waits'])).stdout).toContain(approvalId);
    const away = await here.run(['approvals', 'approve', approvalId]);
    expect([away.code, away.stderr]).toEqual([7, expect.stringContaining('npx longhaul dev')]);
    dev = await here.dev();
    const first = await here.run(['approvals', 'approve', approvalId, '--json']);
    expect([first.code, JSON.parse(first.stdout)]).toMatchObject([0, { known: true, answer: { kind: 'granted' } }]);
    expect(await overOf('waits')).toMatchObject({ status: 'completed', outcome: 'full' });
    const again = await here.run(['approvals', 'approve', approvalId, '--json']);
    expect([again.code, again.stdout]).toEqual([0, first.stdout]);
    const other = await here.run(['approvals', 'approve', approvalId, '--as', 'somebody-else']);
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('The run is completed')]);
    expect(await publishedBy('waits')).toBe(1);
  });

  test('R1.2 the same id with the same input is the same run, with other input it is refused naming the difference, also when closed', async () => {
    const same = await begin('waits', 'How large were refunds in Q3?');
    expect([same.code, same.stdout.trim(), same.stderr]).toEqual([0, 'waits', expect.stringContaining('it is completed')]);
    const other = await begin('waits', 'How large were refunds in Q4?');
    expect([other.code, other.stderr]).toEqual([2, expect.stringMatching(/input\.question was "How large were refunds in Q3\?" and is "How large were refunds in Q4\?"/)]);
  });
});

describe('decisions and recovery', () => {
  test('a reject publishes nothing, and its reason is recorded', async () => {
    await begin('rejected', 'Which supplier is to blame for refunds?');
    const approvalId = await approvalOf('rejected');
    const other = await here.run(['run', 'folder-report', '--run-id', 'rejected', '--input', inputOf('Something else?')]);
    expect(other.code).toBe(2);
    const answer = await here.run(['approvals', 'reject', approvalId, '--reason', 'not before the board has met']);
    expect([answer.code, answer.stderr]).toEqual([0, expect.stringContaining('Rejected by')]);
    expect((await here.run(['approvals', 'reject', approvalId, '--reason', 'not before the board has met'])).code).toBe(0);
    await overOf('rejected');
    expect((await here.events('rejected')).find((event) => event.type === 'ApprovalRejected')?.data).toMatchObject({ reason: 'not before the board has met' });
    expect(await publishedBy('rejected')).toBe(0);
  });

  test('R1.3 a terminated run is restored from its journal: nothing finished is done again, and it is published once', async () => {
    await begin('terminated', 'What did the board say about refunds?');
    const approvalId = await approvalOf('terminated');
    const before = await here.events('terminated');
    expect((await here.run(['temporal', 'workflow', 'terminate', '--workflow-id', 'run/terminated'])).code).toBe(0);
    const lost = await here.run(['approvals', 'approve', approvalId]);
    expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining('longhaul runs restore terminated')]);
    expect((await here.run(['doctor'])).stdout).toContain('npx longhaul runs restore terminated');
    expect((await begin('terminated', 'What did the board say about refunds?')).stderr).toMatch(/Nothing runs it: its execution is terminated in Temporal.*runs restore terminated/);
    expect((await here.run(['runs', 'restore', 'terminated'])).code).toBe(0);
    expect((await here.run(['approvals', 'approve', approvalId])).code).toBe(0);
    expect(await overOf('terminated')).toMatchObject({ status: 'completed', epoch: 2 });
    const after = await here.events('terminated');
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after[before.length]?.type).toBe('RunRestored');
    expect(await publishedBy('terminated')).toBe(1);
    const over = await here.run(['runs', 'restore', 'terminated']);
    expect([over.code, over.stderr]).toEqual([1, expect.stringContaining('is over')]);
  });

  test('a reset to the first task does nothing twice', async () => {
    await begin('reset', 'How were refunds counted in the operations log?');
    const approvalId = await approvalOf('reset');
    const before = await here.events('reset');
    expect((await here.run(['temporal', 'workflow', 'reset', '--workflow-id', 'run/reset', '--type', 'FirstWorkflowTask', '--reason', 'test'])).code).toBe(0);
    await until('the approval is taken', async () => ((await here.run(['approvals', 'approve', approvalId])).code === 0 ? true : undefined));
    expect(await overOf('reset')).toMatchObject({ status: 'completed' });
    expect((await here.events('reset')).slice(0, before.length)).toEqual(before);
    expect(await publishedBy('reset')).toBe(1);
  });

  test('a cancelled run ends as cancelled, here and in Temporal', async () => {
    await begin('cancelled', 'What does the returns policy say?');
    await approvalOf('cancelled');
    expect((await here.run(['runs', 'cancel', 'cancelled', '--reason', 'no longer needed'])).code).toBe(0);
    const { code, stderr } = await here.run(['runs', 'watch', 'cancelled']);
    expect([code, stderr]).toEqual([4, expect.stringContaining('cancelled')]);
    await until('Temporal shows it as canceled', async () => ((await here.run(['temporal', 'workflow', 'describe', '--workflow-id', 'run/cancelled', '-o', 'json'])).stdout.includes('_CANCELED') ? true : undefined));
  });

  test('R8.4 a run whose budget is used up ends watching with 6, and more budget or a settlement leads on', async () => {
    const small = (runId: string): Promise<Ended> => here.run(['run', 'folder-report', '--run-id', runId, '--input', inputOf('How large were refunds in Q3?'), '--budget', 'calls=3', '--watch']);
    const [first, second] = [await small('extended'), await small('settled')];
    expect([first.code, first.stderr]).toEqual([6, expect.stringContaining('longhaul runs extend extended --budget calls=N')]);
    expect((await here.run(['runs', 'extend', 'extended', '--budget', 'calls=100'])).code).toBe(0);
    await approvalOf('extended');
    expect(second.code).toBe(6);
    expect((await here.run(['runs', 'settle', 'settled', '--as', 'partial'])).code).toBe(0);
    const settled = await here.run(['runs', 'watch', 'settled']);
    expect([settled.code, settled.stderr]).toEqual([0, expect.stringContaining('completed (partial)')]);
    expect((await here.run(['runs', 'settle', 'settled', '--as', 'fail'])).code).toBe(1);
  });

  test('pause and resume, a message, an unknown run and an unknown approval', async () => {
    await begin('paused', 'Who wrote the support review?');
    await approvalOf('paused');
    expect((await here.run(['runs', 'pause', 'paused'])).code).toBe(0);
    expect(await rowOf('paused')).toMatchObject({ status: 'paused' });
    expect((await here.run(['runs', 'message', 'paused', 'please hurry'])).code).toBe(0);
    expect((await here.run(['runs', 'resume', 'paused'])).code).toBe(0);
    const unknown = await here.run(['runs', 'cancel', 'nobody']);
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('longhaul runs list')]);
    const wait = await here.run(['approvals', 'approve', 'a-000000000000']);
    expect([wait.code, wait.stderr]).toEqual([1, expect.stringContaining('longhaul inbox')]);
  });

  test("R1.3 with Temporal's database lost, dev names the open runs, a restore goes on with one, and closed ones keep their ids", async () => {
    await begin('lost', 'Which refunds are contested?');
    const approvalId = await approvalOf('lost');
    await dev.stop();
    for (const name of readdirSync(here.stateDir).filter((one) => one.startsWith('temporal.db'))) rmSync(path.join(here.stateDir, name));
    dev = await here.dev();
    expect((await here.run(['doctor'])).stdout).toContain('npx longhaul runs restore lost');
    expect((await here.run(['runs', 'restore', 'lost'])).code).toBe(0);
    expect((await here.run(['approvals', 'approve', approvalId])).code).toBe(0);
    expect(await overOf('lost')).toMatchObject({ status: 'completed', epoch: 2 });
    expect(await publishedBy('lost')).toBe(1);
    expect((await begin('waits', 'How large were refunds in Q3?')).stderr).toContain('it is completed');
    expect((await begin('waits', 'How large were refunds in Q4?')).code).toBe(2);
    expect((await dev.stop()).stderr).toMatch(/database is new.*longhaul runs restore lost/s);
    dev = await here.dev();
  });

  test('demo uses the dev that runs, and Ctrl-C leaves all state', async () => {
    const demo = await here.demo(['--yes', '--question', 'How large were refunds in Q1?']);
    expect([demo.code, demo.stderr]).toEqual([0, expect.stringContaining(`Using the running \`longhaul dev\` (process ${dev.pid})`)]);
    const stopped = await dev.stop();
    expect(stopped.code).toBe(0);
    const away = await begin('later', 'Anything?');
    expect([away.code, away.stderr]).toEqual([7, expect.stringContaining('npx longhaul dev')]);
    expect((await here.run(['runs', 'list', '--json'])).stdout.split('\n').filter(Boolean).length).toBeGreaterThanOrEqual(7);
  });
});

describe('plans and usage', () => {
  const refused = async (plan: string): Promise<Ended> => {
    const file = path.join(here.stateDir, 'plan.yaml');
    writeFileSync(file, plan);
    return here.run(['run', 'folder-report', '--plan', file, '--run-id', 'never']);
  };

  test('a plan with an unknown tool, a cycle or a reference to nothing, or arguments that do not fit the tool, is refused before anything runs, naming the step', async () => {
    const unknown = await refused('goal: g\nsteps:\n  - { id: fetch, title: t, action: { type: tool, tool: teleport, args: {} } }\n');
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringMatching(/fetch.*teleport/s)]);
    const cycle = await refused('goal: g\nsteps:\n  - { id: one, title: t, dependsOn: [two], action: { type: wait, for: 1s } }\n  - { id: two, title: t, dependsOn: [one], action: { type: wait, for: 1s } }\n');
    expect([cycle.code, cycle.stderr]).toEqual([2, expect.stringMatching(/one.*two/s)]);
    const nothing = await refused('goal: g\nsteps:\n  - { id: read, title: t, action: { type: tool, tool: search_text, args: { query: { $from: missing.path } } } }\n');
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringMatching(/read.*missing/s)]);
    const misfit = await refused('goal: g\nsteps:\n  - { id: sums, title: t, action: { type: tool, tool: query_csv, args: { sql: 7 } } }\n');
    expect([misfit.code, misfit.stderr]).toEqual([2, expect.stringMatching(/sums, query_csv: the arguments do not fit: sql/)]);
    const misspelt = await refused('goal: g\nsteps:\n  - { id: all, title: t, action: { type: tool, tool: inventory, args: {} } }\n  - { id: sums, title: t, dependsOn: [all], action: { type: tool, tool: query_csv, args: { sqll: { $from: all.x } } } }\n');
    expect([misspelt.code, misspelt.stderr]).toEqual([2, expect.stringMatching(/sums, query_csv: the arguments do not fit: it knows no sqll; it needs sql\. Its arguments are sql/)]);
    expect((await here.run(['runs', 'show', 'never'])).code).toBe(1);
  });

  test('a missing id names where ids come from, and settle says both meanings of --as', async () => {
    for (const [args, where] of [[['approvals', 'approve'], 'npx longhaul approvals list'], [['answer'], 'npx longhaul inbox'], [['runs', 'show'], 'npx longhaul runs list'], [['runs', 'settle', 'r', '--as', 'bob'], /partial, retry, skip, fail.*--by NAME/]] as const) {
      const { code, stderr } = await here.run([...args]);
      expect([args, code, stderr]).toEqual([args, 2, typeof where === 'string' ? expect.stringContaining(where) : expect.stringMatching(where)]);
    }
  });

  test('wrong usage is told in one sentence with exit 2', async () => {
    for (const args of [['bogus'], ['run'], ['run', 'nobody'], ['run', 'folder-report', '--input', '{'], ['run', 'folder-report', '--budget', 'sheep=3'], ['resolve', 'r', 'c1'], ['runs', 'list', '--status', 'asleep'], ['artifacts', 'cat', 'xyz']]) {
      const { code, stderr } = await here.run(args);
      expect([args, code, stderr.trim().length > 10, stderr.includes('    at ')]).toEqual([args, 2, true, false]);
    }
  });
});
