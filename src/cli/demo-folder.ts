// Whether a folder holds anything that the example's agent could read, told before a server is started for it.
// Looks at names and the first bytes only; what tools then may read is judged by the example's own door.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import path from 'node:path';

/** Folders deeper than this are not read by the example either. */
const DEPTH = 16;
/** Bytes in which a NUL tells that a file is no text, as git tells it. */
const HEAD = 8_192;

/** True as soon as one plain, visible file has text in it. */
export function holdsText(folder: string, depth = 0): boolean {
  const entries = entriesOf(folder).filter(({ name }) => !name.startsWith('.') && name !== 'node_modules');
  return entries.some((entry) => entry.isFile() && isText(path.join(folder, entry.name)))
    || (depth < DEPTH && entries.some((entry) => entry.isDirectory() && holdsText(path.join(folder, entry.name), depth + 1)));
}

function entriesOf(folder: string): ReturnType<typeof listed> {
  try {
    return listed(folder);
  } catch {
    return [];
  }
}

const listed = (folder: string) => readdirSync(folder, { withFileTypes: true });

/** Has it a word, and no NUL? A file that cannot be read has none. */
function isText(file: string): boolean {
  const head = Buffer.alloc(HEAD);
  try {
    const opened = openSync(file, 'r');
    const bytes = readSync(opened, head, 0, HEAD, 0);
    closeSync(opened);
    return !head.subarray(0, bytes).includes(0) && /\S/.test(head.toString('utf8', 0, bytes));
  } catch {
    return false;
  }
}
