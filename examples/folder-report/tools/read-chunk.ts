// Tool `read_chunk`: the lines first..last of one file, as they stand, with the checksum of the whole file. The text is raw, so
// that any part of it can be quoted as evidence.
import { z } from 'zod';
import { readWithin } from '../folder/folder';
import { Refusal } from '../folder/refusal';
import { cutJson, Lines, mediaTypeOf, sha256 } from '../folder/text';
import { readerTool, type FolderOptions } from './reader-tool';

const CAPS = { lines: 200, bytes: 8_192 } as const;

const input = z.strictObject({
  file: z.string().min(1).max(1_024).describe('A file as the inventory names it'),
  first: z.number().int().min(1).describe('First line, from 1'),
  last: z.number().int().min(1).describe('Last line; at most 200 lines are answered'),
});

/** The tool `read_chunk`. */
export const readChunk = (options: FolderOptions) => readerTool({
  name: 'read_chunk',
  description: 'Reads lines first..last of a file, verbatim, with the sha256 of the whole file; `encoding` names one that is not UTF-8. `cut` is true when not all of the text fitted (8 KiB).',
  input,
  read: async (root, { file, first, last }) => {
    const content = await readWithin(root, file);
    const type = mediaTypeOf(file, content);
    if (type === null) throw new Refusal('argument', 'binary', `${file} is not text; choose a file that the inventory lists.`);
    const lines = new Lines(content);
    if (first > lines.count || last < first) throw new Refusal('argument', 'lines', `${file} has ${lines.count} lines; ask for lines within them.`);
    const end = Math.min(last, lines.count, first + CAPS.lines - 1);
    const whole = lines.text(first, end);
    const text = cutJson(whole, CAPS.bytes);
    return {
      file, first, last: first + text.split('\n').length - 1, text, type,
      eol: content.includes('\r\n') ? 'crlf' : 'lf', cut: text.length < whole.length, lines: lines.count, sha256: sha256(content),
      ...(lines.encoding === 'utf-8' ? {} : { encoding: lines.encoding }),
    };
  },
}, options);
