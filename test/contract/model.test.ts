// Promises of the model adapters, each over real HTTP through modelFromEnv: how answers are read, what is never run, and
// what each refusal of a provider is called. The server's log shows what was really sent.
import type { Failure } from '../../src/core/failure';
import { ModelError, type ModelAnswer, type ModelMessage, type ModelPort, type ModelToolSpec } from '../../src/ports/model';
import { DEFAULT_MODELS, modelById, modelFromEnv, modelIdFromEnv, modelNotes } from '../../src/adapters/models/from-env';
import { retryAfterMs } from '../../src/adapters/models/provider-failures';
import { startChatServer, type ChatServer, type Reply } from '../../src/testing/chat-server';

const KEY = 'sk-test-0123456789abcdef';
const tools: ModelToolSpec[] = ['publish', 'search'].map((name) => ({ name, description: `does ${name}`, inputSchema: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: true } }));
const hello: ModelMessage[] = [{ role: 'system', text: 'Be brief.' }, { role: 'user', text: 'Publish it.' }];

let server: ChatServer;
beforeAll(async () => { server = await startChatServer({ keys: [KEY] }); });
afterAll(() => server.close());

type Vendor = 'openai-compatible' | 'openai' | 'anthropic';
const vendors: Vendor[] = ['openai-compatible', 'openai', 'anthropic'];

function port(vendor: Vendor = 'openai-compatible', key = KEY, url = server.url): ModelPort {
  const env = {
    'openai-compatible': { LONGHAUL_MODEL: `openai-compatible:${url}#tiny`, LONGHAUL_MODEL_API_KEY: key },
    openai: { OPENAI_API_KEY: key, OPENAI_BASE_URL: url },
    anthropic: { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url },
  }[vendor];
  const found = modelFromEnv(env);
  if ('missing' in found) throw new Error(found.missing);
  return found.port;
}

const generate = (model: ModelPort, messages = hello, signal = new AbortController().signal): Promise<ModelAnswer> => model.generate({ messages, tools, maxOutputTokens: 500, signal });

function ask(reply: Reply, vendor?: Vendor): Promise<ModelAnswer> {
  server.push(reply);
  return generate(port(vendor));
}

async function failure(of: Promise<ModelAnswer>): Promise<Failure> {
  const error = await of.then((answer) => { throw new Error(`answered ${JSON.stringify(answer)}`); }, (thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ModelError);
  return (error as ModelError).failure;
}

describe('a model answer', () => {
  test.each(vendors)('of %s carries text, calls and usage', async (vendor) => {
    const answer = await ask({ text: 'Will do.', calls: [{ tool: 'publish', args: { text: 'x' } }, { tool: 'search', args: {} }], usage: { input: 1_000, output: 50 } }, vendor);
    expect(answer).toMatchObject({ text: 'Will do.', finish: 'tool-calls', calls: [{ tool: 'publish', args: { text: 'x' } }, { tool: 'search', args: {} }] });
    expect(answer.calls.every((call) => call.error === undefined)).toBe(true);
    expect(answer.usage.tokens).toBe(1_050);
  });

  test('costs whole micro-dollars where the price is known, and nothing where it is not', async () => {
    expect((await ask({ text: 'x', usage: { input: 1_000, output: 50 } }, 'openai')).usage.microUsd).toBe(1_750);
    expect((await ask({ text: 'x', usage: { input: 1_000, output: 50 } })).usage.microUsd).toBe(0);
  });

  test('without a count of tokens is estimated, never free', async () => {
    expect((await ask({ text: 'y'.repeat(400), usage: null })).usage.tokens).toBeGreaterThan(100);
  });

  test.each(vendors)('B10 the input of %s has exactly one result for each call, denied ones too', async (vendor) => {
    server.push({ text: 'done' });
    await generate(port(vendor), [
      ...hello,
      { role: 'assistant', text: '', calls: ['a', 'b', 'c'].map((id) => ({ id, tool: 'publish', args: { text: id } })) },
      { role: 'tool', id: 'a', tool: 'publish', result: { url: 'u' } },
      { role: 'tool', id: 'b', tool: 'publish', result: 'ok' },
      { role: 'tool', id: 'c', tool: 'publish', result: { denied: true, reason: 'not now' } },
    ]);
    const sent = JSON.stringify(server.requests.at(-1)?.body);
    for (const id of ['a', 'b', 'c']) expect(sent.match(new RegExp(`"(tool_call_id|tool_use_id)":"${id}"`, 'g'))).toHaveLength(1);
    expect(sent).toContain('not now');
  });

  test('tools are sent without being run here, and nothing is retried', async () => {
    const before = server.requests.length;
    await failure(ask({ status: 500 }));
    expect(server.requests).toHaveLength(before + 1);
    expect(server.requests.at(-1)?.body).toMatchObject({ model: 'tiny', max_tokens: 500, tools: [{ function: { name: 'publish' } }, { function: { name: 'search' } }] });
  });
});

describe('B44 arguments of a call', () => {
  const raws: [string, string, object][] = [
    ['fenced JSON', '```json\n{"text":"x"}\n```', { text: 'x' }],
    ['a fence without a language', '```\n{"text":"x"}\n```', { text: 'x' }],
    ['nothing at all', '', {}],
    ['blanks', '  \n', {}],
    ['an empty fence', '```json\n```', {}],
  ];
  test.each(raws)('%s is read', async (_what, raw, args) => {
    const [call] = (await ask({ calls: [{ tool: 'publish', raw }] }, 'openai')).calls;
    expect(call).toMatchObject({ tool: 'publish', args });
    expect(call?.error).toBeUndefined();
  });

  test.each(['openai', 'openai-compatible'] as Vendor[])('each other form is an error of that call alone, by %s', async (vendor) => {
    const bad = ['Here you are: {"text":"x"}', '{"text":"x",}', '{"text":"x"', '{"text":"x","text":"y"}', '{"a":{"b":1,"\\u0062":2}}', '[1]', '"x"', '{} {}', "{'text':'x'}", '```json\n```json\n{}\n```\n```'];
    const answer = await ask({ calls: [...bad.map((raw) => ({ tool: 'publish', raw })), { tool: 'search', args: { text: 'good' } }] }, vendor);
    expect(answer.calls.slice(0, bad.length).map((call) => typeof call.error)).toEqual(bad.map(() => 'string'));
    expect(answer.calls[3]?.error).toContain('"text" twice');
    expect(answer.calls.at(-1)).toMatchObject({ args: { text: 'good' } });
    expect(answer.calls.at(-1)?.error).toBeUndefined();
  });

  test('nested without end do not upset the reading of the others', async () => {
    const answer = await ask({ calls: [{ tool: 'publish', raw: `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}` }, { tool: 'search', args: { text: 'good' } }] }, 'openai');
    expect(answer.calls.at(-1)).toMatchObject({ tool: 'search', args: { text: 'good' } });
  });

  test.each(vendors)('a call that was cut off at the token limit is never run by %s, though it parses', async (vendor) => {
    const answer = await ask({ calls: [{ tool: 'publish', args: { text: 'half' } }], finish: 'length' }, vendor);
    expect(answer.finish).toBe('length');
    expect(answer.calls).toEqual([expect.objectContaining({ args: {}, error: expect.stringContaining('cut off') })]);
  });

  test.each(vendors)('B43 a made-up tool of %s is an error that lists the tools, not an exception', async (vendor) => {
    const answer = await ask({ calls: [{ tool: 'get_dat', args: {} }, { tool: 'Publish', args: {} }] }, vendor);
    expect(answer.calls.map((call) => call.error)).toEqual([
      'There is no tool "get_dat"; the tools are: publish, search.', 'There is no tool "Publish"; the tools are: publish, search.',
    ]);
  });

  test('a refusal by content filter is told apart from an end', async () => {
    expect((await ask({ text: '', finish: 'content_filter' })).finish).toBe('content-filter');
    expect(await failure(ask({ status: 400, code: 'content_filter', message: 'no' }))).toMatchObject({ class: 'business-refusal', code: 'content-filter' });
  });
});

describe('a refused call', () => {
  test.each<[string, Reply, Failure['class'], string]>([
    ['400', { status: 400, code: 'bad', message: 'too long' }, 'argument', 'too long'],
    ['402', { status: 402, message: 'pay' }, 'business-refusal', 'credit'],
    ['403', { status: 403 }, 'model-key', 'LONGHAUL_MODEL_API_KEY'],
    ['404', { status: 404 }, 'not-found', 'LONGHAUL_MODEL'],
    ['422', { status: 422 }, 'argument', 'HTTP 422'],
    ['429 without credit', { status: 429, code: 'insufficient_quota' }, 'business-refusal', 'no credit'],
    ['429', { status: 429 }, 'rate-limited', 'pause'],
    ['500', { status: 500 }, 'server', 'HTTP 500'],
    ['503', { status: 503 }, 'server', 'HTTP 503'],
    ['418', { status: 418 }, 'unknown', 'HTTP 418'],
    ['a body that is not JSON', { body: '<html>busy</html>' }, 'server', 'not a model answer'],
    ['JSON of another kind', { body: '{"hello":1}' }, 'server', 'not a model answer'],
    ['half a body', { drop: 'within' }, 'network', 'did not arrive'],
    ['a closed connection', { drop: 'before' }, 'network', 'did not arrive'],
  ])('with %s has its class and one sentence', async (_what, reply, kind, words) => {
    const failed = await failure(ask(reply));
    expect(failed.class).toBe(kind);
    expect(failed.message).toContain(words);
    expect(failed.message).not.toContain('\n');
    expect(failed.message).not.toContain(KEY);
  });

  test.each(vendors)('with a bad key says which variable to set, without the key, by %s', async (vendor) => {
    const failed = await failure(generate(port(vendor, 'sk-wrong-secret-value')));
    expect(failed.class).toBe('model-key');
    expect(failed.message).toContain({ 'openai-compatible': 'LONGHAUL_MODEL_API_KEY', openai: 'OPENAI_API_KEY', anthropic: 'ANTHROPIC_API_KEY' }[vendor]);
    expect(JSON.stringify(failed)).not.toContain('sk-wrong');
  });

  test('never repeats a key that the provider quotes', async () => {
    const failed = await failure(ask({ status: 400, message: `bad header Bearer ${KEY} or sk-other-1234567890` }));
    expect(failed.message).toBe('openai-compatible:' + server.url + '#tiny refused the request (HTTP 400): bad header Bearer [key] or [key]');
  });

  test('with 429 hands on how long to wait, in seconds or as a date', async () => {
    expect((await failure(ask({ status: 429, headers: { 'retry-after': '7' } }))).retryAfterMs).toBe(7_000);
    const at = new Date(Date.now() + 60_000).toUTCString();
    const wait = (await failure(ask({ status: 429, headers: { 'retry-after': at } }))).retryAfterMs ?? 0;
    expect(wait).toBeGreaterThan(50_000);
    expect(wait).toBeLessThanOrEqual(60_000);
    expect([retryAfterMs({ 'retry-after': 'soon' }, 0), retryAfterMs({}, 0), retryAfterMs({ 'retry-after': '-5' }, 0), retryAfterMs({ 'retry-after-ms': '12' }, 0)]).toEqual([null, null, null, 12]);
  });

  test('with nobody at the address is a network failure', async () => {
    const gone = await startChatServer();
    await gone.close();
    expect((await failure(generate(port('openai-compatible', KEY, gone.url)))).class).toBe('network');
  });

  test('ends at once when it is cancelled', async () => {
    server.push({ text: 'late', delayMs: 5_000 });
    const abort = new AbortController();
    const started = Date.now();
    setTimeout(() => abort.abort(), 100);
    expect((await failure(generate(port(), hello, abort.signal))).class).toBe('cancelled');
    expect(Date.now() - started).toBeLessThan(2_000);
  });

  test('with an answer beyond all bounds does not fill the memory', async () => {
    expect((await failure(ask({ body: `{"x":"${'y'.repeat(9 * 1024 * 1024)}"}` })))).toMatchObject({ class: 'model-output', code: 'too-large' });
  });
});

describe('modelFromEnv', () => {
  test('takes the default model of the provider whose key is set, OpenAI first', () => {
    expect(modelFromEnv({ ANTHROPIC_API_KEY: 'k' })).toMatchObject({ id: `anthropic:${DEFAULT_MODELS.anthropic}` });
    expect(modelFromEnv({ ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k' })).toMatchObject({ id: `openai:${DEFAULT_MODELS.openai}` });
    expect(modelFromEnv({ OPENAI_API_KEY: 'k', LONGHAUL_MODEL: 'rules@1' })).toMatchObject({ id: 'rules@1' });
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ['nothing', {}, /Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or LONGHAUL_MODEL/],
    ['a model without its key', { LONGHAUL_MODEL: 'openai:gpt-5', ANTHROPIC_API_KEY: 'k' }, /set OPENAI_API_KEY/],
    ['an unknown form', { LONGHAUL_MODEL: 'gpt-5' }, /cannot be read/],
    ['no web address', { LONGHAUL_MODEL: 'openai-compatible:file:///x#m' }, /not a web address/],
    ['a password in the address', { LONGHAUL_MODEL: 'openai-compatible:http://a:b@localhost/v1#m' }, /LONGHAUL_MODEL_API_KEY/],
    ['a broken key', { OPENAI_API_KEY: 'sk-a\nb' }, /OPENAI_API_KEY holds a character/],
    ['a broken price', { OPENAI_API_KEY: 'k', LONGHAUL_MODEL_PRICE: 'cheap' }, /LONGHAUL_MODEL_PRICE/],
  ])('with %s says in one sentence what to set', (_what, env, sentence) => {
    const found = modelFromEnv(env);
    expect('missing' in found && found.missing).toMatch(sentence);
  });

  test('finds a pinned model again by its id, and says when a price is not known', () => {
    expect(modelById('openai:gpt-5-2025-08-07', { OPENAI_API_KEY: 'k' })).not.toHaveProperty('note');
    expect(modelById('openai:some-new-one', { OPENAI_API_KEY: 'k' })).toMatchObject({ note: expect.stringContaining('LONGHAUL_MODEL_PRICE') });
    expect(modelById('openai:some-new-one', { OPENAI_API_KEY: 'k', LONGHAUL_MODEL_PRICE: '3,15' })).not.toHaveProperty('note');
  });

  test('says once for each model of the agents that its price is not known, and nothing of what cannot be asked', () => {
    const notes = modelNotes(['openai:some-new-one', null, 'rules@1', 'openai:some-new-one', 'openai:gpt-5.1', 'anthropic:without-a-key'], { OPENAI_API_KEY: 'k' });
    expect(notes).toEqual([expect.stringMatching(/^The price of openai:some-new-one is not known.*LONGHAUL_MODEL_PRICE/)]);
  });

  test('pins the id that was named though its key is missing, and never one that holds a password', () => {
    expect(modelIdFromEnv({ LONGHAUL_MODEL: 'openai:gpt-5.1' })).toBe('openai:gpt-5.1');
    expect(modelIdFromEnv({ ANTHROPIC_API_KEY: 'k' })).toBe(`anthropic:${DEFAULT_MODELS.anthropic}`);
    expect([modelIdFromEnv({}), modelIdFromEnv({ LONGHAUL_MODEL: 'gpt' }), modelIdFromEnv({ LONGHAUL_MODEL: 'openai-compatible:http://a:b@h/v1#m' })]).toEqual([null, null, null]);
  });

  test('the key of one provider is never sent to another', async () => {
    server.push({ text: 'x' });
    const found = modelFromEnv({ LONGHAUL_MODEL: `openai-compatible:${server.url}#tiny`, OPENAI_API_KEY: 'sk-for-openai-only', LONGHAUL_MODEL_API_KEY: KEY });
    if ('missing' in found) throw new Error(found.missing);
    await generate(found.port);
    expect(server.requests.at(-1)?.headers['authorization']).toBe(`Bearer ${KEY}`);
  });
});
