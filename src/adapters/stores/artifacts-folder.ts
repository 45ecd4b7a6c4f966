// Artifacts in a folder: `ab/cdef…` by sha256, files 0600, folders 0700. A write is a temporary file, fsync, rename, fsync of
// the folder; the name appears only when the bytes are safe. Every read compares the whole content with its name.
// Removes only what it is told to, by age: what is written again meanwhile stays. Metadata travels in the reference; the store
// keeps bytes alone.
import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, open, readFile, readdir, rename, stat, unlink, utimes } from 'node:fs/promises';
import path from 'node:path';
import type { ArtifactsPort } from '../../ports/artifacts';
import { hashOf, reading, refTo, SHA256 } from './artifacts-bytes';
import { toStoreError } from './store-error';

/** Age in ms from which a temporary file belongs to a writer that died. */
const ABANDONED_MS = 24 * 3_600_000;
/** In the name of a file that was set aside to be removed, and ms after which who did that is dead. */
const ASIDE = '.aside-';
const ASIDE_MS = 60_000;

/** Opens a folder of artifacts, makes it where it is missing, and removes what dead writers left half-written. */
export async function openArtifactsFolder(folder: string): Promise<ArtifactsPort> {
  const incoming = path.join(folder, 'tmp');
  const fileOf = (sha256: string): string => path.join(folder, sha256.slice(0, 2), sha256.slice(2));
  await madeReady(folder, incoming, fileOf);

  const { read, readRange, verify } = reading((sha256) => content(fileOf(sha256)));

  return {
    async write(bytes, about) {
      const sha256 = await hashOf(bytes);
      if (await verify(sha256) !== 'ok' || !await touch(fileOf(sha256))) await put(incoming, fileOf(sha256), bytes);
      return refTo(sha256, bytes, about);
    },
    read, readRange, verify,
    has: async (sha256) => SHA256.test(sha256) && (await aboutOf(fileOf(sha256))) !== null,
    list: () => ids(folder),
    stat: async (sha256) => {
      const found = SHA256.test(sha256) ? await aboutOf(fileOf(sha256)) : null;
      return found && { bytes: found.size, writtenAt: found.mtimeMs };
    },
    remove: (sha256, writtenBefore) => (SHA256.test(sha256) ? takeAway(path.join(incoming, `${sha256}${ASIDE}${randomBytes(8).toString('hex')}`), fileOf(sha256), writtenBefore) : Promise.resolve('missing')),
  };
}

async function madeReady(folder: string, incoming: string, fileOf: (sha256: string) => string): Promise<void> {
  try {
    await mkdir(incoming, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    await sweep(incoming, fileOf);
  } catch (error) {
    throw toStoreError(error, folder);
  }
}

/** Counts a file as written now; false when it is not there any more. */
async function touch(file: string): Promise<boolean> {
  try {
    const now = new Date();
    await utimes(file, now, now);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw toStoreError(error, file);
  }
}

/**
 * Takes a file out of sight first, then looks at its age: whoever wrote it again before that is seen, and whoever writes it
 * after that finds it missing and stores it anew.
 */
async function takeAway(aside: string, file: string, writtenBefore: number): Promise<'removed' | 'younger' | 'missing'> {
  const before = await aboutOf(file);
  if (before === null) return 'missing';
  if (before.mtimeMs >= writtenBefore) return 'younger';
  try {
    await rename(file, aside);
    const { mtimeMs } = await stat(aside);
    if (mtimeMs >= writtenBefore) await putBack(aside, file);
    else await unlink(aside);
    await flushFolder(path.dirname(file));
    return mtimeMs >= writtenBefore ? 'younger' : 'removed';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing';
    throw toStoreError(error, file);
  }
}

async function content(file: string): Promise<Uint8Array | null> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw toStoreError(error, file);
  }
}

/** A link, not a rename: what was stored anew under the name is not replaced. */
async function putBack(aside: string, file: string): Promise<void> {
  await link(aside, file).catch((error: NodeJS.ErrnoException) => { if (error.code !== 'EEXIST') throw error; });
  await unlink(aside);
}

async function aboutOf(file: string): Promise<{ size: number; mtimeMs: number } | null> {
  try {
    return await stat(file);
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

/** Removes what dead writers have left half-written, and puts back what somebody has set aside and died before looking at it. */
async function sweep(incoming: string, fileOf: (sha256: string) => string): Promise<void> {
  for (const name of await readdir(incoming)) {
    const file = path.join(incoming, name);
    const [sha256 = '', aside] = name.split(ASIDE);
    if (aside !== undefined && SHA256.test(sha256)) {
      const since = await stat(file).then(({ ctimeMs }) => Date.now() - ctimeMs, () => 0);
      if (since > ASIDE_MS) await putBack(file, fileOf(sha256)).catch(() => undefined);
      continue;
    }
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
