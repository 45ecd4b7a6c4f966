// The publisher's own storage: one append-only log of requests and publications, and the published bytes by their sha256.
// A publication and the answer kept under its Idempotency-Key are one line of the log, so they become durable together;
// everything else in memory is folded from that log. Bytes are on disk before the line that names them.
import { createHash } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, truncateSync, writeSync } from 'node:fs';
import path from 'node:path';
import { takeLock } from './lock';

/** One effect: what stands published under a slug since then, and the request that made it. */
export interface Publication {
  kind: 'publication';
  at: string;
  slug: string;
  revision: number;
  etag: string;
  sha256: string;
  bytes: number;
  mediaType: string;
  key: string;
  /** Digest of method, path, media type and body: tells a repeated request from another one with the same key. */
  fingerprint: string;
}

/** One line for every request that was answered or cut off. */
export interface RequestLine { kind: 'request'; at: string; method: string; path: string; key: string | null; status: number; outcome: string }

export interface Store {
  current(slug: string): Publication | undefined;
  byKey(key: string): Publication | undefined;
  slugs(): Publication[];
  body(publication: Publication): Buffer;
  /** Publishes and returns when it is durable. */
  publish(request: { slug: string; body: Buffer; mediaType: string; key: string; fingerprint: string }): Publication;
  /** Notes a request; returns when the line is durable. */
  note(line: Omit<RequestLine, 'kind' | 'at'>): void;
  close(): void;
}

export const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

/** Opens a storage folder, alone: a second publisher on the same folder is refused. */
export function openStore(folder: string): Store {
  mkdirSync(path.join(folder, 'bodies'), { recursive: true });
  const unlock = takeLock(path.join(folder, 'lock'));
  const log = path.join(folder, 'log.jsonl');
  const published = readLog(log);
  const slugs = new Map<string, Publication>();
  const keys = new Map<string, Publication>();
  const fold = (publication: Publication): void => {
    slugs.set(publication.slug, publication);
    keys.set(publication.key, publication);
  };
  published.forEach(fold);
  const descriptor = openSync(log, 'a', 0o600);
  fsyncFolder(folder);
  const append = (line: Publication | RequestLine): void => {
    writeSync(descriptor, `${JSON.stringify(line)}\n`);
    fsyncSync(descriptor);
  };
  return {
    current: (slug) => slugs.get(slug),
    byKey: (key) => keys.get(key),
    slugs: () => [...slugs.values()].sort((a, b) => (a.slug < b.slug ? -1 : 1)),
    body: (publication) => readFileSync(path.join(folder, 'bodies', publication.sha256)),
    publish: ({ slug, body, mediaType, key, fingerprint }) => {
      const digest = sha256(body);
      keepBody(path.join(folder, 'bodies'), digest, body);
      const revision = (slugs.get(slug)?.revision ?? 0) + 1;
      const etag = `"r${revision}-${digest.slice(0, 16)}"`;
      const publication: Publication = { kind: 'publication', at: new Date().toISOString(), slug, revision, etag, sha256: digest, bytes: body.length, mediaType, key, fingerprint };
      append(publication);
      fold(publication);
      return publication;
    },
    note: (line) => append({ kind: 'request', at: new Date().toISOString(), ...line }),
    close: () => {
      closeSync(descriptor);
      unlock();
    },
  };
}

/** Publications of the log, oldest first. A torn last line was never answered: it is cut off. */
function readLog(file: string): Publication[] {
  if (!existsSync(file)) return [];
  const bytes = readFileSync(file);
  const whole = bytes.lastIndexOf(0x0a) + 1;
  if (whole < bytes.length) truncateSync(file, whole);
  return bytes.subarray(0, whole).toString('utf8').split('\n').filter(Boolean)
    .map((line) => JSON.parse(line) as Publication | RequestLine)
    .filter((line): line is Publication => line.kind === 'publication');
}

function keepBody(folder: string, digest: string, body: Buffer): void {
  const target = path.join(folder, digest);
  if (existsSync(target)) return;
  const draft = `${target}.${process.pid}.tmp`;
  const descriptor = openSync(draft, 'w', 0o600);
  try {
    for (let at = 0; at < body.length;) at += writeSync(descriptor, body, at);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(draft, target);
  fsyncFolder(folder);
}

function fsyncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
