// The only door to the run's folder. Everything that reads a file of the user's goes through `readWithin` or `listFiles`:
// no absolute path, no `..`, no symbolic link, no device, no dotfile and nothing that looks like a secret.
// The check is made on the opened descriptor, not on the path, so a link that is swapped in between is seen.
import { constants, type Stats } from 'node:fs';
import { open, readdir, readlink, realpath, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Json } from 'longhaul';
import { Refusal } from './refusal';

/** Caps of one folder: bytes of a file, files and depth of a listing. */
export const CAPS = { fileBytes: 8 * 1024 * 1024, files: 2_000, depth: 16 } as const;

const SECRET = [/^id_(rsa|dsa|ecdsa|ed25519)/i, /\.(pem|key|p12|pfx|kdbx|jks|keystore|ppk|asc|gpg)$/i, /^(credentials?|secrets?|passwords?)(\..*)?$/i, /^service[-_]account.*\.json$/i];

/** Is this one path segment kept from tools: hidden, a secret by its name, or a folder of dependencies? */
function keptBack(segment: string): boolean {
  return segment.startsWith('.') || segment === 'node_modules' || SECRET.some((pattern) => pattern.test(segment));
}

/**
 * Real path of the folder that the run's owner named in its input.
 * @throws Refusal `argument` when the input names no existing folder, `permission` when it is not under an allowed root.
 */
export async function folderOf(input: Json, allowedRoots?: string[]): Promise<string> {
  const named = typeof input === 'object' && input !== null && !Array.isArray(input) ? input['folder'] : undefined;
  if (typeof named !== 'string' || !path.isAbsolute(named) || named.includes('\0')) {
    throw new Refusal('argument', 'folder', 'Give the run an input with `folder`, the absolute path of a folder.');
  }
  const root = await realpath(named).catch(() => undefined);
  if (!root || !(await stat(root)).isDirectory()) throw new Refusal('not-found', 'folder', `The folder ${named} of the run's input does not exist; start a run with one that does.`);
  if (allowedRoots && !allowedRoots.some((allowed) => root === allowed || root.startsWith(allowed + path.sep))) {
    throw new Refusal('permission', 'folder', `The folder ${named} is outside of the folders that this worker may read.`);
  }
  return root;
}

/** Checks a file name as a model gave it and answers it in normal form (`a/b.md`). Throws Refusal `argument` or `permission`. */
export function relativeName(file: string): string {
  const refuse = (why: string): never => { throw new Refusal('argument', 'path', `${JSON.stringify(file.slice(0, 120))} ${why}; name a file as the inventory does.`); };
  if (file === '' || file.length > 1_024 || file.includes('\0')) refuse('is not a file name');
  if (path.isAbsolute(file) || path.win32.isAbsolute(file) || /^[a-z]:/i.test(file)) refuse('is an absolute path');
  const segments = file.split(path.sep === '\\' ? /[\\/]/ : '/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) refuse('leads out of the folder');
  if (segments.length === 0) refuse('is not a file name');
  const hidden = segments.find(keptBack);
  if (hidden !== undefined) throw new Refusal('permission', 'kept-back', `${JSON.stringify(hidden)} is a hidden, secret or dependency file; tools do not read those.`);
  return segments.join('/');
}

/**
 * Bytes of one file of the folder, at most `CAPS.fileBytes`.
 * @throws Refusal `argument` (path, link, not a plain file, too large), `permission` or `not-found`.
 */
export async function readWithin(root: string, file: string): Promise<Buffer> {
  const name = relativeName(file);
  const target = path.join(root, name);
  const handle = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => { throw openError(name, error); });
  try {
    const about = await handle.stat();
    if (!about.isFile()) throw new Refusal('argument', 'not-a-file', `${name} is not a plain file.`);
    if ((await realPathOf(handle, target, about)) !== target) throw linkError(name);
    if (about.size > CAPS.fileBytes) throw new Refusal('argument', 'too-large', `${name} has ${about.size} bytes; tools read files up to ${CAPS.fileBytes}.`);
    return await readAll(handle, about.size);
  } finally {
    await handle.close();
  }
}

/** Where the opened descriptor really points; empty when that cannot be told. */
async function realPathOf(handle: FileHandle, target: string, about: Stats): Promise<string> {
  const shown = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
  if (shown !== undefined) return shown;
  const real = await realpath(target).catch(() => '');
  const there = real === '' ? undefined : await stat(real);
  return there?.ino === about.ino && there.dev === about.dev ? real : '';
}

/** Reads at most `size` bytes: a file that grows meanwhile is read as it was measured. */
async function readAll(handle: FileHandle, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const { bytesRead } = await handle.read(bytes, at, size - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return bytes.subarray(0, at);
}

const linkError = (name: string): Refusal => new Refusal('argument', 'link', `${name} is reached through a symbolic link; tools read plain files of the folder only.`);

function openError(name: string, { code }: NodeJS.ErrnoException): Refusal {
  if (code === 'ENOENT' || code === 'ENOTDIR') return new Refusal('not-found', 'file', `There is no file ${name} in the folder.`);
  if (code === 'ELOOP' || code === 'EMLINK') return linkError(name);
  if (code === 'EACCES' || code === 'EPERM') return new Refusal('permission', 'file', `The worker may not read ${name}.`);
  return new Refusal('argument', 'not-a-file', `${name} cannot be opened as a plain file (${code ?? 'unknown'}).`);
}

/** One plain file of the folder, before it is read. */
export interface ListedFile { file: string; bytes: number }

/** What a listing left out, counted by reason. */
export interface LeftOut { hidden: number; links: number; special: number; unreadable: number; beyondCap: number }

/** Plain files in a fixed order (by code units, folders in place), at most `CAPS.files`. */
export async function listFiles(root: string, signal?: AbortSignal): Promise<{ files: ListedFile[]; leftOut: LeftOut }> {
  const files: ListedFile[] = [];
  const leftOut: LeftOut = { hidden: 0, links: 0, special: 0, unreadable: 0, beyondCap: 0 };
  const walk = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(() => { leftOut.unreadable++; return []; });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      signal?.throwIfAborted();
      const file = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (keptBack(entry.name) || entry.name.includes('\ufffd')) leftOut.hidden++;
      else if (entry.isSymbolicLink()) leftOut.links++;
      else if (entry.isDirectory() && depth < CAPS.depth) await walk(file, depth + 1);
      else if (!entry.isFile()) leftOut.special++;
      else if (files.length >= CAPS.files) leftOut.beyondCap++;
      else files.push({ file, bytes: (await stat(path.join(root, file)).catch(() => ({ size: 0 }))).size });
    }
  };
  await walk('', 0);
  return { files, leftOut };
}
