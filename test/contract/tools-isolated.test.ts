// Tools in processes of their own, over the real hands: everything that a tool is handed crosses, everything that it does to
// itself stays there, and whatever way its process ends the answer says what is certain.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { HandsDeps } from '../../src/activities';
import { makeCall } from '../../src/activities/call';
import { makeGate } from '../../src/activities/gate';
import { makePrepare } from '../../src/activities/prepare';
import { defineTool } from '../../src/adapters/tools/define-tool';
import { isolatedEnv, withIsolation } from '../../src/adapters/tools/isolated';
import { canonical, digestOf, type Json } from '../../src/core/canonical';
import type { Asked } from '../../src/core/wire';
import type { CallNeed, CallResult, GateEvidence, GateNeed, PrepareNeed, PrepareResult } from '../../src/core/world';
import type { ToolDefinition } from '../../src/ports/tool';
import { handsOver, toolFor, type HandsRig } from '../rig/hands';
import { tools } from '../rig/isolated.config';

const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-isolated-'));
const file = path.join(folder, 'effects.jsonl');
const CONFIG = path.join(__dirname, '../rig/isolated.config.ts');
const known = new Map((tools as unknown as ToolDefinition[]).map((tool) => [tool.name, tool]));
const isolated = withIsolation(known, { file: CONFIG, env: isolatedEnv({ ...process.env, ISOLATED_FILE: file, CANARY_TOKEN: 'canary' }) });
const lines = (): { what: string; pid: number }[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as { what: string; pid: number }) : []);
const lives = (pid: number): boolean => { try { return process.kill(pid, 0); } catch { return false; } };

let rig: HandsRig;
beforeEach(() => rmSync(file, { force: true }));
afterEach(() => rig.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function over(name: string, bend: (deps: HandsDeps) => Partial<HandsDeps> = () => ({})): Promise<ToolDefinition> {
  rig = await handsOver([isolated.get(name) as ToolDefinition]);
  Object.assign(rig.deps, bend(rig.deps));
  return isolated.get(name) as ToolDefinition;
}
const asked = (args: Json, more: Partial<CallNeed> = {}) => rig.need({ argsDigest: digestOf(args), ...more }, args);
const made = (args: Json, more?: Partial<CallNeed>): Promise<CallResult> => rig.environment().run(makeCall(rig.deps), asked(args, more));
const call = async (name: string, args: Json, more: Partial<CallNeed> = {}): Promise<CallResult> => {
  await over(name);
  return made(args, more);
};
const row = () => rig.deps.ledger.get(rig.need().need.key);
const valueOf = async (result: CallResult): Promise<Json> => {
  if (result.kind !== 'succeeded') throw new Error(canonical(result));
  return 'value' in result.output ? result.output.value : JSON.parse(Buffer.from(await rig.deps.artifacts.read(result.output.ref.sha256)).toString('utf8')) as Json;
};

test('everything that a tool is handed reaches its process, secrets and artifacts too, and what its schema makes of arguments', async () => {
  await over('actor');
  const ref = await rig.deps.artifacts.write(Buffer.from('stored before'), { mediaType: 'text/plain', summary: 's' });
  const result = await made({ how: 'all', sha256: ref.sha256, when: '2001-02-03', secret: { $secret: 'key' } });
  const value = await valueOf(result) as { pid: number; ref: { sha256: string } };
  expect(value).toMatchObject({ input: { from: 'test' }, key: rig.need().need.key, service: 'http://127.0.0.1/x', secret: 11, known: false, read: 'stored before', year: 2001, environment: null });
  expect(value.pid).not.toBe(process.pid);
  expect(Buffer.from(await rig.deps.artifacts.read(value.ref.sha256)).toString('utf8')).toBe('# Made here');
  expect([result, await row(), lines().map(({ what }) => what)]).toMatchObject([{ settled: true, artifacts: [{ role: 'ref' }] }, { state: 'done' }, ['all']]);
});

test('prepare, look-up and undo run in processes of their own as well', async () => {
  await over('actor', () => ({ policy: { decide: async () => ({ decision: 'ask', rule: 'r', why: 'w' }), describe: () => ({}) } as never }));
  const call0 = { args: { how: 'seen' }, inputs: {} };
  const want: Asked<PrepareNeed> = { runId: 'hands', epoch: 0, need: { kind: 'prepare', id: 'p', begun: true, n: 1, stepId: 's', tool: 'actor', version: '1.0.0', effect: 'reversible', owner: 'ann', agent: 'a', callId: 's#1', key: '', call: call0 } as never };
  const prepared: PrepareResult = await rig.environment().run(makePrepare(rig.deps), want);
  if (prepared.kind !== 'prepared') throw new Error(canonical(prepared));
  expect(prepared.resourceVersion).toBe('v0');
  expect(Buffer.from(await rig.deps.artifacts.read(prepared.previewRef?.sha256 ?? '')).toString('utf8')).toMatch(/^will do seen in \d+$/);
  const look: Asked<GateNeed> = { runId: 'hands', epoch: 0, need: { callId: 'c1', n: 1, tool: 'actor', version: '1.0.0', key: rig.need().need.key, call: call0, ledgerIncarnation: '', resourceVersion: null, premises: [], undo: false } };
  const evidence: GateEvidence = await rig.environment().run(makeGate(rig.deps), look);
  expect(evidence.lookUp).toEqual({ kind: 'absent' });
  await made({ how: 'seen' });
  const output = { value: { made: 1 } };
  expect(await valueOf(await made({ how: 'seen' }, { key: 'k1:undo', undoOf: { callId: 'c1', key: rig.need().need.key, output } }))).toMatchObject({ undone: { made: 1 } });
  expect(lines().map(({ what }) => what)).toEqual(['seen', 'undo seen']);
});

test('a tool that holds up its event loop does not hold up this one, and what it answers counts', async () => {
  await over('blind');
  let beats = 0;
  const timer = setInterval(() => { beats += 1; }, 20);
  const work = rig.environment().run(makeCall(rig.deps), asked({ how: 'spins:1' }));
  while (lines().length === 0) await new Promise((resolve) => { setTimeout(resolve, 20); });
  const from = beats;
  await new Promise((resolve) => { setTimeout(resolve, 1_000); });
  expect(beats - from).toBeGreaterThan(20);
  expect(await row()).toMatchObject({ state: 'claimed' });
  appendFileSync(file, '{}\n');
  expect(await work).toMatchObject({ kind: 'succeeded', settled: true });
  clearInterval(timer);
});

describe.each(['spins', 'deaf'])('R7.1 B28 a tool that %s is told to stop', (how) => {
  test.each([['blind', { kind: 'unknown' }, 'unknown'], ['reader', { kind: 'not-sent', why: 'cancelled' }, undefined]])('as %s: its group is killed within seconds, and the answer says what is certain', async (name, expected, state) => {
    await over(name as string);
    const environment = rig.environment();
    const mark = `7${process.pid}.${how.length}${String(name).length}`;
    const work = environment.run(makeCall(rig.deps), asked({ how, mark }));
    while (lines().length === 0) await new Promise((resolve) => { setTimeout(resolve, 20); });
    const from = Date.now();
    environment.cancel();
    expect(await work).toMatchObject(expected as object);
    expect(Date.now() - from).toBeLessThan(4_000);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
    expect([lives(lines()[0]?.pid ?? 0), execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes(`sleep ${mark}`)]).toEqual([false, false]);
    expect((await row())?.state).toBe(state);
  });
});

test('a tool that listens to its signal says itself what is certain: stopped before anything was sent, its claim goes back', async () => {
  await over('blind');
  const environment = rig.environment();
  const work = environment.run(makeCall(rig.deps), asked({ how: 'listens' }));
  while (lines().length === 0) await new Promise((resolve) => { setTimeout(resolve, 20); });
  environment.cancel();
  expect([await work, (await row())?.state]).toEqual([{ kind: 'not-sent', why: 'cancelled' }, 'released']);
});

test('a cancel before the tool has begun sends nothing', async () => {
  await over('blind');
  const environment = rig.environment();
  const work = environment.run(makeCall(rig.deps), asked({ how: 'spins' }));
  setTimeout(() => environment.cancel(), 60);
  expect([await work, (await row())?.state ?? 'released', lines()]).toEqual([{ kind: 'not-sent', why: 'cancelled' }, 'released', []]);
});

describe('B45 R4.3 whatever happens in the process of an effect, it is told for what it is', () => {
  test.each([
    ['exits', { kind: 'unknown', why: expect.stringContaining('exit code 7') }, 'unknown'],
    ['crashes', { kind: 'unknown', why: expect.stringContaining('ended') }, 'unknown'],
    ['throws:nothing', { kind: 'unknown', why: 'It failed without a word.' }, 'unknown'],
    ['throws:text', { kind: 'unknown', why: 'plain' }, 'unknown'],
    ['throws:cyclic', { kind: 'unknown' }, 'unknown'],
    ['throws:many', { kind: 'unknown', why: 'a; b' }, 'unknown'],
    ['throws:large', { kind: 'unknown', why: expect.stringMatching(/^x{900,}…$/) }, 'unknown'],
    ['throws:refusal', { kind: 'failed', failure: { class: 'business-refusal', code: 'no', message: 'It says no.' }, sent: true }, 'refused'],
    ['answers:cyclic', { kind: 'succeeded', output: { value: null }, settled: true }, 'done'],
    ['answers:nothing', { kind: 'succeeded', output: { value: null }, settled: true }, 'done'],
    ['answers:large', { kind: 'succeeded', output: { ref: { bytes: expect.any(Number) } }, summary: 'large', settled: true }, 'done'],
  ])('%s', async (how, expected, state) => {
    expect(await call('blind', { how })).toMatchObject(expected);
    expect([(await row())?.state, lines().map(({ what }) => what)]).toEqual([state, [how]]);
  });

  test('a reader keeps class, code and Retry-After, and a result that JSON cannot carry is refused', async () => {
    expect(await call('reader', { how: 'throws:pause' })).toMatchObject({ kind: 'failed', failure: { class: 'server', code: '503', retryAfterMs: 1_500 } });
    await rig.close();
    expect(await call('reader', { how: 'answers:cyclic' })).toMatchObject({ kind: 'failed', failure: { class: 'unknown', code: 'output-json' } });
  });
});

test('a configuration that cannot be read, or lost its tool, has begun nothing: the claim goes back', async () => {
  for (const where of ['/no/such/longhaul.config.ts', path.join(__dirname, '../rig/no-isolated.config.ts')]) {
    const lost = withIsolation(new Map([['act', toolFor(async () => 1, { isolation: 'process' })]]), { file: where, env: process.env }).get('act') as ToolDefinition;
    rig = await handsOver([lost]);
    expect(await rig.environment().run(makeCall(rig.deps), rig.need())).toMatchObject({ kind: 'failed', failure: { class: 'timeout-before-send', code: 'not-begun' }, sent: false });
    expect((await row())?.state).toBe('released');
    if (where.startsWith('/no')) await rig.close();
  }
});

test('isolation is declared as "process" and needs the path of the configuration', async () => {
  rig = await handsOver([]);
  expect(() => defineTool({ ...toolFor(async () => 1), isolation: 'vm' as never })).toThrow('`isolation` must be "process"');
  expect(() => withIsolation(known, { env: {} })).toThrow('configFile');
  expect(isolatedEnv({ A_KEY: '1', MY_DB: 'x', PATH: 'p', GH_TOKEN: 't' }, { db: { env: 'MY_DB' } })).toEqual({ PATH: 'p' });
});
