// The effect server: a separate process whose own log says what happened. One effect a key where keys are honoured, versions that
// are compared, every kind of trouble on demand, and nothing of it lost by a kill.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEffectServer, type EffectServer } from '../../src/testing';

let folder: string;
let server: EffectServer;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'effects-'));
  server = await startEffectServer({ folder });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const post = (thing: string, key: string | null, more: { body?: unknown; ifMatch?: string; ms?: number } = {}): Promise<Response> => fetch(`${server.url}/things/${thing}`, {
  method: 'POST', body: JSON.stringify(more.body ?? { of: thing }), signal: AbortSignal.timeout(more.ms ?? 5_000),
  headers: { ...(key === null ? {} : { 'Idempotency-Key': key }), ...(more.ifMatch === undefined ? {} : { 'If-Match': more.ifMatch }) },
});
const seen = (thing: string): (string | null)[] => server.effects(thing).map((effect) => effect.key);
const lookUp = async (key: string): Promise<number> => (await fetch(`${server.url}/keys/${key}`)).status;

test('a key has one effect, also when the request comes again; another request under it is refused', async () => {
  const first = await post('mail', 'k-one');
  const again = await post('mail', 'k-one');
  expect([first.status, again.status, again.headers.get('idempotent-replay')]).toEqual([201, 200, 'true']);
  expect((await post('mail', 'k-one', { body: { of: 'else' } })).status).toBe(422);
  expect([seen('mail'), await lookUp('k-one'), await lookUp('k-two')]).toEqual([['k-one'], 200, 404]);
});

test('a thing that does not honour keys has an effect for each request, and one without look-up does not say', async () => {
  await server.rules('fax', { honoursKeys: false, lookUp: false });
  await post('fax', 'k-fax');
  await post('fax', 'k-fax');
  expect([seen('fax'), await lookUp('k-fax')]).toEqual([['k-fax', 'k-fax'], 501]);
});

test('a version that has changed is refused by If-Match', async () => {
  const before = (await fetch(`${server.url}/things/page`)).headers.get('etag') ?? '';
  const done = await post('page', 'k-page-1', { ifMatch: before });
  const stale = await post('page', 'k-page-2', { ifMatch: before });
  expect([done.status, stale.status, stale.headers.get('etag')]).toEqual([201, 412, done.headers.get('etag')]);
  expect(seen('page')).toEqual(['k-page-1']);
});

test('fails before the effect and says when to come again: 503, then 429, then it is done', async () => {
  await server.trouble('bill', { kind: 'fail', status: 503 }, { kind: 'fail', status: 429, retryAfterS: 7 });
  const answers = [await post('bill', 'k-bill'), await post('bill', 'k-bill'), await post('bill', 'k-bill')];
  expect(answers.map((answer) => [answer.status, answer.headers.get('retry-after')])).toEqual([[503, null], [429, '7'], [201, null]]);
  expect(seen('bill')).toEqual(['k-bill']);
});

test('a refusal is 422 and has no effect', async () => {
  await server.trouble('order', { kind: 'refuse', why: 'sold out' });
  const answer = await post('order', 'k-order');
  expect([answer.status, await answer.json(), seen('order')]).toEqual([422, { error: 'sold out' }, []]);
});

test('fails after the effect: the log knows better than the answer', async () => {
  await server.trouble('late', { kind: 'fail-after', status: 500 });
  expect([(await post('late', 'k-late')).status, seen('late'), await lookUp('k-late')]).toEqual([500, ['k-late'], 200]);
});

test('drops the reply after the effect', async () => {
  await server.trouble('drop', { kind: 'drop' });
  await expect(post('drop', 'k-drop')).rejects.toThrow(/fetch failed/);
  expect(seen('drop')).toEqual(['k-drop']);
});

test('hangs after the effect', async () => {
  await server.trouble('hang', { kind: 'hang' });
  await expect(post('hang', 'k-hang', { ms: 500 })).rejects.toThrow(/timeout/);
  expect(seen('hang')).toEqual(['k-hang']);
});

test('is slow before the effect: until then the key is in flight, and the same request again is told so', async () => {
  await server.trouble('slow', { kind: 'slow', beforeMs: 600, afterMs: 100 });
  const first = post('slow', 'k-slow');
  await new Promise((resolve) => { setTimeout(resolve, 200); });
  expect([seen('slow'), await lookUp('k-slow'), (await post('slow', 'k-slow')).status]).toEqual([[], 409, 409]);
  expect([(await first).status, seen('slow')]).toEqual([201, ['k-slow']]);
});

test('after a kill it knows its effects, rules and what trouble is still to come', async () => {
  await server.rules('kept', { lookUp: false });
  await server.trouble('kept', { kind: 'drop' }, { kind: 'fail', status: 503 });
  await expect(post('kept', 'k-kept')).rejects.toThrow();
  const { url } = server;
  await server.kill();
  await server.restart();
  expect([server.url === url, seen('kept'), await lookUp('k-kept')]).toEqual([true, ['k-kept'], 501]);
  expect([(await post('kept', 'k-kept')).status, (await post('kept', 'k-kept')).status, seen('kept')]).toEqual([503, 200, ['k-kept']]);
  expect(server.requests().filter((line) => line.path === '/things/kept' && line.method === 'POST').map((line) => line.outcome)).toEqual(['trouble drop', 'trouble fail', 'replayed']);
});
