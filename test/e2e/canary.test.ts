// R2.4 on the real server with the built command line: secrets that come as variables, by reference, from a file, as a model's key,
// and leave as results, headers, addresses, errors, logs, artifacts, previews and model texts are found nowhere: no file of the
// state folder (Temporal's database among them), no history, no answer of the server, no output of any command. What is no
// secret is found in all these places by the same search, so that the search can fail.
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { startChatServer, type ChatServer, type Reply } from '../../src/testing/chat-server';
import { cli, ROOT, until, type Cli, type Dev, type Ended } from './support/cli';
import { filesHolding, formsOf, heldBy, opened } from './support/search';

/** What must be found nowhere. */
const SECRET = {
  file: 'canary-file-91c2/e+d "x" & é',
  declared: 'canary-declared-7f3a91c2d4',
  variable: 'canary-variable-0451-abcdef',
  modelKey: 'canary-model-key-55aa77',
};
const PIN = 'pin-that-is-hidden-8812';
/** What nobody has called a secret: kept as it is, and found by the same search. */
const CONTROL = { control: 'control-value-3e5f/77+x' };
/** What a client does not know and the worker does. */
const UNKNOWN = { unknown: 'canary-unknown-to-the-client-4d' };

let here: Cli;
let dev: Dev;
let outside: Server;
let model: ChatServer;
let keys: string;
const ended: Ended[] = [];
/** Everything that the model is told. */
const told = (): string => JSON.stringify(model.requests.map(({ body }) => body));
const env = (): Record<string, string> => ({ LONGHAUL_SECRETS_FILE: path.join(keys, 'secrets.env'), DECLARED_FROM: SECRET.declared, CANARY_TOKEN: SECRET.variable });

/** Runs a command and keeps what it said. */
async function run(args: string[], more?: Record<string, string>): Promise<Ended> {
  const end = await here.run(args, more);
  ended.push(end);
  return end;
}

function planFile(name: string, steps: object[]): string {
  const file = path.join(keys, `${name}.json`);
  writeFileSync(file, JSON.stringify({ goal: name, steps }));
  return file;
}
const leak = (how: string, args: object = { key: { $secret: 'declared' } }) => ({ id: how, title: `Leak: ${how}`, action: { type: 'tool', tool: 'leak', args: { how, ...args } } });
const started = (runId: string, steps: object[]) => run(['run', 'clerk', '--plan', planFile(runId, steps), '--run-id', runId, '--watch']);

/** A model that repeats what it must not know: as text, as an argument of a call, and as an error of the provider. */
function say({ messages }: { messages: { role: string; content?: unknown }[] }): Reply {
  const all = Object.values(SECRET);
  const asked = JSON.stringify(messages);
  if (asked.includes('Refuse me')) return { status: 400, code: 'bad', message: `I refuse ${all.join(' ')} in Authorization: Bearer ${SECRET.modelKey}` };
  if (asked.includes('A step of text')) return { text: JSON.stringify({ said: all, base64: Buffer.from(all.join()).toString('base64') }) };
  const turns = messages.filter(({ role }) => role === 'assistant').length;
  if (turns === 0) return { text: `I call with ${all.join()}`, calls: [{ tool: 'leak', args: { how: 'small', key: SECRET.declared } }, { tool: 'leak', args: { how: 'small', pin: 'none' } }] };
  if (turns === 1) return { calls: [{ tool: 'leak', args: { how: 'large' } }] };
  return { text: `Done, and I know ${all.join(' and ')}.` };
}

beforeAll(async () => {
  here = cli();
  keys = mkdtempSync(path.join(tmpdir(), 'longhaul-keys-'));
  writeFileSync(path.join(keys, 'secrets.env'), `# secrets of the test\nPAYKEY='${SECRET.file}'\n`, { mode: 0o600 });
  mkdirSync(path.join(here.stateDir, 'node_modules'));
  symlinkSync(ROOT, path.join(here.stateDir, 'node_modules', 'longhaul'), 'dir');
  copyFileSync(path.join(__dirname, 'support', 'canary.config.ts'), path.join(here.stateDir, 'longhaul.config.ts'));
  outside = createServer((request, response) => response.writeHead(401).end(JSON.stringify({ error: `no entry for ${request.headers.authorization} and ${request.headers['x-secret']}`, url: request.url })));
  await new Promise<void>((resolve) => { outside.listen(0, '127.0.0.1', resolve); });
  model = await startChatServer({ answers: say as never });
  dev = await here.dev({
    ...env(), LONGHAUL_SERVICE_OUTSIDE: `http://127.0.0.1:${(outside.address() as AddressInfo).port}`,
    LONGHAUL_MODEL: `openai-compatible:${model.url}#canary`, LONGHAUL_MODEL_API_KEY: SECRET.modelKey, LONGHAUL_SECRET_UNKNOWN: UNKNOWN.unknown,
  });
}, 120_000);
afterAll(async () => {
  await here.stop();
  await model.close();
  outside.close();
  rmSync(keys, { recursive: true, force: true });
}, 60_000);

/** Everything that this folder, its server and its commands have: by place, the names of what is held there. */
async function everywhere(values: Record<string, string>): Promise<Record<string, string[]>> {
  const connection = await Connection.connect({ address: dev.address });
  const client = new Client({ connection });
  const found: Record<string, string[]> = { files: filesHolding(here.stateDir, values), commands: ended.flatMap(({ stdout, stderr }) => heldBy(`${stdout}\n${stderr}`, values)), history: [], described: [], http: [] };
  for await (const info of client.workflow.list()) {
    const handle = client.workflow.getHandle(info.workflowId, info.runId);
    found['history']?.push(...heldBy(opened(await handle.fetchHistory()), values).map((name) => `${info.workflowId}: ${name}`));
    found['described']?.push(...heldBy(opened((await handle.describe()).raw), values));
    const page = await fetch(`${dev.uiAddress}/api/v1/namespaces/default/workflows/${encodeURIComponent(info.workflowId)}/history`);
    expect(page.status).toBe(200);
    found['http']?.push(...heldBy(opened(await page.json()), values));
  }
  await connection.close();
  return found;
}

const NOWHERE = { files: [], commands: [], history: [], described: [], http: [] };

test('R2.4 runs whose tools and model give secrets away end as they should: one succeeded, one failed, one blocked, two waiting', async () => {
  const whole = await started('whole', [
    leak('small'), leak('large'), leak('log'), leak('artifact'), leak('loud'),
    { id: 'say', title: 'Say', dependsOn: ['small'], action: { type: 'model', prompt: 'A step of text', args: { from: { $from: 'small' } } } },
  ]);
  expect([whole.code, whole.stderr.slice(-300)]).toEqual([0, expect.stringContaining('completed (full)')]);
  expect(whole.stdout).toContain('[secret declared]');

  const blocked = await started('blocked', ['header', 'address', 'text', 'object', 'refused'].map((how) => ({ ...leak(how), optional: how !== 'refused' })));
  expect([blocked.code, blocked.stderr]).toEqual([6, expect.stringContaining('settle')]);

  const planned = await run(['run', 'planner', '--input', '{"question":"Well?","key":{"$secret":"PAYKEY"}}', '--run-id', 'planned', '--watch']);
  expect([planned.code, planned.stderr.slice(-300)]).toEqual([0, expect.stringContaining('completed (full)')]);

  const failed = await run(['run', 'planner', '--input', '{"question":"Refuse me"}', '--run-id', 'refused', '--watch']);
  expect([failed.code, failed.stderr.slice(-400)]).toEqual([6, expect.stringContaining('HTTP 400')]);
  expect((await run(['runs', 'settle', 'refused', '--as', 'fail'])).code).toBe(0);
  await until('the run that was settled fails', async () => (await run(['runs', 'show', 'refused'])).stdout.includes('failed') || undefined);

  const waiting = await started('waiting', [{ id: 'send', title: 'Send', action: { type: 'tool', tool: 'send', args: { how: 'small', key: { $secret: 'PAYKEY' }, pin: PIN } } }]);
  expect([waiting.code, waiting.stderr]).toEqual([5, expect.stringContaining('approval of send')]);
  const doubtful = await started('doubtful', [{ id: 'blind', title: 'Blind', action: { type: 'tool', tool: 'blind', args: { how: 'small', key: { $secret: 'declared' } } } }]);
  const { stdout } = await run(['approvals', 'list', '--json']);
  const id = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as { runId: string; waitId: string }).find((one) => one.runId === 'doubtful')?.waitId ?? '';
  expect([doubtful.code, (await run(['approvals', 'approve', id])).code]).toEqual([5, 0]);
  await until('a person is asked about the call in doubt', async () => (await run(['inbox'])).stdout.includes('whether blind') || undefined);
}, 240_000);

test('R2.4 every command shows these runs without a secret and without a sensitive argument', async () => {
  const { stdout } = await run(['approvals', 'list', '--json']);
  const id = (JSON.parse(stdout.split('\n')[0] ?? '{}') as { waitId: string }).waitId;
  const shown = [await run(['approvals', 'show', id]), await run(['approvals', 'show', id, '--json']), await run(['approvals', 'list']), await run(['inbox', '--json'])];
  expect(shown[0]?.stdout).toContain('with the pin [hidden]');
  expect(shown[0]?.stdout).toContain('"key":{"$secret":"PAYKEY"}');
  for (const { code, stdout: text } of shown) expect([code, text.includes(PIN)]).toEqual([0, false]);
  const few = (runId: string): string[][] => [['runs', 'show', runId], ['runs', 'events', runId, '--json']];
  const all = (runId: string): string[][] => [...few(runId), ['runs', 'show', runId, '--json'], ['runs', 'events', runId], ['runs', 'watch', runId], ['runs', 'watch', runId, '--json'], ['runs', 'export', runId],
    ['runs', 'checkpoint', runId], ['artifacts', 'list', runId], ['artifacts', 'list', runId, '--json'], ['replay', runId]];
  for (const args of [...all('whole'), ...['blocked', 'planned', 'refused', 'waiting', 'doubtful'].flatMap(few)]) {
    const { stdout: text, stderr } = await run(args);
    expect([args.join(' '), text + stderr]).toEqual([args.join(' '), expect.stringMatching(/\S/)]);
  }
  for (const args of [['doctor'], ['doctor', '--json'], ['runs', 'list'], ['runs', 'list', '--json'], ['temporal', 'workflow', 'show', '--workflow-id', 'run/whole', '--output', 'json'], ['temporal', 'workflow', 'list']]) await run(args);
  await run(['doctor'], env());
}, 240_000);

test('R2.4 a secret is refused at every door with exit 2 and a sentence that shows the reference, and nothing is started', async () => {
  const given = { input: JSON.stringify({ key: SECRET.file }), encoded: JSON.stringify({ url: `https://x/${encodeURIComponent(SECRET.file)}` }), base64: JSON.stringify([Buffer.from(`:${SECRET.declared}`).toString('base64')]) };
  for (const [name, input] of Object.entries(given)) {
    const end = await run(['run', 'planner', '--input', input, '--run-id', `door-${name}`], env());
    expect([end.code, end.stderr]).toEqual([2, `The input holds the value of the secret ${name === 'base64' ? 'declared' : 'PAYKEY'}: write {"$secret": "${name === 'base64' ? 'declared' : 'PAYKEY'}"} in its place. Nothing was started.\n`]);
  }
  const planned = await run(['run', 'clerk', '--plan', planFile('door', [leak('small', { key: SECRET.variable })]), '--run-id', 'door-plan'], env());
  expect([planned.code, planned.stderr]).toEqual([2, expect.stringContaining('The plan holds the value of the secret CANARY_TOKEN: write {"$secret": "CANARY_TOKEN"}')]);
  for (const args of [['runs', 'message', 'waiting', `Use ${SECRET.file}`], ['runs', 'message', 'waiting', `${'x'.repeat(600)} ${SECRET.file}`], ['runs', 'cancel', 'waiting', '--reason', SECRET.declared], ['runs', 'pause', 'waiting', '--as', SECRET.declared]]) {
    const end = await run(args, env());
    expect([args[1], end.code, end.stderr]).toEqual([args[1], 2, expect.stringMatching(/holds the value of the secret (PAYKEY|declared), .*\{"\$secret": ".*Nothing was sent\.\n$/s)]);
  }
  const { stdout } = await run(['runs', 'list', '--json']);
  expect(stdout).not.toContain('door-');
  const broken = path.join(keys, 'longhaul.config.cjs');
  writeFileSync(broken, 'throw new Error(`it failed with ${process.env.CANARY_TOKEN}`)');
  const unread = await run(['run', 'clerk', '--config', broken], env());
  expect([unread.code, unread.stderr]).toEqual([2, expect.stringContaining('it failed with [secret CANARY_TOKEN]')]);
  chmodSync(path.join(keys, 'secrets.env'), 0o644);
  const loose = await run(['run', 'planner', '--input', '{"question":"Well?"}', '--run-id', 'door-loose'], env());
  expect([loose.code, loose.stderr]).toEqual([2, `The secrets file ${path.join(keys, 'secrets.env')} may be read by others (mode 644): run chmod 600 ${path.join(keys, 'secrets.env')}\n`]);
  chmodSync(path.join(keys, 'secrets.env'), 0o600);
}, 120_000);

test('R2.4 after all this no secret is found anywhere: not in files and databases, histories, answers of the server, outputs, or what the model was told', async () => {
  expect(await everywhere(SECRET)).toEqual(NOWHERE);
  expect(heldBy(opened(told()), SECRET)).toEqual([]);
  expect(model.requests.every(({ headers }) => headers['authorization'] === `Bearer ${SECRET.modelKey}`)).toBe(true);
}, 120_000);

test('R2.4 a secret that only the worker knows fails the run before anything is done, and stands in nothing but the input that the client had stored', async () => {
  const end = await run(['run', 'planner', '--input', JSON.stringify({ question: 'Well?', deep: [UNKNOWN.unknown] }), '--run-id', 'unknown', '--watch']);
  expect([end.code, end.stderr]).toEqual([3, expect.stringContaining('{"$secret": "UNKNOWN"}')]);
  expect(await here.events('unknown').then((events) => events.map(({ type }) => type))).toEqual(['RunCreated', 'RunFailed']);
  const found = await everywhere(UNKNOWN);
  expect(found).toEqual({ ...NOWHERE, files: [expect.stringMatching(/^artifacts\/[0-9a-f]{2}\/[0-9a-f]{62}: unknown$/)] });
}, 60_000);

test('the search finds what is no secret in all these places, so that finding nothing means something', async () => {
  const ask = await started('control', [{ id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }, { id: 'big', title: 'Big', dependsOn: ['ask'], action: { type: 'question', question: 'And?' } }]);
  expect(ask.code).toBe(5);
  const questions = await run(['inbox', '--json']);
  const id = questions.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line) as { runId: string; waitId: string }).find((one) => one.runId === 'control')?.waitId ?? '';
  expect((await run(['answer', id, `The value is ${CONTROL.control}.`])).code).toBe(0);
  await run(['runs', 'events', 'control', '--json']);
  const found = await everywhere(CONTROL);
  expect(found['files']).toEqual(expect.arrayContaining([expect.stringMatching(/^longhaul\.db(-wal)?: control$/), expect.stringMatching(/^temporal.*\.(db|sqlite)(-wal)?: control$/)]));
  expect([found['commands'], found['history'], found['http']]).toEqual([expect.arrayContaining(['control']), ['run/control: control'], expect.arrayContaining(['control'])]);
  for (const [n, form] of formsOf(CONTROL.control).entries()) {
    const file = path.join(here.stateDir, `planted-${n}.log`);
    writeFileSync(file, `before ${form} after`);
    expect(filesHolding(here.stateDir, CONTROL)).toContain(`planted-${n}.log: control`);
    rmSync(file);
  }
}, 60_000);

test('R2.4 what dev and the worker said until they stopped, and the files that are left, hold no secret', async () => {
  ended.push(await dev.stop());
  expect(ended.flatMap(({ stdout, stderr }) => heldBy(`${stdout}\n${stderr}`, { ...SECRET, ...UNKNOWN }))).toEqual([]);
  expect(filesHolding(here.stateDir, SECRET)).toEqual([]);
}, 60_000);
