// The door for callbacks over HTTP, for programs on this machine: POST /callbacks/<id>, a body of JSON, the event's id in a header.
// Bound to 127.0.0.1 alone, and closed to web pages: no CORS, a wrong Host or any Origin is refused, and the body must say that it
// is JSON. Nobody is authenticated here: what comes is material from outside, never a decision. Holds no rule of runs.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { faultOfPayload } from '../client/callback';
import type { LonghaulClient } from '../client/client';
import { ClientError, type Delivery } from '../client/types';
import type { Json } from '../core/canonical';
import type { MessageAnswer } from '../core/message';
import { LIMITS, type Actor } from '../core/run';

/** Header with the sender's id of the event; `webhook-id` (Standard Webhooks) is taken as well. */
export const EVENT_HEADER = 'longhaul-event-id';
/** Header with the key of a batch's item. */
export const ITEM_HEADER = 'longhaul-item';

const SENDER: Actor = { id: 'callback', via: 'client', assurance: 'claimed' };
/** ms in which a request must have come whole, and from one look for those that have not to the next. */
const REQUEST_MS = 10_000;
const LOOK_MS = 1_000;
/** Connections at once: a sender that leaks them takes no file handles from the runs in this process. */
const MOST_CONNECTIONS = 500;
/** Characters of an event's id and of an item's key. */
const ID_LENGTH = 200;

export interface CallbackDoor { port: number; url: string; close(): Promise<void> }

interface Answer { status: number; kind: string; text: string; more?: { [member: string]: Json } }

/** Opens the door on a port of 127.0.0.1; 0 means any free one. Rejects when the port is taken. */
export function openCallbackDoor(client: () => Promise<Pick<LonghaulClient, 'callback'>>, port: number): Promise<CallbackDoor> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, connectionsCheckingInterval: LOOK_MS }, (request, response) => {
    answerTo(client, request, server).then((answer) => reply(response, answer), () => reply(response, { status: 500, kind: 'error', text: 'The callback could not be taken; send it again.' }));
  });
  server.maxConnections = MOST_CONNECTIONS;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const at = (server.address() as AddressInfo).port;
      resolve({
        port: at, url: `http://127.0.0.1:${at}/callbacks`,
        close: () => new Promise((done) => { server.close(() => done()); server.closeAllConnections(); }),
      });
    });
  });
}

function reply(response: ServerResponse, { status, kind, text, more }: Answer): void {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', ...(status === 503 ? { 'retry-after': '5' } : {}), ...(status === 405 ? { allow: 'POST' } : {}), ...(status === 413 ? { connection: 'close' } : {}) };
  response.writeHead(status, headers).end(`${JSON.stringify({ kind, text, ...more })}\n`);
}

const refused = (status: number, text: string): Answer => ({ status, kind: 'refused', text });

async function answerTo(client: () => Promise<Pick<LonghaulClient, 'callback'>>, request: IncomingMessage, server: Server): Promise<Answer> {
  const { headers, url = '/', method } = request;
  const { port } = server.address() as AddressInfo;
  if (![`127.0.0.1:${port}`, `localhost:${port}`].includes(headers.host ?? '')) return refused(403, `This door answers to the host 127.0.0.1:${port} alone.`);
  if (headers.origin !== undefined) return refused(403, 'This door takes nothing from web pages.');
  const callbackId = idIn(url);
  if (callbackId === undefined) return { status: 404, kind: 'unknown', text: 'Callbacks are sent to /callbacks/ID.' };
  if (method !== 'POST') return refused(405, 'A callback is sent with POST.');
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headers['content-type'] ?? '')) return refused(415, 'Send the payload as content-type application/json.');
  const eventId = one(headers[EVENT_HEADER]) ?? one(headers['webhook-id']);
  if (eventId == null || eventId.length > ID_LENGTH) return refused(400, `Name the event in the header ${EVENT_HEADER}, in 1 to ${ID_LENGTH} characters of UTF-8: the same event again counts once.`);
  const item = one(headers[ITEM_HEADER]);
  if (item === null || (item?.length ?? 0) > ID_LENGTH) return refused(400, `Name the item in the header ${ITEM_HEADER}, in at most ${ID_LENGTH} characters of UTF-8.`);
  const body = await bodyOf(request);
  if (body === null) return refused(413, `A callback may be at most ${LIMITS.messageBytes} bytes; send a larger payload with \`longhaul callback ${callbackId} --event-id ID --payload FILE\`.`);
  const payload = parsed(body);
  if (payload === undefined) return refused(400, 'The body is not JSON.');
  const fault = faultOfPayload(payload);
  if (fault !== null) return refused(400, fault);
  return told(client, callbackId, { eventId, payload, ...(item === undefined ? {} : { item }) });
}

/** The callback id in the target of a request, which may be anything. */
function idIn(target: string): string | undefined {
  const base = 'http://127.0.0.1';
  return URL.canParse(target, base) ? /^\/callbacks\/([A-Za-z0-9._-]{1,100})$/.exec(new URL(target, base).pathname)?.[1] : undefined;
}

/**
 * The text of a header; null when it is not UTF-8. Node reads the bytes of headers as Latin-1, and an id has to be the same one
 * that it is at the other doors, or its event would count once more.
 */
function one(value: string | string[] | undefined): string | null | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(value, 'latin1')).trim();
  } catch {
    return null;
  }
}

/** The whole body, or null when it is too large; what follows is not kept, so that the answer can still be read. */
function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    if (Number(request.headers['content-length'] ?? 0) > LIMITS.messageBytes) {
      resolve(null);
      return;
    }
    request.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes <= LIMITS.messageBytes) parts.push(part);
      else resolve(null);
    });
    request.once('end', () => resolve(Buffer.concat(parts)));
    request.once('error', reject);
  });
}

function parsed(body: Buffer): Json | undefined {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as Json;
  } catch {
    return undefined;
  }
}

async function told(client: () => Promise<Pick<LonghaulClient, 'callback'>>, callbackId: string, event: { eventId: string; payload: Json; item?: string }): Promise<Answer> {
  try {
    return ofDelivery(await (await client()).callback(callbackId, event, { actor: SENDER }));
  } catch (error) {
    if (error instanceof ClientError && error.code === 'unknown-wait') return { status: 404, kind: 'unknown', text: `No run here gave out the callback id ${callbackId}.` };
    // Its name is not told to whoever asks here.
    if (error instanceof ClientError && error.code === 'secret') return refused(400, 'The id of the event or of the item holds the value of a secret.');
    if (error instanceof ClientError && error.code === 'unreachable') return { status: 503, kind: 'unreachable', text: 'Temporal does not answer; send the same event again later.' };
    throw error;
  }
}

/** 200: it counts. 202: kept, and counts once a worker runs. 409: other content under a known id, or an item that has come. 410: over. */
const STATUS: Partial<Record<MessageAnswer['kind'], number>> = { done: 200, counted: 200, closed: 410, expired: 410, unknown: 404, refused: 409, 'already-decided': 409, busy: 503 };

function ofDelivery(delivery: Delivery & { runId: string }): Answer {
  const { messageId } = delivery;
  if (delivery.known) return { status: STATUS[delivery.answer.kind] ?? 200, ...delivery.answer, more: { messageId } };
  if (delivery.state === 'kept') return { status: 202, kind: 'kept', text: 'Kept by Temporal; it counts as soon as a worker runs.', more: { messageId } };
  return { status: 503, kind: delivery.state, text: 'The run cannot be reached at the moment; send the same event again later.', more: { messageId } };
}
