// Golden histories replay through the code of today, without a server, a store or any activity: the journal's answers stand
// in history, so a change in the order of commands shows here and nowhere sooner. Files are added, never edited, from the
// first tagged version on; scripts/record-histories.js writes them until then.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { readHistory, type History } from '../rig/history-file';

const folder = path.join(__dirname, 'histories');
const files = readdirSync(folder).filter((file) => file.endsWith('.json') && file !== 'provenance.json').sort();
const provenance = JSON.parse(readFileSync(path.join(folder, 'provenance.json'), 'utf8')) as { file: string; longhaul: string; shows: string }[];

let workflowBundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger });
  workflowBundle = await bundleWorkflowCode({ workflowsPath: path.join(__dirname, '..', '..', 'src', 'workflows', 'index.ts'), logger });
}, 60_000);

const historyOf = (file: string): History => readHistory(path.join(folder, file));

test.each(files)('R9.3 I5 %s replays', async (file) => {
  await Worker.runReplayHistory({ workflowBundle }, historyOf(file), provenance.find((one) => one.file === file)?.file ?? file);
});

test('every golden history says which version wrote it and what it shows', () => {
  expect(provenance.map(({ file }) => file).sort()).toEqual(files);
  for (const { longhaul, shows } of provenance) expect([longhaul, shows]).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+/), expect.stringMatching(/\w/)]);
});

test('a history whose order was changed does not replay', async () => {
  const history = historyOf('everything.json');
  // The first regular activity of the run is renamed, as if the code had asked for another one.
  const type = history.events.find((event) => event.activityTaskScheduledEventAttributes)?.activityTaskScheduledEventAttributes?.activityType;
  if (type) type.name = 'somethingElse';
  await expect(Worker.runReplayHistory({ workflowBundle }, history, 'changed')).rejects.toThrow(/nondeterminism|Nondeterminism|TMPRL1100/);
});

test('the bundle of the conductor holds no schema library and no activity code', () => {
  expect(workflowBundle.code.length).toBeLessThan(4_000_000);
  for (const foreign of ['node_modules/zod/', 'node_modules/libsql/', 'src/activities/call', 'src/adapters/']) expect([foreign, workflowBundle.code.includes(foreign)]).toEqual([foreign, false]);
});
