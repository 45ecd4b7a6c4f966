// Promises of the model activity, under the real law, on the real stores, against a model over real HTTP: whatever a model
// answers, the run goes on, ends or stops with a reason, and each call of the model hears exactly one result.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { canonical, digestOf, type Json } from '../../src/core/canonical';
import type { Command, FreshRun } from '../../src/core/commands';
import { parsePlan } from '../../src/core/rules/planning';
import { initialState } from '../../src/core/initial';
import type { MessageBody } from '../../src/core/message';
import { rowOf } from '../../src/core/summary';
import type { AgentManifest, Actor, ArtifactRef, Effect, Output, RunSpec } from '../../src/core/run';
import type { State } from '../../src/core/state';
import { turn } from '../../src/core/turn';
import { fromWire, toWire, type Asked, type Wire } from '../../src/core/wire';
import type { CallResult, ModelNeed, Need } from '../../src/core/world';
import { failureOf } from '../../src/activities/failures';
import type { ToolCall, ToolDefinition } from '../../src/ports/tool';
import { Admission } from '../../src/activities/admission';
import { admitted } from '../../src/activities/admitted-model';
import { boundArgs, parsedArgs } from '../../src/activities/arguments';
import { makeModel } from '../../src/activities/model';
import { storeOutput } from '../../src/activities/outputs';
import { modelById } from '../../src/adapters/models/from-env';
import { openStores, type Stores } from '../../src/adapters/stores/open-stores';
import { defineTool, modelToolSpec, toolManifest } from '../../src/adapters/tools/define-tool';
import { readArtifact } from '../../src/adapters/tools/read-artifact';
import { startChatServer, type ChatServer, type Reply } from '../../src/testing/chat-server';

const ann: Actor = { id: 'ann', via: 'cli', assurance: 'local-user' };
const tool = (name: string, effect: Effect, execute: (args: { text: string }) => Json, sensitive: string[] = []) => defineTool({
  name, version: '1.2.0', description: `does ${name}`, effect, sensitive, input: z.strictObject({ text: z.string().max(100_000), token: z.string().optional() }), execute: (args) => Promise.resolve(execute(args)),
});

let stores: Stores;
let server: ChatServer;
let folder: string;
let n = 0;
const sent: string[] = [];
const tools = new Map<string, ToolDefinition>(([
  tool('search', 'none', ({ text }) => ({ found: text })),
  tool('read', 'none', ({ text }) => ({ content: `${text} `.repeat(4_000) })),
  tool('publish', 'manual', ({ text }) => { sent.push(text); return { url: `/${text}` }; }, ['token']), readArtifact,
] as ToolDefinition[]).map((one) => [one.name, one]));

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'longhaul-model-'));
  stores = await openStores({ stateDir: folder });
});
afterAll(async () => {
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => { sent.length = 0; server = await startChatServer(); });
afterEach(() => server.close());

const put = (value: unknown): Promise<ArtifactRef> => stores.artifacts.write(Buffer.from(canonical(value)), { mediaType: 'application/json', summary: 'pinned' });

/** The need as it comes out of Temporal's history. */
const asOnWire = (runId: string, need: ModelNeed): Asked<ModelNeed> => fromWire('model', JSON.parse(JSON.stringify(toWire({ runId, epoch: 0 }, need))) as Wire<ModelNeed>);

interface Run { state: State; decide(body: MessageBody): void; go(): Promise<State> }

/** A run of a planning agent, driven turn by turn until it can only wait or has ended. */
async function start(options: { env?: Record<string, string>; manifest?: Partial<AgentManifest>; question?: string; plan?: Json; admission?: Admission } = {}): Promise<Run> {
  const runId = `run-${++n}`;
  const model = `openai-compatible:${server.url}#tiny`;
  const agent: AgentManifest = {
    name: 'clerk', version: '1.0.0', planner: 'model', model, tools: [...tools.values()].map((one) => toolManifest(one)), budget: {}, maxParallel: 8,
    maxRejectedPlans: 3, maxOutputTokens: 1_000, maxInputTokens: 32_000, ...(options.plan === undefined ? {} : { planner: 'declared' as const }), ...options.manifest,
  };
  const spec: RunSpec = { v: 1, agent: 'clerk', input: { question: options.question ?? 'Who is right?' }, plan: null, budget: {}, owner: ann };
  const inputRef = await put(spec);
  const read = options.plan === undefined ? null : parsePlan(options.plan, agent.tools);
  if (read && 'reasons' in read) throw new Error(read.reasons.join(' '));
  const prompts = await put({ system: 'You are a clerk.', summarise: 'Sum it up.' });
  const fresh: FreshRun = {
    agent, pins: { build: 'test', manifest: await put(agent), prompts, policy: prompts, model, eventSchema: 1 }, budget: {}, owner: ann, seed: 's', title: 'A question',
    inputDigest: digestOf(spec), inputRef, ledgerIncarnation: 'i', plan: read && 'patch' in read ? read.patch : null,
  };
  const activity = makeModel({
    journal: stores.journal, artifacts: stores.artifacts, log: () => undefined, tools: (contract) => tools.get(contract.split('@')[0] ?? ''), spec: modelToolSpec,
    models: (id) => { const found = modelById(id, options.env ?? {}); return 'port' in found ? admitted(found.port, options.admission ?? new Admission(), 4) : found; },
  });
  const commands: Command[] = [{ type: 'Start', runId, epoch: 0, fresh }];
  const run: Run = { state: initialState(runId), decide: (body) => void commands.push({ type: 'Message', message: { messageId: `m${commands.length}-${run.state.version}`, actor: ann, body } }), go };
  await stores.journal.accept(rowOf({ ...run.state, owner: ann, agent, inputDigest: fresh.inputDigest, inputRef }));
  let now = 1_000;

  async function perform(need: Need): Promise<Command | null> {
    if (need.kind === 'model') return { type: 'ModelReturned', callId: need.callId, attempt: need.attempt, result: await activity(asOnWire(runId, need), { signal: new AbortController().signal }) };
    if (need.kind === 'prepare') {
      const { args, digest } = await boundArgs(stores.artifacts, need.call, false);
      const policy = { decision: 'ask' as const, rule: 'r', why: 'manual', approval: { quorum: 1, approvers: [], ownerMay: true, rule: 'r' } };
      return { type: 'PrepareReturned', stepId: need.stepId, n: need.n, result: { kind: 'prepared', argsDigest: digest, args: await storeOutput(stores.artifacts, args, { name: 'args', summary: 'args' }), resourceVersion: null, policy } };
    }
    if (need.kind === 'call') return { type: 'CallReturned', callId: need.callId, attempt: need.attempt, result: await call(need) };
    return null;
  }
  async function call(need: Need & { kind: 'call' }): Promise<CallResult> {
    const one = tools.get(need.tool);
    if (!one) throw new Error(need.tool);
    const { args } = await boundArgs(stores.artifacts, need.call, need.argsDigest !== undefined);
    const artifacts = { read: ({ sha256 }: Pick<ArtifactRef, 'sha256'>) => stores.artifacts.read(sha256), known: (sha256: string) => stores.journal.refersTo(runId, sha256) };
    const given = await parsedArgs(stores.artifacts, one, args, () => '');
    const value = await one.execute(given, { artifacts } as ToolCall).catch((error: unknown) => error) as Json | Error;
    if (value instanceof Error) return { kind: 'failed', failure: failureOf(value), sent: true };
    const output: Output = await storeOutput(stores.artifacts, value, { name: `${need.tool}.json`, summary: `${need.tool} answered` });
    return { kind: 'succeeded', output, summary: 'ok', via: 'sent', settled: true };
  }
  async function go(): Promise<State> {
    for (let i = 0; i < 200; i += 1) {
      now += 10_000;
      const { events, draft, needs } = turn(run.state, commands.splice(0), now);
      if (events.length > 0) expect((await stores.journal.append({ runId, epoch: 0, executionId: 'x', expectedVersion: run.state.version, events, row: rowOf(draft) })).kind).toBe('appended');
      run.state = draft;
      const next = (await Promise.all(needs.map(perform))).filter((command): command is Command => command !== null);
      const waiting = needs.some((need) => need.kind === 'timer' && need.name.startsWith('retry:'));
      if (next.length === 0 && !waiting) return draft;
      commands.push(...next);
    }
    throw new Error('It never came to rest.');
  }
  return run;
}

interface Sent { messages: { role: string; content: string | null; tool_call_id?: string; tool_calls?: { id: string }[] }[] }
const asked = (index = -1): Sent => server.requests.at(index)?.body as unknown as Sent;
/** What the model heard for each call, by the call's place; fails when a call has not exactly one result. */
function heard(index = -1): Json[] {
  const { messages } = asked(index);
  return messages.flatMap((message) => (message.tool_calls ?? []).map(({ id }) => {
    const results = messages.filter((one) => one.tool_call_id === id);
    expect(results).toHaveLength(1);
    return JSON.parse(results[0]?.content ?? '') as Json;
  }));
}

const searchFor = (text: string, args: Json = { text }) => ({ tool: 'search', args });
const done: Reply = { text: 'Ann is right.' };

describe('the model activity', () => {
  test('plans from the goal and the input, hears the results and ends with its text', async () => {
    server.push({ calls: [searchFor('a'), searchFor('b')] }, done);
    const run = await start();
    const { end, spent } = await run.go();
    expect(end).toMatchObject({ status: 'completed', outcome: 'full', summary: 'Ann is right.', result: { value: 'Ann is right.' } });
    expect(JSON.stringify(asked(0))).toContain('You are a clerk.');
    expect(asked(0).messages[1]?.content).toContain('Input (JSON):\n{"question":"Who is right?"}');
    expect(heard()).toEqual([{ step: 's1-1', value: { found: 'a' } }, { step: 's1-2', value: { found: 'b' } }]);
    expect(spent).toMatchObject({ calls: 4, tokens: 240 });
  });

  test('B43 a made-up tool is told to the model, and the run recovers', async () => {
    server.push({ calls: [{ tool: 'get_dat', args: {} }] }, { calls: [searchFor('a')] }, done);
    const { end } = await (await start()).go();
    expect(end?.status).toBe('completed');
    expect(heard(1)).toEqual([{ error: 'model-output', message: expect.stringContaining('the tools are: search, read, publish, read_artifact, propose_plan') }]);
  });

  test('B43 a model that is always wrong blocks the run after the limit; its calls are charged', async () => {
    server.push({ calls: [searchFor('kept')] }, ...Array.from({ length: 3 }, () => ({ calls: [{ tool: 'get_dat', args: {} }] })));
    const { end, blocked, spent, steps } = await (await start()).go();
    expect(end).toBeNull();
    expect(blocked).toMatchObject({ failure: { class: 'model-output' }, why: expect.stringContaining('get_dat') });
    expect(steps.map((step) => [step.id, step.status])).toEqual([['s1', 'done']]);
    expect(spent.tokens).toBe(480);
  });

  test('B10 after one approval and one denial each of three calls has its result, in order', async () => {
    server.push({ calls: [searchFor('a'), { tool: 'publish', args: { text: 'yes' } }, { tool: 'publish', args: { text: 'no' } }] }, done);
    const run = await start();
    const waiting = await run.go();
    const byText = (text: string) => Object.values(waiting.approvals).find((approval) => approval.binding.argsDigest === digestOf({ text }))?.approvalId ?? '';
    run.decide({ kind: 'approve', approvalId: byText('yes') });
    run.decide({ kind: 'reject', approvalId: byText('no'), reason: 'not this week' });
    const { end } = await run.go();
    expect(end?.status).toBe('completed');
    expect(heard()).toEqual([{ step: 's1-1', value: { found: 'a' } }, { step: 's1-2', value: { url: '/yes' } }, { step: 's1-3', denied: true, reason: expect.stringContaining('not this week') }]);
    expect(sent).toEqual(['yes']);
  });

  test('B44 a good call beside broken ones is run once; truncated calls never are', async () => {
    server.push({ calls: [{ tool: 'publish', raw: '{"text":"x",}' }, searchFor('good'), { tool: 'publish', raw: '```json\n{"text":"fenced"}\n```' }] });
    const run = await start();
    const waiting = await run.go();
    expect(waiting.steps.map((step) => step.id)).toEqual(['s1-2', 's1-3']);
    server.push({ calls: [{ tool: 'publish', args: { text: 'half' } }], finish: 'length' }, done);
    run.decide({ kind: 'approve', approvalId: Object.keys(waiting.approvals)[0] ?? '' });
    expect((await run.go()).end?.status).toBe('completed');
    expect(sent).toEqual(['fenced']);
    expect(heard(1)[0]).toMatchObject({ error: 'model-output' });
    expect(heard(2)[3]).toEqual({ error: 'model-output', message: expect.stringContaining('cut off') });
  });

  test('arguments that do not fit the schema are an error without the value of a sensitive member', async () => {
    server.push({ calls: [{ tool: 'publish', args: { text: 5, token: 77_123, more: 1 } }] }, done);
    await (await start()).go();
    const [result] = heard() as { message: string }[];
    expect(result?.message).toMatch(/Step s1, publish: the arguments do not fit: .*text: Invalid input: expected string/);
    expect(result?.message).not.toContain('77');
  });

  test('R2.4 a model is shown its own earlier calls without the values of sensitive members, in titles and plans too', async () => {
    server.push({ calls: [{ tool: 'publish', args: { text: 'with token-55-77', token: 'token-55-77' } }] }, { calls: [{ tool: 'propose_plan', args: { steps: [{ id: 'a', title: 'by token-55-77', tool: 'publish', args: { text: 'x', token: 'token-55-77' } }] } }] }, done);
    const run = await start();
    for (let n = 0; n < 2; n += 1) run.decide({ kind: 'approve', approvalId: Object.keys((await run.go()).approvals)[0] ?? '' });
    const { steps, end } = await run.go();
    expect([end?.status, sent]).toEqual(['completed', ['with token-55-77', 'x']]);
    expect(steps.map(({ title }) => title)).toEqual(['publish: with [hidden]', 'by [hidden]']);
    const calls = asked().messages.flatMap((message) => message.tool_calls ?? []) as unknown as { function: { arguments: string } }[];
    expect(calls.map((call) => JSON.parse(call.function.arguments))).toEqual([{ text: 'with token-55-77', token: '[hidden]' }, { steps: [{ id: 's3-a', title: 'by token-55-77', tool: 'publish', args: { text: 'x', token: '[hidden]' } }] }]);
  });

  test('propose_plan runs steps in the order of what they use, under ids of their own', async () => {
    server.push({ calls: [{ tool: 'propose_plan', args: { steps: [
      { id: 'one', tool: 'search', args: { text: 'a' } },
      { id: 'two', title: 'again', tool: 'search', args: { text: { $from: 'one.found' } } },
      { id: 'three', tool: 'search', args: { text: 'c' }, dependsOn: ['two'], optional: true },
    ] } }] }, done);
    const { end, steps } = await (await start()).go();
    expect(end?.status).toBe('completed');
    expect(steps.map(({ id, dependsOn, status }) => [id, dependsOn, status])).toEqual([['s1-one', [], 'done'], ['s1-two', ['s1-one'], 'done'], ['s1-three', ['s1-two'], 'done']]);
    expect(heard()).toEqual([{ steps: { 's1-one': { value: { found: 'a' } }, 's1-two': { value: { found: 'a' } }, 's1-three': { value: { found: 'c' } } } }]);
  });

  test.each<[string, Json, RegExp]>([
    ['a circle', { steps: [{ id: 'a', tool: 'search', args: { text: { $from: 'b' } } }, { id: 'b', tool: 'search', args: { text: { $from: 'a' } } }] }, /circle/],
    ['nothing to refer to', { steps: [{ id: 'a', tool: 'search', args: { text: { $from: 'gone.x' } } }] }, /"gone", which does not exist/],
    ['an unknown tool', { steps: [{ id: 'a', tool: 'nope' }] }, /Step s1-a uses the tool "nope"/],
    ['no steps', {}, /needs "steps"/],
    ['itself', { steps: [{ id: 'a', tool: 'propose_plan', args: {} }] }, /uses the tool "propose_plan"/],
    ['a secret', { steps: [{ id: 'a', tool: 'search', args: { text: { $secret: 'OPENAI_API_KEY' } } }] }, /leave \$secret out/],
    ['a pointer of the runtime', { steps: [{ id: 'a', tool: 'search', args: { text: { $artifact: {}, path: [] } } }] }, /\$artifact/],
  ])('a proposal with %s is an error for the model, and nothing of it runs', async (_what, args, words) => {
    server.push({ calls: [{ tool: 'propose_plan', args }] }, done);
    const { end, steps } = await (await start()).go();
    expect(end?.status).toBe('completed');
    expect(steps).toEqual([]);
    expect((heard()[0] as { message: string }).message).toMatch(words);
  });

  test('a proposal that only drops, and that the law refuses, hears why as the result of its call', async () => {
    server.push({ calls: [{ tool: 'publish', args: { text: 'waits' } }, searchFor('x')] }, { calls: [{ tool: 'propose_plan', args: { steps: [], drop: ['s1-2'] } }] }, done);
    const run = await start();
    await run.go();
    run.decide({ kind: 'note', text: { value: 'Well?' } });
    await run.go();
    expect(heard().at(-1)).toEqual({ error: 'refused', message: 'Step s1-2 cannot be dropped: it is done.' });
  });

  test('an answer that ends nothing and does nothing is refused with its reason', async () => {
    server.push({ text: '' }, { text: 'half a sen', finish: 'length' }, done);
    const { end } = await (await start()).go();
    expect(end?.status).toBe('completed');
    const said = asked().messages.map((message) => message.content).join('\n');
    expect(said).toContain('The answer was empty');
    expect(said).toContain('cut off at the token limit');
  });

  test('of forty calls sixteen are made and the rest are told', async () => {
    server.push({ calls: Array.from({ length: 40 }, (_, i) => searchFor(`q${i}`)) }, done);
    const { end, steps } = await (await start()).go();
    expect(end?.status).toBe('completed');
    expect(steps).toHaveLength(16);
    expect(heard()[39]).toMatchObject({ message: expect.stringContaining('Only the first 16') });
  });

  test('notes of people reach the model, and a long answer becomes an artifact', async () => {
    server.push({ calls: [{ tool: 'publish', args: { text: 'x' } }] });
    const run = await start();
    const waiting = await run.go();
    server.push({ text: 'It stays as it is.' });
    run.decide({ kind: 'note', text: { value: 'Mind the July figures.' } });
    expect((await run.go()).plan.version).toBe(1);
    expect(heard()).toEqual([expect.objectContaining({ open: true })]);
    expect(asked().messages.slice(-2).map((message) => message.content)).toEqual(['Note from ann: Mind the July figures.', expect.stringMatching(/not done yet.*s1\..*answer with text alone/s)]);
    server.push({ text: 'Long. '.repeat(400) });
    run.decide({ kind: 'approve', approvalId: Object.keys(waiting.approvals)[0] ?? '' });
    const { end } = await run.go();
    expect(asked().messages.slice(-3).map((message) => message.content)).toEqual(['Note from ann: Mind the July figures.', 'It stays as it is.', expect.stringContaining('is over')]);
    expect(heard()).toEqual([expect.objectContaining({ value: expect.anything() })]);
    expect(end?.result).toMatchObject({ ref: { mediaType: 'text/markdown', name: 'answer.md' } });
    expect(end?.summary.length).toBeLessThanOrEqual(300);
  });

  test('a note that is too long for an event reaches the model as the text that the command line stored', async () => {
    server.push({ calls: [{ tool: 'publish', args: { text: 'x' } }] });
    const run = await start();
    await run.go();
    const text = 'Mind all the others too. '.repeat(40);
    const ref = await stores.artifacts.write(Buffer.from(text), { mediaType: 'text/plain; charset=utf-8', summary: 'A message' });
    server.push({ text: 'It stays as it is.' });
    run.decide({ kind: 'note', text: { ref } });
    expect((await run.go()).blocked).toBeNull();
    expect(asked().messages.map((message) => message.content)).toContain(`Note from ann: ${text}`);
  });

  const NOWHERE = { sha256: '9'.repeat(64), bytes: 700 } as ArtifactRef;
  test('a note that names an artifact which nobody has stored is told as such, and stops nothing', async () => {
    server.push({ calls: [{ tool: 'publish', args: { text: 'x' } }] });
    const run = await start();
    await run.go();
    server.push({ text: 'It stays as it is.' });
    run.decide({ kind: 'note', text: { ref: NOWHERE } });
    expect((await run.go()).blocked).toBeNull();
    expect(asked().messages.map((message) => message.content)).toContain('Note from ann: (its text could not be read: artifact 9999999999999999 is missing)');
  });

  test.each([['without a kind', {}, 'is not shown here'], ['as text', { mediaType: 'text/plain' }, 'could not be read']])('an answer that names an artifact which nobody has stored, %s, is told as such, and stops nothing', async (_, more, words) => {
    server.push({ calls: [{ tool: 'propose_plan', args: { steps: [{ id: 'ask', question: 'Well?' }] } }] });
    const run = await start();
    const [questionId = ''] = Object.keys((await run.go()).questions);
    server.push({ text: 'Then not.' });
    run.decide({ kind: 'answer', questionId, answer: { ref: { ...NOWHERE, ...more } } });
    const { blocked, end } = await run.go();
    expect([blocked, end?.status]).toEqual([null, 'completed']);
    expect(JSON.stringify(asked().messages)).toContain(words);
  });
});

describe('the input of a model', () => {
  test('shows artifacts of the latest turn with their text, those of older turns by reference', async () => {
    server.push({ calls: [{ tool: 'read', args: { text: 'first' } }] }, { calls: [{ tool: 'read', args: { text: 'second' } }] }, done);
    await (await start()).go();
    const [older, latest] = heard() as { artifact: { sha256: string }; text?: string; note: string }[];
    expect(older?.artifact.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(older?.text).toBeUndefined();
    expect(latest?.text?.length).toBe(16 * 1024);
    expect(latest?.note).toMatch(/^Cut after 16384 of \d+ bytes/);
    expect(older?.note).toContain(`read_artifact {"sha256":"${older?.artifact.sha256}"}`);
    expect((heard(1)[0] as { text: string }).text).toContain('first first');
  });

  test('a model reads a large earlier result by ranges, from where the note says, to its end', async () => {
    const parts: string[] = [];
    const curious = await startChatServer({ answers: ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role !== 'tool') return { calls: [{ tool: 'read', args: { text: 'chapter' } }] };
      const shown = JSON.parse(String(last.content)) as { text: string; note?: string };
      const part = shown.note === undefined ? JSON.parse(shown.text) as { text: string; to: number; more: boolean; sha256: string } : undefined;
      parts.push(part?.text ?? shown.text);
      if (part) return part.more ? { calls: [{ tool: 'read_artifact', args: { sha256: part.sha256, from: part.to, bytes: 7_001 } }] } : done;
      return { calls: [{ tool: 'read_artifact', args: JSON.parse(/read_artifact (\{.*\})\.$/.exec(shown.note ?? '')?.[1] ?? 'null') as Json }] };
    } });
    const { end, steps } = await (await start({ manifest: { model: `openai-compatible:${curious.url}#tiny` } })).go();
    await curious.close();
    expect(end?.status).toBe('completed');
    expect(steps.length).toBeGreaterThan(2);
    const large = steps[0]?.output;
    expect(parts[0]?.length).toBe(16 * 1024);
    expect(parts.join('')).toBe(Buffer.from(await stores.artifacts.read(large && 'ref' in large ? large.ref.sha256 : '')).toString('utf8'));
  });

  test('a model that names an artifact of another run hears that its run has none such, and goes on', async () => {
    const foreign = await put({ secret: 'of somebody else' });
    server.push({ calls: [{ tool: 'read_artifact', args: { sha256: foreign.sha256 } }] }, { calls: [{ tool: 'read_artifact', args: { sha256: foreign.sha256, from: 1 } }] }, done);
    const { end } = await (await start()).go();
    expect(end?.status).toBe('completed');
    expect(heard()).toEqual(Array.from({ length: 2 }, () => ({ step: expect.anything(), error: 'not-found', message: expect.stringContaining('No result of this run') })));
  });

  test('stays within the limit of tokens over many turns, without ever orphaning a call', async () => {
    const limit = 3_000;
    server.push(...Array.from({ length: 30 }, (_, i) => ({ calls: [{ tool: 'read', args: { text: `topic${i}` } }, searchFor('y'.repeat(300))] })), done);
    const { end } = await (await start({ manifest: { maxInputTokens: limit } })).go();
    expect(end?.status).toBe('completed');
    expect(server.requests).toHaveLength(31);
    for (const [index, request] of server.requests.entries()) {
      heard(index);
      expect(Buffer.byteLength(JSON.stringify((request.body as unknown as Sent).messages))).toBeLessThanOrEqual(limit * 4);
    }
    expect(asked().messages[1]?.content).toMatch(/earlier turns are left out/);
    expect(JSON.stringify(asked())).toContain('topic29');
  });

  test('keeps what people said when old turns go, shortened where there is much', async () => {
    server.push({ calls: [{ tool: 'publish', args: { text: 'x' } }] });
    const run = await start({ manifest: { maxInputTokens: 4_000 } });
    const waiting = await run.go();
    for (let i = 0; i < 40; i += 1) run.decide({ kind: 'note', text: { value: `remark ${i} ${'n'.repeat(700)}` } });
    server.push({ text: 'Noted.' });
    await run.go();
    server.push(...Array.from({ length: 4 }, () => ({ calls: [searchFor('y'.repeat(200))] })), done);
    run.decide({ kind: 'approve', approvalId: Object.keys(waiting.approvals)[0] ?? '' });
    expect((await run.go()).end?.status).toBe('completed');
    expect(JSON.stringify(asked())).toContain('remark 39');
  });

  test('that cannot fit fails with a sentence and is not retried', async () => {
    const { blocked } = await (await start({ question: 'x'.repeat(9_000), manifest: { maxInputTokens: 1_000 } })).go();
    expect(server.requests).toHaveLength(0);
    expect(blocked?.failure).toMatchObject({ class: 'argument', code: 'input-too-large' });
  });

  test('large arguments stand in the stored answer, not in the plan', async () => {
    server.push({ calls: [searchFor('z'.repeat(2_000)), { tool: 'propose_plan', args: { steps: [{ id: 'p', tool: 'search', args: { text: 'w'.repeat(2_000) } }] } }] }, done);
    const { end, steps } = await (await start()).go();
    expect(end?.status).toBe('completed');
    expect(steps.map((step) => 'argsRef' in step.action && step.action.at)).toEqual([['calls', '0', 'args'], ['calls', '1', 'args', 'steps', '0', 'args']]);
    expect(JSON.stringify(steps)).not.toContain('z'.repeat(100));
  });

  test('a missing answer is never passed over: the run stops and names the artifact', async () => {
    server.push({ calls: [{ tool: 'publish', args: { text: 'x' } }] });
    const run = await start();
    const waiting = await run.go();
    const { events } = await stores.journal.read(run.state.runId, 0);
    const answered = events.find((event) => event.type === 'ModelCallSucceeded');
    const ref = answered?.type === 'ModelCallSucceeded' && answered.data.output && 'ref' in answered.data.output ? answered.data.output.ref.sha256 : '';
    const files = readdirSync(path.join(folder, 'artifacts'), { recursive: true, withFileTypes: true });
    const file = files.find((entry) => entry.isFile() && ref.endsWith(entry.name) && path.join(entry.parentPath, entry.name).replaceAll('/', '').endsWith(ref));
    rmSync(path.join(file?.parentPath ?? '', file?.name ?? ''));
    run.decide({ kind: 'approve', approvalId: Object.keys(waiting.approvals)[0] ?? '' });
    const { end, blocked } = await run.go();
    expect(end).toBeNull();
    expect(blocked).toMatchObject({ failure: { class: 'artifact', code: 'missing' }, why: expect.stringContaining(ref) });
    expect(server.requests).toHaveLength(1);
  });
});

describe('a step that asks a model', () => {
  const plan = (args: Json, prompt = 'summarise', after: Json[] = []): Json => ({ goal: 'g', steps: [
    { id: 'find', action: { type: 'tool', tool: 'search', args: { text: 'refunds' } } },
    { id: 'load', action: { type: 'tool', tool: 'read', args: { text: 'chapter' } } },
    { id: 'sum', action: { type: 'model', prompt, args } }, ...after,
  ] });
  const output = ({ steps }: State) => steps.find((step) => step.id === 'sum')?.output;

  test('is given its prompt by name and the material it refers to, artifacts as text, and no tools', async () => {
    server.push({ text: 'All is well.' });
    const { end, ...state } = await (await start({ plan: plan({ hits: { $from: 'find.found' }, text: { $from: 'load' }, part: { $from: 'load.content' } }) })).go();
    expect(end?.status).toBe('completed');
    expect(output(state as State)).toEqual({ value: { text: 'All is well.' } });
    const { messages, tools: offered } = asked(0) as Sent & { tools?: unknown };
    expect(offered).toBeUndefined();
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(messages[1]?.content).toMatch(/^Sum it up\.\n\nMaterial \(JSON\):\n/);
    const material = JSON.parse(messages[1]?.content?.split('Material (JSON):\n')[1] ?? '') as { hits: string; part: string; text: { text: string } };
    expect(material.hits).toBe('refunds');
    expect(material.part).toBe('chapter '.repeat(4_000));
    expect(JSON.parse(material.text.text)).toEqual({ content: material.part });
  });

  test('hands its words on to later steps, whole also when they are long, and JSON as JSON', async () => {
    server.push({ text: '```json\n{"verdict":"' + 'v'.repeat(900) + '"}\n```' });
    const after: Json[] = [{ id: 'use', action: { type: 'tool', tool: 'search', args: { text: { $from: 'sum.json.verdict' } } } }];
    const { end, steps } = await (await start({ plan: plan({}, 'Judge it.', after) })).go();
    expect(end?.status).toBe('completed');
    expect(steps.find((step) => step.id === 'sum')?.output).toMatchObject({ ref: { mediaType: 'application/json' } });
    const used = steps.find((step) => step.id === 'use')?.output;
    const bytes = used && 'ref' in used ? await stores.artifacts.read(used.ref.sha256) : new Uint8Array();
    expect(JSON.parse(new TextDecoder().decode(bytes))).toEqual({ found: 'v'.repeat(900) });
  });

  test.each<[string, Json, Reply, string, string]>([
    ['a secret in its material', { key: { $secret: 'TOKEN' } }, done, 'permission', 'not given to a model'],
    ['a reference into nothing', { x: { $from: 'find.gone' } }, done, 'argument', 'leads to nothing'],
    ['an answer that was cut off', {}, { text: 'half', finish: 'length' }, 'model-output', 'cut off'],
    ['an empty answer', {}, { text: ' ' }, 'model-output', 'answered nothing'],
  ])('with %s fails with its class', async (_what, args, reply, kind, words) => {
    const strict = await startChatServer({ script: [reply] });
    const { steps } = await (await start({ plan: plan(args), manifest: { model: `openai-compatible:${strict.url}#tiny` } })).go();
    expect(steps.find((step) => step.id === 'sum')?.failure).toMatchObject({ class: kind, message: expect.stringContaining(words) });
    await strict.close();
  });
});

describe('a model that cannot be asked', () => {
  test('with a bad key fails the run at once and names the variable', async () => {
    const strict = await startChatServer({ keys: ['right'] });
    const run = await start({ env: { LONGHAUL_MODEL_API_KEY: 'wrong' }, manifest: { model: `openai-compatible:${strict.url}#tiny` } });
    const { end } = await run.go();
    expect(end).toMatchObject({ status: 'failed', failure: { class: 'model-key', message: expect.stringContaining('LONGHAUL_MODEL_API_KEY') } });
    expect(strict.requests).toHaveLength(1);
    await strict.close();
  });

  test('without a key fails without asking', async () => {
    const { end } = await (await start({ manifest: { model: 'openai:gpt-5.1' } })).go();
    expect(end?.failure).toMatchObject({ class: 'model-key', message: expect.stringContaining('set OPENAI_API_KEY') });
  });

  test('after 429, 500 and a dropped connection is asked again and goes on', async () => {
    server.push({ status: 429, headers: { 'retry-after': '2' } }, { status: 500 }, { drop: 'before' }, done);
    const { end, spent } = await (await start()).go();
    expect(end?.status).toBe('completed');
    expect(spent).toMatchObject({ calls: 4, failures: 3 });
  });

  test('when it refuses the content stops the run as a refusal, not retried', async () => {
    server.push({ text: '', finish: 'content_filter' });
    const { blocked, spent } = await (await start()).go();
    expect(blocked?.failure).toMatchObject({ class: 'business-refusal', code: 'content-filter' });
    expect(spent.tokens).toBe(120);
    expect(server.requests).toHaveLength(1);
  });
});

test('R8.5 a planner whose provider is not to be asked now waits in a timer and asks then; the provider hears nothing, and nothing is charged', async () => {
  let time = 0;
  const admission = new Admission(undefined, () => (time += 1_500));
  for (let i = 0; i < 5; i += 1) {
    const entered = admission.enter(`model provider openai-compatible:${server.url}`, 4);
    if (entered.kind === 'let') entered.leave({ class: 'server' });
  }
  server.push({ text: 'Nobody is right.' });
  const { spent, end } = await (await start({ admission })).go();
  expect([server.requests.length, spent.calls, spent.failures, end?.status]).toEqual([1, 1, 0, 'completed']);
  expect((await stores.journal.read(`run-${n}`, 0)).events.filter(({ type }) => type === 'RetryScheduled').length).toBeGreaterThan(0);
});

test('a model that does not answer in its time is a failure that is tried again, not a cancel', async () => {
  const over = AbortSignal.abort(new Error('Stop: timeout'));
  const port = { id: 'openai:x', generate: () => Promise.reject(new Error('aborted')) };
  const run = await start();
  const transcripts = makeModel({ journal: stores.journal, artifacts: stores.artifacts, log: () => undefined, tools: (contract) => tools.get(contract.split('@')[0] ?? ''), spec: modelToolSpec, models: () => port });
  await run.go();
  const asked = asOnWire(`run-${n}`, { kind: 'model', callId: 'c1', callSeq: 1, attempt: 1, upTo: 1, id: 'model:c1#1', begun: true, purpose: 'plan', rejected: [], nextPlanVersion: 1, maxInputTokens: 32_000, maxOutputTokens: 100, firstContact: true, summary: '' });
  expect(await transcripts(asked, { signal: over })).toMatchObject({ kind: 'failed', failure: { class: 'network', code: 'timeout' }, usage: { failures: 1 } });
});
