// How the bytes of a file stand for text: UTF-8, or Windows-1252 (Latin 1 with its quotes and dashes) where they are not UTF-8.
// The same table reads and writes, so that a quote read from a file is found in it again byte by byte. Pure; no library's table
// is used, because the quote must be the same whatever release of Node reads the file.
import { isUtf8 } from 'node:buffer';

/** `damaged-utf-8` is UTF-8 with some bytes that are none: they become U+FFFD, and what holds one cannot be quoted. */
export type Encoding = 'utf-8' | 'windows-1252' | 'damaged-utf-8';

/** Characters of the bytes 0x80 to 0x9f (WHATWG Encoding, index windows-1252); a space where no character is assigned. */
const HIGH = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';
const BYTE = new Map(Array.from(HIGH).flatMap((char, at) => (char === ' ' ? [] : [[char, 0x80 + at] as const])));
/** Bytes that no text has: without a character, and controls other than white space and escape. */
const NO_TEXT = (byte: number): boolean => (byte < 0x20 && !(byte >= 0x09 && byte <= 0x0d) && byte !== 0x1b) || byte === 0x7f || (byte >= 0x80 && byte <= 0x9f && HIGH[byte - 0x80] === ' ');

/** The encoding of a file's bytes; null when they are text in none that is known here. */
export function encodingOf(bytes: Buffer): Encoding | null {
  if (isUtf8(bytes)) return 'utf-8';
  const lossy = bytes.toString('utf8');
  const broken = lossy.split('\ufffd').length - 1;
  // More whole characters beyond ASCII than broken ones: written as UTF-8, and damaged since.
  if ((lossy.match(/[^\p{ASCII}\ufffd]/gu)?.length ?? 0) > broken) return 'damaged-utf-8';
  return bytes.some(NO_TEXT) ? null : 'windows-1252';
}

export function decode(bytes: Buffer, encoding: Encoding): string {
  if (encoding !== 'windows-1252') return bytes.toString('utf8');
  return bytes.toString('latin1').replace(/[\x80-\x9f]/g, (char) => HIGH.charAt(char.charCodeAt(0) - 0x80));
}

/** The bytes of a text in an encoding; undefined for characters that it has not. */
export function encode(text: string, encoding: Encoding): Buffer | undefined {
  if (encoding !== 'windows-1252') return Buffer.from(text, 'utf8');
  const codes = Array.from(text).map((char) => BYTE.get(char) ?? (/[\p{ASCII}\xa0-\xff]/u.test(char) ? char.charCodeAt(0) : -1));
  return codes.includes(-1) ? undefined : Buffer.from(codes);
}
