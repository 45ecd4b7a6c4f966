// What people do at the command line, under `longhaul dev`: the inbox, decisions by id, edits, approvals for the rest of a run,
// answers. One development server for the whole file.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { RunRow, WaitRow } from '../../src/core/row';
import { cli, ROOT, until, type Cli, type Ended } from './support/cli';

const CONFIG = `import { appendFile } from 'node:fs/promises';
import { defineAgent, defineConfig, defineTool, tablePolicy, z } from 'longhaul';
const put = async (line: object): Promise<void> => appendFile(process.env.OUT ?? '/dev/null', JSON.stringify(line) + '\\n');
const write = defineTool({ name: 'write', version: '1.0.0', description: 'Writes', effect: 'manual', honoursKey: true,
  input: z.strictObject({ path: z.string(), text: z.string().max(20) }), execute: async (args, call) => { await put({ ...args, key: call.key }); return args; } });
const pay = defineTool({ name: 'pay', version: '1.0.0', description: 'Pays', effect: 'irreversible', honoursKey: true,
  input: z.strictObject({ amount: z.number() }), execute: async (args, call) => { await put({ ...args, key: call.key }); return args; } });
export default defineConfig({
  agents: [defineAgent({ name: 'writer', version: '1.0.0', planner: 'declared' })], tools: [write, pay],
  policy: tablePolicy({ name: 'office', rules: [{ name: 'two-pay', tool: 'pay', decision: 'ask', quorum: 2, approvers: ['ann', 'bob'], expiresInMs: 3_600_000 }] }),
});
`;

let here: Cli;
const file = (name: string): string => path.join(here.stateDir, name);
beforeAll(async () => {
  here = cli();
  mkdirSync(file('node_modules'));
  symlinkSync(ROOT, file('node_modules/longhaul'), 'dir');
  writeFileSync(file('longhaul.config.ts'), CONFIG);
  await here.dev({ OUT: file('out.jsonl') });
}, 120_000);
afterAll(() => here.stop(), 60_000);

const lines = (text: string): Record<string, unknown>[] => text.split('\n').filter(Boolean).map((line) => JSON.parse(line) as Record<string, unknown>);
const effects = (): Record<string, unknown>[] => (existsSync(file('out.jsonl')) ? lines(readFileSync(file('out.jsonl'), 'utf8')) : []);
const write = (id: string, to: string, dependsOn: string[] = []): object => ({ id, title: `Write ${id}`, dependsOn, action: { type: 'tool', tool: 'write', args: { path: to, text: id } } });

async function begin(runId: string, steps: object[]): Promise<void> {
  writeFileSync(file(`${runId}.json`), JSON.stringify({ goal: `Goal of ${runId}`, steps }));
  const started = await here.run(['run', 'writer', '--plan', `${runId}.json`, '--run-id', runId]);
  expect([started.code, started.stderr]).toEqual([0, expect.anything()]);
}
const rowOf = async (runId: string): Promise<RunRow> => JSON.parse((await here.run(['runs', 'show', runId, '--json'])).stdout) as RunRow;
const waits = (runId: string, kind: WaitRow['kind'], count = 1): Promise<WaitRow[]> => until(`${runId} has ${count} open ${kind}`, async () => {
  const open = (await rowOf(runId)).waits.filter((wait) => wait.kind === kind);
  return open.length === count ? open : undefined;
});
const over = (runId: string): Promise<RunRow> => until(`${runId} is over`, async () => {
  const row = await rowOf(runId);
  return row.status === 'completed' ? row : undefined;
});
const idsOf = (ended: Ended): unknown[] => lines(ended.stdout).map(({ waitId }) => waitId);

test('the inbox shows all open waits of all runs by end, age and risk, each with the exact command that answers it', async () => {
  await begin('low', [write('w', 'a')]);
  const [low] = await waits('low', 'approval');
  await begin('high', [{ id: 'p', title: 'Pay it', action: { type: 'tool', tool: 'pay', args: { amount: 3 } } }]);
  const [high] = await waits('high', 'approval');
  await begin('asks', [{ id: 'q', title: 'Ask', action: { type: 'question', question: 'Which one?' } }]);
  const [asks] = await waits('asks', 'question');
  const inbox = (...more: string[]): Promise<Ended> => here.run(['inbox', '--json', ...more]);
  expect(idsOf(await inbox())).toEqual([high?.waitId, low?.waitId, asks?.waitId]);
  expect(idsOf(await inbox('--sort', 'age'))).toEqual([low?.waitId, high?.waitId, asks?.waitId]);
  expect(idsOf(await inbox('--sort', 'risk'))).toEqual([high?.waitId, low?.waitId, asks?.waitId]);
  expect(idsOf(await inbox('--kind', 'question'))).toEqual([asks?.waitId]);
  expect(idsOf(await inbox('--risk', 'manual'))).toEqual([low?.waitId]);
  expect(idsOf(await inbox('--for', 'mallory'))).toEqual([low?.waitId, asks?.waitId]);
  const { stdout, stderr } = await here.run(['inbox']);
  expect(stderr).toBe('3 open waits.\n');
  expect(stdout).toMatch(new RegExp(`${high?.waitId} +approval of pay \\(Pay it\\)\\n +approval · irreversible · asked .* · until in (1 h|\\d+ min), then the run is cancelled · for ann, bob; 2 people must approve, so far nobody has\\n +with \\{"amount":3\\}\\n +run high: Goal of high\\n +npx longhaul approvals approve ${high?.waitId}`));
  expect(stdout).toContain(`npx longhaul answer ${asks?.waitId} TEXT`);
});

test('R10.1 several ids are decided one by one, each with a line of its own; what fails does not keep the others', async () => {
  await begin('bulk', [write('x', 'b/x'), write('y', 'b/y'), write('z', 'b/z')]);
  const open = await waits('bulk', 'approval', 3);
  const [x, y, z] = ['x', 'y', 'z'].map((id) => open.find(({ what }) => what.includes(`Write ${id}`))?.waitId ?? '') as [string, string, string];
  const answer = await here.run(['approvals', 'approve', z, 'a-000000000000', x, '--as', 'ann', '--json']);
  expect(answer.code).toBe(1);
  expect(lines(answer.stdout)).toMatchObject([{ id: z, known: true, answer: { kind: 'granted' } }, { id: 'a-000000000000', known: false }, { id: x, known: true, answer: { kind: 'granted' } }]);
  const reject = await here.run(['approvals', 'reject', y, '--reason', 'not y']);
  expect([reject.code, reject.stderr]).toEqual([0, expect.stringMatching(new RegExp(`^${y}: Rejected by `))]);
  const late = await here.run(['approvals', 'edit', x, '--args', '{"path":"b/x","text":"too late"}', '--as', 'bob']);
  expect([late.code, late.stderr]).toEqual([1, expect.stringMatching(/your decision was not taken; (Already approved by ann|The run is)/)]);
  expect((await over('bulk')).outcome).toBe('partial');
  expect(effects().filter(({ path: to }) => String(to).startsWith('b/')).map(({ text }) => String(text)).sort()).toEqual(['x', 'z']);
  expect((await here.run(['approvals', 'approve', x, y, '--message-id', 'one'])).code).toBe(2);
});

test('R10.1 an edit says at once whether the arguments fit, and the edited call is made under its own key', async () => {
  await begin('edited', [write('e', 'e/1')]);
  const [first] = await waits('edited', 'approval');
  const bad = await here.run(['approvals', 'edit', 'edited', '--args', '{"path":"e/2","text":"far too long for this tool"}', '--as', 'ann']);
  expect([bad.code, bad.stderr]).toEqual([1, expect.stringMatching(/do not fit write: text.*is open as before/)]);
  const misspelt = await here.run(['approvals', 'edit', 'edited', '--args', '{"path":"e/2","text":"short","mode":"w"}', '--as', 'ann']);
  expect([misspelt.code, misspelt.stderr]).toEqual([1, expect.stringMatching(/knows? no mode|mode/)]);
  const second = first?.waitId ?? '';
  expect((await rowOf('edited')).waits.map(({ waitId }) => waitId)).toEqual([second]);
  writeFileSync(file('args.json'), '{"path":"e/2","text":"short"}');
  const good = await here.run(['approvals', 'edit', second, '--args', '@args.json', '--as', 'ann']);
  expect([good.code, good.stderr]).toEqual([0, expect.stringContaining('Edited by ann')]);
  await over('edited');
  expect(effects().filter(({ path: to }) => String(to).startsWith('e/'))).toMatchObject([{ path: 'e/2', text: 'short' }]);
  for (const [args, code] of [[['edit', 'edited', '--args', '{}'], 2], [['edit', second, '--args', '{'], 2], [['edit', second, '--args', '[]'], 2], [['edit', second], 2]] as const) {
    expect([args, (await here.run(['approvals', ...args])).code]).toEqual([args, code]);
  }
});

test('R10.1 who decides is shown all arguments, and no text of others paints over them', async () => {
  const to = `${'deep/'.repeat(40)}end-of-path`;
  await begin('whole', [{ ...write('w', to), title: 'Harmless\u001b[2A\u001b[2K\u202e' }]);
  const [asked] = await waits('whole', 'approval');
  const { stdout } = await here.run(['approvals', 'show', asked?.waitId ?? '']);
  expect(stdout).toContain(JSON.stringify({ path: to, text: 'w' }));
  expect(stdout).toContain('Harmless\\u001b[2A\\u001b[2K\\u202e');
  const both = (await here.run(['inbox'])).stdout + stdout;
  expect(['\u001b', '\u202e'].filter((sign) => both.includes(sign))).toEqual([]);
  expect((await here.run(['approvals', 'reject', asked?.waitId ?? ''])).code).toBe(0);
});

test('a decision that was refused for a cause that is gone is made by the same command', async () => {
  await begin('twice', [write('t', 't/1')]);
  const [asked] = await waits('twice', 'approval');
  const again = ['approvals', 'edit', asked?.waitId ?? '', '--args', '{"path":"t/2","text":{"$secret":"SET_LATER"}}', '--as', 'ann'];
  const before = await here.run(again);
  expect([before.code, before.stderr]).toEqual([1, expect.stringMatching(/SET_LATER.*is open as before/)]);
  writeFileSync(file('secrets.env'), 'SET_LATER=now-it-is-set\n', { mode: 0o600 });
  const after = await here.run(again);
  expect([after.code, after.stderr]).toEqual([0, expect.stringContaining('Edited by ann')]);
  await over('twice');
  expect(await here.run(again)).toMatchObject({ code: 0 });
  expect(effects().filter(({ path: where }) => where === 't/2')).toHaveLength(1);
});

test('R10.1 an approval for the rest of the run is shown with how to end it, here and in Temporal, and revoking ends it', async () => {
  await begin('granted', [write('a', 'out/a'), write('b', 'out/b', ['a']), write('c', 'elsewhere/c', ['b'])]);
  const [first] = await waits('granted', 'approval');
  expect((await here.run(['approvals', 'approve', first?.waitId ?? '', '--for', '2h'])).code).toBe(2);
  const both = await here.run(['approvals', 'approve', first?.waitId ?? '', '--rest-of-run', '--where', 'path=out/*', 'path=other/*']);
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('--where names path twice')]);
  const nowhere = await here.run(['approvals', 'approve', first?.waitId ?? '', '--rest-of-run', '--where', 'pth=out/*', '--as', 'ann']);
  expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringMatching(/write has no argument pth.*Its arguments are path, text.*is open as before/)]);
  const given = await here.run(['approvals', 'approve', first?.waitId ?? '', '--rest-of-run', '--for', '2h', '--where', 'path=out/*', '--as', 'ann']);
  const grantId = /approvals revoke (g-[0-9a-f]+)/.exec(given.stderr)?.[1] ?? '';
  expect([given.code, grantId]).toEqual([0, expect.stringMatching(/^g-/)]);
  await until('c asks', async () => (await rowOf('granted')).waits.some(({ what }) => what.includes('Write c')) || undefined);
  expect((await here.run(['runs', 'show', 'granted'])).stdout).toMatch(new RegExp(`standing approvals\\n +${grantId} +by ann: write@1 where path=out/\\* until 20.*, used 1 time\\n.*npx longhaul approvals revoke ${grantId}`));
  const wider = await here.run(['approvals', 'approve', first?.waitId ?? '', '--rest-of-run', '--as', 'bob']);
  expect([wider.code, wider.stderr]).toEqual([1, expect.stringMatching(/your decision was not taken; Already approved by ann/)]);
  expect((await here.run(['temporal', 'workflow', 'metadata', '--workflow-id', 'run/granted'])).stdout).toContain(`npx longhaul approvals revoke ${grantId}`);
  const revoked = await here.run(['approvals', 'revoke', grantId]);
  expect([revoked.code, revoked.stderr]).toEqual([0, expect.stringContaining('Revoked')]);
  expect((await here.run(['approvals', 'revoke', grantId])).code).toBe(0);
  expect((await here.run(['runs', 'show', 'granted'])).stdout).not.toContain('standing approvals');
  const [last] = await waits('granted', 'approval');
  expect((await here.run(['approvals', 'approve', last?.waitId ?? ''])).code).toBe(0);
  await over('granted');
  const byGrant = (await here.events('granted')).flatMap((event) => (event.type === 'ApprovalGranted' && event.data.grantId !== undefined ? [event.data.approvalId] : []))[0];
  expect((await here.run(['approvals', 'show', byGrant ?? ''])).stdout).toMatch(new RegExp(`granted +20.* by ann \\(grant ${grantId}\\)`));
  const uses = (await here.events('granted')).flatMap((event) => (event.type === 'ApprovalGranted' ? [event.data.grantId ?? 'by hand'] : []));
  expect(uses).toEqual(['by hand', grantId, 'by hand']);
});

test('R5.1 an answer may come from a file; a second one is told who was first; a message to a declared run is recorded', async () => {
  const [asks] = await waits('asks', 'question');
  const note = await here.run(['runs', 'message', 'asks', 'take your time']);
  expect([note.code, note.stderr]).toEqual([0, expect.stringContaining('follows a declared plan')]);
  writeFileSync(file('answer.txt'), 'the blue one\n'.repeat(100));
  const answer = await here.run(['answer', asks?.waitId ?? '', '@answer.txt', '--as', 'ann']);
  expect([answer.code, answer.stderr]).toEqual([0, expect.stringContaining('Answered by ann')]);
  await over('asks');
  const again = await here.run(['answer', asks?.waitId ?? '', 'the red one', '--as', 'bob']);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('your answer was not taken')]);
  const answered = (await here.events('asks')).find((event) => event.type === 'QuestionAnswered');
  expect(answered?.data).toMatchObject({ by: 'person', answer: { ref: { bytes: 1300 } } });
});

test('R10.1 a quorum at the command line: counted, refused twice and for strangers, granted by the second', async () => {
  const [high] = await waits('high', 'approval');
  const approve = async (name: string): Promise<[number | null, string]> => {
    const { code, stderr } = await here.run(['approvals', 'approve', high?.waitId ?? '', '--as', name]);
    return [code, stderr];
  };
  expect(await approve('ann')).toEqual([0, expect.stringContaining('1 more must approve')]);
  expect(await approve('  ann')).toEqual([0, expect.stringContaining('1 more must approve')]);
  for (const none of [' ', 'a\u200bnn']) expect(await approve(none)).toEqual([2, expect.stringContaining('needs a name')]);
  expect(await approve('mallory')).toEqual([1, expect.stringContaining('names ann, bob')]);
  expect(await approve('bob')).toEqual([0, expect.stringContaining('Approved by bob')]);
  await over('high');
  expect(effects().filter(({ amount }) => amount === 3)).toHaveLength(1);
  const [low] = await waits('low', 'approval');
  expect((await here.run(['approvals', 'approve', low?.waitId ?? ''])).code).toBe(0);
  await over('low');
  expect((await here.run(['inbox'])).stderr).toBe('Nobody is asked for anything.\n');
});
