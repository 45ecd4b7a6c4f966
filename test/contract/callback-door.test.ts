// The door for callbacks over HTTP, with a client that says what it was told: what is taken, what is refused before anything is
// read, and how what became of an event is said in numbers.
import { request } from 'node:http';
import { connect } from 'node:net';
import { openCallbackDoor, type CallbackDoor } from '../../src/cli/callback-door';
import { ClientError, type Delivery } from '../../src/client/types';
import type { MessageAnswer } from '../../src/core/message';

let door: CallbackDoor;
let told: unknown[] = [];
let answers: () => Promise<Delivery & { runId: string }>;
const known = (kind: MessageAnswer['kind']): typeof answers => async () => ({ known: true, messageId: 'm', runId: 'r', answer: { kind, text: kind } });
beforeAll(async () => {
  door = await openCallbackDoor(async () => ({ callback: async (callbackId, event, from) => { told.push({ callbackId, ...event, from }); return answers(); } }), 0);
});
afterAll(() => door.close());
beforeEach(() => { told = []; answers = known('done'); });

interface Sent { path?: string; method?: string; headers?: Record<string, string>; body?: string }

function send({ path = '/callbacks/cb-1', method = 'POST', headers = {}, body = '{"paid":true}' }: Sent = {}): Promise<{ status: number; body: { kind: string; text: string }; headers: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port: door.port, path, method, headers: { 'content-type': 'application/json', 'longhaul-event-id': 'e1', ...headers } }, (answer) => {
      let text = '';
      answer.on('data', (part: Buffer) => { text += part.toString('utf8'); }).on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) as { kind: string; text: string }, headers: answer.headers }));
    });
    asked.once('error', reject);
    // As bytes: with a text, Node would write the headers in its encoding too.
    asked.end(Buffer.from(body));
  });
}

test('an event is handed on with its id, its item and its payload, from nobody who is known', async () => {
  expect(await send({ headers: { 'longhaul-item': 'a' } })).toMatchObject({ status: 200, body: { kind: 'done' } });
  expect(told).toEqual([{ callbackId: 'cb-1', eventId: 'e1', item: 'a', payload: { paid: true }, from: { actor: { id: 'callback', via: 'client', assurance: 'claimed' } } }]);
  await send({ headers: { 'longhaul-event-id': '', 'webhook-id': 'w1' }, body: '7' });
  expect(told[1]).toMatchObject({ eventId: 'w1', payload: 7 });
});

test('I12 an id in UTF-8 is the same event here as at any other door', async () => {
  const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
  expect((await send({ headers: { 'longhaul-event-id': bytes('Lieferung–7 漢'), 'longhaul-item': bytes('é') } })).status).toBe(200);
  expect(told).toMatchObject([{ eventId: 'Lieferung–7 漢', item: 'é' }]);
});

test('a request that does not come whole is given up in the time that it has', async () => {
  const began = Date.now();
  const socket = connect(door.port, '127.0.0.1');
  socket.resume().write(`POST /callbacks/cb-1 HTTP/1.1\r\nhost: 127.0.0.1:${door.port}\r\ncontent-type: application/json\r\nlonghaul-event-id: e1\r\ncontent-length: 9\r\n\r\n{`);
  await new Promise((resolve) => { socket.once('close', resolve).once('error', resolve); });
  expect([Date.now() - began < 20_000, told]).toEqual([true, []]);
}, 60_000);

test('a sender that leaks connections is let no further than a limit, and the door is there again when it has closed them', async () => {
  const sockets = Array.from({ length: 600 }, () => connect(door.port, '127.0.0.1').on('error', () => undefined).resume());
  const closed = (): number => sockets.filter((one) => one.closed).length;
  while (sockets.some((one) => one.connecting) || closed() < 100) await new Promise((resolve) => { setTimeout(resolve, 20); });
  expect(closed()).toBe(100);
  for (const one of sockets) one.destroy();
  const again = async (): Promise<number> => send().then(({ status }) => status, () => again());
  expect(await again()).toBe(200);
}, 30_000);

test.each<[MessageAnswer['kind'], number]>([['done', 200], ['counted', 200], ['closed', 410], ['unknown', 404], ['refused', 409], ['already-decided', 409]])('an event that is %s is answered with %d', async (kind, status) => {
  answers = known(kind);
  expect(await send()).toMatchObject({ status, body: { kind } });
});

test('what is kept for a worker is answered with 202, what cannot be reached with 503 and when to come again, an id of nobody with 404', async () => {
  answers = async () => ({ known: false, messageId: 'm', runId: 'r', state: 'kept', why: 'x' });
  expect(await send()).toMatchObject({ status: 202, body: { kind: 'kept' } });
  answers = async () => ({ known: false, messageId: 'm', runId: 'r', state: 'no-execution', why: 'x' });
  expect(await send()).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
  answers = () => Promise.reject(new ClientError('unreachable', 'x'));
  expect(await send()).toMatchObject({ status: 503 });
  answers = () => Promise.reject(new ClientError('unknown-wait', 'x'));
  expect(await send()).toMatchObject({ status: 404 });
  answers = () => Promise.reject(new Error('a path of this machine'));
  const failed = await send();
  expect([failed.status, failed.body.text.includes('path')]).toEqual([500, false]);
});

const REFUSED: [string, Sent, number][] = [
  ['another host', { headers: { host: 'evil.example' } }, 403], ['a web page', { headers: { origin: 'http://localhost:3000' } }, 403],
  ['another way to send', { method: 'PUT' }, 405], ['a preflight of a web page', { method: 'OPTIONS', headers: { origin: 'http://x' }, body: '' }, 403],
  ['a body that does not say that it is JSON', { headers: { 'content-type': 'text/plain' } }, 415], ['a body that is none', { body: '{' }, 400],
  ['no event id', { headers: { 'longhaul-event-id': '' } }, 400], ['a long event id', { headers: { 'longhaul-event-id': 'x'.repeat(201) } }, 400],
  ['another place', { path: '/' }, 404], ['a path in an id', { path: '/callbacks/..%2f..%2fetc' }, 404], ['a body that is too large', { body: JSON.stringify('x'.repeat(70_000)) }, 413],
  ['a target that is no address', { path: '//' }, 404], ['a number that cannot be kept', { body: '{"amount":1e999}' }, 400], ['a payload that is nested too deep', { body: '['.repeat(300) + ']'.repeat(300) }, 400],
  ['a long item', { headers: { 'longhaul-item': 'x'.repeat(201) } }, 400], ['an event id that is not UTF-8', { headers: { 'longhaul-event-id': '\xe9' } }, 400], ['an item that is not UTF-8', { headers: { 'longhaul-item': '\xe9' } }, 400],
  ['a body that does not say how large it is', { headers: { 'transfer-encoding': 'chunked' }, body: JSON.stringify('x'.repeat(300_000)) }, 413],
];
test.each(REFUSED)('R10.8 %s is refused with a sentence, without CORS, and nobody is told', async (_, sent, status) => {
  const answer = await send(sent);
  expect([answer.status, told, answer.body.text.endsWith('.') || answer.body.text.endsWith('`.')]).toEqual([status, [], true]);
  expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
});

test('it is bound to this machine alone, and a port that is taken is told', async () => {
  expect(door.url).toBe(`http://127.0.0.1:${door.port}/callbacks`);
  await expect(openCallbackDoor(() => Promise.reject(new Error('none')), door.port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
