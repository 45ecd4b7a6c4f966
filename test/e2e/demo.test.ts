// The demo as a user meets it: to its end without a terminal, on a folder of one's own, and with a worker that is killed in the
// middle of publishing. What the journal then says is checked offline, with no server running.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { cli, type Cli, type Ended } from './support/cli';

const runIdOf = ({ stdout }: Ended): string => /^Run\s+(\S+)$/m.exec(stdout)?.[1] ?? '';
const reportOf = ({ stdout }: Ended): string => /^Report\s+(\S+)$/m.exec(stdout)?.[1] ?? '';

describe('the demo on the sample', () => {
  let here: Cli;
  let end: Ended;
  beforeAll(async () => {
    here = cli();
    end = await here.demo();
  }, 120_000);
  afterAll(() => here.stop());

  test('it ends by itself, approves as its own named approver and says so, and publishes once', () => {
    expect([end.code, end.stderr.split('\n').slice(-12)]).toEqual([0, expect.anything()]);
    expect(end.stderr).toMatch(/demo-approver \(this demo itself, since there is no terminal to ask at\) approves a-/);
    expect(existsSync(reportOf(end))).toBe(true);
    expect(end.stdout).toMatch(/^Web UI\s+http:\/\/127\.0\.0\.1:\d+\/\S+ {2}\(stopped with this demo; it runs again with npx longhaul dev\)$/m);
    expect(end.stderr).not.toContain('0 tokens');
    expect(here.publications()).toHaveLength(1);
  });

  test('R2.2 every event has a whole envelope, numbered without gaps, and none is large', async () => {
    const { stdout } = await here.run(['runs', 'events', runIdOf(end), '--json']);
    const lines = stdout.split('\n').filter(Boolean);
    expect(lines.length).toBeGreaterThan(40);
    for (const [i, line] of lines.entries()) {
      const event = JSON.parse(line) as Record<string, unknown>;
      expect(event).toMatchObject({ runId: runIdOf(end), seq: i + 1, v: 1, type: expect.any(String), at: expect.any(Number), causationId: expect.any(String), correlationId: expect.any(String), actor: { id: expect.any(String), via: expect.any(String), assurance: expect.any(String) } });
      expect(line.length).toBeLessThan(8 * 1024);
    }
  });

  test('R9.4 replay folds the journal with no server running, and the export as well', async () => {
    const file = path.join(here.stateDir, 'export.jsonl');
    const live = await here.run(['replay', runIdOf(end), '--json']);
    expect([live.code, JSON.parse(live.stdout)]).toMatchObject([0, { ok: true, status: 'completed' }]);
    expect((await here.run(['runs', 'export', runIdOf(end), '--out', file])).code).toBe(0);
    const offline = await here.run(['replay', file, '--json']);
    expect(offline.code).toBe(0);
    const { events } = JSON.parse(live.stdout) as { events: number };
    expect(JSON.parse(offline.stdout)).toEqual({ ...JSON.parse(live.stdout) as object, states: events });
  });

  test('R9.4 an event of an export that was changed, left out or cut off is named, exit 1', async () => {
    const whole = (await here.run(['runs', 'export', runIdOf(end)])).stdout.split('\n').filter(Boolean);
    const at = whole.findIndex((line) => line.includes('"type":"ApprovalGranted"'));
    const { event } = JSON.parse(whole[at]!) as { event: { seq: number } };
    const judge = async (lines: string[]): Promise<Ended> => {
      const file = path.join(here.stateDir, 'edited.jsonl');
      writeFileSync(file, lines.join('\n'));
      return here.run(['replay', file]);
    };
    const edited = await judge(whole.map((line, i) => (i === at ? line.replaceAll('demo-approver', 'someone-else') : line)));
    expect([edited.code, edited.stderr]).toEqual([1, expect.stringContaining(`event ${event.seq} (ApprovalGranted) does not fit`)]);
    const without = await judge(whole.filter((_, i) => i !== at));
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining(`event ${event.seq + 1} `)]);
    const cut = await judge(whole.slice(0, -3));
    expect([cut.code, cut.stderr]).toEqual([1, expect.stringContaining('cut off')]);
  });

  test('artifacts of the run are whole, and a damaged one is named', async () => {
    expect((await here.run(['artifacts', 'verify', runIdOf(end)])).code).toBe(0);
    const { stdout } = await here.run(['artifacts', 'list', runIdOf(end), '--json']);
    const { sha256 } = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as { role: string; sha256: string }).find(({ role }) => role === 'report')!;
    expect((await here.run(['artifacts', 'cat', sha256.slice(0, 12)])).stdout).toBe(readFileSync(reportOf(end), 'utf8'));
    const file = path.join(here.stateDir, 'artifacts', sha256.slice(0, 2), sha256.slice(2));
    const before = readFileSync(file);
    writeFileSync(file, 'something else');
    const damaged = await here.run(['artifacts', 'verify', runIdOf(end)]);
    writeFileSync(file, before);
    expect([damaged.code, damaged.stdout]).toEqual([1, expect.stringContaining(`${sha256}  corrupt`)]);
  });
});

describe('the demo on a folder that is not ours', () => {
  let here: Cli;
  let folder: string;
  beforeAll(() => {
    here = cli();
    folder = mkdtempSync(path.join(os.tmpdir(), 'longhaul-folder-'));
    mkdirSync(path.join(folder, 'notes'));
    writeFileSync(path.join(folder, 'notes', 'boiler.md'), '# Boiler house\n\nThe boiler failed on 3 March because the feed pump lost pressure.\nThe pump was replaced on 5 March.\n\nHeating was out for 41 hours.\n');
    writeFileSync(path.join(folder, 'notes', 'caretaker.txt'), 'Caretaker log\r\n3 March: boiler out, feed pump dead.\r\n6 March: pump replaced, boiler runs. Heating was out for 64 hours.\r\n');
    writeFileSync(path.join(folder, 'readings.csv'), 'day,boiler_pressure_bar,heating_hours_out\n2026-03-02,2.1,0\n2026-03-03,0.3,16\n2026-03-04,0.2,24\n2026-03-05,1.9,7\n');
    writeFileSync(path.join(folder, 'invoice.json'), '{\n "item": "feed pump for the boiler",\n "delivered": "2026-03-05",\n "euro": 1840\n}\n');
    writeFileSync(path.join(folder, 'page.html'), '<html><body><h1>House news</h1><p>The boiler of the house failed in March; heating is back.</p></body></html>\n');
  });
  afterAll(async () => {
    await here.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('every quote of evidence stands verbatim at its file and lines', async () => {
    const end = await here.demo(['--yes', '--folder', folder, '--question', 'Why did the boiler fail and how long was heating out?']);
    expect([end.code, end.stderr.slice(-600)]).toEqual([0, expect.anything()]);
    const proof = JSON.parse(readFileSync(reportOf(end).replace(/report-v(\d+)\.md$/, 'evidence-v$1.json'), 'utf8')) as unknown;
    const quotes = evidenceIn(proof);
    expect(quotes.length).toBeGreaterThanOrEqual(3);
    for (const { file, first, last, quote } of quotes) {
      const lines = readFileSync(path.join(folder, file), 'utf8').split('\n');
      expect([file, first, last, lines.slice(first - 1, last).join('\n').includes(quote)]).toEqual([file, first, last, true]);
    }
    expect(here.publications()).toHaveLength(1);
  });
});

test('a demo that cannot begin says so before anything starts: no question, no text, no folder to write to', async () => {
  const here = cli();
  const said = async (...args: string[]): Promise<(number | string | null)[]> => {
    const { code, stderr } = await here.run(args);
    return [code, stderr];
  };
  try {
    const [full, empty] = ['full', 'empty'].map((name) => path.join(here.stateDir, name)) as [string, string];
    for (const folder of [full, empty]) mkdirSync(folder);
    writeFileSync(path.join(full, 'a.txt'), 'Some text.\n');
    writeFileSync(path.join(empty, 'a.bin'), Buffer.from([1, 0, 2]));
    expect(await said('demo', '--folder', full)).toEqual([2, expect.stringMatching(/^Say what to answer .*--question/)]);
    expect(await said('demo', '--folder', empty, '--question', 'What?')).toEqual([2, expect.stringContaining('holds no text')]);
    const sentence = expect.stringMatching(/state folder \S+ cannot be written \(E\w+\): .*--state-dir/);
    expect(await said('demo', '--state-dir', path.join(full, 'a.txt', 'state'))).toEqual([1, sentence]);
    expect(await said('dev', '--state-dir', '/proc/none')).toEqual([1, sentence]);
    const doctor = await here.run(['doctor', '--state-dir', '/proc']);
    expect([doctor.code, doctor.stdout]).toEqual([1, sentence]);
    expect(here.running()).toEqual([]);
  } finally {
    await here.stop();
  }
});

interface Evidence { file: string; first: number; last: number; quote: string }

function evidenceIn(value: unknown): Evidence[] {
  if (typeof value !== 'object' || value === null) return [];
  const one = value as Partial<Evidence>;
  if (typeof one.quote === 'string' && typeof one.file === 'string') return [one as Evidence];
  return Object.values(value).flatMap(evidenceIn);
}

describe('the demo at a terminal', () => {
  let here: Cli;
  beforeAll(() => { here = cli(); });
  afterAll(() => here.stop());

  test('it shows what would change and asks; a rejection there publishes nothing and reaches the journal with its reason', async () => {
    const end = await here.atTerminal('Enter: confirm', '\\x1b[B|\\r|too early|\\r', ['demo', '--port', '0', '--ui-port', '0', '--run-id', 'asked']);
    expect(end.stdout).toContain('this would be the first version');
    expect(end.stdout).toContain('+# Report');
    const lines = end.stdout.split(/\r?\n/).filter((line) => /^\d\d:\d\d:\d\d +\d+ [A-Z]\w+ /.test(line));
    expect(lines.length).toBeGreaterThan(40);
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
    expect([end.code, end.stdout.slice(-1500)]).toEqual([0, expect.stringContaining('completed (partial)')]);
    expect((await here.events('asked')).find((event) => event.type === 'ApprovalRejected')?.data).toMatchObject({ reason: 'too early' });
    expect(here.publications()).toHaveLength(0);
  });
});

test('a demo whose terminal is closed at the prompt stops everything that it started, and the run goes on waiting', async () => {
  const here = cli();
  try {
    await here.atTerminal('Enter: confirm', 'HANGUP', ['demo', '--port', '0', '--ui-port', '0', '--run-id', 'shut']);
    expect(here.running()).toEqual([]);
    expect((await here.events('shut')).at(-1)?.type).toBe('ApprovalRequested');
  } finally {
    await here.stop();
  }
});

describe('the demo with a crash', () => {
  let here: Cli;
  beforeAll(() => { here = cli(); });
  afterAll(() => here.stop());

  test('R4.2 the worker is killed after the publisher stored the report: the key is found, recorded, and nothing is sent again', async () => {
    const end = await here.demo(['--crash', '--yes']);
    expect([end.code, end.stderr.slice(-600)]).toEqual([0, expect.anything()]);
    expect(end.stderr).toContain('The worker was killed (SIGKILL)');
    expect(end.stderr).toMatch(/RecoveryChecked c\d+ looked up: found outside; recorded, not sent again$/m);
    expect(here.publications()).toHaveLength(1);
    const events = await here.events(runIdOf(end));
    const publish = events.filter((event) => event.type === 'ToolCallRequested' && event.data.tool === 'publish');
    expect(publish).toHaveLength(1);
    expect(events.some((event) => event.type === 'ToolCallUnknown')).toBe(true);
    expect(events.find((event) => event.type === 'RecoveryChecked')?.data).toMatchObject({ decision: 'record' });
    expect(events.some((event) => event.type === 'ToolCallSucceeded' && event.data.via === 'look-up')).toBe(true);
  });
});

test('a demo whose reader goes away stops everything that it started', async () => {
  const here = cli();
  try {
    const end = await here.deaf('Web UI', ['demo', '--port', '0', '--ui-port', '0']);
    expect(end.signal).toBeNull();
    expect(here.running()).toEqual([]);
  } finally {
    await here.stop();
  }
});
