// Caps and circuit breakers of one worker: when they let in, when they turn away and for how long, and that a call which is
// turned away by them has claimed nothing. Time is a number that the test moves.
import { Admission, type Let, type News, type Turned } from '../../src/activities/admission';
import { makeCall } from '../../src/activities/call';
import { admitted, TurnedAway } from '../../src/activities/admitted-model';
import { ToolError, type ErrorClass } from '../../src/core/failure';
import { scriptedModel, type ScriptedAnswer } from '../../src/testing/scripted-model';
import { handsOver, toolFor } from '../rig/hands';

let now = 0;
let told: string[] = [];
let door: Admission;
beforeEach(() => {
  [now, told] = [1_000_000, []];
  door = new Admission((message) => { told.push(message); }, () => now);
});
const enter = (name = 't', most = 16): Let | Turned => door.enter(name, most);
const letIn = (name = 't', most = 16): Let => {
  const entered = enter(name, most);
  if (entered.kind === 'busy') throw new Error(entered.why);
  return entered;
};
const wait = (name = 't'): number => {
  const entered = enter(name);
  if (entered.kind === 'let') { entered.leave(null); return 0; }
  return entered.retryAfterMs;
};
const ends = (news: News, name = 't'): void => letIn(name).leave(news);
const fails = (times: number, cls: ErrorClass = 'server'): void => { for (let i = 0; i < times; i += 1) ends({ class: cls }); };

describe('R8.5 the breaker', () => {
  test.each<ErrorClass>(['network', 'server', 'rate-limited', 'timeout-before-send'])('opens after five failures of class %s in a row, for five seconds, and says so once', (cls) => {
    fails(4, cls);
    expect(wait()).toBe(0);
    fails(1, cls);
    expect(wait()).toBe(5_000);
    expect(told).toEqual(['a dependency is given a pause']);
  });
  test.each<News>(['answered', { class: 'argument' }, { class: 'business-refusal' }, { class: 'not-found' }, { class: 'model-output' }])('an answer ends the row: %j', (news) => {
    fails(4);
    ends(news);
    fails(4);
    expect(wait()).toBe(0);
  });
  test.each<News>([null, { class: 'unknown' }, { class: 'cancelled' }, { class: 'model-key' }, { class: 'tool-missing' }])('%j says nothing about the dependency', (news) => {
    for (let i = 0; i < 20; i += 1) ends(news);
    expect(wait()).toBe(0);
    fails(4);
    ends(news);
    fails(1);
    expect(wait()).toBeGreaterThan(0);
  });
  test('lets one call through when its time has come, and everybody once that is answered', () => {
    fails(5);
    now += 5_000;
    const tries = letIn();
    expect(enter()).toMatchObject({ kind: 'busy', why: expect.stringContaining('being tried') });
    tries.leave('answered');
    expect([enter().kind, enter().kind, told.length]).toEqual(['let', 'let', 2]);
  });
  test('stays open twice as long each time that the one call fails, up to a minute', () => {
    fails(5);
    const pauses: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      now += 600_000;
      fails(1);
      pauses.push(wait());
      // The return times that were given out are of the past now.
      now += 600_000;
    }
    expect(pauses).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  });
  test('a call that tries and says nothing leaves the place to the next', () => {
    fails(5);
    now += 5_000;
    ends(null);
    const next = letIn();
    expect(enter().kind).toBe('busy');
    next.leave('answered');
    expect(enter().kind).toBe('let');
  });
  test('opens at once for the pause that a rate limit asks for, ten minutes at most; a later answer to an older call does not close it', () => {
    const older = letIn();
    ends({ class: 'rate-limited', retryAfterMs: 30_000 });
    older.leave('answered');
    expect(wait()).toBe(30_000);
    now += 30_000;
    ends({ class: 'rate-limited', retryAfterMs: 86_400_000 });
    now += 100;
    expect(wait()).toBeLessThanOrEqual(600_000);
    ends({ class: 'server', retryAfterMs: 60_000 }, 'another');
    expect(wait('another')).toBe(0);
  });
  test('is of one dependency: the others do not notice', () => {
    fails(5);
    expect([wait('t') > 0, wait('u')]).toEqual([true, 0]);
  });
});

describe('R8.5 the cap', () => {
  test('lets in as many as may run at once, and the next as soon as one has left', () => {
    const two = [letIn('t', 2), letIn('t', 2)];
    expect(enter('t', 2)).toMatchObject({ kind: 'busy', why: '2 calls of t run in this worker already.', retryAfterMs: 1_000 });
    two[0]?.leave('answered');
    two[0]?.leave('answered');
    expect([enter('t', 2).kind, enter('t', 2).kind]).toEqual(['let', 'busy']);
  });
  test('hundreds who wait come back one after the other: a dependency that hangs gets at most two looks a second', () => {
    for (let i = 0; i < 16; i += 1) letIn();
    now += 30_000;
    const returns = Array.from({ length: 50 }, () => now + wait()).sort((a, b) => a - b);
    const gaps = returns.slice(1).map((at, i) => at - (returns[i] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(500);
    expect(Math.max(...returns) - now).toBeLessThan(62_000);
  });
  test('where calls are quick, those who wait come back quickly', () => {
    for (let i = 0; i < 60; i += 1) { const entered = letIn(); now += 10; entered.leave('answered'); }
    for (let i = 0; i < 16; i += 1) letIn();
    const waits = Array.from({ length: 50 }, () => wait());
    expect(Math.max(...waits)).toBeLessThan(1_000 + 51 * 20);
  });
});

test('R8.5 a tool that the breaker holds back claims nothing, and an effect whose outcome is unknown counts as its failure', async () => {
  let sent = 0;
  const rig = await handsOver([toolFor(async () => { sent += 1; throw new ToolError('server', '503', 'Down.'); }, { honoursKey: true })]);
  const call = makeCall(rig.deps);
  const made = (n: number) => rig.environment().run(call, rig.need({ key: `k1:${n}` }));
  for (let n = 1; n <= 5; n += 1) expect(await made(n)).toEqual({ kind: 'unknown', why: 'Down.', cause: { class: 'server', code: '503' } });
  expect(await made(6)).toMatchObject({ kind: 'busy', why: expect.stringContaining('tool act failed 5 times'), retryAfterMs: expect.any(Number) });
  expect([sent, await rig.deps.ledger.get('k1:6')]).toEqual([5, null]);
  await rig.close();
});

describe('R8.5 a model behind its provider\'s door', () => {
  const request = { messages: [], tools: [], maxOutputTokens: 1, signal: new AbortController().signal };
  const down: ScriptedAnswer = { fails: { class: 'server', code: 'http-503', message: 'down' }, always: true };
  test('of a provider that is down is not asked, whichever of its models is meant', async () => {
    const [one, other] = [scriptedModel('openai:a', [down]), scriptedModel('openai:b', [{ text: 'hi', always: true }])];
    for (let i = 0; i < 5; i += 1) await expect(admitted(one, door, 4).generate(request)).rejects.toThrow('down');
    await expect(admitted(other, door, 4).generate(request)).rejects.toMatchObject({ turned: { kind: 'busy', retryAfterMs: 5_000 } });
    expect([one.asked.length, other.asked.length]).toEqual([5, 0]);
    expect(await admitted(scriptedModel('anthropic:b', [{ text: 'hi' }]), door, 4).generate(request)).toMatchObject({ text: 'hi' });
    now += 5_000;
    expect(await admitted(other, door, 4).generate(request)).toMatchObject({ text: 'hi' });
  });
  test('that has its fill of calls turns away the next', async () => {
    let answer: () => void = () => undefined;
    const slow = { id: 'openai-compatible:http://x/v1#m', generate: () => new Promise<never>((_, reject) => { answer = () => reject(new Error('over')); }) };
    const first = admitted(slow, door, 1).generate(request);
    await expect(admitted({ ...slow, id: 'openai-compatible:http://x/v1#n' }, door, 1).generate(request)).rejects.toBeInstanceOf(TurnedAway);
    answer();
    await expect(first).rejects.toThrow('over');
  });
});
