// The hands that only look, over real stores: what the gate sees, what prepare fixes before anybody is asked, what open
// finds at the start of a generation, and what a checkpoint holds.
import { makeCheckpoint } from '../../src/activities/checkpoint';
import { makeGate } from '../../src/activities/gate';
import { makeOpen } from '../../src/activities/open';
import { makePrepare } from '../../src/activities/prepare';
import type { HandsDeps } from '../../src/activities';
import type { OpenAnswer } from '../../src/activities/types';
import { resolveAgents } from '../../src/adapters/config/resolve';
import { tablePolicy } from '../../src/adapters/policy/table';
import { canonical, digestOf, sha256Hex, type Json } from '../../src/core/canonical';
import { fold } from '../../src/core/evolve';
import { initialState } from '../../src/core/initial';
import type { RunInput } from '../../src/core/run';
import { rowOf } from '../../src/core/summary';
import { turn } from '../../src/core/turn';
import type { Bare } from '../../src/core/wire';
import type { CheckpointResult, GateEvidence, GateNeed, PrepareNeed, PrepareResult } from '../../src/core/world';
import type { LookUpAnswer, ToolDefinition } from '../../src/ports/tool';
import { handsOver, RUN, toolFor, type HandsRig } from '../rig/hands';

let rig: HandsRig;
afterEach(() => rig.close());
const acts = async (): Promise<Json> => ({ ok: true });

describe('gate', () => {
  const need = async (more: Partial<GateNeed> = {}): Promise<GateNeed> => {
    const { need: call } = rig.need();
    return { kind: 'gate', id: 'gate:c1#1', begun: true, callId: 'c1', n: 1, tool: call.tool, version: call.version, effect: call.effect, key: call.key, call: call.call,
      argsDigest: digestOf({ text: 'hello' }), ledgerIncarnation: await rig.deps.ledger.incarnation(), resourceVersion: null, premises: [], undo: false, summary: '', ...more };
  };
  const look = async (more: Partial<GateNeed> = {}, deps: Partial<HandsDeps> = {}): Promise<GateEvidence> =>
    rig.environment().run(makeGate({ ...rig.deps, ...deps }), { runId: RUN, epoch: 0, need: await need(more) });
  const claim = async (owner = rig.deps.owner): Promise<string> => {
    const { key } = await need();
    await rig.deps.ledger.claim({ key, runId: RUN, epoch: 0, callId: 'c1', attempt: 1, tool: 'act', argsDigest: digestOf({ text: 'hello' }), owner, leaseMs: 15_000, sendWindowMs: 1_000 });
    return key;
  };
  const GONE = { host: '', pid: 999_999, processStart: '1', worker: 'gone' };
  const gone = () => ({ ...GONE, host: rig.deps.owner.host });

  test('R4.2 no claim in the same ledger: never sent, and nobody is asked', async () => {
    const lookUp = jest.fn<Promise<LookUpAnswer>, []>();
    rig = await handsOver([toolFor(acts, { lookUp })]);
    expect(await look()).toMatchObject({ ledger: { state: 'none' }, lookUp: { kind: 'not-asked' } });
    expect(lookUp).not.toHaveBeenCalled();
  });
  test('no claim in another ledger proves nothing: the outside is asked', async () => {
    rig = await handsOver([toolFor(acts, { lookUp: async () => ({ found: false }) })]);
    expect(await look({ ledgerIncarnation: 'of a ledger that is gone' })).toMatchObject({ ledger: { state: 'none' }, lookUp: { kind: 'absent' } });
  });
  test('a live owner, an owner that is gone, a settled and a refused claim are told apart', async () => {
    rig = await handsOver([toolFor(acts, { lookUp: async () => ({ found: false }) })]);
    const key = await claim();
    expect(await look()).toMatchObject({ ledger: { state: 'live', leaseUntil: expect.any(Number) }, lookUp: { kind: 'not-asked' } });
    await rig.deps.ledger.settle(key, 1, { kind: 'done', output: { value: 1 }, summary: 'one' });
    expect(await look()).toMatchObject({ ledger: { state: 'done', output: { value: 1 } }, lookUp: { kind: 'not-asked' } });
    await rig.close();
    rig = await handsOver([toolFor(acts, { lookUp: async () => ({ found: false }) })]);
    await claim(gone());
    expect(await look()).toMatchObject({ ledger: { state: 'dead', fence: 1, ownerGone: true }, lookUp: { kind: 'absent' } });
    await rig.close();
    rig = await handsOver([toolFor(acts)]);
    await rig.deps.ledger.settle(await claim(), 1, { kind: 'refused', failure: { class: 'business-refusal', code: 'no', message: 'No.' } });
    expect(await look()).toMatchObject({ ledger: { state: 'refused', failure: { code: 'no' } }, lookUp: { kind: 'not-asked' } });
  });
  const answers: [string, () => Promise<LookUpAnswer>, object][] = [
    ['found', async () => ({ found: true, output: { id: 7 }, reference: 'entry 7' }), { kind: 'found', output: { value: { id: 7 } }, reference: 'entry 7' }],
    ['absent', async () => ({ found: false }), { kind: 'absent' }],
    ['cannot say', async () => ({ found: 'cannot-say', why: 'two entries' }), { kind: 'cannot-say', why: 'two entries' }],
    ['an error', async () => { throw new Error('it is away'); }, { kind: 'cannot-say', why: 'it is away' }],
  ];
  test.each(answers)('a look-up that answers %s', async (_, lookUp, expected) => {
    rig = await handsOver([toolFor(acts, { lookUp })]);
    await claim(gone());
    expect((await look()).lookUp).toEqual(expect.objectContaining(expected));
  });
  test('a tool without look-up says so, and whether it honours keys', async () => {
    rig = await handsOver([toolFor(acts, { honoursKey: true })]);
    await claim(gone());
    expect(await look()).toMatchObject({ lookUp: { kind: 'none' }, honoursKey: true });
  });
  test('R4.4 a resource version and premises are read anew; what cannot be read does not hold', async () => {
    rig = await handsOver([toolFor(acts, { resourceVersion: async () => 'v2' })], { resources: { doc: async (name) => (name === 'a' ? 'v1' : Promise.reject(new Error('no such doc'))) } });
    await claim(gone());
    const seen = await look({ resourceVersion: 'v1', premises: [{ resource: 'doc:a', version: 'v1' }, { resource: 'doc:b', version: 'v1' }, { resource: 'other:c', version: 'v1' }, { resource: 'doc:a', version: { $from: 'x.v' } }],
      call: { args: { text: 'hello' }, inputs: { x: { value: { v: 'v0' } } } } });
    expect(seen.resourceVersion).toBe('v2');
    expect(seen.premises.map(({ holds }) => holds)).toEqual([true, false, false, false]);
    expect(seen.premises[3]).toMatchObject({ expected: 'v0', now: 'v1' });
  });
  test('a ledger that cannot be read is no evidence: it throws, and Temporal looks again', async () => {
    rig = await handsOver([toolFor(acts)]);
    await expect(look({}, { ledger: { ...rig.deps.ledger, get: () => Promise.reject(new Error('away')) } })).rejects.toThrow('away');
  });
});

describe('prepare', () => {
  const prepare = async (args: Json, more: Partial<PrepareNeed> = {}, deps: Partial<HandsDeps> = {}): Promise<PrepareResult> => {
    const need: Bare<PrepareNeed> = { stepId: 's', tool: 'act', version: '1.0.0', effect: 'manual', owner: 'ann', agent: 'a', callId: 's#1', key: '', call: { args, inputs: {} }, ...more };
    return rig.environment().run(makePrepare({ ...rig.deps, ...deps }), { runId: RUN, epoch: 0, need });
  };

  test('binds, digests with secrets as names, reads the version, stores the preview and asks policy', async () => {
    rig = await handsOver([toolFor(acts, { resourceVersion: async () => 'etag-1', preview: async ({ text }) => `will say ${text}` })]);
    const result = await prepare({ text: { $from: 'x.t' }, secret: { $secret: 'key' } }, { call: { args: { text: { $from: 'x.t' }, secret: { $secret: 'key' } }, inputs: { x: { value: { t: 'hello' } } } } });
    const bound = { text: 'hello', secret: { $secret: 'key' } };
    expect(result).toMatchObject({ kind: 'prepared', argsDigest: digestOf(bound), args: { value: bound }, resourceVersion: 'etag-1', policy: { decision: 'ask', rule: 'manual-asks' } });
    expect(canonical(result)).not.toContain('canary');
    if (result.kind === 'prepared' && result.previewRef) expect(new TextDecoder().decode(await rig.deps.artifacts.read(result.previewRef.sha256))).toBe('will say hello');
    else throw new Error(canonical(result));
  });
  test('large inputs stay references in the arguments and their digest', async () => {
    rig = await handsOver([toolFor(acts)]);
    const ref = await rig.deps.artifacts.write(Buffer.from(canonical({ t: 'x'.repeat(2_000) })), { mediaType: 'application/json', summary: 'large' });
    const result = await prepare({}, { call: { args: { text: { $from: 'x.t' } }, inputs: { x: { ref } } } });
    expect(result).toMatchObject({ kind: 'prepared', argsDigest: digestOf({ text: { $artifact: ref, path: ['t'] } }) });
  });
  const faults: [string, Json, object, ToolDefinition?][] = [
    ['arguments that do not fit', { text: 5 }, { class: 'argument', code: 'schema' }],
    ['a reference to nothing', { text: { $from: 'gone' } }, { class: 'argument', code: 'binding' }],
    ['a secret that is not set', { text: 'x', secret: { $secret: 'none' } }, { class: 'permission' }],
  ];
  test.each(faults)('%s are a failed result', async (_, args, failure) => {
    rig = await handsOver([toolFor(acts)]);
    expect(await prepare(args)).toMatchObject({ kind: 'failed', failure });
  });
  test('the reasons of a schema never quote the value of a secret', async () => {
    rig = await handsOver([toolFor(acts)]);
    expect(canonical(await prepare({ text: 5, secret: { $secret: 'key' } }))).not.toContain('canary');
  });
  test('a policy that fails is a failed result, not a permission', async () => {
    rig = await handsOver([toolFor(acts)]);
    expect(await prepare({ text: 'x' }, {}, { policy: { describe: () => ({ name: 'p', text: '' }), decide: () => Promise.reject(new Error('policy is away')) } })).toMatchObject({ kind: 'failed', failure: { message: 'policy is away' } });
  });
});

describe('open and checkpoint', () => {
  const OPENED = 'opened';
  const PLAN = { goal: 'Ask', steps: [{ id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }] };
  const AGENTS = resolveAgents({ agents: [{ name: 'a', version: '1.0.0', planner: 'declared', prompts: { system: 'Be brief.' } }], tools: [] }, null);
  async function accepted(plan: Json = PLAN, agent = 'a'): Promise<RunInput> {
    rig = await handsOver([toolFor(acts)], { agents: AGENTS, policy: tablePolicy({ name: 'p', rules: [] }) });
    const owner = { id: 'ann', via: 'cli' as const, assurance: 'local-user' as const };
    const spec = { v: 1, agent, input: { question: 'Why?' }, plan, budget: { calls: 5 }, owner };
    const inputRef = await rig.deps.artifacts.write(Buffer.from(canonical(spec)), { mediaType: 'application/json', summary: 'input' });
    const inputDigest = digestOf(spec);
    await rig.deps.journal.accept({ ...rowOf(initialState(OPENED)), title: '', owner, inputDigest, inputRef });
    return { v: 1, runId: OPENED, epoch: 0, inputDigest, inputRef };
  }
  const open = (input: RunInput): Promise<OpenAnswer> => rig.environment().run(makeOpen(rig.deps), input);
  async function begun(): Promise<RunInput> {
    const input = await accepted();
    const opened = await open(input);
    if (opened.kind !== 'fresh') throw new Error(canonical(opened));
    const { events, draft } = turn(initialState(OPENED), [{ type: 'Start', runId: OPENED, epoch: 0, fresh: opened.fresh }], 1_000);
    expect(await rig.deps.journal.append({ runId: OPENED, epoch: 0, executionId: 'e1', expectedVersion: 0, events, row: rowOf(draft) })).toMatchObject({ kind: 'appended' });
    return input;
  }

  test('R9.1 a fresh run is given its agent, plan and budget, and everything is pinned by hash', async () => {
    const opened = await open(await accepted());
    if (opened.kind !== 'fresh') throw new Error(canonical(opened));
    const { fresh } = opened;
    expect(fresh).toMatchObject({ agent: { name: 'a' }, budget: { calls: 5 }, owner: { id: 'ann' }, title: 'Ask', plan: { goal: 'Ask' }, ledgerIncarnation: await rig.deps.ledger.incarnation() });
    expect(JSON.parse(new TextDecoder().decode(await rig.deps.artifacts.read(fresh.pins.prompts.sha256)))).toEqual({ system: 'Be brief.' });
    for (const pin of [fresh.pins.manifest, fresh.pins.prompts, fresh.pins.policy]) expect(await rig.deps.artifacts.verify(pin.sha256)).toBe('ok');
  });
  test('R7.3 a run begins in the mode of its worker, and a child is no laxer than its parent', async () => {
    const modeOf = async (input: RunInput, mode: HandsDeps['mode']): Promise<unknown> => {
      const opened = await rig.environment().run(makeOpen({ ...rig.deps, mode }), input) as OpenAnswer;
      return opened.kind === 'fresh' ? opened.fresh.pins.mode : opened.kind;
    };
    const parent = await accepted();
    expect([await modeOf(parent, 'dev'), await modeOf(parent, 'production')]).toEqual([undefined, 'production']);
    const opened: OpenAnswer = await rig.environment().run(makeOpen({ ...rig.deps, mode: 'production' }), parent);
    if (opened.kind !== 'fresh') throw new Error(canonical(opened));
    const { events, draft } = turn(initialState(OPENED), [{ type: 'Start', runId: OPENED, epoch: 0, fresh: opened.fresh }], 1_000);
    await rig.deps.journal.append({ runId: OPENED, epoch: 0, executionId: 'e1', expectedVersion: 0, events, row: rowOf(draft) });
    const spec = { v: 1, agent: 'a', input: {}, plan: PLAN, budget: {}, owner: opened.fresh.owner, parent: { runId: OPENED, callId: 'c1', callbackId: 'b-1', depth: 1 } };
    const inputRef = await rig.deps.artifacts.write(Buffer.from(canonical(spec)), { mediaType: 'application/json', summary: 'input' });
    await rig.deps.journal.accept({ ...rowOf(initialState('below')), title: '', owner: opened.fresh.owner, inputDigest: digestOf(spec), inputRef });
    expect(await modeOf({ v: 1, runId: 'below', epoch: 0, inputDigest: digestOf(spec), inputRef }, 'dev')).toBe('production');
  });
  test('an agent that is not here throws and names the fix, so that another worker can take the run', async () => {
    await expect(open(await accepted(PLAN, 'other'))).rejects.toThrow(/No agent is called other .*known: a/);
  });
  test('a run of another journal throws and names the fix', async () => {
    await expect(open({ ...await accepted(), runId: 'unknown' })).rejects.toThrow(/does not know run unknown/);
  });
  test('other input is refused; a run whose plan cannot be followed here begins and fails, saying why', async () => {
    expect(await open({ ...await accepted(), inputDigest: 'f'.repeat(64) })).toMatchObject({ kind: 'refused', why: expect.stringContaining('other input') });
    await rig.close();
    expect(await open(await accepted({ goal: 'x', steps: [{ id: 'a', title: 'a', action: { type: 'tool', tool: 'nothing', args: {} } }] }))).toMatchObject({ kind: 'fresh', fresh: { plan: null, refused: { code: 'plan', message: expect.stringContaining('nothing') } } });
    await rig.close();
    expect(await open(await accepted(null))).toMatchObject({ kind: 'fresh', fresh: { refused: { message: expect.stringContaining('declared plans') } } });
  });
  test('an older epoch is superseded', async () => {
    const input = await begun();
    await rig.deps.journal.raiseEpoch(OPENED, 0);
    expect(await open(input)).toMatchObject({ kind: 'superseded', epoch: 1 });
    expect(await open({ ...input, epoch: 1 })).toMatchObject({ kind: 'restored' });
  });
  test('I10 a checkpoint is the fold of the journal, and opening from it gives the same state as from the start', async () => {
    const input = await begun();
    const events = (await rig.deps.journal.read(OPENED, 0)).events;
    const version = events.length - 1;
    const saved: CheckpointResult = await rig.environment().run(makeCheckpoint(rig.deps), { runId: OPENED, version });
    expect(saved).toMatchObject({ kind: 'saved', version });
    if (saved.kind !== 'saved') return;
    expect(saved.ref.sha256).toBe(sha256Hex(canonical(fold(initialState(OPENED), events.slice(0, version)))));
    const opened = await open(input);
    if (opened.kind !== 'restored') throw new Error(canonical(opened));
    expect(opened.checkpoint?.version).toBe(version);
    expect(canonical(fold(opened.checkpoint ?? initialState(OPENED), opened.tail))).toBe(canonical(fold(initialState(OPENED), events)));
  });
  test('a checkpoint that is damaged is passed over, and the run is folded from its start', async () => {
    const input = await begun();
    const version = (await rig.deps.journal.head(OPENED))?.version ?? 0;
    await rig.environment().run(makeCheckpoint(rig.deps), { runId: OPENED, version });
    const blind = { ...rig.deps, artifacts: { ...rig.deps.artifacts, read: () => Promise.reject(new Error('damaged')) } };
    expect(await rig.environment().run(makeOpen(blind), input)).toMatchObject({ kind: 'restored', checkpoint: null });
  });
  test('R9.2 an event of a newer build is never folded halfway: it throws and names what it met', async () => {
    const input = await begun();
    const newer = { ...rig.deps, journal: { ...rig.deps.journal, read: async (...args: Parameters<HandsDeps['journal']['read']>) => {
      const page = await rig.deps.journal.read(...args);
      return { ...page, events: page.events.map((event, i) => (i === 1 ? { ...event, v: 99 } : event)) };
    } } };
    await expect(rig.environment().run(makeOpen(newer), input)).rejects.toThrow(/Event 2 .* newer than this build/);
  });
});
