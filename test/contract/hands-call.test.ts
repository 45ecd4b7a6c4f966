// One attempt at a call, over the real ledger and artifacts (DESIGN 4, steps 2 to 6): what is checked before the claim, what
// each way to fail means, and that nothing after the effect repeats it.
import { z } from 'zod';
import { makeCall } from '../../src/activities/call';
import { failureOf } from '../../src/activities/failures';
import { canonical, digestOf, type Json } from '../../src/core/canonical';
import { ToolError, type ErrorClass } from '../../src/core/failure';
import type { Asked } from '../../src/core/wire';
import type { CallNeed, CallResult } from '../../src/core/world';
import type { HandsDeps } from '../../src/activities';
import type { ClaimRequest } from '../../src/ports/ledger';
import type { ToolCall, ToolDefinition } from '../../src/ports/tool';
import { handsOver, RUN, toolFor, type HandsRig } from '../rig/hands';

let rig: HandsRig;
let sent: string[];
afterEach(() => rig.close());

const writes = async ({ text }: { text: string }): Promise<Json> => { sent.push(text); return { text }; };
async function over(tool: ToolDefinition, bend: (deps: HandsDeps) => Partial<HandsDeps> = () => ({})): Promise<(asked?: Asked<CallNeed>) => Promise<CallResult>> {
  sent = [];
  rig = await handsOver([tool]);
  const call = makeCall({ ...rig.deps, ...bend(rig.deps) });
  return (asked = rig.need()) => rig.environment().run(call, asked);
}
const row = () => rig.deps.ledger.get(rig.need().need.key);
const throws = (cls: ErrorClass) => async (): Promise<Json> => { sent.push('sent'); throw new ToolError(cls, 'code', 'It went wrong.'); };

test('an effect is claimed, sent once, settled; the same call again answers from the ledger', async () => {
  const call = await over(toolFor(writes));
  expect(await call()).toEqual({ kind: 'succeeded', output: { value: { text: 'hello' } }, summary: expect.any(String), via: 'sent', settled: true });
  expect(await row()).toMatchObject({ state: 'done', fence: 1 });
  expect(await call()).toMatchObject({ kind: 'succeeded', output: { value: { text: 'hello' } }, via: 'ledger' });
  expect(sent).toEqual(['hello']);
});

test('a tool gets its key, the run\'s input, and signal, service and secret; none of the secret is kept', async () => {
  let given: ToolCall | undefined;
  const call = await over(toolFor(async (args, about) => { given = about; sent.push(JSON.stringify(args)); return { ok: true }; }));
  const args = { text: 'hello', secret: { $secret: 'key' } };
  expect(await call(rig.need({}, args))).toMatchObject({ kind: 'succeeded' });
  expect(sent).toEqual([JSON.stringify({ text: 'hello', secret: 'canary-0451' })]);
  expect([given?.key, given?.input, given?.service('x'), given?.runId]).toEqual([rig.need().need.key, { from: 'test' }, 'http://127.0.0.1/x', RUN]);
  expect(canonical(await rig.deps.ledger.byRun(RUN))).not.toContain('canary');
});

test('a journal that does not answer stops a call before its claim: nothing is sent and no attempt is counted', async () => {
  const call = await over(toolFor(writes), ({ journal }) => ({ journal: { ...journal, row: () => Promise.reject(new Error('locked')) } }));
  expect(await call()).toMatchObject({ kind: 'busy', why: 'The journal does not answer: locked', retryAfterMs: expect.any(Number) });
  expect([sent, await row()]).toEqual([[], null]);
});

test('a tool is told whether its run vouches for an artifact, by the journal', async () => {
  const known: boolean[] = [];
  const asked: string[] = [];
  const call = await over(toolFor(async ({ text }, { artifacts }) => { known.push(await artifacts.known(text)); return null; }), ({ journal }) => ({
    journal: { ...journal, refersTo: async (runId, sha256) => { asked.push(`${runId} ${sha256}`); return sha256 === 'mine'; } },
  }));
  for (const [n, text] of ['mine', 'theirs'].entries()) await call(rig.need({ key: `k1:${n}`, argsDigest: digestOf({ text }) }, { text }));
  expect([known, asked]).toEqual([[true, false], [`${RUN} mine`, `${RUN} theirs`]]);
});

const LONG = 'Well, "as I said": '.repeat(60);
/** What a step gave, as it stands in the journal. */
const from = async (mediaType: string, text: string): Promise<Asked<CallNeed>> => {
  const ref = await rig.deps.artifacts.write(Buffer.from(text), { mediaType, summary: 'what a step gave' });
  const { argsDigest: _, ...asked } = rig.need({}, { text: { $from: 'step' } }).need;
  return { runId: RUN, epoch: 0, need: { ...asked, call: { ...asked.call, inputs: { step: { ref } } } } };
};
test.each([
  ['what a person answered', 'text/plain; charset=utf-8', LONG], ['what a model wrote', 'text/markdown', LONG], ['a text that a tool returned', 'application/json', JSON.stringify(LONG)],
])('R3.2 %s reaches a tool that wants a text as a text, however long it is', async (_, mediaType, stored) => {
  const call = await over(toolFor(writes, { effect: 'none' }));
  expect(await call(await from(mediaType, stored))).toMatchObject({ kind: 'succeeded' });
  expect(sent).toEqual([LONG]);
});

test('R3.2 a file that a step gave reaches a tool as its reference', async () => {
  const given: Json[] = [];
  const tool = { ...toolFor(async () => null, { effect: 'none' }), input: z.object({ text: z.object({ sha256: z.string(), mediaType: z.string() }) }), execute: async (args: unknown) => { given.push(args as Json); return null; } };
  const call = await over(tool as unknown as ToolDefinition);
  expect(await call(await from('application/pdf', '%PDF'))).toMatchObject({ kind: 'succeeded' });
  expect(given).toMatchObject([{ text: { mediaType: 'application/pdf' } }]);
});

test('R3.2 results above 512 bytes become artifacts, and artifacts in a result are named by their member', async () => {
  const call = await over(toolFor(async (_, { artifacts }) => ({ report: await artifacts.write('# Report', { mediaType: 'text/markdown', summary: 'a report' }), rest: 'x'.repeat(600) }) as unknown as Json));
  const result = await call();
  if (result.kind !== 'succeeded' || !('ref' in result.output)) throw new Error(canonical(result));
  expect(JSON.parse(new TextDecoder().decode(await rig.deps.artifacts.read(result.output.ref.sha256)))).toMatchObject({ rest: 'x'.repeat(600) });
  expect(result.artifacts).toMatchObject([{ role: 'report', ref: { mediaType: 'text/markdown' } }]);
});

describe('I13 what is found before the claim sends nothing and is withdrawn, so that no other flight of the attempt sends it', () => {
  const cases: [string, Partial<CallNeed>, object, Json?][] = [
    ['an approval that has expired', { approval: { approvalId: 'a-1', expiresAt: 1, argsDigest: digestOf({ text: 'hello' }) } }, { kind: 'not-sent', why: 'approval' }],
    ['an approval of other arguments', { approval: { approvalId: 'a-1', expiresAt: Number.MAX_SAFE_INTEGER, argsDigest: 'other' } }, { kind: 'not-sent', why: 'approval' }],
    ['arguments other than prepared', { argsDigest: 'other' }, { kind: 'failed', sent: false, failure: { class: 'mismatch' } }],
    ['arguments that do not fit', { argsDigest: digestOf({ txt: 1 }) }, { kind: 'failed', sent: false, failure: { class: 'argument', code: 'schema' } }, { txt: 1 }],
    ['a secret that is not set', { argsDigest: digestOf({ text: 'x', secret: { $secret: 'none' } }) }, { kind: 'failed', sent: false, failure: { class: 'permission' } }, { text: 'x', secret: { $secret: 'none' } }],
    ['another major version', { version: '2.0.0' }, { kind: 'failed', sent: false, failure: { class: 'tool-missing', code: 'tool-missing' } }],
    ['a tool that is not here', { tool: 'gone' }, { kind: 'failed', sent: false, failure: { class: 'tool-missing' } }],
    ['arguments whose artifact is missing', { call: { argsRef: { sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json', summary: '' }, inputs: {} } }, { kind: 'failed', sent: false, failure: { class: 'artifact' } }],
  ];
  test.each(cases.map(([name, need, expected, args]) => ({ name, need, expected, args })))('$name', async ({ need, expected, args }) => {
    const call = await over(toolFor(writes));
    expect(await call(rig.need(need, args))).toMatchObject(expected);
    expect([sent, (await row())?.state]).toEqual([[], 'released']);
    expect(await rig.deps.ledger.claim({ ...claimOfOther(), argsDigest: rig.need(need, args).need.argsDigest! })).toEqual({ kind: 'not-awaited' });
  });

  test('a cancel that came first', async () => {
    await over(toolFor(writes));
    const environment = rig.environment();
    environment.cancel();
    expect(await environment.run(makeCall(rig.deps), rig.need())).toEqual({ kind: 'not-sent', why: 'cancelled' });
    expect([sent, (await row())?.state]).toEqual([[], 'released']);
  });

  test('R8.5 a tool that has its fill of calls', async () => {
    const call = await over(toolFor(async ({ text }) => { sent.push(text); await new Promise((resolve) => { setTimeout(resolve, 300); }); return null; }, { concurrency: 1 }));
    const ends = await Promise.all([call(), call(rig.need({ callSeq: 2, key: 'k1:other' }))]);
    expect(ends).toMatchObject([{ kind: 'succeeded' }, { kind: 'busy', retryAfterMs: expect.any(Number) }]);
    expect(await rig.deps.ledger.get('k1:other')).toBeNull();
  });
});

describe('I13 where the run waits for the attempt no more', () => {
  const other = { host: 'h', pid: 1, processStart: '1', worker: 'other', taskToken: 'another' };
  const answered = async (owner: object): Promise<CallResult> => {
    await over(toolFor(writes));
    await rig.deps.ledger.claim({ ...claimOfOther(), owner: other });
    const ledger = { ...rig.deps.ledger, claim: async () => ({ kind: 'not-awaited' as const, standing: { fence: 1, owner: { ...other, ...owner } } }) };
    return rig.environment().run(makeCall({ ...rig.deps, ledger }), rig.need()) as Promise<CallResult>;
  };
  test('another execution may have sent it: nothing is sent here, and it is not taken for never sent', async () => {
    expect([await answered({}), sent, (await row())?.state]).toEqual([{ kind: 'in-doubt', why: expect.stringContaining('Another execution') }, [], 'claimed']);
  });
  test('its own claim, whose answer was lost, is given back', async () => {
    expect([await answered({ taskToken: rig.environment().context.info.base64TaskToken }), sent, (await row())?.state]).toEqual([{ kind: 'not-sent', why: 'cancelled' }, [], 'released']);
  });
  test('one that only meets a full tool says that another execution has claimed it', async () => {
    const call = await over(toolFor(async ({ text }) => { sent.push(text); await new Promise((resolve) => { setTimeout(resolve, 400); }); return null; }, { concurrency: 1 }));
    const first = call();
    while (sent.length === 0) await new Promise((resolve) => { setTimeout(resolve, 5); });
    const environment = rig.environment();
    Object.assign(environment.context.info, { base64TaskToken: 'of another execution' });
    expect(await environment.run(makeCall(rig.deps), rig.need())).toMatchObject({ kind: 'in-doubt' });
    expect([await first, sent]).toMatchObject([{ kind: 'succeeded' }, ['hello']]);
  });
});

test('a cancel between claim and send gives the claim back, and the next attempt takes it at once', async () => {
  await over(toolFor(writes));
  const environment = rig.environment();
  const ledger = { ...rig.deps.ledger, claim: async (request: Parameters<HandsDeps['ledger']['claim']>[0]) => { const answer = await rig.deps.ledger.claim(request); environment.cancel(); return answer; } };
  expect(await environment.run(makeCall({ ...rig.deps, ledger }), rig.need())).toEqual({ kind: 'not-sent', why: 'cancelled' });
  expect([sent, (await row())?.state]).toEqual([[], 'released']);
  expect(await rig.environment().run(makeCall(rig.deps), rig.need({ attempt: 2 }))).toMatchObject({ kind: 'succeeded', via: 'sent' });
  expect(await row()).toMatchObject({ state: 'done', fence: 2 });
});

describe('what changed while a call waited for its claim is seen before the send, and the claim is given back', () => {
  const waited = (ledger: HandsDeps['ledger'], ms: number): HandsDeps['ledger'] => ({
    ...ledger, claim: async (request) => { await new Promise((resolve) => { setTimeout(resolve, ms); }); return ledger.claim(request); },
  });
  test('an approval that ended', async () => {
    const call = await over(toolFor(writes), ({ ledger }) => ({ ledger: waited(ledger, 400) }));
    const approval = { approvalId: 'a-1', expiresAt: Date.now() + 200, argsDigest: digestOf({ text: 'hello' }) };
    expect(await call(rig.need({ approval }))).toEqual({ kind: 'not-sent', why: 'approval' });
    expect([sent, (await row())?.state]).toEqual([[], 'released']);
  });
  test('R4.4 another version of the tool than the approved one; where nobody was asked, the minor version is the worker\'s', async () => {
    const call = await over(toolFor(writes));
    const { need: { argsDigest = '' } } = rig.need();
    const approval = { approvalId: 'a-1', expiresAt: Date.now() + 60_000, argsDigest };
    expect(await call(rig.need({ version: '1.7.0', approval }))).toEqual({ kind: 'not-sent', why: 'approval', fault: expect.stringMatching(/ 1\.7\.0 was approved, and 1\.\d\.0 would run$/) });
    expect([sent, (await row())?.state]).toEqual([[], 'released']);
    expect(await call(rig.need({ attempt: 2, version: '1.7.0' }))).toMatchObject({ kind: 'succeeded' });
  });
  test('R4.4 another version of what it changes', async () => {
    const call = await over(toolFor(writes, { resourceVersion: async () => 'v2' }));
    expect(await call(rig.need({ resourceVersion: 'v1' }))).toEqual({ kind: 'not-sent', why: 'approval' });
    expect([sent, (await row())?.state]).toEqual([[], 'released']);
    expect(await call(rig.need({ attempt: 2, resourceVersion: 'v2' }))).toMatchObject({ kind: 'succeeded' });
  });
  test('R4.4 a premise that no longer holds or cannot be read; one that holds lets the call go', async () => {
    const seen: Record<string, string> = { 'report/1': 'v2' };
    const read = async (name: string): Promise<string> => { const now = seen[name]; if (!now) throw new Error('no such thing'); return now; };
    const call = await over(toolFor(writes), () => ({ resources: { doc: read } }));
    const need = (version: string, resource: string, attempt: number) => rig.need({ attempt, premises: [{ resource, version }] });
    expect(await call(need('v1', 'doc:report/1', 1))).toEqual({ kind: 'not-sent', why: 'premise', premise: { resource: 'doc:report/1', expected: 'v1', now: 'v2', holds: false } });
    expect(await call(need('v1', 'doc:gone', 2))).toMatchObject({ kind: 'not-sent', why: 'premise', premise: { now: 'cannot be read: no such thing' } });
    expect(await call(need('v1', 'page:x', 3))).toMatchObject({ kind: 'not-sent', why: 'premise', premise: { now: expect.stringContaining('add a reader named page') } });
    expect([sent, (await row())?.state]).toEqual([[], 'released']);
    expect(await call(need('v2', 'doc:report/1', 4))).toMatchObject({ kind: 'succeeded' });
  });
  test('R4.4 the version that a premise expects may be an output of an earlier step', async () => {
    const call = await over(toolFor(writes), () => ({ resources: { doc: async () => 'v7' } }));
    const { need } = rig.need({ premises: [{ resource: 'doc:a', version: { $from: 'collect.version' } }] });
    expect(await call({ ...rig.need(), need: { ...need, call: { ...need.call, inputs: { collect: { value: { version: 'v7' } } } } } })).toMatchObject({ kind: 'succeeded' });
  });
  test('R6.1 a process that was stopped between its claim and its send for longer than its window does not send', async () => {
    const call = await over(toolFor(writes), ({ ledger }) => ({ ledger: waited(ledger, 300) }));
    expect(await call(rig.need({ sendWindowMs: 200 }))).toEqual({ kind: 'not-sent', why: 'cancelled' });
    expect([sent, (await row())?.state]).toEqual([[], 'released']);
  });
  test('a call that was requested under another ledger is in doubt', async () => {
    const call = await over(toolFor(writes), ({ ledger }) => ({ ledger: { ...ledger, claim: async () => ({ kind: 'claims-lost' }) } }));
    expect([await call(), sent]).toMatchObject([{ kind: 'in-doubt' }, []]);
  });
});

/** A claim of the same attempt from another process. */
const claimOfOther = (over_: Partial<HandsDeps['owner']> = {}): ClaimRequest => ({
  key: rig.need().need.key, runId: RUN, epoch: 0, callId: 'c1', attempt: 1, tool: 'act', argsDigest: digestOf({ text: 'hello' }),
  owner: { ...rig.deps.owner, worker: 'other', ...over_ }, leaseMs: 15_000, sendWindowMs: 1_000,
});

describe('a claim of somebody else', () => {
  const claimedBy = (over_: Partial<HandsDeps['owner']>) => rig.deps.ledger.claim(claimOfOther(over_));
  test('a live owner puts it in doubt, so that the gate finds out what the other attempt does', async () => {
    const call = await over(toolFor(writes));
    await claimedBy({});
    expect([await call(), sent]).toMatchObject([{ kind: 'in-doubt' }, []]);
  });
  test('an owner on this host that is dead makes it in doubt at once, without waiting for the lease', async () => {
    const call = await over(toolFor(writes));
    await claimedBy({ pid: 999_999, processStart: '1' });
    expect([await call(), sent, (await row())?.state]).toMatchObject([{ kind: 'in-doubt' }, [], 'unknown']);
  });
  test('what the gate has examined may be taken over', async () => {
    const call = await over(toolFor(writes));
    await claimedBy({ pid: 999_999, processStart: '1' });
    expect(await call(rig.need({ takeOver: 1 }))).toMatchObject({ kind: 'succeeded', via: 'sent' });
    expect(await row()).toMatchObject({ state: 'done', fence: 2 });
  });
  test('R4.4 what has changed since the gate looked is not touched: the claim that was taken over comes back as it was', async () => {
    const call = await over(toolFor(writes, { resourceVersion: async () => 'v2' }), () => ({ resources: { doc: async () => 'v2' } }));
    await claimedBy({ pid: 999_999, processStart: '1' });
    expect(await call(rig.need({ takeOver: 1, resourceVersion: 'v1' }))).toEqual({ kind: 'not-sent', why: 'approval' });
    expect(await call(rig.need({ takeOver: 1, resourceVersion: 'v2', premises: [{ resource: 'doc:a', version: 'v1' }] }))).toMatchObject({ kind: 'not-sent', why: 'premise' });
    expect([sent, await row()]).toMatchObject([[], { state: 'unknown', owner: { worker: 'other' } }]);
    expect(await call(rig.need({ takeOver: 1, resourceVersion: 'v2' }))).toMatchObject({ kind: 'succeeded' });
  });
  test('the same key with other arguments is refused for good', async () => {
    const call = await over(toolFor(writes));
    await claimedBy({});
    expect(await call(rig.need({ argsDigest: digestOf({ text: 'other' }) }, { text: 'other' }))).toMatchObject({ kind: 'failed', failure: { class: 'mismatch' }, sent: false });
  });
  test('a claim whose answer was lost is known again', async () => {
    let first = true;
    const call = await over(toolFor(writes), ({ ledger }) => ({ ledger: { ...ledger, claim: async (request) => {
      const answer = await ledger.claim(request);
      if (first) { first = false; throw new Error('the answer was lost'); }
      return answer;
    } } }));
    expect(await call()).toMatchObject({ kind: 'succeeded', via: 'sent' });
    expect([sent, (await row())?.fence]).toEqual([['hello'], 1]);
  });
});

describe('R8.1 what a tool\'s error means after the call began', () => {
  const table: [ErrorClass, object, string, Partial<ToolDefinition>?][] = [
    ['business-refusal', { kind: 'failed', sent: true }, 'refused'],
    ['timeout-before-send', { kind: 'failed', sent: false }, 'released'], ['argument', { kind: 'failed', sent: false }, 'released'],
    ['permission', { kind: 'failed', sent: false }, 'released'], ['not-found', { kind: 'failed', sent: false }, 'released'], ['policy', { kind: 'failed', sent: false }, 'released'],
    ['network', { kind: 'unknown' }, 'unknown'], ['server', { kind: 'unknown' }, 'unknown'], ['unknown', { kind: 'unknown' }, 'unknown'], ['cancelled', { kind: 'unknown' }, 'unknown'],
    ['rate-limited', { kind: 'unknown' }, 'unknown'], ['rate-limited', { kind: 'failed' }, 'released', { honoursKey: true }],
  ];
  test.each(table.map(([cls, expected, state, more]) => ({ cls, expected, state, more })))('$cls gives $expected and leaves the claim $state', async ({ cls, expected, state, more }) => {
    const call = await over(toolFor(throws(cls), (more ?? {}) as object));
    expect(await call()).toMatchObject(expected);
    expect([(await row())?.state, sent]).toEqual([state, ['sent']]);
  });
  test.each(['network', 'server', 'permission', 'unknown'] as const)('a reader fails with class %s', async (cls) => {
    const call = await over(toolFor(throws(cls), { effect: 'none' }));
    expect(await call()).toMatchObject({ kind: 'failed', failure: { class: cls, code: 'code', message: 'It went wrong.' } });
  });
});

describe('after the effect', () => {
  const twice = (ledger: HandsDeps['ledger'], fails: number): HandsDeps['ledger'] => {
    let left = fails;
    return { ...ledger, settle: async (...args) => { if (left-- > 0) throw new Error('the ledger is away'); return ledger.settle(...args); } };
  };
  test('a settle that fails is tried again, and nothing is sent again', async () => {
    const call = await over(toolFor(writes), ({ ledger }) => ({ ledger: twice(ledger, 3) }));
    expect(await call()).toMatchObject({ kind: 'succeeded', settled: true });
    expect([sent, (await row())?.state]).toEqual([['hello'], 'done']);
  });
  test('a settle that fails for a whole lease answers unsettled, and is made up later', async () => {
    const call = await over(toolFor(writes), ({ ledger }) => ({ ledger: twice(ledger, 32) }));
    expect(await call()).toMatchObject({ kind: 'succeeded', settled: false, output: { value: { text: 'hello' } } });
    for (let i = 0; i < 120 && (await row())?.state !== 'done'; i += 1) await new Promise((resolve) => { setTimeout(resolve, 100); });
    expect([sent, (await row())?.state]).toEqual([['hello'], 'done']);
  }, 40_000);
  test('a result that JSON or the output schema refuses is kept as far as it goes', async () => {
    const call = await over(toolFor((async () => { sent.push('x'); return { n: 1n }; }) as never));
    expect([await call(), sent]).toMatchObject([{ kind: 'succeeded', output: { value: null }, settled: true }, ['x']]);
    await rig.close();
    const strict = await over(toolFor(writes, { output: { parse: () => { throw new Error('never fits'); } } }));
    expect(await strict()).toMatchObject({ kind: 'succeeded', output: { value: { text: 'hello' } } });
  });
  test('a result that cannot be stored is an unknown outcome, never a second send', async () => {
    const call = await over(toolFor(async () => { sent.push('x'); return 'y'.repeat(1_000); }), ({ artifacts }) => ({ artifacts: { ...artifacts, read: (id) => artifacts.read(id), write: () => Promise.reject(new Error('disk full')) } }));
    expect([await call(), sent]).toMatchObject([{ kind: 'unknown', why: expect.stringContaining('disk full') }, ['x']]);
    // The ledger never says done before the result is stored: it would point at nothing.
    expect(await row()).toMatchObject({ state: 'claimed', outcome: null });
  }, 40_000);
});

test('R6.1 a lost lease aborts the tool', async () => {
  const call = await over(toolFor((_, { signal }) => new Promise((_resolve, reject) => { signal.addEventListener('abort', () => reject(new Error(String(signal.reason)))); })),
    ({ ledger }) => ({ ledger: { ...ledger, renew: async () => false } }));
  expect(await call()).toMatchObject({ kind: 'unknown', why: expect.stringContaining('lease') });
});

test('R7.1 a cancel reaches the tool, and what it answers then is recorded', async () => {
  await over(toolFor(({ text }, { signal }) => new Promise((resolve) => { signal.addEventListener('abort', () => { sent.push(text); resolve({ text: 'after the cancel' }); }); })));
  const environment = rig.environment();
  setTimeout(() => environment.cancel(), 200);
  expect(await environment.run(makeCall(rig.deps), rig.need())).toMatchObject({ kind: 'succeeded', output: { value: { text: 'after the cancel' } } });
});

test('a call has its time: a reader that passes it fails, an effect is unknown', async () => {
  const slow = (_: unknown, { signal }: ToolCall): Promise<Json> => new Promise((_resolve, reject) => { signal.addEventListener('abort', () => reject(new Error('told to stop'))); });
  const reader = await over(toolFor(slow, { effect: 'none' }));
  expect(await reader(rig.need({ timeoutMs: 100 }))).toMatchObject({ kind: 'failed', failure: { class: 'network', code: 'timeout' } });
  await rig.close();
  const effect = await over(toolFor(slow));
  expect(await effect(rig.need({ timeoutMs: 100 }))).toMatchObject({ kind: 'unknown' });
});

describe('failures', () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const shapes: [string, unknown][] = [
    ['a text', 'plain'], ['nothing', undefined], ['null', null], ['a number', 7], ['a cyclic object', cyclic], ['a symbol', Symbol('s')],
    ['5 MB of message', new Error('x'.repeat(5_000_000))], ['several errors', new AggregateError([new Error('a'), new Error('b')])],
    ['a message that throws', { get message(): string { throw new Error('no'); } }], ['lines and control characters', new Error('a\nb\u0000c\u202e')],
    ['characters of four bytes', new Error('😀'.repeat(1_000))],
  ];
  test.each(shapes)('%s becomes one safe line of at most 1 KiB', (_, error) => {
    const failure = failureOf(error);
    expect(Buffer.byteLength(failure.message)).toBeLessThanOrEqual(1_024);
    expect(failure.message.length).toBeGreaterThan(0);
    expect(failure.message).not.toMatch(/[\n\p{Cc}\p{Cf}]/u);
    expect(canonical(failure)).not.toContain('stack');
  });
  test('a ToolError of another copy of the package keeps its class', () => {
    const foreign = Object.assign(new Error('slow down'), { name: 'ToolError', failureClass: 'rate-limited', code: '429', retryAfterMs: 1_500.4 });
    expect(failureOf(foreign)).toEqual({ class: 'rate-limited', code: '429', message: 'slow down', retryAfterMs: 1_500 });
  });
});

test('B18 a tool that ignores the end of its time is left behind, but keeps its claim until it ends, and its effect is settled', async () => {
  let end: () => void = () => undefined;
  const call = await over(toolFor(async ({ text }) => { await new Promise<void>((resolve) => { end = resolve; }); sent.push(text); return { text }; }, { timeoutMs: 100 }));
  expect(await call(rig.need({ timeoutMs: 100 }))).toEqual({ kind: 'unknown', why: expect.stringContaining('still runs'), cause: { class: 'network', code: 'timeout' } });
  expect(await row()).toMatchObject({ state: 'claimed', fence: 1 });
  end();
  for (let i = 0; i < 100 && (await row())?.state !== 'done'; i += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
  expect([await row(), sent]).toMatchObject([{ state: 'done', outcome: { kind: 'done', output: { value: { text: 'hello' } } } }, ['hello']]);
}, 30_000);

test('a tool cannot say of itself that it was cancelled, nor ask for more patience than a day', () => {
  expect(failureOf(new ToolError('cancelled', 'x', 'no'))).toMatchObject({ class: 'unknown' });
  expect(failureOf(new ToolError('rate-limited', 'x', 'no', 1e15))).toMatchObject({ retryAfterMs: 24 * 3600 * 1000 });
});

test('I13 the claim is the last act before the send: the row is there when the tool begins, and not before its last check', async () => {
  const order: string[] = [];
  const call = await over(toolFor(async () => { order.push(`sent, ${(await row())?.state}`); return null; }), ({ ledger }) => ({
    ledger: { ...ledger, claim: async (request) => { order.push(`claim, ${(await row())?.state}`); return ledger.claim(request); } },
  }));
  expect(await call()).toMatchObject({ kind: 'succeeded' });
  expect(order).toEqual(['claim, undefined', 'sent, claimed']);
});
