// Artifacts in a folder: `ab/cdef…` by sha256, files 0600, folders 0700. A write is a temporary file, fsync, rename, fsync of
// the folder; the name appears only when the bytes are safe. Every read compares the whole content with its name.
// Never deletes an artifact. Metadata travels in the reference; the store keeps bytes alone.
import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, readdir, rename, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { LIMITS } from '../../core/run';
import { ArtifactError } from '../../ports/artifacts';
import type { ArtifactsPort } from '../../ports/artifacts';
import { toStoreError } from './store-error';

const SHA256 = /^[0-9a-f]{64}$/;
/** Bytes hashed without giving the event loop a turn. */
const SLICE = 4 * 1024 * 1024;
/** Age in ms from which a temporary file belongs to a writer that died. */
const ABANDONED_MS = 24 * 3_600_000;

/** Opens a folder of artifacts, makes it where it is missing, and removes what dead writers left half-written. */
export async function openArtifactsFolder(folder: string): Promise<ArtifactsPort> {
  const incoming = path.join(folder, 'tmp');
  try {
    await mkdir(incoming, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    await sweep(incoming);
  } catch (error) {
    throw toStoreError(error, folder);
  }
  const fileOf = (sha256: string): string => path.join(folder, sha256.slice(0, 2), sha256.slice(2));

  async function load(sha256: string): Promise<Uint8Array> {
    const bytes = await content(fileOf(sha256), sha256);
    if (bytes === null) throw new ArtifactError('missing', sha256);
    if (await hashOf(bytes) !== sha256) throw new ArtifactError('corrupt', sha256);
    return bytes;
  }

  async function verify(sha256: string): Promise<'ok' | 'missing' | 'corrupt'> {
    try {
      await load(sha256);
      return 'ok';
    } catch (error) {
      if (error instanceof ArtifactError) return error.code;
      throw error;
    }
  }

  return {
    async write(bytes, { mediaType, summary, name }) {
      const sha256 = await hashOf(bytes);
      if (await verify(sha256) !== 'ok') await put(incoming, fileOf(sha256), bytes);
      return { sha256, bytes: bytes.byteLength, mediaType, summary: cut(summary, LIMITS.summaryBytes), ...(name === undefined ? {} : { name }) };
    },
    read: load,
    readRange: async (sha256, start, end) => (await load(sha256)).subarray(Math.max(0, start), Math.max(0, end)),
    has: async (sha256) => SHA256.test(sha256) && (await sizeOf(fileOf(sha256))) !== null,
    verify,
    list: () => ids(folder),
  };
}

async function hashOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.byteLength; at += SLICE) {
    hash.update(bytes.subarray(at, at + SLICE));
    if (at + SLICE < bytes.byteLength) await new Promise((resolve) => setImmediate(resolve));
  }
  return hash.digest('hex');
}

async function content(file: string, sha256: string): Promise<Uint8Array | null> {
  if (!SHA256.test(sha256)) return null;
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw toStoreError(error, file);
  }
}

async function sizeOf(file: string): Promise<number | null> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw toStoreError(error, file);
  }
}

/** Puts whole and flushed bytes under their name; what a crash leaves is a temporary file, never a torn artifact. */
async function put(incoming: string, file: string, bytes: Uint8Array): Promise<void> {
  const temporary = path.join(incoming, `${process.pid}-${randomBytes(8).toString('hex')}`);
  const shelf = path.dirname(file);
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (await mkdir(shelf, { recursive: true, mode: 0o700 }) !== undefined) await flushFolder(path.dirname(shelf));
    await rename(temporary, file);
    await flushFolder(shelf);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw toStoreError(error, file);
  }
}

/** A new name survives a power cut only when its folder has been flushed too. */
async function flushFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function sweep(incoming: string): Promise<void> {
  for (const name of await readdir(incoming)) {
    const file = path.join(incoming, name);
    const age = await stat(file).then(({ mtimeMs }) => Date.now() - mtimeMs, () => 0);
    if (age > ABANDONED_MS) await unlink(file).catch(() => undefined);
  }
}

async function* ids(folder: string): AsyncIterable<string> {
  for (const shelf of (await readdir(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name)).sort()) {
    for (const rest of (await readdir(path.join(folder, shelf))).sort()) {
      if (SHA256.test(shelf + rest)) yield shelf + rest;
    }
  }
}

/** The longest beginning of a text within `limit` bytes of UTF-8, never half a character. */
function cut(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= limit) return text;
  let end = limit;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
