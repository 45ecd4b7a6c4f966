// The forms in which a value may come back: as it is, percent-encoded (once or more often), escaped for JSON or HTML, in base64
// or base64url at each of the three alignments, and in hex. Makes one pattern of a value; knows no names and keeps nothing.
// Letters match in either case, as in host names and hex.

/** Characters that no encoder changes; what RFC 3986 leaves alone beside these, forms do not. */
const UNCHANGED = /^[A-Za-z0-9]$/;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;|&#0*34;|&#x0*22;', "'": '&apos;|&#0*39;|&#x0*27;' };
const ESCAPES: Record<string, string> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' };

/** Source of a regular expression, for the flag `i`, that finds the value in all its forms. */
export function patternOf(value: string): string {
  const bytes = Buffer.from(value, 'utf8');
  const inBytes = value.length === bytes.length ? [] : [[...bytes].map((byte) => literal(String.fromCharCode(byte))).join('')];
  return [Array.from(value, written).join(''), ...inBytes, bytes.toString('hex'), ...[0, 1, 2].map((before) => base64(bytes, before))].join('|');
}

/** One character in all its spellings. */
function written(character: string): string {
  if (UNCHANGED.test(character)) return literal(character);
  const percent = [...Buffer.from(character, 'utf8')].map((byte) => `%(?:25)*${hex(byte, 2)}`).join('');
  const unicode = Array.from({ length: character.length }, (_, i) => `\\\\+u${hex(character.charCodeAt(i), 4)}`).join('');
  const spellings = [percent, unicode, ENTITIES[character], character === ' ' ? '\\+' : undefined, ESCAPES[character] && `\\\\+${ESCAPES[character]}`];
  const plain = character === '\\' ? '\\\\+' : '"\'/'.includes(character) ? `\\\\*${literal(character)}` : /\s/.test(character) ? '\\s+' : literal(character);
  return `(?:${[plain, ...spellings].filter((one) => one !== undefined).join('|')})`;
}

/** The characters of base64 that depend on the value alone, when `before` bytes stand before it in its group of three. */
function base64(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64').replaceAll('=', '');
  const first = Math.ceil((before * 8) / 6);
  const whole = Math.floor(((before + bytes.length) * 8) / 6);
  const characters = Array.from(text.slice(first, whole), (one) => (one === '+' ? '(?:[+-]|%(?:25)*2b)' : one === '/' ? '(?:[/_]|\\\\+/|%(?:25)*2f)' : one));
  // Mail and certificates break their lines. The first characters stand together, by which a search is quick.
  return [characters.slice(0, HEAD).join(''), ...characters.slice(HEAD)].join('(?:\\s|\\\\+[rn])*');
}

const HEAD = 6;

const hex = (n: number, width: number): string => n.toString(16).padStart(width, '0');
const literal = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
