// Going back and going on, at the command line: Temporal's database deleted in the middle of a publication and everything restored by
// one command; a fork with its own approval; an archive that is replayed without a store, a purge, and what gc says. One `dev`.
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { RunRow } from '../../src/core/row';
import { cli, ROOT, until, type Cli, type Ended } from './support/cli';

const FOLDER = path.join(ROOT, 'examples', 'folder-report', 'corpus');
let here: Cli;
beforeAll(async () => {
  here = cli();
  await here.dev();
}, 120_000);
afterAll(() => here.stop(), 60_000);

const begin = (runId: string, question: string): Promise<Ended> => here.run(['run', 'folder-report', '--run-id', runId, '--input', JSON.stringify({ folder: FOLDER, question })]);
const rowOf = async (runId: string): Promise<RunRow> => JSON.parse((await here.run(['runs', 'show', runId, '--json'])).stdout) as RunRow;
const approvalOf = (runId: string): Promise<string> => until(`${runId} asks for an approval`, async () => (await rowOf(runId)).waits.find((wait) => wait.kind === 'approval')?.waitId);
const overOf = (runId: string): Promise<RunRow> => until(`${runId} is over`, async () => {
  const row = await rowOf(runId);
  return ['completed', 'failed', 'cancelled'].includes(row.status) ? row : undefined;
});
async function publishedBy(runId: string): Promise<number> {
  const keys = (await here.events(runId)).flatMap((event) => (event.type === 'ToolCallRequested' ? [event.data.key] : []));
  return here.publications().filter(({ key }) => keys.includes(key)).length;
}

test('R1.3 everything is killed in the middle of the demo\'s run and Temporal\'s database deleted: one command brings it to its end with one publication', async () => {
  await begin('struck', 'How large were refunds in Q3?');
  await begin('waiting', 'Which refunds are contested?');
  const approvalId = await approvalOf('struck');
  await approvalOf('waiting');
  expect((await here.run(['approvals', 'approve', approvalId])).code).toBe(0);
  await here.killAll();
  for (const name of readdirSync(here.stateDir).filter((one) => one.startsWith('temporal.db'))) rmSync(path.join(here.stateDir, name));
  await here.dev();
  const all = await here.run(['runs', 'restore', '--all', '--json']);
  const restored = all.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as { runId: string; kind: string });
  expect([all.code, restored.map(({ kind }) => kind).every((kind) => kind === 'restored'), restored.some(({ runId }) => runId === 'waiting')]).toEqual([0, true, true]);
  expect(await overOf('struck')).toMatchObject({ status: 'completed', outcome: 'full' });
  expect(await publishedBy('struck')).toBe(1);
  const again = await here.run(['runs', 'restore', '--all']);
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('Nothing to restore')]);
});

test('R10.2 a fork asks for its own approval, shows what its parent did, and is refused within a turn, with exit 2', async () => {
  const { version } = await rowOf('waiting');
  const wrong = await here.run(['runs', 'fork', 'waiting', '--at', '1']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/Event 1 stands within what one turn has written/)]);
  expect((await here.run(['runs', 'fork', 'nobody', '--at', '1'])).code).toBe(1);
  const forked = await here.run(['runs', 'fork', 'waiting', '--at', String(version), '--run-id', 'other-way', '--budget', 'calls=50']);
  expect([forked.code, forked.stdout.trim(), forked.stderr]).toEqual([0, 'other-way', expect.stringContaining(`Forked from waiting after event ${version}.`)]);
  const approvalId = await approvalOf('other-way');
  expect(approvalId).not.toBe(await approvalOf('waiting'));
  expect((await here.run(['runs', 'show', 'other-way'])).stdout).toContain(`forked from  waiting after event ${version}`);
  expect((await here.run(['approvals', 'approve', approvalId])).code).toBe(0);
  expect(await overOf('other-way')).toMatchObject({ status: 'completed', outcome: 'full' });
  expect([await publishedBy('other-way'), await publishedBy('waiting'), (await rowOf('waiting')).status]).toEqual([1, 0, 'waiting']);
  expect((await here.run(['replay', 'other-way'])).code).toBe(0);
});

test('an archive is replayed without the store, a purged run is told, and gc counts what nothing refers to', async () => {
  const out = path.join(here.stateDir, 'archives');
  const early = await here.run(['runs', 'archive', 'waiting', '--out', out]);
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('only a run that is over is archived')]);
  const archived = await here.run(['runs', 'archive', 'struck', '--out', out, '--purge', '--json']);
  expect([archived.code, JSON.parse(archived.stdout)]).toMatchObject([0, { runId: 'struck', purge: 'purged', before: false }]);
  expect((await here.run(['replay', path.join(out, 'struck', 'journal.jsonl')])).stdout).toMatch(/byte-equal, status completed/);
  const gone = await here.run(['runs', 'show', 'struck']);
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringMatching(/Run struck was purged at .*it was completed/)]);
  const again = await begin('struck', 'How large were refunds in Q3?');
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('its id is not given out again')]);
  const replayed = await here.run(['replay', 'struck']);
  expect([replayed.code, replayed.stderr]).toEqual([1, expect.stringMatching(/Run struck was purged at .*journal of its archive/)]);
  const twice = await here.run(['runs', 'purge', 'struck']);
  expect([twice.code, twice.stdout, twice.stderr]).toEqual([0, expect.stringContaining('was purged before'), expect.stringContaining('0 runs purged')]);
  const refused = await here.run(['runs', 'purge', 'waiting']);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('only a run that is over is purged')]);
  expect((await here.run(['runs', 'purge'])).code).toBe(2);
  expect((await here.run(['runs', 'purge', '--older-than', '1d', '--dry-run'])).stderr).toContain('0 runs would be purged');
  const gc = await here.run(['artifacts', 'gc', '--dry-run', '--json']);
  expect([gc.code, JSON.parse(gc.stdout)]).toMatchObject([0, { garbage: 0, removed: 0, artifacts: expect.any(Number), young: expect.any(Number) }]);
  expect((JSON.parse(gc.stdout) as { young: number }).young).toBeGreaterThan(0);
});
