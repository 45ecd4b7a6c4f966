// Text as bytes with line numbers: what kind a file is, where its lines begin, and whether a quote really stands there.
// Lines end at \n (as in editors, grep and wc); quotes are compared byte by byte in the file's own encoding, so nothing is
// trimmed or folded. Reader and verifier read through `Lines`, which is why they agree.
import { createHash } from 'node:crypto';
import path from 'node:path';
import { decode, encode, encodingOf, type Encoding } from './encoding';

const TYPES: Record<string, string> = {
  '.md': 'text/markdown', '.markdown': 'text/markdown', '.txt': 'text/plain', '.text': 'text/plain', '.log': 'text/plain', '.rst': 'text/plain', '.adoc': 'text/plain',
  '.html': 'text/html', '.htm': 'text/html', '.csv': 'text/csv', '.tsv': 'text/tab-separated-values', '.json': 'application/json',
};

export const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

/** Media type by name and content: null for bytes that are not text (a NUL within the first 8 KiB, as git tells it, or no encoding that is known), `text/x-source` for code and the like. */
export function mediaTypeOf(file: string, bytes: Buffer): string | null {
  if (bytes.subarray(0, 8_192).includes(0) || encodingOf(bytes) === null) return null;
  const ending = path.extname(file).toLowerCase();
  return TYPES[ending] ?? (ending === '' ? 'text/plain' : 'text/x-source');
}

export const isTable = (mediaType: string | null): boolean => mediaType === 'text/csv' || mediaType === 'text/tab-separated-values';

/** Byte offsets of the lines of a file. Lines are numbered from 1; a final \n begins no further line. */
export class Lines {
  private readonly starts: number[] = [];
  readonly encoding: Encoding;

  constructor(private readonly bytes: Buffer) {
    this.encoding = encodingOf(bytes) ?? 'damaged-utf-8';
    for (let at = 0; at < bytes.length;) {
      this.starts.push(at);
      const end = bytes.indexOf(0x0a, at);
      if (end < 0) break;
      at = end + 1;
    }
  }

  get count(): number {
    return this.starts.length;
  }

  /** Raw bytes of the lines first..last without the end of the last one. Out of range is empty. */
  slice(first: number, last: number): Buffer {
    const from = this.starts[first - 1];
    if (from === undefined || last < first) return Buffer.alloc(0);
    const next = this.starts[last];
    let to = next === undefined ? this.bytes.length : next;
    if (to > from && this.bytes[to - 1] === 0x0a) to--;
    if (to > from && this.bytes[to - 1] === 0x0d) to--;
    return this.bytes.subarray(from, to);
  }

  /** The lines first..last as text, without the end of the last one. */
  text(first: number, last: number): string {
    return decode(this.slice(first, last), this.encoding);
  }

  /** Does this text stand, byte for byte, within the lines first..last? */
  holds(quote: string, first: number, last: number): boolean {
    const bytes = encode(quote, this.encoding);
    return bytes !== undefined && bytes.length > 0 && last <= this.count && this.slice(first, last).includes(bytes);
  }
}

/** Text of a whole file's bytes. */
export const textOf = (bytes: Buffer): string => decode(bytes, encodingOf(bytes) ?? 'damaged-utf-8');

/** Cuts at a character's border so that at most `most` UTF-8 bytes remain. */
export function cutBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  let end = Math.min(text.length, most);
  while (Buffer.byteLength(text.slice(0, end)) > most) end -= Math.max(1, Math.ceil((Buffer.byteLength(text.slice(0, end)) - most) / 4));
  const last = text.charCodeAt(end - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? end - 1 : end);
}

/** Cuts so that the text written as a JSON string has at most so many bytes; control characters take six each. */
export function cutJson(text: string, most: number): string {
  let cut = cutBytes(text, most);
  for (let size = Buffer.byteLength(JSON.stringify(cut)); size > most; size = Buffer.byteLength(JSON.stringify(cut))) cut = cutBytes(cut, Math.floor((Buffer.byteLength(cut) * most) / size));
  return cut;
}

/** Text of an HTML line as a reader sees it; tags become spaces, a few entities are decoded. */
export function withoutTags(text: string): string {
  return text.replace(/<[^>]*>/g, ' ').replace(/&nbsp;/g, ' ').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&amp;/g, '&');
}
