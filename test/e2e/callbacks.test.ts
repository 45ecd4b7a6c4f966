// The example whose results come later, as a user runs it: the outside calls back over HTTP at the address that the tool gave it, a
// person does so at the command line, and both hear what became of it. `dev` serves the door, on a port that is kept.
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cli, ROOT, until, type Cli } from './support/cli';

const EXAMPLE = path.join(ROOT, 'examples', 'called-back');
let here: Cli;
const file = (name: string): string => path.join(here.stateDir, name);
const LETTERS = () => ({ LETTERS_FILE: file('letters.jsonl') });
beforeAll(async () => {
  here = cli();
  mkdirSync(file('node_modules'));
  symlinkSync(ROOT, file('node_modules/longhaul'), 'dir');
  for (const name of ['longhaul.config.ts', 'plan.yaml']) copyFileSync(path.join(EXAMPLE, name), file(name));
  await here.dev(LETTERS());
}, 60_000);
afterAll(() => here.stop(), 60_000);

interface Letter { key: string; callBack: string; texts: string[] }
const letters = (): Letter[] => (existsSync(file('letters.jsonl')) ? readFileSync(file('letters.jsonl'), 'utf8') : '').split('\n').filter(Boolean).map((line) => JSON.parse(line) as Letter);
const post = async (url: string, eventId: string, payload: unknown, item?: string): Promise<[number, string]> => {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', 'longhaul-event-id': eventId, ...(item === undefined ? {} : { 'longhaul-item': item }) }, body: JSON.stringify(payload) });
  return [answer.status, ((await answer.json()) as { kind: string }).kind];
};
interface Wait { waitId: string; kind: string; what: string; until: number; then: string; command: string }
const waitOf = (runId: string, kind: string, what: string): Promise<Wait> => until(`${runId} waits for ${what}`, async () => {
  const { waits } = JSON.parse((await here.run(['runs', 'show', runId, '--json'])).stdout) as { waits: Wait[] };
  return waits.find((wait) => wait.kind === kind && wait.what.includes(what));
});

test('R5.1 what was asked for outside is told over HTTP and at the command line, out of order and twice, across a restart of everything', async () => {
  expect((await here.run(['run', 'translator', '--plan', 'plan.yaml', '--run-id', 'french'])).code).toBe(0);
  const open = await waitOf('french', 'callback', 'the result of translate');
  expect(open).toMatchObject({ what: 'the result of translate (Have them translated): 0 of 2 items have come', then: 'goes on with what has come', command: `longhaul callback ${open.waitId} --event-id ID --item KEY --payload JSON` });
  expect((await here.run(['inbox', '--kind', 'callback'])).stdout).toContain(`npx ${open.command}`);
  const [letter] = letters();
  expect(letter?.callBack).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/callbacks/${open.waitId}$`));
  expect(await post(letter!.callBack, 'n', 'bonne nuit', '2')).toEqual([200, 'counted']);
  await here.killAll();
  await here.dev(LETTERS());
  expect(await post(letter!.callBack, 'n', 'bonne nuit', '2')).toEqual([200, 'counted']);
  expect(await post(letter!.callBack, 'n', 'something else', '2')).toEqual([409, 'refused']);
  writeFileSync(file('morning.json'), '"bonjour"');
  const told = await here.run(['callback', open.waitId, '--event-id', 'm', '--item', '1', '--payload', 'morning.json']);
  expect([told.code, told.stderr]).toEqual([0, expect.stringContaining('all 2 have come')]);
  const editor = await waitOf('french', 'callback', 'the word of the editor');
  expect(await post(letter!.callBack, 'late', 'x', '3')).toEqual([410, 'closed']);
  expect((await here.run(['callback', editor.waitId, '--event-id', 'e', '--payload', '{"fine":true}'])).code).toBe(0);
  const end = await here.run(['runs', 'watch', 'french']);
  expect([end.code, end.stderr, letters().length]).toEqual([0, expect.stringContaining('completed'), 1]);
  const events = await here.events('french');
  expect(events.flatMap((event) => (event.type === 'StepCompleted' && 'value' in event.data.output ? [event.data.output.value] : []))).toEqual([
    { came: 2, complete: true, expected: 2, items: [{ item: '1', value: 'bonjour' }, { item: '2', value: 'bonne nuit' }] }, { fine: true },
  ]);
  expect((await here.run(['replay', 'french'])).code).toBe(0);
}, 120_000);

test('a callback at the command line ends with 0 when it counted before, with 1 when it is over, unknown or another, with 2 when it cannot be read', async () => {
  const { waitId } = (await here.events('french')).flatMap((event) => (event.type === 'CallbackAwaited' && event.data.callId ? [{ waitId: event.data.callbackId }] : []))[0]!;
  const told = async (...args: string[]): Promise<[number | null, string]> => { const { code, stderr } = await here.run(['callback', ...args]); return [code, stderr]; };
  expect((await told(waitId, '--event-id', 'm', '--item', '1', '--payload', '"bonjour"'))[0]).toBe(0);
  expect(await told(waitId, '--event-id', 'm', '--item', '1', '--payload', '"salut"')).toEqual([1, expect.stringContaining('was told before with something else in it')]);
  expect(await told(waitId, '--event-id', 'new', '--payload', '1')).toEqual([1, expect.stringContaining('The run is completed')]);
  expect(await told('cb-nobody', '--event-id', 'e', '--payload', '1')).toEqual([1, expect.stringContaining('No run here ever asked for cb-nobody')]);
  expect(await told(waitId, '--event-id', 'e', '--payload', 'nobody.json')).toEqual([2, expect.stringContaining('there is no file nobody.json')]);
  expect(await told(waitId, '--event-id', 'e', '--payload', '{')).toEqual([2, expect.stringContaining('--payload is not JSON')]);
  expect((await told(waitId, '--payload', '1'))[0]).toBe(2);
}, 60_000);
