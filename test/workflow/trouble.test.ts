// Trouble with tools on the real server: outsides that fail and recover, results and errors of any shape, tools that hold up their
// process, and a dead tool among many runs. The outside's own log, and a file that takes one line an effect, are the judges.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { identify } from '../../src/adapters/temporal/process-identity';
import type { EventOf, EventType, RunEvent } from '../../src/core/events';
import { workflowIdOf } from '../../src/messages';
import { startEffectServer, type EffectServer } from '../../src/testing/effect-server';
import { sleep, startRig, type Rig } from '../rig/rig';

const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-trouble-'));
const file = path.join(folder, 'lines.jsonl');
let rig: Rig;
let outside: EffectServer;
beforeAll(async () => {
  outside = await startEffectServer({ folder });
  rig = await startRig({ configFile: path.join(__dirname, '../rig/bench.config.ts'), env: { ISOLATED_FILE: file, LONGHAUL_SERVICE_EFFECTS: outside.url } });
  await rig.worker();
}, 120_000);
afterAll(async () => {
  await rig.stop();
  await outside.close();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const step = (id: string, tool: string, args: object, more: object = {}) => ({ id, title: id, action: { type: 'tool', tool, args }, ...more });
const plan = (...steps: object[]) => ({ goal: 'Trouble', steps });
const of = <T extends EventType>(events: RunEvent[], type: T): EventOf<T>['data'][] => events.flatMap((event) => (event.type === type ? [event.data as EventOf<T>['data']] : []));
const lines = (runId: string): { what: string; pid: number }[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as { what: string; pid: number; runId: string }).filter((line) => line.runId === runId) : []);
const keysSent = (thing: string): string[] => outside.requests().filter((line) => line.method === 'POST' && line.path === `/things/${thing}`).map(({ key }) => key ?? '');
const settled = (runId: string) => rig.until(runId, (state) => (state.end ?? state.blocked ?? Object.values(state.decisions)[0]) && state);

describe('R8.1 R8.2 B22 an outside that fails and recovers', () => {
  test.each(['keyed', 'seen'])('503, 503, then done, for %s: two retries with attempt and class, Retry-After waited out, one key, one effect', async (tool) => {
    const thing = `recovers-${tool}`;
    await outside.trouble(thing, { kind: 'fail', status: 503, retryAfterS: 1 }, { kind: 'fail', status: 503, retryAfterS: 2 });
    const runId = await rig.run({ plan: plan(step('do', tool, { thing })) });
    expect((await rig.end(runId)).state.end).toMatchObject({ status: 'completed', outcome: 'full' });
    const events = await rig.events(runId);
    const retries = of(events, 'RetryScheduled');
    expect(retries).toMatchObject([{ attempt: 1, class: 'server' }, { attempt: 2, class: 'server' }]);
    expect(retries.every(({ delayMs }, i) => delayMs >= (i + 1) * 1_000)).toBe(true);
    expect([keysSent(thing).length, new Set(keysSent(thing)).size, outside.effects(thing).length]).toEqual([3, 1, 1]);
  });

  test('429 is known to have done nothing: tried again by the law alone, after its Retry-After', async () => {
    await outside.trouble('paused', { kind: 'fail', status: 429, retryAfterS: 1 });
    const runId = await rig.run({ plan: plan(step('do', 'keyed', { thing: 'paused' })) });
    await rig.end(runId);
    expect(of(await rig.events(runId), 'RetryScheduled')).toMatchObject([{ attempt: 1, class: 'rate-limited', delayMs: expect.any(Number) }]);
    expect(outside.effects('paused')).toHaveLength(1);
  });

  test('422 is an answer: nothing is sent again, and the run is blocked with the reason', async () => {
    await outside.trouble('refuses', { kind: 'refuse' });
    const runId = await rig.run({ plan: plan(step('do', 'keyed', { thing: 'refuses' })) });
    const state = await settled(runId);
    expect(state.blocked).toMatchObject({ failure: { class: 'business-refusal', code: 'http-422' }, steps: ['do'] });
    expect([of(await rig.events(runId), 'RetryScheduled'), keysSent('refuses').length, outside.effects('refuses')]).toEqual([[], 1, []]);
    await rig.send(runId, { kind: 'settle', as: 'fail' });
    expect((await rig.end(runId)).state.end).toMatchObject({ status: 'failed' });
  });
});

describe('R8.3 an outside that stays away: tried three times, then the run is blocked and a person answers', () => {
  const blocked = async (thing: string) => {
    // An answer, so that what other tests did to this tool does not open its breaker here.
    await rig.end(await rig.run({ plan: plan(step('do', 'seen', { thing: 'well' })) }));
    await outside.trouble(thing, ...[1, 2, 3].map(() => ({ kind: 'fail' as const, status: 503 })));
    const runId = await rig.run({ plan: plan(step('made', 'plain', { how: 'answers:large' }), step('do', 'seen', { thing }, { dependsOn: ['made'] }), step('after', 'plain', { how: 'answers:nothing' }, { dependsOn: ['do'] })) });
    const state = await settled(runId);
    expect(state.blocked).toMatchObject({ failure: { class: 'server' }, steps: ['do'] });
    const events = await rig.events(runId);
    expect([of(events, 'RetryScheduled').length, of(events, 'ToolCallFailed').map(({ attempt, final }) => [attempt, final])]).toEqual([2, [[1, false], [2, false], [3, true]]]);
    expect(state.steps.find(({ id }) => id === 'made')?.output).toMatchObject({ ref: { summary: 'large' } });
    return runId;
  };
  test.each([
    ['retry', { kind: 'settle', as: 'retry' }, { status: 'completed', outcome: 'full' }, 1, ['answers:large', 'answers:nothing']],
    ['skip', { kind: 'settle', as: 'skip', stepId: 'do' }, { status: 'completed', outcome: 'partial' }, 0, ['answers:large', 'answers:nothing']],
    ['partial', { kind: 'settle', as: 'partial' }, { status: 'completed', outcome: 'partial' }, 0, ['answers:large']],
    ['fail', { kind: 'settle', as: 'fail' }, { status: 'failed' }, 0, ['answers:large']],
  ] as const)('settled as %s', async (how, body, end, effects, done) => {
    const runId = await blocked(`away-${how}`);
    expect(await rig.send(runId, body)).toMatchObject({ kind: 'done' });
    expect((await rig.end(runId)).state.end).toMatchObject(end);
    expect([outside.effects(`away-${how}`).length, lines(runId).map(({ what }) => what)]).toEqual([effects, done]);
  });
});

/** What the journal says of an error: its class and code, and one short sentence. */
const TOLD: Record<string, object[]> = {
  'throws:cyclic': [{ why: expect.stringContaining('[object Object]'), cause: { class: 'unknown' } }], 'throws:nothing': [{ why: 'It failed without a word.', cause: { class: 'unknown', code: 'error' } }],
  'throws:text': [{ why: 'plain', cause: { class: 'unknown', code: 'error' } }], 'throws:large': [{ why: expect.stringMatching(/^x+…$/), cause: { class: 'unknown', code: 'Error' } }],
  'throws:many': [{ why: 'a; b', cause: { class: 'unknown', code: 'AggregateError' } }], 'throws:refusal': [{ failure: { class: 'business-refusal', code: 'no', message: 'It says no.' } }],
};

describe('B17 B45 a tool with an effect, however it ends: one effect, and the run says what is known', () => {
  test.each([
    ['answers:large', 'completed'], ['answers:cyclic', 'completed'], ['throws:cyclic', 'asks'], ['throws:nothing', 'asks'], ['throws:text', 'asks'], ['throws:large', 'asks'], ['throws:many', 'asks'], ['throws:refusal', 'blocked'],
  ])('%s: the run is %s', async (how, outcome) => {
    for (const tool of how.includes('cyclic') ? ['plain', 'blind'] : ['plain']) {
      const runId = await rig.run({ plan: plan(step('do', tool, { how })) });
      const state = await settled(runId);
      expect([state.end?.status ?? (state.blocked ? 'blocked' : 'asks'), lines(runId).map(({ what }) => what)]).toEqual([outcome, [how]]);
      const told = (await rig.events(runId)).filter(({ type }) => type === 'ToolCallUnknown' || type === 'ToolCallFailed');
      expect(told.map(({ data }) => data)).toMatchObject(TOLD[how] ?? []);
      for (const { data } of told) expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(2_048);
      if (outcome === 'completed') continue;
      if (outcome === 'asks') expect(await rig.send(runId, { kind: 'resolve', callId: 'c1', verdict: 'happened', reference: 'seen' })).toMatchObject({ kind: 'done' });
      else await rig.send(runId, { kind: 'settle', as: 'partial' });
      expect((await rig.end(runId)).state.end?.status).toBe('completed');
      expect((await rig.client.workflow.getHandle(workflowIdOf(runId)).describe()).status.name).toBe('COMPLETED');
      expect(lines(runId)).toHaveLength(1);
    }
  });

  test('one whose worker dies after the effect: a person is asked, nothing is done again', async () => {
    const taskQueue = 'dies';
    const worker = await rig.supervised({ taskQueue, env: { LONGHAUL_CRASH_AT: 'call:sent:plain', LONGHAUL_CRASH_ONCE: path.join(folder, 'died') } });
    const runId = await rig.run({ taskQueue, plan: plan(step('do', 'plain', { how: 'answers:nothing' })) });
    const state = await settled(runId);
    expect([Object.values(state.decisions).length, worker.deaths(), lines(runId).length]).toEqual([1, 1, 1]);
    await rig.send(runId, { kind: 'resolve', callId: 'c1', verdict: 'happened', reference: 'seen' });
    await rig.end(runId);
    expect(lines(runId)).toHaveLength(1);
    await worker.stop();
  });
});

describe('R7.1 a tool that holds up its own process', () => {
  /** One that is dead and not reaped yet does not live. */
  const lives = (pid: number): boolean => identify(pid) !== undefined;
  const spinning = async (tool: string, taskQueue?: string) => {
    const runId = await rig.run({ ...(taskQueue === undefined ? {} : { taskQueue }), plan: plan(step('do', tool, { how: 'spins' })) });
    for (const until = Date.now() + 30_000; lines(runId).length === 0 && Date.now() < until;) await sleep(50);
    return { runId, pid: lines(runId)[0]?.pid ?? 0 };
  };

  test.each([['reader', []], ['blind', [expect.stringContaining('blind')]]])('%s is cancelled within seconds, and the report says what is not known', async (tool, unknown) => {
    const { runId, pid } = await spinning(tool);
    const from = Date.now();
    await rig.client.workflow.getHandle(workflowIdOf(runId)).cancel();
    const { state, status } = await rig.end(runId);
    expect([status, state.end?.report?.unknown, lives(pid)]).toEqual(['CANCELLED', unknown, false]);
    expect(Date.now() - from).toBeLessThan(10_000);
  });

  test('keeps its lease for longer than one lasts, and dies with its worker', async () => {
    const taskQueue = 'held';
    const worker = await rig.worker({ taskQueue });
    const { runId, pid } = await spinning('blind', taskQueue);
    await sleep(17_000);
    expect([(await rig.stores.ledger.byRun(runId))[0]?.state, lives(pid)]).toEqual(['claimed', true]);
    await worker.kill();
    await sleep(300);
    expect(lives(pid)).toBe(false);
    const next = await rig.worker({ taskQueue });
    const state = await settled(runId);
    expect([Object.values(state.decisions).length, lines(runId).length]).toEqual([1, 1]);
    await rig.send(runId, { kind: 'resolve', callId: 'c1', verdict: 'give-up' });
    await rig.send(runId, { kind: 'settle', as: 'partial' });
    await rig.end(runId);
    await next.kill();
  });
});

test('R8.5 thirty runs with a tool that is down: its outside is left in peace, another run goes on at once, and all complete when it is back', async () => {
  await outside.trouble('crowd', ...Array.from({ length: 400 }, () => ({ kind: 'fail' as const, status: 503 })));
  const asks = (): number => keysSent('crowd').length;
  const crowd = await Promise.all(Array.from({ length: 30 }, () => rig.run({ plan: plan(step('do', 'down', { thing: 'crowd' })) })));
  await rig.until(crowd[0] ?? '', (_, events) => events.some(({ type }) => type === 'RetryScheduled'));
  await sleep(8_000);
  const [before, from] = [asks(), Date.now()];
  const other = await rig.run({ plan: plan(step('a', 'fetched', { thing: 'free' }), step('b', 'keyed', { thing: 'free' }, { dependsOn: ['a'] })) });
  expect((await rig.end(other)).state.end).toMatchObject({ status: 'completed' });
  expect(Date.now() - from).toBeLessThan(5_000);
  // Thirty runs that each ask again after 50 to 800 ms would have asked hundreds of times.
  expect(before).toBeLessThan(60);
  await sleep(5_000);
  expect(asks() - before).toBeLessThan(5);
  for (let left = 400 - asks(); left > 0; left -= 50) await Promise.all(Array.from({ length: Math.min(50, left) }, () => fetch(`${outside.url}/things/crowd`, { method: 'POST', body: '{}' })));
  for (const runId of crowd) expect((await rig.end(runId, 150_000)).state).toMatchObject({ end: { status: 'completed' }, spent: { failures: expect.any(Number) } });
}, 240_000);
