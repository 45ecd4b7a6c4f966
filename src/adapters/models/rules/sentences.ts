// Sentences of a chunk of a file, each with the lines it stands on and its exact wording there. `quote` is always a piece of
// the chunk as it is; `text` differs from it only by white space and, for HTML, by tags. Pure.

export interface Chunk { file: string; first: number; last: number; text: string; type: string; eol: string; cut: boolean; sha256: string }

export interface Sentence { file: string; first: number; last: number; quote: string; text: string; sha256: string }

/** `whole`: not to be parted; `item`: complete without a full stop, as list items and cells of tables are. */
interface Block { at: number; raw: string; whole: boolean; item?: boolean }

const LENGTH = { least: 20, most: 500, words: 4, itemWords: 6 } as const;
/** Begins of a line after which nothing of the line before goes on: bullets, numbers, quotes, dates, table rows. */
const OPENS = /^\s*(?:[-*+•]\s|\d{1,3}[.)]\s|>|\||#{1,6}\s|\d{4}-\d{2}-\d{2}\b|\[|```)/;
const MARK = /^\s*(?:(?:[-*+•]|\d{1,3}[.)]|>|#{1,6})\s+)+(?:\[[ xX]\]\s+)?/;
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
  if (chunk.type === 'application/json') return lines.flatMap(({ at, raw }) => [...raw.matchAll(/"((?:[^"\\]){20,})"/g)].map((found) => ({ at: at + found.index + 1, raw: found[1] ?? '', whole: false })));
  if (chunk.type === 'text/html') return lines.map(({ at, raw }) => insideTags(at, raw));
  if (chunk.type === 'text/x-source') return lines.flatMap(({ at, raw }) => afterMark(at, raw, COMMENT));
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const { at, raw } of lines) {
    const blank = raw.trim() === '';
    const heading = /^\s*#{1,6}\s/.test(raw);
    if (blank || heading || OPENS.test(raw) || chunk.eol === 'crlf') open = undefined;
    if (/^\s*\|/.test(raw)) blocks.push(...cellsOf(at, raw));
    if (blank || heading || /^\s*\|/.test(raw)) continue;
    if (open) open.raw = chunk.text.slice(open.at, at + raw.length);
    else {
      const mark = DATED.test(raw) ? 0 : (MARK.exec(raw)?.[0].length ?? 0);
      blocks.push(open = { at: at + mark, raw: raw.slice(mark), whole: DATED.test(raw), item: mark > 0 });
    }
  }
  return blocks;
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

function insideTags(at: number, raw: string): Block {
  const before = /^(?:\s|<[^>]*>)*/.exec(raw)?.[0].length ?? 0;
  const inner = raw.slice(before).replace(/(?:\s|<[^>]*>)*$/, '');
  return { at: at + before, raw: inner, whole: /[<>]/.test(inner) };
}

function piecesOf(block: Block, type: string): Block[] {
  const { at, raw, whole } = block;
  if (whole || type === 'text/html' && /[<>]/.test(raw)) return [block];
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
  return pieces;
}

/** A piece as a sentence; none when it is too short, too long, not ended, or holds code or bytes that are not text. */
function sentenceOf(chunk: Chunk, { at, raw, item }: Block): Sentence[] {
  const quote = raw.trim();
  // What ends where the chunk was cut off may not end there.
  if (chunk.cut && at + raw.trimEnd().length >= chunk.text.trimEnd().length) return [];
  const text = visible(quote, chunk.type);
  const words = text.match(/\p{L}[\p{L}\p{N}'’-]*/gu)?.length ?? 0;
  const ended = /[.!?…]["')\]»”*]*$/.test(text) || (item === true && words >= LENGTH.itemWords);
  const code = (text.match(/[{};=<>\\]/g)?.length ?? 0) * 40 > text.length;
  if (text.length < LENGTH.least || quote.length > LENGTH.most || words < LENGTH.words || !ended || code || /[\ufffd\0]/.test(quote)) return [];
  const first = chunk.first + newlines(chunk.text.slice(0, at + raw.length - raw.trimStart().length));
  return [{ file: chunk.file, first, last: first + newlines(quote), quote, text, sha256: chunk.sha256 }];
}

const newlines = (text: string): number => text.split('\n').length - 1;

function visible(quote: string, type: string): string {
  const plain = type === 'text/html' ? quote.replace(/<[^>]*>/g, '').replace(/&nbsp;/g, ' ').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&amp;/g, '&') : quote;
  return plain.replace(/\s+/g, ' ').trim();
}
