// The publisher's HTTP face: reports under slugs, with ETag and If-Match (RFC 9110, 13.1) and the Idempotency-Key header
// (draft-ietf-httpapi-idempotency-key-header). One effect a key: the same request again gets the stored answer, another
// one under the same key 422, one that is still being handled 409. Refusals are not stored: they may be sent again.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sha256, type Publication, type Store } from './store';

/** Trouble on demand, for tests of recovery. Times in ms. */
export interface Faults { delayBeforeMs: number; delayAfterMs: number; dropReply: boolean }

interface Answer { status: number; body?: unknown; raw?: Buffer; headers?: Record<string, string>; outcome: string }

const SLUG = /^[a-z0-9][a-z0-9-]{0,63}$/;
const KEY = /^[\x21-\x7e]{8,255}$/;
const MOST_BYTES = 4 * 1024 * 1024;

/** Request listener over a store. */
export function publisherHandler(store: Store, faults: Faults): (request: IncomingMessage, response: ServerResponse) => void {
  const inFlight = new Set<string>();
  return (request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const method = request.method ?? 'GET';
    const key = method === 'PUT' ? (request.headers['idempotency-key'] as string | undefined) ?? null : null;
    handle({ request, path, method, key, store, faults, inFlight })
      .catch((error: unknown): Answer => ({ status: 500, body: { error: error instanceof Error ? error.message : 'defect' }, outcome: 'error' }))
      .then(async (answer) => {
        if (path !== '/health') store.note({ method, path, key, status: answer.status, outcome: answer.outcome });
        if (answer.outcome === 'published') await pause(faults.delayAfterMs);
        if (faults.dropReply && method === 'PUT') response.destroy();
        else reply(response, answer, method);
      })
      .catch(() => response.destroy());
  };
}

interface Incoming { request: IncomingMessage; path: string; method: string; key: string | null; store: Store; faults: Faults; inFlight: Set<string> }

async function handle(incoming: Incoming): Promise<Answer> {
  const { request, path, method, store, inFlight } = incoming;
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(request.headers.host ?? '')) return refuse(403, 'This publisher answers on this machine only.');
  const [, room, name, rest] = path.split('/').map(decodeQuietly);
  if (method === 'PUT' && room === 'reports' && name !== undefined && rest === undefined) return put(incoming, name);
  if (method !== 'GET' && method !== 'HEAD') return refuse(405, 'Use GET, HEAD, or PUT /reports/SLUG.');
  if (room === 'health') return { status: 200, body: { status: 'ok' }, outcome: 'ok' };
  if (room === 'reports' && name === undefined) return { status: 200, body: { reports: store.slugs().map(publicPart) }, outcome: 'listed' };
  if (room === 'reports' && rest === undefined) return read(store, name ?? '', request.headers['if-none-match']);
  if (room === 'keys' && name && rest === undefined) return lookUp(store, inFlight, name);
  return refuse(404, 'There is nothing here; see /reports, /reports/SLUG, /keys/KEY and /health.');
}

function read(store: Store, slug: string, known: string | undefined): Answer {
  const now = store.current(slug);
  if (!now) return refuse(404, `No report is published under ${JSON.stringify(slug)}.`);
  const headers = { ETag: now.etag, 'X-Revision': String(now.revision), 'Content-Type': now.mediaType };
  return known === now.etag ? { status: 304, headers, outcome: 'not-modified' } : { status: 200, raw: store.body(now), headers, outcome: 'read' };
}

function lookUp(store: Store, inFlight: Set<string>, key: string): Answer {
  const done = store.byKey(key);
  if (done) return { status: 200, body: { key, state: 'done', at: done.at, ...publicPart(done) }, outcome: 'key-found' };
  if (inFlight.has(key)) return { status: 409, body: { key, state: 'in-flight' }, headers: { 'Retry-After': '1' }, outcome: 'key-in-flight' };
  return { status: 404, body: { key, state: 'absent' }, outcome: 'key-absent' };
}

async function put(incoming: Incoming, slug: string): Promise<Answer> {
  const { key, inFlight } = incoming;
  if (!SLUG.test(slug)) return refuse(400, 'A slug is 1 to 64 lower-case letters, digits and hyphens.');
  if (key === null || !KEY.test(key)) return refuse(400, 'Send an Idempotency-Key of 8 to 255 printable characters.');
  if (inFlight.has(key)) return { ...refuse(409, 'A request with this key is being handled; ask again.'), headers: { 'Retry-After': '1' } };
  inFlight.add(key);
  try {
    const body = await bodyOf(incoming.request);
    if (body === 'too-large') return refuse(413, `A report is at most ${MOST_BYTES} bytes.`);
    if (body === 'cut-off') return { status: 400, body: { error: 'The request was cut off.' }, outcome: 'cut-off' };
    await pause(incoming.faults.delayBeforeMs);
    return settle(incoming, slug, key, body);
  } finally {
    inFlight.delete(key);
  }
}

/** Decides and publishes without a pause in between, so that no other request comes between the comparison and the effect. */
function settle({ request, method, path, store }: Incoming, slug: string, key: string, body: Buffer): Answer {
  const mediaType = request.headers['content-type'] ?? 'application/octet-stream';
  const fingerprint = sha256([method, path, mediaType, sha256(body)].join('\n'));
  const done = store.byKey(key);
  if (done && done.fingerprint !== fingerprint) return refuse(422, 'This Idempotency-Key was used for another request.');
  if (done) return { ...published(done), headers: { ETag: done.etag, 'Idempotent-Replay': 'true' }, outcome: 'replayed' };
  const now = store.current(slug);
  const { 'if-match': match, 'if-none-match': noneMatch } = request.headers;
  if (match === undefined && noneMatch !== '*') return refuse(428, 'Send If-Match with the ETag that you saw, or If-None-Match: * for a new report.');
  const holds = match === undefined ? now === undefined : now !== undefined && (match === now.etag || match === '*');
  if (!holds) return { ...refuse(412, 'The report has changed since you looked.'), headers: now ? { ETag: now.etag } : {} };
  return published(store.publish({ slug, body, mediaType, key, fingerprint }));
}

function published(publication: Publication): Answer {
  return { status: publication.revision === 1 ? 201 : 200, body: publicPart(publication), headers: { ETag: publication.etag }, outcome: 'published' };
}

function publicPart({ slug, revision, etag, sha256: digest, bytes }: Publication): Record<string, unknown> {
  return { slug, revision, etag, sha256: digest, bytes, path: `/reports/${slug}` };
}

const refuse = (status: number, error: string): Answer => ({ status, body: { error }, outcome: 'refused' });

function decodeQuietly(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '\0';
  }
}

function bodyOf(request: IncomingMessage): Promise<Buffer | 'too-large' | 'cut-off'> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    request.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes <= MOST_BYTES) parts.push(part);
      else resolve('too-large');
    });
    request.on('end', () => resolve(Buffer.concat(parts)));
    request.on('close', () => resolve('cut-off'));
    request.on('error', () => resolve('cut-off'));
  });
}

function reply(response: ServerResponse, answer: Answer, method: string): void {
  const bytes = answer.raw ?? Buffer.from(answer.body === undefined ? '' : `${JSON.stringify(answer.body)}\n`);
  const type = answer.raw ? {} : { 'Content-Type': 'application/json; charset=utf-8' };
  response.writeHead(answer.status, { ...type, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', ...answer.headers, ...(answer.status === 304 ? {} : { 'Content-Length': String(bytes.length) }) });
  response.end(method === 'HEAD' || answer.status === 304 ? undefined : bytes);
}

const pause = (ms: number): Promise<void> => (ms > 0 ? new Promise((resolve) => { setTimeout(resolve, ms); }) : Promise.resolve());
