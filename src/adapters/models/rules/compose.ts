// The report as `rules@1` writes it: sentences of the sources, chosen by the words of the question and by what kind of answer
// each part of it wants. Adds no sentence of its own; headings, table titles and the lists of contradictions and open
// questions say only what was compared. Pure.
import { contradictionsIn, type Claim, type Contradiction } from './contradictions';
import type { Call, Conversation, Data } from './conversation';
import { figuresOf, periodOf, sameValue } from './figures';
import type { Part, Question } from './question';
import { titleOf } from './queries';
import { sentencesOf, type Chunk, type Sentence } from './sentences';
import { contentWords, shared, stem, stemsOf, wordsOf } from './words';

export const AUTHOR = 'rules@1 (fixed rules; no model was used)';

const MOST = { sentences: { amount: 6, cause: 6, time: 6, other: 16 }, perFile: { amount: 3, cause: 3, time: 3, other: 6 }, sources: 600, tables: 4, notQuoted: 40 } as const;
const CAUSE = /\b(because|since|due to|reasons?|caused?|follows?|comes? from|after|owing to|result(?:s|ed)? (?:of|from)|led to|begins? with|why)\b/i;
const UNSURE = /\b(nobody knows|not known|unknown|unclear|no agreement|to be confirmed|to be decided|tbd|still open|not yet|cannot say|open question)\b/i;

/** All sentences that were read, each once, in the order of reading. */
function sentencesRead(calls: Call[]): Sentence[] {
  const seen = new Set<string>();
  return calls.filter(({ tool, result }) => tool === 'read_chunk' && result).flatMap(({ result }) => sentencesOf(chunkOf(result ?? {}))).filter(({ file, first, quote }) => {
    const place = `${file}:${first}:${quote}`;
    return seen.has(place) ? false : Boolean(seen.add(place));
  }).slice(0, MOST.sources);
}

function chunkOf(result: Data): Chunk {
  const text = (name: string): string => (typeof result[name] === 'string' ? result[name] as string : '');
  return { file: text('file'), first: Number(result['first']) || 1, last: Number(result['last']) || 1, text: text('text'), type: text('type'), eol: text('eol'), cut: result['cut'] === true, sha256: text('sha256'), ...(typeof result['lines'] === 'number' ? { lines: result['lines'] } : {}) };
}

/** How well a sentence answers a part; 0 when it shares no word with it. `near` are stems of what the best passages speak of. */
function scoreOf(sentence: Sentence, part: Part, near: ReadonlySet<string>, weightOf: (word: string) => number): number {
  const stems = stemsOf(sentence.text);
  const hits = part.words.filter((word) => holds(sentence.text, stems, word));
  const core = hits.filter((word) => !/\d/.test(word));
  const kind = bonusOf(part.kind, sentence.text, core.length);
  const close = Math.min(2, shared(stems, near).length);
  if (core.length === 0 && !(kind > 0 && close > 0)) return 0;
  return hits.reduce((sum, word) => sum + weightOf(word), 0) + kind + 0.3 * close;
}

const holds = (text: string, stems: ReadonlySet<string>, word: string): boolean => stems.has(stem(word)) || (/\d/.test(word) && wordsOf(text).includes(word));

/** Weight of a word from 0.4, where every sentence has it, to 1. */
function weights(words: string[], sentences: Sentence[]): (word: string) => number {
  const all = sentences.map(({ text }) => ({ text, stems: stemsOf(text) }));
  const known = new Map(words.map((word) => {
    const count = all.filter(({ text, stems }) => holds(text, stems, word)).length;
    return [word, 0.4 + 0.6 * Math.max(0, Math.log((all.length + 1) / (count + 1)) / Math.log(all.length + 2))];
  }));
  return (word) => known.get(word) ?? 0.4;
}

/** Does a sentence have what a part of this kind asks for: figures, a reason, a date? */
function bonusOf(kind: Part['kind'], text: string, core: number): number {
  if (kind === 'cause') return CAUSE.test(text) ? 1.5 : 0;
  if (kind === 'other') return core > 1 ? 1.5 : 0;
  const kinds = figuresOf(text).map((figure) => figure.kind);
  if (kind === 'time') return kinds.includes('date') ? 1.5 : 0;
  return kinds.some((one) => one.startsWith('money:')) ? 2 : kinds.some((one) => one !== 'date') ? 1.5 : 0;
}

interface Section { heading: string; statements: unknown[] }

/** Best sentences for each part of the question; a sentence stands in one section only. `omitted` counts those that had no place, by part. */
function sectionsOf(question: Question, sentences: Sentence[], near: ReadonlySet<string>): { sections: Section[]; unanswered: Part[]; omitted: { part: Part; count: number }[] } {
  const taken = new Set<Sentence>();
  const weightOf = weights(question.parts.flatMap(({ words }) => words), sentences);
  const unanswered: Part[] = [];
  const omitted: { part: Part; count: number }[] = [];
  const sections = question.parts.map((part) => {
    const fitting = fittingTo(part, sentences, near, weightOf).filter((sentence) => !taken.has(sentence));
    const perFile = new Map<string, number>();
    const best = fitting.filter(({ file }) => {
      perFile.set(file, (perFile.get(file) ?? 0) + 1);
      return (perFile.get(file) ?? 0) <= MOST.perFile[part.kind];
    }).slice(0, MOST.sentences[part.kind]);
    best.forEach((sentence) => taken.add(sentence));
    if (best.length === 0) unanswered.push(part);
    if (part.kind === 'other' && best.length < fitting.length) omitted.push({ part, count: fitting.length - best.length });
    return { heading: part.text.charAt(0).toUpperCase() + part.text.slice(1, 190), statements: best.map(statementOf) };
  });
  return { sections, unanswered, omitted };
}

/** Sentences that answer a part well enough, the best first. Where it asks for whatever is said, one with all of its words always does. */
function fittingTo(part: Part, sentences: Sentence[], near: ReadonlySet<string>, weightOf: (word: string) => number): Sentence[] {
  const scored = sentences.map((sentence, at) => ({ sentence, at, score: scoreOf(sentence, part, near, weightOf) })).sort((a, b) => b.score - a.score || a.at - b.at);
  const whole = part.words.reduce((sum, word) => sum + weightOf(word), 0);
  const least = Math.max(Math.min(0.9, 0.9 * whole), 0.5 * (scored[0]?.score ?? 0));
  const complete = ({ text }: Sentence): boolean => part.kind === 'other' && part.words.length > 0 && part.words.every((word) => holds(text, stemsOf(text), word));
  return scored.filter(({ sentence, score }) => score > 0 && (score >= least || complete(sentence))).map(({ sentence }) => sentence);
}

const evidenceOf = ({ file, first, last, quote, sha256 }: Sentence) => ({ file, first, last, quote, sha256 });
const statementOf = (sentence: Sentence) => ({ text: sentence.text, evidence: [evidenceOf(sentence)] });

/** Tables whose queries answered rows, each query once, in the order of asking. */
function tablesRun(calls: Call[]): { title: string; sql: string; result: Data }[] {
  const seen = new Set<string>();
  return calls.flatMap(({ tool, args, result }) => {
    const sql = args['sql'];
    if (tool !== 'query_csv' || typeof sql !== 'string' || !result || seen.has(sql) || (result['rows'] as unknown[]).length === 0) return [];
    seen.add(sql);
    return [{ title: titleOf(sql, result), sql, result }];
  }).slice(0, MOST.tables);
}

/** Claims of an amount or a number for a period whose row in a table says something else. */
function againstTables(sentences: Sentence[], tables: { title: string; result: Data }[], focus: ReadonlySet<string>): { claim: Claim; table: number; computed: string }[] {
  const found: { claim: Claim; table: number; computed: string }[] = [];
  for (const [at, { title, result }] of tables.entries()) {
    const columns = result['columns'] as string[];
    if (columns[0] !== 'period' || columns[1] !== 'rows') continue;
    const named = new Set([...stemsOf(title.replace(/_/g, ' '))].filter((word) => focus.has(word)));
    for (const sentence of sentences) {
      for (const figure of figuresOf(sentence.text)) {
        const rows = (result['rows'] as unknown[][]).filter(([period]) => [...figure.periods].some((said) => fits(said, String(period))));
        if (rows.length !== 1 || named.size === 0) continue;
        const about = figure.kind.startsWith('count:') ? named.has(figure.kind.slice(6)) && figure.subject.size <= 2 : figure.kind.startsWith('money:') && shared(figure.subject, named).length > 0;
        const values = figure.kind.startsWith('count:') ? [rows[0]?.[1]] : (rows[0] ?? []).slice(2);
        const near = values.filter((value): value is number => typeof value === 'number' && value > figure.value / 3 && value < figure.value * 3);
        if (about && near.length > 0 && !near.some((value) => sameValue(figure.kind, figure.value, value))) found.push({ claim: { sentence, figure }, table: at + 1, computed: String(near[0]) });
      }
    }
  }
  return found;
}

/** Does a period as said (`2025-Q3`, `Q3`, `2025`) name this row? A quarter without a year only where one row has it, which the caller checks. */
const fits = (said: string, row: string): boolean => row === periodOf(row) && (row === said || (/^Q[1-4]$/.test(said) && row.endsWith(said)));

function contradictionsWith(sentences: Sentence[], tables: { title: string; result: Data }[], focus: ReadonlySet<string>): unknown[] {
  const settled = againstTables(sentences, tables, focus);
  const groups: (Contradiction & { table?: number })[] = contradictionsIn(sentences, focus);
  for (const { claim, table, computed } of settled) {
    const group = groups.find(({ claims }) => claims.some(({ sentence, figure }) => sentence === claim.sentence && figure.value === claim.figure.value));
    const title = tables[table - 1]?.title ?? '';
    if (group && group.table === undefined) Object.assign(group, { table, about: `${group.about}; table ${table} (${title}) gives ${computed}`.slice(0, 500) });
    else if (!group) groups.push({ about: `${claim.figure.shown} (${claim.sentence.file}:${claim.sentence.first}) is not what table ${table} (${title}) gives: ${computed}`.slice(0, 500), claims: [claim], table });
  }
  return groups.slice(0, 12).map(({ about, claims, table }) => ({ about, claims: onePerSentence(claims).map(statementOf), ...(table ? { table } : {}) })).filter(({ claims, table }) => claims.length >= 2 || table !== undefined);
}

const onePerSentence = (claims: Claim[]): Sentence[] => [...new Set(claims.map(({ sentence }) => sentence))];

function openQuestionsOf(question: Question, sentences: Sentence[], unanswered: Part[], focus: ReadonlySet<string>): string[] {
  const all = new Set(sentences.flatMap(({ text }) => [...stemsOf(text), ...text.toLowerCase().split(/[^\p{L}\p{N}]+/u)]));
  const missing = question.words.filter((word) => !all.has(stem(word)) && !all.has(word));
  return [
    ...unanswered.map(({ text }) => `No sentence that was read answers: ${text}`),
    ...missing.map((word) => `No sentence that was read speaks of "${word}".`),
    ...sentences.filter(({ text }) => UNSURE.test(text) && shared(stemsOf(text), focus).length > 0).map(({ text, file, first }) => `${text} (${file}:${first})`),
  ];
}

/** Files of which a chunk was read, without those whose sentences stand in the report. */
function notQuoted(calls: Call[], quoted: unknown): string[] {
  const read = calls.flatMap(({ tool, result }) => (tool === 'read_chunk' && typeof result?.['file'] === 'string' ? [result['file']] : []));
  const cited = JSON.stringify(quoted);
  return [...new Set(read)].filter((file) => !cited.includes(`{"file":${JSON.stringify(file)},`)).slice(0, MOST.notQuoted);
}

/** Arguments of `write_report`. Sentences of `without` files are left out: their evidence was refused before. `unread` are places that were found and not read. */
export function composeReport({ calls }: Pick<Conversation, 'calls'>, question: Question, without: ReadonlySet<string>, unread: string[]): Data {
  const sentences = sentencesRead(calls).filter(({ file }) => !without.has(file));
  const near = new Set(nearWords(question, sentences.map(({ text }) => text)).map(stem));
  const { sections, unanswered, omitted } = sectionsOf(question, sentences, near);
  const tables = tablesRun(calls);
  const focus = new Set([...question.stems, ...near]);
  const contradictions = contradictionsWith(sentences, tables, focus);
  const others = notQuoted(calls, [sections, contradictions]);
  return {
    title: `Report: ${question.text}`.replace(/\s+/g, ' ').slice(0, 190),
    question: question.text.slice(0, 2_000),
    author: AUTHOR,
    sections,
    tables: tables.map(({ title, sql }) => ({ title, sql })),
    contradictions,
    openQuestions: [
      ...omitted.map(({ part, count }) => `${count} more sentences with words of this part were read and left out for length: ${part.text}`),
      ...(unread.length > 0 ? [`Places that the search found and that were not read: ${unread.join(', ')}`] : []),
      ...openQuestionsOf(question, sentences, unanswered, focus),
    ].slice(0, 20).map((text) => text.slice(0, 490)),
    ...(others.length > 0 ? { notQuoted: others } : {}),
  };
}

/** Up to eight content words that passages with words of the question hold and the question does not, the most frequent first. */
export function nearWords({ stems }: Question, passages: string[]): string[] {
  const counts = new Map<string, { word: string; count: number }>();
  for (const passage of passages.filter((text) => shared(stemsOf(text), stems).length > 0)) {
    for (const word of contentWords(passage).filter((candidate) => candidate.length > 3 && !/\d/.test(candidate) && !stems.has(stem(candidate)))) {
      const known = counts.get(stem(word)) ?? { word, count: 0 };
      counts.set(stem(word), { ...known, count: known.count + 1 });
    }
  }
  return [...counts.values()].map((entry, at) => ({ ...entry, at })).sort((a, b) => b.count - a.count || a.at - b.at).slice(0, 8).map(({ word }) => word);
}
