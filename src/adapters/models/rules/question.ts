// A question taken apart: its words, the parts that ask for different things, and what kind of answer each part wants.
// Knows the question words of English and a few of German; any other text is one part that asks for whatever is said.
// Pure, and never empty: a text without words is searched for as it stands.
import { alsoSearch, contentWords, stem } from './words';

/** `amount` wants figures, `cause` reasons, `time` dates, `other` whatever is said. */
export interface Part { text: string; words: string[]; kind: 'amount' | 'cause' | 'time' | 'other' }

export interface Question { text: string; words: string[]; stems: Set<string>; parts: Part[]; searchText: string }

const CAUSE = ['because', 'reason', 'cause', 'due'];

export function readQuestion(text: string): Question {
  const words = contentWords(text);
  const parts = partsOf(text, words);
  const wanted = [...words, ...alsoSearch(words), ...(parts.some(({ kind }) => kind === 'cause') ? CAUSE : [])];
  return { text, words, stems: new Set(words.map(stem)), parts, searchText: wanted.slice(0, 20).join(' ').slice(0, 400) || text.slice(0, 400) };
}

/** Parts at question marks, semicolons and `and why|how|...`; a part that only says `they` has the words of the first. */
function partsOf(text: string, all: string[]): Part[] {
  const pieces = text.split(/\?\s*|;\s*|,?\s+and\s+(?=(?:why|how|what|when|who|where|which)\b)/i).map((piece) => piece.trim()).filter((piece) => piece !== '').slice(0, 4);
  const first = contentWords(pieces[0] ?? text);
  return pieces.map((piece) => {
    const own = contentWords(piece);
    return { text: piece, words: own.length >= 2 ? own : [...new Set([...own, ...(first.length ? first : all)])], kind: kindOf(piece) };
  });
}

function kindOf(text: string): Part['kind'] {
  if (/\bwhy\b|\bcauses?d?\b|\breasons?\b|\bwarum\b/i.test(text)) return 'cause';
  if (/\bhow (?:large|big|much|many|high|long|often|far)\b|\b(?:amount|number|total|sum|size)\b|\bwie ?viele?\b/i.test(text)) return 'amount';
  return /\bwhen\b|\bsince\b|\bwann\b/i.test(text) ? 'time' : 'other';
}
