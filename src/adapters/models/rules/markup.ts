// Pieces of HTML and JSON that may hold a sentence: what stands between the tags of blocks, whatever lines they are written on,
// and the texts among the members of an object. Every piece is a slice of the text as it is. Scans, and does not parse. Pure.
import type { Block } from './block';

/** Tags that begin or end a block, and what is never shown. */
const BREAK = /<!--[\s\S]*?-->|<(script|style|template)\b[^>]*>[\s\S]*?<\/\1\s*>|<(?:!doctype|\/?(?:address|article|aside|blockquote|body|br|caption|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|head|header|hr|html|li|link|main|meta|nav|ol|option|p|pre|section|table|tbody|td|tfoot|th|thead|title|tr|ul))\b[^>]*>|\n[ \t]*\r?\n/gi;
const LINE = /\n/g;
/** Strings of JSON, one after the other, so that what stands between two of them is none. */
const STRING = /"((?:[^"\\\n]|\\.)*)"(\s*:)?/g;
const FLAT = /\{(?:[^{}[\]"]|"(?:[^"\\\n]|\\.)*")*\}/g;
const OBJECT = { most: 300 } as const;

/** @param byLine a block ends with its line. */
export function htmlBlocks(text: string, byLine: boolean): Block[] {
  const breaks = [...text.matchAll(BREAK), ...(byLine ? text.matchAll(LINE) : [])].map((found) => ({ from: found.index, to: found.index + found[0].length })).sort((a, b) => a.from - b.from);
  const blocks: Block[] = [];
  let at = 0;
  for (const { from, to } of [...breaks, { from: text.length, to: text.length }]) {
    if (from > at) blocks.push(insideTags(at, text.slice(at, from)));
    at = Math.max(at, to);
  }
  return blocks;
}

function insideTags(at: number, raw: string): Block {
  const before = /^(?:\s|<[^>]*>)*/.exec(raw)?.[0].length ?? 0;
  const inner = raw.slice(before).replace(/(?:\s|<[^>]*>)*$/, '');
  return { at: at + before, raw: inner, whole: false, item: true };
}

/** Sentences within strings, and phrases with their key: together with their neighbours where the object is small and flat. */
export function jsonBlocks(text: string): Block[] {
  const strings = [...text.matchAll(STRING)].filter(([, value = '', colon]) => colon === undefined && !value.includes('\\'));
  const objects = [...text.matchAll(FLAT)].filter(([raw]) => raw.length <= OBJECT.most).map((found) => ({ at: found.index, raw: found[0] }));
  const blocks: Block[] = [];
  for (const found of strings) {
    const [value, at] = [found[1] ?? '', found.index + 1];
    if (/[.!?…]["')\]»”*]*$/.test(value)) blocks.push({ at, raw: value, whole: false });
    else if (isPhrase(value)) blocks.push(memberOf(text, objects, at, value));
  }
  return blocks.filter((block, at) => blocks.findIndex((other) => other.at === block.at) === at);
}

/** Words with space between them, not a name or a mark: `support until 2026`. */
const isPhrase = (value: string): boolean => value.trim().split(/\s+/).length >= 3 && (value.match(/\p{L}{2,}/gu)?.length ?? 0) >= 2;

function memberOf(text: string, objects: { at: number; raw: string }[], at: number, value: string): Block {
  const object = objects.find((one) => one.at < at && at < one.at + one.raw.length && !/[.!?…]"/.test(one.raw));
  if (object) return { ...object, whole: true, data: true };
  const key = /"(?:[^"\\\n]|\\.)*"\s*:\s*"$/.exec(text.slice(Math.max(0, at - 200), at))?.[0].length ?? 1;
  return { at: at - key, raw: text.slice(at - key, at + value.length + 1), whole: true, data: true };
}
