// The codec server for Temporal's Web UI and command line: POST .../decode and .../encode, payloads as protobuf's JSON. Bound to
// 127.0.0.1, open to the pages of the Web UI alone (CORS), and only to who knows the token, in the path (the Web UI can send
// no header of ours) or as a bearer token. Holds no payload after its answer, logs none, and needs no connection to Temporal.
import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { z } from 'zod';

/** Bytes of one request: Temporal's own limit of a history event is far below. */
const MOST_BYTES = 16 * 1024 * 1024;
const REQUEST_MS = 10_000;

export interface CodecServerSettings {
  codec: PayloadCodec;
  port: number;
  /** Origins of the Web UI, such as `http://127.0.0.1:8233`. */
  origins: readonly string[];
  token: string;
  /** Refuse to encode. */
  decodeOnly?: boolean;
}

export interface CodecServer { port: number; /** With the token: what the Web UI and `--codec-endpoint` are given. */ url: string; close(): Promise<void> }

interface Answer { status: number; body?: unknown; origin?: string }

/** Opens the server on a port of 127.0.0.1; 0 means any free one. Rejects when the port is taken. */
export function openCodecServer(settings: CodecServerSettings): Promise<CodecServer> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
    answerTo(settings, request, server).then((answer) => reply(response, answer), () => reply(response, refused(500, 'It could not be done; look at the log.')));
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: settings.port, host: '127.0.0.1', exclusive: true }, () => {
      const { port } = server.address() as AddressInfo;
      resolve({ port, url: `http://127.0.0.1:${port}/${settings.token}`, close: () => new Promise((done) => { server.close(() => done()); server.closeAllConnections(); }) });
    });
  });
}

function reply(response: ServerResponse, { status, body, origin }: Answer): void {
  const cors = origin === undefined ? {} : {
    'access-control-allow-origin': origin, 'access-control-allow-methods': 'POST, OPTIONS', 'access-control-allow-credentials': 'true', vary: 'origin',
    'access-control-allow-headers': 'content-type, authorization, x-namespace, authorization-extras', 'access-control-allow-private-network': 'true',
  };
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...cors, ...(status === 413 ? { connection: 'close' } : {}) });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

const refused = (status: number, message: string, origin?: string): Answer => ({ status, body: { message }, ...(origin === undefined ? {} : { origin }) });

async function answerTo(settings: CodecServerSettings, request: IncomingMessage, server: Server): Promise<Answer> {
  const { headers, method, url = '/' } = request;
  const { port } = server.address() as AddressInfo;
  // A name that somebody else lets point at this machine must not lead here.
  if (![`127.0.0.1:${port}`, `localhost:${port}`].includes(headers.host ?? '')) return refused(403, `This server answers to the host 127.0.0.1:${port} alone.`);
  const { origin } = headers;
  if (origin !== undefined && !settings.origins.includes(origin)) return refused(403, `This server answers the pages of ${settings.origins.join(', ') || 'nobody'}; start it with --ui-origin ${origin} if that is your Web UI.`);
  if (method === 'OPTIONS') return { status: 204, origin };
  const [, inPath, what] = /^(?:\/([^/]+))?\/(decode|encode)$/.exec(new URL(url, 'http://127.0.0.1').pathname) ?? [];
  if (what === undefined) return refused(404, 'Payloads are sent to /TOKEN/decode or /TOKEN/encode.', origin);
  if (!same(inPath ?? bearer(headers.authorization), settings.token)) return refused(401, 'The token is missing or wrong: use the address that longhaul codec-server prints.', origin);
  if (method !== 'POST') return refused(405, 'Payloads are sent with POST.', origin);
  if (what === 'encode' && settings.decodeOnly) return refused(403, 'This server only decodes.', origin);
  return { ...await coded(settings.codec, what as 'decode' | 'encode', request), origin };
}

const bearer = (header: string | undefined): string => /^Bearer\s+(\S+)$/i.exec(header ?? '')?.[1] ?? '';

function same(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const base64 = z.string();
const body = z.object({ payloads: z.array(z.object({ metadata: z.record(z.string(), base64).nullish(), data: base64.nullish() })).default([]) });

async function coded(codec: PayloadCodec, what: 'decode' | 'encode', request: IncomingMessage): Promise<Answer> {
  const text = await bodyOf(request);
  if (text === null) return refused(413, `A request may be at most ${MOST_BYTES} bytes.`);
  const read = parsed(text);
  if (read === null) return refused(400, 'The body is not a list of payloads: write {"payloads": [{"metadata": {...}, "data": "..."}]} in base64.');
  try {
    return { status: 200, body: { payloads: (await codec[what](read)).map(written) } };
  } catch (error) {
    // The codec's sentences name keys and never a payload.
    const { name, message } = error as Error;
    return refused(name === 'MissingKeyError' ? 422 : 400, name === 'MissingKeyError' || name === 'KeysError' ? message : 'A payload could not be read.');
  }
}

function parsed(text: string): Payload[] | null {
  try {
    return body.parse(JSON.parse(text)).payloads.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value, 'base64')])), data: Buffer.from(data ?? '', 'base64'),
    }));
  } catch {
    return null;
  }
}

const written = ({ metadata, data }: Payload): unknown => ({
  metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')])), data: Buffer.from(data ?? []).toString('base64'),
});

async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MOST_BYTES) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
