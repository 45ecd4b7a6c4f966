// Sentences of a chunk of a file, each with the lines it stands on and its exact wording there. `quote` is always a piece of
// the chunk as it is; `text` differs from it only by white space, for HTML by tags and for JSON by marks. Pure.
import type { Block } from './block';
import { htmlBlocks, jsonBlocks } from './markup';

export interface Chunk { file: string; first: number; last: number; text: string; type: string; eol: string; cut: boolean; sha256: string; /** Lines of the whole file, where known. */ lines?: number }

export interface Sentence { file: string; first: number; last: number; quote: string; text: string; sha256: string }

const LENGTH = { least: 12, most: 500, words: 3, itemWords: 6 } as const;
/** Begins of a line after which nothing of the line before goes on: bullets, numbers, quotes, dates, table rows. */
const OPENS = /^\s*(?:[-*+•]\s|\d{1,3}[.)]\s|>|\||#{1,6}\s|\d{4}-\d{2}-\d{2}\b|\[|```)/;
const MARK = /^\s*(?:(?:[-*+•]|\d{1,3}[.)]|>|#{1,6})\s+)+(?:\[[ xX]\]\s+)?/;
/** The line under a heading, as Markdown and reStructuredText have it. */
const UNDERLINE = /^\s*(?:={2,}|-{2,}|~{2,})\s*$/;
const HEADING = /^\s*#{1,6}\s/;
const COMMENT = /^\s*(?:\/\/+|\/?\*+|#+|--)\s+/;
const DATED = /^\s*\d{4}-\d{2}-\d{2}\b/;
/** A full stop after these ends no sentence. */
const SHORT = /(?:\b(?:mr|mrs|ms|dr|prof|st|no|nr|vs|etc|approx|ca|e\.g|i\.e|z\.b|bzw|inc|ltd|co|fig|art|sec|p|pp|vol)|\b[A-Z])\.$/i;

/** All sentences of a chunk, in order. */
export function sentencesOf(chunk: Chunk): Sentence[] {
  if (/csv|tab-separated/.test(chunk.type)) return [];
  return blocksOf(chunk).flatMap((block) => piecesOf(block, chunk.type))
    .flatMap((piece) => sentenceOf(chunk, piece));
}

/** Pieces of the text that belong together: paragraphs, list items, lines of a log, lines of HTML, strings of JSON. */
function blocksOf(chunk: Chunk): Block[] {
  const lines = linesOf(chunk);
  if (chunk.type === 'application/json') return jsonBlocks(chunk.text);
  if (chunk.type === 'text/html') return htmlBlocks(chunk.text, chunk.eol === 'crlf');
  if (chunk.type === 'text/x-source') return lines.flatMap(({ at, raw }) => afterMark(at, raw, COMMENT));
  return paragraphsOf(chunk, lines);
}

function paragraphsOf(chunk: Chunk, lines: { at: number; raw: string }[]): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  let marked = false;
  for (const [number, { at, raw }] of lines.entries()) {
    const blank = raw.trim() === '' || UNDERLINE.test(raw);
    const heading = HEADING.test(raw);
    if (blank || heading || OPENS.test(raw) || chunk.eol === 'crlf') open = undefined;
    if (/^\s*\|/.test(raw)) blocks.push(...cellsOf(at, raw));
    if (blank || heading || /^\s*\|/.test(raw)) continue;
    if (open) {
      open.raw = chunk.text.slice(open.at, at + raw.length);
      open.item = marked;
    } else {
      const mark = DATED.test(raw) ? 0 : (MARK.exec(raw)?.[0].length ?? 0);
      marked = mark > 0;
      blocks.push(open = { at: at + mark, raw: raw.slice(mark), whole: DATED.test(raw), item: marked || alone(chunk, lines, number) });
    }
  }
  return blocks;
}

/** Is this line a paragraph by itself? Nothing goes on from it, so it needs no full stop. */
function alone({ first, last, lines: count }: Chunk, lines: { raw: string }[], number: number): boolean {
  const parts = (raw: string | undefined): boolean => raw === undefined || raw.trim() === '' || UNDERLINE.test(raw) || HEADING.test(raw);
  if ((number === 0 && first > 1) || (number === lines.length - 1 && count !== undefined && last < count)) return false;
  return parts(lines[number - 1]?.raw) && parts(lines[number + 1]?.raw);
}

/** What stands after a mark; nothing for a line without one. */
function afterMark(at: number, raw: string, mark: RegExp): Block[] {
  const length = mark.exec(raw)?.[0].length ?? 0;
  return length === 0 ? [] : [{ at: at + length, raw: raw.slice(length), whole: false }];
}

/** Cells of a row of a Markdown table. */
function cellsOf(at: number, raw: string): Block[] {
  return [...raw.matchAll(/[^|]+/g)].map((cell) => ({ at: at + cell.index, raw: cell[0], whole: false, item: true }));
}

function linesOf({ text }: Chunk): { at: number; raw: string }[] {
  let at = 0;
  return text.split('\n').map((raw) => {
    const line = { at, raw: raw.replace(/\r$/, '') };
    at += raw.length + 1;
    return line;
  });
}

function piecesOf(block: Block, type: string): Block[] {
  const { at, raw, whole } = block;
  if (whole) return [block];
  const pieces: Block[] = [];
  let from = 0;
  for (const end of raw.matchAll(/[.!?…]["')\]»”*]*(?=\s|$)/g)) {
    const to = end.index + end[0].length;
    const next = raw.slice(to).trimStart();
    if (SHORT.test(raw.slice(from, to)) || /^\p{Ll}/u.test(next)) continue;
    pieces.push({ at: at + from, raw: raw.slice(from, to), whole: true });
    from = to;
  }
  // Only an item that is one piece is complete without a full stop.
  if (from < raw.length) pieces.push({ at: at + from, raw: raw.slice(from), whole: true, item: block.item === true && from === 0 });
  // What was cut within a tag is no sentence.
  return type === 'text/html' && pieces.some((piece) => piece.raw.split('<').length !== piece.raw.split('>').length) ? [block] : pieces;
}

/** A piece as a sentence; none when it is too short, too long, not ended, or holds code or bytes that are not text. */
function sentenceOf(chunk: Chunk, { at, raw, item, data }: Block): Sentence[] {
  const quote = raw.trim();
  // What ends where the chunk was cut off may not end there.
  if (chunk.cut && at + raw.trimEnd().length >= chunk.text.trimEnd().length) return [];
  const text = visible(quote, data ? 'application/json' : chunk.type === 'application/json' ? 'text/plain' : chunk.type);
  const words = text.match(/\p{L}[\p{L}\p{N}'’-]*/gu)?.length ?? 0;
  const ended = /[.!?…]["')\]»”*]*$/.test(text) || data === true || (item === true && words >= LENGTH.itemWords);
  const code = (text.match(/[{};=<>\\]/g)?.length ?? 0) * 40 > text.length;
  if (text.length < LENGTH.least || quote.length > LENGTH.most || words < (data ? 2 : LENGTH.words) || !ended || code || /[\ufffd\0]/.test(quote)) return [];
  const first = chunk.first + newlines(chunk.text.slice(0, at + raw.length - raw.trimStart().length));
  return [{ file: chunk.file, first, last: first + newlines(quote), quote, text, sha256: chunk.sha256 }];
}

const newlines = (text: string): number => text.split('\n').length - 1;

function visible(quote: string, type: string): string {
  if (type === 'application/json') return quote.replace(/^\{|\}$/g, '').replace(/"\s*:\s*/g, ': ').replace(/"/g, '').replace(/\s+/g, ' ').trim();
  const plain = type === 'text/html' ? quote.replace(/<[^>]*>/g, '').replace(/&nbsp;/g, ' ').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&amp;/g, '&') : quote;
  return plain.replace(/\s+/g, ' ').trim();
}
