// The hands where a result comes later: what a tool that was accepted leaves in the ledger, what a look-up says of it, how the events
// of a callback are put together from the journal, and which terms a tool may give.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeCall } from '../../src/activities/call';
import { makeCollect } from '../../src/activities/collect';
import { makeGate } from '../../src/activities/gate';
import { loadOutput } from '../../src/activities/outputs';
import { isolatedEnv, withIsolation } from '../../src/adapters/tools/isolated';
import { digestOf, type Json } from '../../src/core/canonical';
import { callbackIdOf } from '../../src/core/keys';
import { pending, pendingOf, type PendingOptions } from '../../src/core/pending';
import type { RunEvent } from '../../src/core/events';
import type { Output } from '../../src/core/run';
import type { CallNeed, CallResult, GateEvidence } from '../../src/core/world';
import type { LookUpAnswer, ToolCall, ToolDefinition } from '../../src/ports/tool';
import { batchOf } from '../../src/testing/contracts/samples';
import { handsOver, RUN, toolFor, type HandsRig } from '../rig/hands';
import { tools } from '../rig/isolated.config';

let rig: HandsRig;
afterEach(() => rig.close());
const TERMS = { expect: 2, deadlineMs: 3_600_000, onDeadline: { then: 'continue', default: null } };
const later = (receipt: Json = 'receipt') => pending({ expect: 2, deadline: '1h', onDeadline: { then: 'continue' }, receipt });
/** A tool whose marked value its author's types let pass as a result. */
const laterTool = (more: Partial<ToolDefinition<{ text: string }, Json>> = {}, heard?: (call: ToolCall) => void): ToolDefinition =>
  toolFor(async (_, call) => { heard?.(call); return later() as unknown as Json; }, more);
const made = (more: Partial<CallNeed> = {}): Promise<CallResult> => rig.environment().run(makeCall(rig.deps), rig.need(more));
const row = () => rig.deps.ledger.get(rig.need().need.key);

test('what was accepted is settled as done with its terms, and the same call again answers them from the ledger', async () => {
  const heard: string[] = [];
  rig = await handsOver([laterTool({}, ({ callbackId }) => heard.push(callbackId))]);
  expect(await made()).toMatchObject({ kind: 'pending', output: { value: 'receipt' }, via: 'sent', settled: true, terms: TERMS });
  expect([heard, (await row())?.outcome]).toMatchObject([[callbackIdOf(RUN, 'c1')], { kind: 'done', output: { value: 'receipt' }, pending: TERMS }]);
  expect(await made({ attempt: 2 })).toMatchObject({ kind: 'pending', via: 'ledger', terms: TERMS });
  expect(heard).toHaveLength(1);
});

test('a receipt is held to no schema, and one that JSON cannot carry is none: the effect took place', async () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  rig = await handsOver([toolFor(async () => later(cyclic as Json) as unknown as Json, { output: { parse: () => { throw new Error('no'); } } })]);
  expect(await made()).toMatchObject({ kind: 'pending', output: { value: null } });
});

test('a reader may be told later as well; what takes an effect back is done when it is accepted', async () => {
  rig = await handsOver([laterTool({ effect: 'none' })]);
  expect(await made()).toMatchObject({ kind: 'pending', settled: true, terms: TERMS });
  await rig.close();
  rig = await handsOver([toolFor(async () => null, { effect: 'reversible', undo: async () => later('undone') as unknown as Json })]);
  expect(await made({ undoOf: { callId: 'c0', key: 'k1:x', output: { value: 1 } } })).toMatchObject({ kind: 'succeeded', output: { value: 'undone' } });
});

describe('the gate', () => {
  const look = async (): Promise<GateEvidence> => {
    const { need } = rig.need();
    return rig.environment().run(makeGate(rig.deps), { runId: RUN, epoch: 0, need: { callId: 'c1', n: 1, tool: need.tool, version: need.version, key: need.key, call: need.call, ledgerIncarnation: 'of another', resourceVersion: null, premises: [], undo: false } });
  };
  test('a look-up that finds what is accepted and not finished says under which terms', async () => {
    rig = await handsOver([laterTool({ lookUp: async (): Promise<LookUpAnswer> => ({ found: true, output: later('seen'), reference: 'entry 7' }) })]);
    expect((await look()).lookUp).toMatchObject({ kind: 'found', output: { value: 'seen' }, reference: 'entry 7', pending: TERMS });
  });
  test('the ledger says them as well', async () => {
    rig = await handsOver([laterTool()]);
    await made();
    expect((await look()).ledger).toMatchObject({ state: 'done', output: { value: 'receipt' }, pending: TERMS });
  });
});

test('in a process of its own a tool is told its callback id, and its terms cross, those of a look-up too', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-later-'));
  const file = path.join(folder, 'effects.jsonl');
  const known = new Map((tools as unknown as ToolDefinition[]).map((tool) => [tool.name, tool]));
  const isolated = withIsolation(known, { file: path.join(__dirname, '../rig/isolated.config.ts'), env: isolatedEnv({ ...process.env, ISOLATED_FILE: file }) });
  rig = await handsOver([isolated.get('later') as ToolDefinition]);
  const args = { how: 'later' };
  expect(await rig.environment().run(makeCall(rig.deps), rig.need({ argsDigest: digestOf(args) }, args))).toMatchObject({ kind: 'pending', output: { value: { callbackId: callbackIdOf(RUN, 'c1') } }, terms: { expect: 3 } });
  const answer = await isolated.get('later')?.lookUp?.({ key: rig.need().need.key, args, since: 0 }, { runId: RUN, callId: 'c1', signal: new AbortController().signal, log: () => undefined } as unknown as ToolCall);
  expect([answer?.found, answer?.found === true && pendingOf(answer.output)?.terms.expect, existsSync(file) && readFileSync(file, 'utf8').split('\n').filter(Boolean).length]).toEqual([true, 3, 1]);
  rmSync(folder, { recursive: true, force: true });
});

describe('what came by a callback', () => {
  /** A journal that holds these events of `cb-1`, among others. */
  async function journal(...came: { eventId: string; item?: string; payload: Output }[]): Promise<void> {
    rig = await handsOver([]);
    const batch = batchOf(RUN, 0, came.length * 2);
    const events = batch.events.map((event, i) => (i % 2 === 0 ? event : { ...event, type: 'CallbackReceived' as const, data: { callbackId: 'cb-1', actor: event.actor, ...came[(i - 1) / 2]! } }));
    await rig.deps.journal.append({ ...batch, events });
  }
  const collect = (about: { count: number; expect: number | null; since?: number }) => makeCollect(rig.deps)({ runId: RUN, callbackId: 'cb-1', since: 0, ...about });
  test('is listed in the order of its items, large payloads by reference, as one artifact', async () => {
    const ref = { sha256: '1'.repeat(64), bytes: 9_000, mediaType: 'application/json', summary: 'l'.repeat(300) };
    await journal({ eventId: 'e2', item: 'b', payload: { ref } }, { eventId: 'e1', item: 'a', payload: { value: 'x'.repeat(700) } }, { eventId: 'c', payload: { value: 3 } });
    const { output, summary } = await collect({ count: 3, expect: 4 });
    const list = JSON.parse(new TextDecoder().decode(await rig.deps.artifacts.read('ref' in output ? output.ref.sha256 : ''))) as unknown;
    expect([summary, list]).toMatchObject(['3 of 4 items', { expected: 4, came: 3, complete: false, items: [{ item: 'a', artifact: { bytes: 702 } }, { item: 'b', artifact: ref }, { item: 'c', value: 3 }] }]);
    expect(await collect({ count: 3, expect: 4 })).toEqual({ output, summary });
  });
  test('is the payload itself where one result is awaited; what the journal does not hold is no result', async () => {
    await journal({ eventId: 'e1', payload: { value: 'paid' } }, { eventId: 'e2', payload: { value: 'again' } });
    expect(await collect({ count: 2, expect: null })).toEqual({ output: { value: 'paid' }, summary: 'called back' });
    await expect(collect({ count: 3, expect: null })).rejects.toThrow('holds 2 of 3 events');
  });
});

test('R10.4 a child whose answer names an artifact that nobody has stored is over for its parent all the same', async () => {
  rig = await handsOver([]);
  const ref = { sha256: '7'.repeat(64), bytes: 9, mediaType: 'application/json', summary: 'not there' };
  const batch = batchOf(RUN, 0, 1);
  const events = [{ ...batch.events[0], type: 'RunCompleted', data: { outcome: 'full', result: { ref }, summary: 'Done.', artifacts: [] } }] as RunEvent[];
  await rig.deps.journal.append({ ...batch, events });
  const { output } = await makeCollect(rig.deps)({ runId: 'parent', callbackId: 'cb-1', since: 0, count: 0, expect: null, child: RUN });
  expect(await loadOutput(rig.deps.artifacts, output)).toMatchObject({ status: 'completed', result: ref });
});

test.each([['what it said at length, as the text that it is', false], ['a report that a tool of it made, by its reference', true]])('R10.4 a child hands on as its result %s', async (_, made) => {
  rig = await handsOver([]);
  const text = '# Said\n'.repeat(100);
  const ref = await rig.deps.artifacts.write(Buffer.from(text), { mediaType: 'text/markdown', summary: 'said' });
  const batch = batchOf(RUN, 0, 2);
  const [first, last] = batch.events as [RunEvent, RunEvent];
  const before = made ? { ...first, type: 'ArtifactProduced', data: { ref, callId: 'c1', role: 'report' } } : first;
  const events = [before, { ...last, type: 'RunCompleted', data: { outcome: 'full', result: { ref }, summary: 'Done.', artifacts: [] } }] as RunEvent[];
  await rig.deps.journal.append({ ...batch, events });
  const { output } = await makeCollect(rig.deps)({ runId: 'parent', callbackId: 'cb-1', since: 0, count: 0, expect: null, child: RUN });
  const value = (await loadOutput(rig.deps.artifacts, output)) as { result: Json; artifacts: Json };
  expect([value.result, value.artifacts]).toEqual([made ? ref : text, [ref]]);
});

test.each<[PendingOptions, string]>([
  [{ expect: 0 }, 'expect'], [{ expect: 501 }, 'expect'], [{ expect: 1.5 }, 'expect'], [{ deadline: 'soon' }, 'deadline'], [{ deadline: -1 }, 'deadline'],
  [{ remindEvery: 'x' }, 'remindEvery'], [{ onDeadline: { then: 'ask-again' } as never }, 'onDeadline'],
])('terms that cannot be are told before anything is sent: %j', async (options, member) => {
  rig = await handsOver([]);
  expect(() => pending(options)).toThrow(new RegExp(`\`${member}\``));
});
