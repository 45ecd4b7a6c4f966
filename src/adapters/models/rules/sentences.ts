// Sentences of a chunk of a file, each with the lines it stands on and its exact wording there. `quote` is always a piece of
// the chunk as it is; `text` differs from it only by white space and, for HTML, by tags. Pure.

export interface Chunk { file: string; first: number; last: number; text: string; type: string; eol: string; cut: boolean; sha256: string }

export interface Sentence { file: string; first: number; last: number; quote: string; text: string; sha256: string }

interface Block { at: number; raw: string; whole: boolean }

const LENGTH = { least: 20, most: 500, words: 4 } as const;
/** Begins of a line after which nothing of the line before goes on: bullets, numbers, quotes, dates, table rows. */
const OPENS = /^\s*(?:[-*+•]\s|\d{1,3}[.)]\s|>|\||#{1,6}\s|\d{4}-\d{2}-\d{2}\b|\[|```)/;
const MARK = /^\s*(?:(?:[-*+•]|\d{1,3}[.)]|>|#{1,6})\s+)+(?:\[[ xX]\]\s+)?/;
const DATED = /^\s*\d{4}-\d{2}-\d{2}\b/;
/** A full stop after these ends no sentence. */
const SHORT = /(?:\b(?:mr|mrs|ms|dr|prof|st|no|nr|vs|etc|approx|ca|e\.g|i\.e|z\.b|bzw|inc|ltd|co|fig|art|sec|p|pp|vol)|\b[A-Z])\.$/i;

/** All sentences of a chunk, in order. */
export function sentencesOf(chunk: Chunk): Sentence[] {
  if (/csv|tab-separated/.test(chunk.type)) return [];
  return blocksOf(chunk).flatMap((block) => piecesOf(block, chunk.type))
    .flatMap(({ at, raw }) => sentenceOf(chunk, at, raw));
}

/** Pieces of the text that belong together: paragraphs, list items, lines of a log, lines of HTML, strings of JSON. */
function blocksOf(chunk: Chunk): Block[] {
  const lines = linesOf(chunk);
  if (chunk.type === 'application/json') return lines.flatMap(({ at, raw }) => [...raw.matchAll(/"((?:[^"\\]){20,})"/g)].map((found) => ({ at: at + found.index + 1, raw: found[1] ?? '', whole: false })));
  if (chunk.type === 'text/html') return lines.map(({ at, raw }) => insideTags(at, raw));
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const { at, raw } of lines) {
    const blank = raw.trim() === '';
    const heading = /^\s*#{1,6}\s/.test(raw);
    if (blank || heading || OPENS.test(raw) || chunk.eol === 'crlf') open = undefined;
    if (blank || heading || /^\s*\|/.test(raw)) continue;
    if (open) open.raw = chunk.text.slice(open.at, at + raw.length);
    else {
      const mark = DATED.test(raw) ? 0 : (MARK.exec(raw)?.[0].length ?? 0);
      blocks.push(open = { at: at + mark, raw: raw.slice(mark), whole: DATED.test(raw) });
    }
  }
  return blocks;
}

function linesOf({ text, cut }: Chunk): { at: number; raw: string }[] {
  let at = 0;
  const lines = text.split('\n').map((raw) => {
    const line = { at, raw: raw.replace(/\r$/, '') };
    at += raw.length + 1;
    return line;
  });
  return cut ? lines.slice(0, -1) : lines;
}

function insideTags(at: number, raw: string): Block {
  const before = /^(?:\s|<[^>]*>)*/.exec(raw)?.[0].length ?? 0;
  const inner = raw.slice(before).replace(/(?:\s|<[^>]*>)*$/, '');
  return { at: at + before, raw: inner, whole: /[<>]/.test(inner) };
}

function piecesOf({ at, raw, whole }: Block, type: string): { at: number; raw: string }[] {
  if (whole || type === 'text/html' && /[<>]/.test(raw)) return [{ at, raw }];
  const pieces: { at: number; raw: string }[] = [];
  let from = 0;
  for (const end of raw.matchAll(/[.!?…]["')\]»”]?(?=\s|$)/g)) {
    const to = end.index + end[0].length;
    const next = raw.slice(to).trimStart();
    if (SHORT.test(raw.slice(from, to)) || /^\p{Ll}/u.test(next)) continue;
    pieces.push({ at: at + from, raw: raw.slice(from, to) });
    from = to;
  }
  if (from < raw.length) pieces.push({ at: at + from, raw: raw.slice(from) });
  return pieces;
}

/** A piece as a sentence; none when it is too short, too long, not ended, or holds bytes that are not text. */
function sentenceOf(chunk: Chunk, at: number, raw: string): Sentence[] {
  const quote = raw.trim();
  const text = visible(quote, chunk.type);
  const words = text.match(/\p{L}[\p{L}\p{N}'’-]*/gu)?.length ?? 0;
  const ended = /[.!?…]["')\]»”]?$/.test(text);
  if (text.length < LENGTH.least || quote.length > LENGTH.most || words < LENGTH.words || !ended || /[\ufffd\0]/.test(quote)) return [];
  const first = chunk.first + newlines(chunk.text.slice(0, at + raw.length - raw.trimStart().length));
  return [{ file: chunk.file, first, last: first + newlines(quote), quote, text, sha256: chunk.sha256 }];
}

const newlines = (text: string): number => text.split('\n').length - 1;

function visible(quote: string, type: string): string {
  const plain = type === 'text/html' ? quote.replace(/<[^>]*>/g, '').replace(/&nbsp;/g, ' ').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&amp;/g, '&') : quote;
  return plain.replace(/\s+/g, ' ').trim();
}
