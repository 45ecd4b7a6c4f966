// Full-text search over the lines of text files: passages of a few lines in an FTS5 index held in memory (Porter stems,
// accents folded), ranked by BM25 and by how many of the question's words a passage holds; source code counts half. Runs in a child process only.
import Database from 'libsql';
import { isTable, withoutTags, type Lines } from './text';

export interface Hit { file: string; first: number; last: number; score: number; terms: string[]; snippet: string }

const PASSAGE = { lines: 6, chars: 1_200 } as const;
const MOST_PASSAGES = 200_000;

export interface SearchIndex {
  add(file: string, mediaType: string, lines: Lines): void;
  search(terms: string[], limit: number): Hit[];
}

/** Words of a search text, in order, without doubles: letters and digits of any script. */
export function termsOf(text: string): string[] {
  return [...new Set((text.toLowerCase().normalize('NFC').match(/[\p{L}\p{N}]+/gu) ?? []))].slice(0, 24);
}

export function searchIndex(): SearchIndex {
  const db = new Database(':memory:');
  db.exec(`CREATE TABLE passage (id INTEGER PRIMARY KEY, file TEXT, first INTEGER, last INTEGER, weight REAL);
    CREATE VIRTUAL TABLE words USING fts5(body, tokenize = 'porter unicode61 remove_diacritics 2')`);
  const passage = db.prepare('INSERT INTO passage VALUES (?, ?, ?, ?, ?)');
  const words = db.prepare('INSERT INTO words (rowid, body) VALUES (?, ?)');
  let id = 0;
  return {
    add: (file, mediaType, lines) => db.transaction(() => {
      for (const { first, last, text } of passagesOf(lines, isTable(mediaType))) {
        if (id >= MOST_PASSAGES) return;
        passage.run(++id, file, first, last, mediaType === 'text/x-source' ? 0.5 : 1);
        words.run(id, mediaType === 'text/html' ? withoutTags(text) : text);
      }
    })(),
    search: (terms, limit) => ranked(db, terms, limit),
  };
}

/** Consecutive lines that are not blank, up to six; a very long line is cut into pieces that keep its number. */
function* passagesOf(lines: Lines, byLine: boolean): Iterable<{ first: number; last: number; text: string }> {
  let open: { first: number; last: number; text: string } | undefined;
  for (let number = 1; number <= lines.count; number++) {
    const text = lines.text(number, number);
    const full = open && (byLine || text.trim() === '' || /^#{1,6} /.test(text) || open.last - open.first + 1 >= PASSAGE.lines || open.text.length + text.length > PASSAGE.chars);
    if (open && full) {
      yield open;
      open = undefined;
    }
    if (text.trim() === '') continue;
    for (let at = 0; text.length > 2 * PASSAGE.chars && at < text.length; at += PASSAGE.chars) yield { first: number, last: number, text: text.slice(at, at + PASSAGE.chars + 100) };
    if (text.length <= 2 * PASSAGE.chars) open = { first: open?.first ?? number, last: number, text: open ? `${open.text}\n${text}` : text };
  }
  if (open) yield open;
}

function ranked(db: Database.Database, terms: string[], limit: number): Hit[] {
  const perTerm = new Map<number, string[]>();
  const match = db.prepare('SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid LIMIT 20000').raw(true);
  for (const term of terms) for (const [rowid] of match.all(quote(term)) as [number][]) perTerm.set(rowid, [...(perTerm.get(rowid) ?? []), term]);
  if (perTerm.size === 0) return [];
  const asked = terms.map(quote).join(' OR ');
  const hits = candidates(db, asked).map(({ rowid, rank, weight, ...place }): Hit & { rowid: number } => {
    const held = perTerm.get(rowid) ?? [];
    return { ...place, rowid, score: Math.round(-rank * weight * 1_000 * (0.25 + held.length / terms.length)) / 1_000, terms: held, snippet: '' };
  });
  const snippet = db.prepare("SELECT snippet(words, 0, '', '', ' … ', 28) FROM words WHERE words MATCH ? AND rowid = ?").raw(true);
  const best = spread(hits.sort((a, b) => b.score - a.score || (a.file < b.file ? -1 : a.file > b.file ? 1 : a.first - b.first)), limit);
  return best.map(({ rowid, ...hit }) => ({ ...hit, snippet: String((snippet.get(asked, rowid) as [string])[0]).replace(/\s+/g, ' ').slice(0, 240) }));
}

interface Candidate { rowid: number; rank: number; file: string; first: number; last: number; weight: number }

/** Best passages by BM25, one for each place: pieces of one long line do not crowd out other files. */
function candidates(db: Database.Database, asked: string): Candidate[] {
  const rows = db.prepare(`SELECT w.rowid AS rowid, bm25(words) AS rank, p.file AS file, p.first AS first, p.last AS last, p.weight AS weight
    FROM words w JOIN passage p ON p.id = w.rowid WHERE words MATCH ? ORDER BY bm25(words), w.rowid`).iterate(asked) as Iterable<Candidate>;
  const places = new Map<string, Candidate>();
  for (const { rowid, rank, file, first, last, weight } of rows) {
    const place = `${first}-${last} ${file}`;
    if (!places.has(place)) places.set(place, { rowid, rank, file, first, last, weight });
    if (places.size >= 400) break;
  }
  return [...places.values()];
}

/** Best hits first, but no file takes more than a third of the places while others have hits. */
function spread<H extends Hit>(hits: H[], limit: number): H[] {
  const most = Math.max(2, Math.ceil(limit / 3));
  const taken = new Map<string, number>();
  const first = hits.filter(({ file }) => {
    const n = (taken.get(file) ?? 0) + 1;
    taken.set(file, n);
    return n <= most;
  });
  return [...first, ...hits.filter((hit) => !first.includes(hit))].slice(0, limit);
}

const quote = (term: string): string => `"${term.replace(/"/g, '""')}"`;
