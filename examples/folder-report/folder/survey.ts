// What of a folder can be read as text and what not, and why: the one walk behind the inventory, the search and the list of
// what a report did not look at, so that the three never differ. Reads through folder.ts only.
import { CAPS, listFiles, readWithin, type LeftOut } from './folder';
import { Refusal } from './refusal';
import { mediaTypeOf } from './text';

/** Bytes of text that one search reads; files after that are not searched. */
export const SEARCH_BYTES = 48 * 1024 * 1024;

/** Why a listed file is no text to read: `binary` bytes in no known encoding, over the cap of a file, or it could not be opened. */
export type Unread = 'binary' | 'tooLarge' | 'unreadable';

export type Seen = { file: string; bytes: number } & ({ content: Buffer; type: string; beyondSearch: boolean } | { unread: Unread; content?: Buffer });

/** Files that were not read, by name, and entries of the listing that were only counted. */
export interface NotRead { binary: string[]; tooLarge: string[]; unreadable: string[]; beyondSearch: string[]; leftOut: LeftOut }

/** Every listed file in order, with its bytes where it is text. `on` gets one at a time, so that a folder is never held whole. */
export async function survey(root: string, on: (seen: Seen) => void, signal?: AbortSignal): Promise<NotRead> {
  const { files, leftOut } = await listFiles(root, signal);
  const notRead: NotRead = { binary: [], tooLarge: [], unreadable: [], beyondSearch: [], leftOut };
  let searched = 0;
  for (const { file, bytes } of files) {
    signal?.throwIfAborted();
    const content = bytes > CAPS.fileBytes ? 'tooLarge' : await readWithin(root, file).catch(unreadOf);
    const type = typeof content === 'string' ? null : mediaTypeOf(file, content);
    if (typeof content === 'string') {
      notRead[content].push(file);
      on({ file, bytes, unread: content });
    } else if (type === null) {
      notRead.binary.push(file);
      on({ file, bytes, unread: 'binary', content });
    } else {
      const beyondSearch = searched > SEARCH_BYTES;
      if (beyondSearch) notRead.beyondSearch.push(file);
      else searched += content.length;
      on({ file, bytes, content, type, beyondSearch });
    }
  }
  return notRead;
}

const unreadOf = (error: unknown): Unread => (error instanceof Refusal && error.code === 'too-large' ? 'tooLarge' : 'unreadable');

const MOST_NAMES = 8;

/** One line for each reason, with a count and the first names; empty when everything was within reach. */
export function notReadLines({ binary, tooLarge, unreadable, beyondSearch, leftOut }: NotRead): string[] {
  const named = (files: string[], what: string): string[] => (files.length === 0 ? [] : [`${counted(files.length, 'file')} ${what}: ${files.slice(0, MOST_NAMES).join(', ')}${files.length > MOST_NAMES ? ` and ${files.length - MOST_NAMES} more` : ''}`]);
  const only = (count: number, noun: string, what: string): string[] => (count === 0 ? [] : [`${counted(count, noun)} ${what}`]);
  return [
    ...named(binary, 'not text in UTF-8 or Windows-1252 (binary, or undecodable)'),
    ...named(tooLarge, `larger than ${CAPS.fileBytes / 1024 / 1024} MiB`),
    ...named(unreadable, 'could not be opened'),
    ...named(beyondSearch, `not searched, after ${SEARCH_BYTES / 1024 / 1024} MiB of text`),
    ...only(leftOut.hidden, 'entry', 'hidden, secret by name, or a folder of dependencies; not opened, what is in them is not counted'),
    ...only(leftOut.links, 'symbolic link', 'not followed'),
    ...only(leftOut.special, 'entry', `no plain file, or a folder deeper than ${CAPS.depth} levels`),
    ...only(leftOut.unreadable, 'folder', 'could not be listed'),
    ...only(leftOut.beyondCap, 'file', `beyond the first ${CAPS.files.toLocaleString('en')} of the folder`),
  ];
}

/** The same in a few words, for a summary: `not read: 1 not text, 3 hidden`; empty when nothing was left out. */
export function notReadShort({ binary, tooLarge, unreadable, beyondSearch, leftOut }: NotRead): string {
  const parts: [number, string][] = [
    [binary.length, 'not text'], [tooLarge.length, 'too large'], [unreadable.length + leftOut.unreadable, 'unreadable'], [leftOut.hidden, 'hidden'], [leftOut.links, 'links'],
    [leftOut.special, 'not plain files or too deep'], [beyondSearch.length + leftOut.beyondCap, 'beyond caps'],
  ];
  const said = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return said.length > 0 ? `not read: ${said.join(', ')}` : '';
}

const counted = (count: number, noun: string): string => `${count} ${count === 1 ? noun : noun.replace(/y$/, 'ie')}${count === 1 ? '' : 's'}`;
