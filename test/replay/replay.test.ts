// Golden histories of every recorded version replay through the code of today, without a server, a store or any activity: the
// journal's answers stand in history, so a change in the order of commands shows here and nowhere sooner. Files are added, never
// edited, from the first tagged version on; scripts/record-histories.js writes those of the version in work.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { installLogger } from '../../src/adapters/logging/logger';
import { ownerOf, readHistory, type History } from '../../src/adapters/temporal/history-file';
import { replayHistories, type NamedHistory, type ReplayVerdict } from '../../src/adapters/temporal/replay-histories';
import { changedCode, type Change } from './support/changed-code';
import { commandLine } from './support/command-line';
import { folderOf, goldenHistories, provenanceOf, recorded, VERSIONS } from './support/corpus';

const SOURCES = path.join(__dirname, '..', '..', 'src', 'workflows', 'index.ts');
let workflowBundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  installLogger({ level: 'silent' });
  workflowBundle = await bundleWorkflowCode({ workflowsPath: SOURCES, logger: new DefaultLogger('ERROR') });
}, 60_000);

const named = ({ name, file }: { name: string; file: string }): NamedHistory => {
  const history = readHistory(file);
  return { name, workflowId: ownerOf(history).workflowId ?? name, history };
};
/** An expression of the changed code: is this change switched on? */
function planted(name: string): string {
  return `(globalThis as any).planted === ${JSON.stringify(name)}`;
}
const fileOf = (file: string): string => path.join(folderOf(VERSIONS[0] ?? ''), 'histories', file);
const oldest = (file: string): NamedHistory => named({ name: file, file: fileOf(file) });

async function verdicts(code: Parameters<typeof replayHistories>[0], histories: NamedHistory[]): Promise<ReplayVerdict[]> {
  const all: ReplayVerdict[] = [];
  for await (const verdict of replayHistories(code, histories)) all.push(verdict);
  return all;
}

test('R9.3 I5 every history of every recorded version replays', async () => {
  const all = await verdicts({ workflowBundle }, goldenHistories().map(named));
  expect(all.length).toBeGreaterThan(20);
  expect(all.filter(({ ok }) => !ok)).toEqual([]);
}, 120_000);

test.each(VERSIONS)('every history, journal and checkpoint of %s says where it came from', (version) => {
  const made = provenanceOf(version);
  expect(made).toMatchObject({ longhaul: version, commit: expect.stringMatching(/^[0-9a-f]{40}/), date: expect.stringMatching(/^\d{4}-/), temporal: expect.stringContaining('temporal version'), sdk: expect.stringMatching(/^\d+\./), how: expect.stringContaining('record') });
  for (const kind of ['histories', 'journals', 'checkpoints'] as const) {
    const files = recorded(kind).filter((one) => one.version === version).map(({ file }) => path.basename(file));
    expect(made[kind].map(({ file }) => file).sort()).toEqual(files);
  }
  expect([...made.histories, ...made.journals].filter(({ shows }) => !/\w/.test(shows))).toEqual([]);
});

/** What is planted, in which history it shows (ANY: in which of them is a matter of the moments they were recorded in), and what is said of it. All stand in one bundle; a name switches one of them on. */
const ANY = null;
const PLANTED: [string, Change, string | typeof ANY, RegExp][] = [
  ['an activity under another name', { file: 'src/workflows/perform.ts', find: 'await once.call.executeWithOptions', replace: `await (${planted('an activity under another name')} ? (once as any).callTool : once.call).executeWithOptions` }, 'everything.json',
    /^history holds activity call here, and this code asks for activity callTool$/],
  ['the order of what begins, turned round', { file: 'src/workflows/reconcile.ts', find: 'for (const [id, need] of wanted) if', replace: `for (const [id, need] of ${planted('the order of what begins, turned round')} ? [...wanted].reverse() : wanted) if` }, ANY,
    /^history holds (local )?activity \w+ here, and this code asks for ((local )?activity \w+|a timer)$/],
  ['a call that starts before its event is in the journal', { file: 'src/workflows/pump.ts', find: 'const answer = result.events.length === 0 ?', replace: `if (${planted('a call that starts before its event is in the journal')}) this.flights.reconcile(result.needs, held);\n      const answer = result.events.length === 0 ?` }, 'everything.json',
    /^history holds local activity append here, and this code asks for nothing like that$/],
  ['an activity that is no longer asked for', { file: 'src/workflows/agent-run.ts', find: 'void patient.cancelSelf();', replace: `void (${planted('an activity that is no longer asked for')} || patient.cancelSelf());` }, 'cancelled.json',
    /^history holds activity cancelSelf here, and this code asks for nothing like that$/],
];

describe('a change of order', () => {
  let code: string;
  let folder: string;
  beforeAll(async () => {
    code = await changedCode(PLANTED.map(([, change]) => change));
    folder = mkdtempSync(path.join(tmpdir(), 'longhaul-check-'));
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(PLANTED)('B36 R9.3 %s is found, with run, event and plain words', async (what, _change, file, words) => {
    const histories = file === ANY ? goldenHistories().map(named) : [oldest(file)];
    expect((await verdicts({ workflowBundle: { code } }, histories)).filter(({ ok }) => !ok)).toEqual([]);
    const [verdict] = (await verdicts({ workflowBundle: { code: `globalThis.planted = ${JSON.stringify(what)};\n${code}` } }, histories)).filter(({ ok }) => !ok);
    const history = histories.find(({ workflowId }) => workflowId === verdict?.workflowId)!;
    expect(verdict).toMatchObject({ ok: false, fault: { why: expect.stringMatching(words), said: expect.stringContaining('TMPRL1100') } });
    const held = history.history.events.find(({ eventId }) => String(eventId) === String(verdict?.fault?.eventId));
    expect(String(verdict?.fault?.why)).toContain(`activity ${nameOf(held)} here`);
  }, 60_000);

  test('R9.3 B36 replay-check says so on the command line, exit 1, and passes what this build replays, exit 0', async () => {
    const [good, bad] = [path.join(folder, 'good.js'), path.join(folder, 'bad.js')];
    writeFileSync(good, code);
    writeFileSync(bad, `globalThis.planted = 'an activity under another name';\n${code}`);
    const { workflowId, file } = { ...oldest('failed.json'), file: fileOf('failed.json') };
    const check = commandLine(folder);
    expect(await check('replay-check', file, fileOf('reset.json'), '--bundle', good)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ok .*\nok .*\n2 passed, 0 failed\n$/) });
    const failed = await check('replay-check', file, '--bundle', bad);
    expect([failed.code, failed.stdout, failed.stderr]).toEqual([1, expect.stringMatching(new RegExp(`^FAIL  ${workflowId.slice(4)}: event \\d+: history holds activity call here, and this code asks for activity callTool \\(.*failed.json\\)\n.*TMPRL1100.*\n0 passed, 1 failed\n$`)), expect.stringContaining('keep a worker of it')]);
    const json = await check('replay-check', file, '--bundle', bad, '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ runId: workflowId.slice(4), ok: false, fault: { eventId: expect.any(Number) } });
  }, 60_000);

  test('R9.3 a history is read as the command line writes it, as the server answers it, as a list, and with the names of older tools; what is none is refused in one sentence', async () => {
    const { events } = JSON.parse(readFileSync(fileOf('failed.json'), 'utf8')) as { events: { eventType: string }[] };
    const words = (type: string): string => type.replace('EVENT_TYPE_', '').toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
    const forms = { answer: { history: { events } }, list: events, older: { events: events.map((event) => ({ ...event, eventType: words(event.eventType) })) } };
    const files = Object.entries(forms).map(([name, form]) => {
      const file = path.join(folder, `${name}.json`);
      writeFileSync(file, JSON.stringify(form));
      return named({ name, file });
    });
    expect((await verdicts({ workflowBundle }, files)).map(({ name, ok }) => [name, ok])).toEqual([['answer', true], ['list', true], ['older', true]]);
    const wrong = (name: string, text: string): (() => unknown) => {
      writeFileSync(path.join(folder, name), text);
      return () => readHistory(path.join(folder, name));
    };
    expect(wrong('torn.json', '{"events": [')).toThrow(/torn.json is no JSON file/);
    expect(wrong('other.json', '{"events": []}')).toThrow(/other.json holds no history/);
    const decoded = events.map((event, i) => (i === 0 ? { ...event, workflowExecutionStartedEventAttributes: { input: { payloads: [{ runId: 'x' }] } } } : event));
    expect(wrong('decoded.json', JSON.stringify(decoded).replace('{"runId":"x"}', '{"data":{"runId":"x"}}'))).toThrow(/decoded.json cannot be read .*encoded payloads/);
  });
});

/** Name of the activity that an event stands for. */
function nameOf(event: History['events'][number] | undefined): string {
  const data = event?.markerRecordedEventAttributes?.details?.['data']?.payloads?.[0]?.data;
  return event?.activityTaskScheduledEventAttributes?.activityType?.name ?? (JSON.parse(new TextDecoder().decode(data ?? undefined)) as { activity_type: string }).activity_type;
}

test('a history whose order was changed does not replay', async () => {
  const changed = oldest('everything.json');
  // The first regular activity of the run is renamed, as if the code had asked for another one.
  const type = changed.history.events.find((event) => event.activityTaskScheduledEventAttributes)?.activityTaskScheduledEventAttributes?.activityType;
  if (type) type.name = 'somethingElse';
  const [verdict] = await verdicts({ workflowBundle }, [changed]);
  expect(verdict).toMatchObject({ ok: false, fault: { why: expect.stringContaining('history holds activity somethingElse here, and this code asks for activity call') } });
});

test('B36 R9.3 an interceptor that only notes, as tracing does, breaks no history; one that asks for something of its own is found', async () => {
  const { code } = await bundleWorkflowCode({ workflowsPath: SOURCES, workflowInterceptorModules: [require.resolve('./support/interceptors.ts')], logger: new DefaultLogger('ERROR') });
  const noted = await verdicts({ workflowBundle: { code } }, goldenHistories().map(named));
  expect([noted.length > 20, noted.filter(({ ok }) => !ok)]).toEqual([true, []]);
  const [verdict] = await verdicts({ workflowBundle: { code: `globalThis.planted = 'a timer of its own';\n${code}` } }, [oldest('everything.json')]);
  expect(verdict).toMatchObject({ ok: false, fault: { eventId: expect.any(Number), why: expect.stringMatching(/^history holds activity call here, and this code asks for /), said: expect.stringContaining('TMPRL1100') } });
}, 120_000);

test('the bundle of the conductor holds no schema library and no activity code', () => {
  expect(workflowBundle.code.length).toBeLessThan(4_000_000);
  for (const foreign of ['node_modules/zod/', 'node_modules/libsql/', 'src/activities/call', 'src/adapters/']) expect([foreign, workflowBundle.code.includes(foreign)]).toEqual([foreign, false]);
});
