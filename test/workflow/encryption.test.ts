// Payload encryption on the real server: nothing that a run says or does is readable in Temporal, failures and summaries included;
// keys change while runs wait; a key that is missing holds a run up and loses nothing; what was written in plain stays readable;
// and the codec server reads a real history for the Web UI.
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@temporalio/client';
import { openEncryption } from '../../src/adapters/codec/encryption';
import { openCodecServer } from '../../src/adapters/codec/server';
import { createClient } from '../../src/client/client';
import { keysIn } from '../../src/client/payloads';
import { workflowIdOf } from '../../src/messages';
import { heldBy, opened } from '../e2e/support/search';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';
import type { WorkerProcess } from '../rig/worker-process';

const ROOT = path.join(__dirname, '..', '..');
let rig: Rig;
let worker: WorkerProcess;
beforeAll(async () => {
  rig = await startRig({ encrypted: true });
  worker = await rig.worker();
}, 120_000);
afterAll(() => rig.stop(), 60_000);

interface Said { code: number; stdout: string; stderr: string }
async function longhaul(...args: string[]): Promise<Said> {
  const env = { ...process.env, TEMPORAL_ADDRESS: rig.server.address, LONGHAUL_STATE_DIR: rig.stateDir, NO_COLOR: '1' };
  return promisify(execFile)(process.execPath, [path.join(ROOT, 'bin', 'longhaul.js'), ...args], { env, cwd: rig.stateDir })
    .then(({ stdout, stderr }) => ({ code: 0, stdout, stderr }), (error: Said) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }));
}
const ok = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await longhaul(...args);
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  return stdout + stderr;
};
const encryption = () => openEncryption({ stateDir: rig.stateDir });
/** Asks until the command says so: it asks Temporal only briefly. */
async function says(pattern: RegExp, ...args: string[]): Promise<void> {
  for (let i = 0; i < 20; i += 1) {
    if (pattern.test(await ok(...args))) return;
    await sleep(500);
  }
  expect(await ok(...args)).toMatch(pattern);
}
const newest = (): string => encryption().keys.newest()?.kid ?? '';

const step = (id: string, action: object, dependsOn: string[] = [], more: object = {}) => ({ id, title: `Canary-title-${id}`, dependsOn, action, ...more });
const tool = (name: string, args: object) => ({ type: 'tool', tool: name, args });
const asking = { goal: 'Canary-goal', steps: [step('ask', { type: 'question', question: 'Canary-question?' }), step('stamp', tool('stamp', { text: { $from: 'ask' } }), ['ask'])] };
const asked = (runId: string) => rig.until(runId, (state) => Object.keys(state.questions)[0]);
/** Started as a client does, with a title for the Web UI. */
async function accepted(runId: string, plan: unknown = asking): Promise<string> {
  const client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig', encryption: encryption() });
  expect(await client.start({ agent: 'tester', runId, plan: plan as never, input: { note: 'Canary-input' }, owner: ANN, title: 'Canary-title of all' })).toMatchObject({ kind: 'started' });
  return runId;
}
const answer = async (runId: string, value = 'Canary-answer') => rig.send(runId, { kind: 'answer', questionId: await asked(runId), answer: { value } });
const raw = async (runId: string): Promise<unknown[]> => (await rig.histories(runId)).map(({ history }) => history);
const kidsOf = async (runId: string): Promise<string[]> => [...keysIn(await raw(runId))];

/** All that this file's runs are given to say. Whatever begins so is nobody's business but the run's. */
const CANARY = { canary: 'Canary-' };

test('R10.9 B48 what runs are asked, do, say and fail with stands nowhere in Temporal, and with the key it can be read', async () => {
  const plan = { goal: 'Canary-goal', steps: [
    step('look', tool('look', { text: 'Canary-argument', fail: 'server' })), step('ask', { type: 'question', question: 'Canary-question?' }),
    step('pause', { type: 'wait', for: '1s' }, ['ask']), step('asked', tool('asked', { text: 'Canary-approved' }), ['pause']), step('stamp', tool('stamp', { text: 'Canary-refused', fail: 'permission' }), ['asked']),
  ] };
  await accepted('whole', plan);
  await answer('whole');
  await rig.send('whole', { kind: 'note', text: { value: 'Canary-note' } });
  const handle = rig.client.workflow.getHandle(workflowIdOf('whole'));
  await expect(handle.executeUpdate('message', { args: [{ messageId: 'bad', actor: ANN, body: { kind: 'Canary-kind' } }] })).rejects.toThrow();
  await handle.signal('Canary'.slice(0, 3), { text: 'Canary-signal' });
  const approvalId = await rig.until('whole', (state) => Object.keys(state.approvals)[0]);
  await rig.send('whole', { kind: 'approve', approvalId });
  await rig.until('whole', (state) => state.blocked);
  await rig.send('whole', { kind: 'settle', as: 'fail' });
  expect((await rig.end('whole')).status).toBe('FAILED');
  const stopped = await rig.run({ runId: 'stopped', plan: asking });
  await asked(stopped);
  await rig.send(stopped, { kind: 'cancel', reason: 'Canary-cancel' });
  expect((await rig.end(stopped)).status).toBe('CANCELLED');

  for (const runId of ['whole', 'stopped']) {
    const described = (await rig.client.workflow.getHandle(workflowIdOf(runId)).describe()).raw;
    const page = await fetch(`${rig.server.uiAddress}/api/v1/namespaces/default/workflows/${encodeURIComponent(workflowIdOf(runId))}/history`).then((one) => one.json());
    expect(heldBy(opened([await raw(runId), described, page]), CANARY)).toEqual([]);
    expect(await kidsOf(runId)).toEqual([newest()]);
  }
  expect(JSON.stringify(await raw('whole'))).toContain('Encoded failure');
  await expect(rig.client.workflow.getHandle(workflowIdOf('whole')).result()).rejects.toMatchObject({ cause: { message: 'It was asked to fail with permission.' } });
}, 120_000);

test('R10.9 the codec server reads a whole real history for the Web UI, for who has the token and from its pages alone', async () => {
  const [codec] = encryption().dataConverter.payloadCodecs ?? [];
  const origin = rig.server.uiAddress;
  const server = await openCodecServer({ codec: codec!, port: 0, origins: [origin], token: 'a-token' });
  try {
    const page = await fetch(`${origin}/api/v1/namespaces/default/workflows/${encodeURIComponent(workflowIdOf('whole'))}/history`).then((one) => one.json()) as unknown;
    const payloads: unknown[] = [];
    const collect = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      if ('metadata' in value && 'data' in value) payloads.push(value);
      else Object.values(value).forEach(collect);
    };
    collect(page);
    expect(payloads.length).toBeGreaterThan(20);
    const body = JSON.stringify({ payloads });
    const decoded = await fetch(`${server.url}/decode`, { method: 'POST', body, headers: { origin, 'content-type': 'application/json', 'x-namespace': 'default' } });
    expect([decoded.status, decoded.headers.get('access-control-allow-origin')]).toEqual([200, origin]);
    const text = opened(await decoded.json());
    for (const word of ['goal', 'question', 'approved', 'refused', 'title of all'].map((one) => `Canary-${one}`)) expect(text).toContain(word);
    const shown = await rig.server.temporalCli(['workflow', 'show', '-w', workflowIdOf('whole'), '--output', 'json', '--codec-endpoint', server.url]);
    expect(opened(JSON.parse(shown.stdout))).toContain('Canary-question');
    const elsewhere = await fetch(`${server.url}/decode`, { method: 'POST', body, headers: { origin: 'http://elsewhere.example' } });
    const tokenless = await fetch(`${server.url.replace('a-token', 'b-token')}/decode`, { method: 'POST', body, headers: { origin } });
    expect([elsewhere.status, elsewhere.headers.get('access-control-allow-origin'), tokenless.status]).toEqual([403, null, 401]);
  } finally {
    await server.close();
  }
}, 60_000);

test('R10.9 a key is changed while runs wait: they finish, what is new has the new key, and the old one is kept as long as it is needed', async () => {
  const old = newest();
  const [first, second] = [await rig.run({ plan: asking }), await rig.run({ plan: asking })];
  await Promise.all([asked(first), asked(second)]);
  expect(await ok('keys', 'rotate')).toContain('encrypts from now on');
  await answer(first);
  expect((await rig.end(first)).status).toBe('COMPLETED');
  await worker.kill();
  worker = await rig.worker();
  const refused = await longhaul('keys', 'retire', old);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(new RegExp(`needed by 1 open run \\(${second}\\)`))]);
  await answer(second);
  expect((await rig.end(second)).status).toBe('COMPLETED');
  for (const runId of [first, second]) expect(await kidsOf(runId)).toEqual(expect.arrayContaining([old, newest()]));
  expect((await longhaul('keys', 'retire', old)).stderr).toContain('ended execution');
}, 120_000);

test('R10.9 a key is gone: the run is shown as "missing key" and harmed by nothing, other runs go on, it finishes once the key is back, and one is restored without it', async () => {
  const [held, given] = [await accepted('held'), await accepted('given')];
  await Promise.all([asked(held), asked(given)]);
  const [gone, copy] = [newest(), path.join(rig.stateDir, 'copy.json')];
  copyFileSync(path.join(rig.stateDir, 'payload-keys.json'), copy);
  await ok('keys', 'rotate');
  await worker.kill();
  await ok('keys', 'retire', gone, '--force');
  worker = await rig.worker();
  const other = await rig.run({ plan: asking });
  await answer(other);
  expect((await rig.end(other)).status).toBe('COMPLETED');
  const sent = createClient({ stores: rig.stores, connection: rig.client.connection, encryption: encryption() })
    .message(held, { kind: 'answer', questionId: await asked(held), answer: { value: 'late' } }, { actor: ANN, messageId: 'late' });
  await expect(sent).resolves.toMatchObject({ known: false, state: 'kept' });

  await says(new RegExp(`missing key: the payload key ${gone} is missing[^]*next +npx longhaul keys import COPY where the worker runs`), 'runs', 'show', held);
  await says(new RegExp(`${held} +missing key .*the payload key ${gone} is missing: npx longhaul keys import COPY`), 'runs', 'list');
  await says(new RegExp(`${gone} +missing: 2 open runs \\([^)]*${held}`), 'keys', 'list');
  await says(new RegExp(`"status":"waiting".*"missingKey":"${gone}"`), 'runs', 'show', held, '--json');
  const doctor = await longhaul('doctor', '--task-queue', 'rig', '--config', path.join(ROOT, 'examples', 'folder-report'));
  expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining(`run ${held}: missing key: its history in Temporal needs the payload key ${gone}`)]);
  expect(await rig.types(held)).not.toContain('RunFailed');

  for (let i = 0; i < 100 && !readFileSync(rig.logFile, 'utf8').includes(`the payload key ${gone} is missing: open runs wait for it`); i += 1) await sleep(100);
  expect(readFileSync(rig.logFile, 'utf8')).toContain(`the payload key ${gone} is missing: open runs wait for it`);
  const refused = await longhaul('runs', 'restore', given, '--task-queue', 'rig');
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`encrypted with the payload key ${gone}, which is not here`)]);
  await ok('runs', 'restore', given, '--force', '--task-queue', 'rig');
  await answer(given, 'from the journal');
  expect([(await rig.end(given)).status, rig.effects(given).map(({ text }) => text)]).toEqual(['COMPLETED', ['from the journal']]);

  expect(await ok('keys', 'import', copy)).toContain(gone);
  const { state, status } = await rig.end(held, 90_000);
  expect([status, state.spent.failures, rig.effects(held).map(({ text }) => text)]).toEqual(['COMPLETED', 0, ['late']]);
}, 300_000);

test('R10.9 a key is missing at the worker alone, which has another or none at all: both are shown as "missing key" to who has it, and go on at a worker with it', async () => {
  const elsewhere = path.join(rig.stateDir, 'elsewhere');
  mkdirSync(elsewhere);
  openEncryption({ stateDir: elsewhere, demanded: true, make: true });
  const lacking = await Promise.all(['elsewhere', 'nowhere'].map((folder) => rig.worker({ taskQueue: folder, env: { LONGHAUL_PAYLOAD_KEYS_FILE: path.join(rig.stateDir, folder, 'payload-keys.json') } })));
  const runs = await Promise.all(['elsewhere', 'nowhere'].map((taskQueue) => rig.run({ taskQueue, plan: { goal: 'Canary-goal', steps: [step('stamp', tool('stamp', { text: 'once' }))] } })));
  for (const runId of runs) await says(new RegExp(`missing key: the payload key ${newest()} is missing[^]*next +npx longhaul keys import COPY where the worker runs`), 'runs', 'show', runId);
  expect(await longhaul('runs', 'restore', runs[0] ?? '')).toMatchObject({ code: 1, stderr: expect.stringMatching(new RegExp(`payload key ${newest()}, which is not here, or not where its worker runs`)) });
  for (const worker of lacking) await worker.kill();
  // Where the keyring itself is gone nothing is sent in plain, and no run is accepted that could not begin.
  rmSync(path.join(elsewhere, 'payload-keys.json'));
  const keyless = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig', encryption: openEncryption({ stateDir: elsewhere }) });
  await expect(keyless.start({ agent: 'tester', runId: 'refused', plan: asking as never, owner: ANN })).rejects.toThrow(/the file is gone; put it back from a copy/);
  expect(await rig.stores.journal.row('refused')).toBeNull();
  for (const taskQueue of ['elsewhere', 'nowhere']) await rig.worker({ taskQueue });
  for (const runId of runs) expect([(await rig.end(runId)).status, rig.effects(runId).length]).toEqual(['COMPLETED', 1]);
}, 180_000);

test('R10.9 a run that was begun in plain goes on and ends after encryption is turned on', async () => {
  const plainWorker = await rig.worker({ taskQueue: 'plain', env: { LONGHAUL_ENCRYPTION: 'off' } });
  const runId = await rig.run({ plan: asking, start: false });
  const row = (await rig.stores.journal.row(runId))!;
  await new Client({ connection: rig.client.connection }).workflow.start('agentRun', { taskQueue: 'plain', workflowId: workflowIdOf(runId), args: [{ v: 1, runId, epoch: 0, inputDigest: row.inputDigest, inputRef: row.inputRef }], workflowTaskTimeout: '5s' });
  await asked(runId);
  expect(await kidsOf(runId)).toEqual([]);
  // The journal has the question before the workflow task that asked it stands in the history.
  for (let n = 0; n < 100 && heldBy(opened(await raw(runId)), CANARY).length === 0; n += 1) await sleep(100);
  expect(heldBy(opened(await raw(runId)), CANARY)).toEqual(['canary']);
  await plainWorker.kill();
  await rig.worker({ taskQueue: 'plain' });
  await answer(runId);
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(await kidsOf(runId)).toEqual([newest()]);
}, 180_000);

test('a worker that may not start says why in one sentence and ends: no keys where they are demanded, or stores that cannot be opened', async () => {
  const empty = path.join(rig.stateDir, 'empty');
  const start = (env: Record<string, string>): Promise<{ code?: number | string; killed?: boolean; stderr: string }> => promisify(execFile)(process.execPath, [path.join(ROOT, 'bin', 'longhaul.js'), 'worker', '--state-dir', empty, '--task-queue', 'none', '--config', path.join(ROOT, 'examples', 'first-agent')],
    { env: { ...process.env, TEMPORAL_ADDRESS: rig.server.address, ...env }, timeout: 60_000 }).catch((error: { code: number; stderr: string }) => error);
  expect(await start({ LONGHAUL_ENCRYPTION: 'on' })).toMatchObject({ code: 1, killed: false, stderr: expect.stringMatching(/^Payloads are to be encrypted, and there are no keys here \(.*payload-keys\.json\): make them with `npx longhaul keys create`/) });
  writeFileSync(path.join(empty, 'longhaul.db'), 'this is no database, it is only long enough to look like one '.repeat(100));
  expect(await start({})).toMatchObject({ code: 1, killed: false, stderr: expect.stringMatching(/longhaul\.db/) });
}, 300_000);

test('B17 the codec fails once after the effect: the run goes on, and the effect is there once', async () => {
  const flag = path.join(rig.stateDir, 'fail-once');
  const fault = path.join(rig.stateDir, 'fault.cjs');
  // The next encryption after the effect fails, whoever asks for it: a fault of the machine, not one of our own making.
  writeFileSync(fault, `const fs = require('node:fs'), crypto = require('node:crypto'), real = crypto.createCipheriv;
    crypto.createCipheriv = (...args) => {
      const done = fs.existsSync(${JSON.stringify(rig.effectsFile)}) && fs.readFileSync(${JSON.stringify(rig.effectsFile)}, 'utf8').includes('once-only');
      if (done && !fs.existsSync(${JSON.stringify(flag)})) { fs.writeFileSync(${JSON.stringify(flag)}, args[0]); throw new Error('the cipher failed'); }
      return real(...args);
    };`);
  const faulty = await rig.supervised({ taskQueue: 'faulty', env: { NODE_OPTIONS: `--require ${fault}` } });
  const runId = await rig.run({ taskQueue: 'faulty', plan: { goal: 'Once', steps: [step('stamp', tool('stamp', { text: 'once-only' }))] } });
  const { status } = await rig.end(runId);
  expect([readFileSync(flag, 'utf8'), status, rig.effects(runId).length]).toEqual(['aes-256-gcm', 'COMPLETED', 1]);
  await faulty.stop();
}, 180_000);
