// The bundled publisher as a separate process: one effect a key, versions compared, everything durable across kill -9.
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { publisherLog, startPublisher, type Publisher } from '../rig/publisher';

let storage: string;
let running: Publisher | undefined;

beforeEach(() => { storage = mkdtempSync(path.join(tmpdir(), 'publisher-')); });
afterEach(async () => {
  await running?.end('SIGKILL');
  running = undefined;
  rmSync(storage, { recursive: true, force: true });
});

const start = async (env?: Record<string, string>): Promise<Publisher> => (running = await startPublisher(storage, env));
const put = (slug: string, body: string, headers: Record<string, string>): Promise<Response> => fetch(`${running?.url}/reports/${slug}`, { method: 'PUT', body, headers: { 'Content-Type': 'text/markdown', ...headers } });
const get = (where: string, headers: Record<string, string> = {}): Promise<Response> => fetch(`${running?.url}${where}`, { headers });
const publications = (): unknown[] => publisherLog(storage).filter(({ kind }) => kind === 'publication');
const fresh = (key: string): Record<string, string> => ({ 'Idempotency-Key': key, 'If-None-Match': '*' });

test('a report is published under a slug, with an ETag that changes with every revision', async () => {
  await start();
  expect((await get('/reports/refunds')).status).toBe(404);
  const first = await put('refunds', 'one', fresh('key-00001'));
  expect(first.status).toBe(201);
  const etag = first.headers.get('etag') ?? '';
  const shown = await get('/reports/refunds');
  expect([await shown.text(), shown.headers.get('etag'), shown.headers.get('content-type')]).toEqual(['one', etag, 'text/markdown']);
  expect((await get('/reports/refunds', { 'If-None-Match': etag })).status).toBe(304);
  const second = await put('refunds', 'two', { 'Idempotency-Key': 'key-00002', 'If-Match': etag });
  expect([second.status, second.headers.get('etag') === etag]).toEqual([200, false]);
  expect(await (await get('/reports')).json()).toMatchObject({ reports: [{ slug: 'refunds', revision: 2 }] });
});

test('the same key with the same request gets the stored answer and no second effect', async () => {
  await start();
  const first = await put('a', 'text', fresh('key-00001'));
  const again = await put('a', 'text', fresh('key-00001'));
  expect([again.status, again.headers.get('idempotent-replay')]).toEqual([first.status, 'true']);
  expect(await again.json()).toEqual(await first.json());
  expect(publications()).toHaveLength(1);
});

test('the same key with another body or another slug is refused with 422', async () => {
  await start();
  await put('a', 'text', fresh('key-00001'));
  expect((await put('a', 'other', fresh('key-00001'))).status).toBe(422);
  expect((await put('b', 'text', fresh('key-00001'))).status).toBe(422);
  expect(publications()).toHaveLength(1);
});

test('a version that was not seen is not overwritten: 412, and 428 without a condition; refusals are not stored under the key', async () => {
  await start();
  const { etag } = await (await put('a', 'one', fresh('key-00001'))).json() as { etag: string };
  expect((await put('a', 'two', fresh('key-00002'))).status).toBe(412);
  expect((await put('a', 'two', { 'Idempotency-Key': 'key-00002', 'If-Match': '"r9-0"' })).status).toBe(412);
  expect((await put('a', 'two', { 'Idempotency-Key': 'key-00002' })).status).toBe(428);
  expect((await put('a', 'two', { 'Idempotency-Key': 'key-00002', 'If-Match': etag })).status).toBe(200);
  expect((await put('c', 'two', { 'Idempotency-Key': 'key-00003', 'If-Match': etag })).status).toBe(412);
});

test('a key that is being handled answers 409, to the same request and to a look-up', async () => {
  await start({ PUBLISHER_DELAY_BEFORE_MS: '700' });
  const first = put('a', 'text', fresh('key-00001'));
  await new Promise((resolve) => { setTimeout(resolve, 250); });
  expect((await put('a', 'text', fresh('key-00001'))).status).toBe(409);
  expect((await get('/keys/key-00001')).status).toBe(409);
  expect((await first).status).toBe(201);
  expect(await (await get('/keys/key-00001')).json()).toMatchObject({ state: 'done', slug: 'a', revision: 1 });
  expect((await get('/keys/key-00009')).status).toBe(404);
});

test('killed after the effect and before the answer, it knows the key after a restart and publishes nothing twice', async () => {
  await start({ PUBLISHER_DELAY_AFTER_MS: '10000' });
  const lost = put('a', 'text', fresh('key-00001')).catch(() => 'lost');
  while (publications().length === 0) await new Promise((resolve) => { setTimeout(resolve, 20); });
  await running?.end('SIGKILL');
  expect(await lost).toBe('lost');
  await start();
  expect(await (await get('/keys/key-00001')).json()).toMatchObject({ state: 'done', revision: 1 });
  const again = await put('a', 'text', fresh('key-00001'));
  expect(again.headers.get('idempotent-replay')).toBe('true');
  expect(await (await get('/reports/a')).text()).toBe('text');
  expect(publications()).toHaveLength(1);
});

test('a reply that is dropped leaves one publication behind', async () => {
  await start({ PUBLISHER_DROP_REPLY: '1' });
  await expect(put('a', 'text', fresh('key-00001'))).rejects.toThrow();
  expect(publications()).toHaveLength(1);
});

test('a torn last line of the log is cut off, and what was answered stays', async () => {
  await start();
  await put('a', 'text', fresh('key-00001'));
  await running?.end('SIGKILL');
  appendFileSync(path.join(storage, 'log.jsonl'), '{"kind":"publication","slug":"b","rev');
  await start();
  expect((await get('/reports/b')).status).toBe(404);
  expect((await put('b', 'new', fresh('key-00002'))).status).toBe(201);
  expect(publications()).toHaveLength(2);
});

test('every request leaves one line in the log, with time, method, path, key and outcome', async () => {
  await start();
  await put('a', 'text', fresh('key-00001'));
  await get('/reports/a');
  await get('/health');
  const lines = publisherLog(storage).filter(({ kind }) => kind === 'request');
  expect(lines).toMatchObject([
    { method: 'PUT', path: '/reports/a', key: 'key-00001', status: 201, outcome: 'published' },
    { method: 'GET', path: '/reports/a', key: null, status: 200, outcome: 'read' },
  ]);
  expect(Number.isNaN(Date.parse(String(lines[0]?.['at'])))).toBe(false);
});

test('malformed requests are refused with a sentence: slug, key, size, method, foreign host', async () => {
  await start();
  expect((await put('Not a slug', 'x', fresh('key-00001'))).status).toBe(400);
  expect((await put('..%2fx', 'x', fresh('key-00001'))).status).toBe(400);
  expect((await put('a', 'x', { 'If-None-Match': '*' })).status).toBe(400);
  expect((await put('a', 'x'.repeat(4 * 1024 * 1024 + 1), fresh('key-00001'))).status).toBe(413);
  expect((await fetch(`${running?.url}/reports/a`, { method: 'DELETE' })).status).toBe(405);
  const foreign = await new Promise<number | undefined>((resolve, reject) => { request(`${running?.url}/reports`, { headers: { Host: 'evil.example' } }, (answer) => { answer.resume(); resolve(answer.statusCode); }).on('error', reject).end(); });
  expect(foreign).toBe(403);
  expect(publications()).toHaveLength(0);
});

test('a second publisher on the same storage folder is refused, and a killed one leaves no lock behind', async () => {
  await start();
  await expect(startPublisher(storage)).rejects.toThrow(/Another publisher \(process \d+\) uses this storage folder/);
  await running?.end('SIGKILL');
  await start();
  expect(await running?.end('SIGTERM')).toBe(0);
});
