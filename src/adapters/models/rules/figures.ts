// Figures in a sentence: amounts, shares, counts and dates, each with the words it is said of and the period it is said for.
// Reads English and ISO forms (EUR 48,200 / 3.1 % / 14 July 2025 / 2025-07-14 / Q3 2025 / 30 days / until 2027). Pure.
import { isContent, isStop, stem, wordsOf } from './words';

/**
 * One figure. `kind` is `money:eur`, `amount` (no currency is said), `percent`, `date`, or `count:<stem of the thing counted>`; weeks are
 * counted in days, years in months. Dates are numbers like 20250714, with zeros for what is not said (20270000 is 2027).
 * `subject` are the words of its clause, `around` those of the whole sentence, `names` the names in it; `bound` is set where a date begins or ends something.
 */
export interface Figure { kind: string; value: number; shown: string; subject: Set<string>; around: Set<string>; names: Set<string>; periods: Set<string>; bound?: 'begin' | 'end' }

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const MONTH = MONTHS.map((name) => `${name}|${name.slice(0, 3)}\\.?`).join('|');
const NUMBER = '\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?|\\d+(?:\\.\\d+)?';
const SPAN = 'days?|weeks?|months?|years?|hours?|minutes?';
const KIND_OF_SPAN = '(?:calendar|working|business|full|whole)';
const MONEY = 'EUR|USD|GBP|CHF|euros?|dollars?|pounds?|€|\\$|£';
const CURRENCY: Record<string, string> = { '€': 'eur', euro: 'eur', euros: 'eur', $: 'usd', dollar: 'usd', dollars: 'usd', '£': 'gbp', pound: 'gbp', pounds: 'gbp' };
const BOUND = 'until|till|through|by|before|from|since|starting';
const SCALE: Record<string, number> = { k: 1e3, thousand: 1e3, m: 1e6, mn: 1e6, million: 1e6, bn: 1e9, billion: 1e9 };

const FORMS = new RegExp([
  `(?<iso>\\b\\d{4}-\\d{2}-\\d{2}\\b)`,
  `(?<dmy>\\b\\d{1,2}(?:st|nd|rd|th)?\\s+(?:of\\s+)?(?:${MONTH})\\b(?:,?\\s+\\d{4})?)`,
  `(?<mdy>\\b(?:${MONTH})\\s+\\d{1,2}(?:st|nd|rd|th)?\\b(?!\\s*[.,]?\\d)(?:,\\s+\\d{4})?)`,
  `(?<pre>(?:\\b(?:EUR|USD|GBP|CHF)|[€$£])\\s?(?:${NUMBER})(?:\\s?(?:k|m|mn|bn|thousand|million|billion)\\b)?)`,
  `(?<post>\\b(?:${NUMBER})(?:\\s?(?:k|m|mn|bn|thousand|million|billion))?\\s?(?:(?:${MONEY.replace(/\|€.*/, '')})\\b|[€$£]))`,
  `(?<percent>\\b(?:${NUMBER})\\s?(?:%|per ?cent\\b))`,
  `(?<limit>(?<=\\b(?:${BOUND})\\s(?:the\\s)?(?:end\\sof\\s)?)(?:(?:${MONTH})(?:\\s+(?:19|20)\\d{2})?|(?:19|20)\\d{2}))(?![\\p{L}\\p{N}-]|\\s+\\d)`,
  `(?<period>\\bQ[1-4](?:[\\s/-]+\\d{4})?\\b|\\b(?:19|20)\\d{2}(?:-Q[1-4])?\\b)`,
  `(?<span>(?<![\\p{L}\\p{N}.,-])(?:${NUMBER})[\\s-]+(?:${KIND_OF_SPAN}\\s+)?(?:${SPAN})\\b)`,
  `(?<count>(?<![\\p{L}\\p{N}.,-])(?:\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?|(?<!\\p{Lu}\\p{Ll}{1,20} )(?:${NUMBER}))(?![\\p{L}\\p{N}]|[.,]\\d)(?:\\s+(?<noun>\\p{L}{2,}))?)`,
].join('|'), 'gu');

const subjectOf = (text: string): Set<string> => new Set(wordsOf(text.replace(FORMS, (_, ...rest) => String((rest.at(-1) as Record<string, string | undefined>)['noun'] ?? ' '))).filter((word) => isContent(word) && !/^\d+$/.test(word)).map(stem));

/** All figures of a sentence. */
export function figuresOf(sentence: string): Figure[] {
  const figures: Figure[] = [];
  const around = subjectOf(sentence);
  const names = namesIn(sentence);
  let subject = new Set<string>();
  let periods = new Set<string>();
  for (const clause of clausesOf(sentence)) {
    const found = [...clause.matchAll(FORMS)];
    const here = new Set(found.flatMap(({ groups }) => (groups?.['period'] ? [periodOf(groups['period'])] : [])));
    const words = subjectOf(clause);
    if (words.size > 0) subject = words;
    if (here.size > 0) periods = here;
    for (const { groups = {}, index } of found) {
      const figure = figureOf(groups, figures.at(-1)?.kind, around);
      const bound = figure?.kind === 'date' ? boundAt(clause.slice(0, index)) : undefined;
      if (figure) figures.push({ ...figure, subject: new Set(subject), around, names, periods: new Set(periods), ...(bound ? { bound } : {}) });
    }
  }
  return figures;
}

/** Names in a sentence: capital letters that do not begin it, without people who say it (Ms Albrecht), months and units. */
function namesIn(sentence: string): Set<string> {
  const found = [...sentence.matchAll(/(?<![.!?:]\s+|^["'(]*|\b(?:Mr|Mrs|Ms|Dr)\.?\s)\b\p{Lu}\p{L}{2,}/gu)].map(([word]) => word);
  return new Set(found.filter((word) => !/^(?:EUR|USD|GBP|CHF|The|This|That)$/.test(word) && !isMonth(word)).map((word) => stem(word)));
}

const isMonth = (word: string): boolean => MONTHS.some((name) => word === name || word === name.slice(0, 3));

/** Does a date after these words end something, or begin it? */
function boundAt(before: string): Figure['bound'] {
  if (/\b(?:until|till|through|by|before|ends?(?: on)?|expires?(?: on)?)\s+(?:the\s)?(?:end\sof\s)?$/i.test(before)) return 'end';
  return /\b(?:from|since|starting|starts?(?: on)?|begins?(?: on)?)\s+(?:the\s)?$/i.test(before) ? 'begin' : undefined;
}

/** Parts of a sentence that speak of one thing each; commas inside numbers and dates do not part. */
function clausesOf(sentence: string): string[] {
  return sentence.split(/[;:]\s|,\s(?!\d{4}\b)|\s(?:against|versus|compared with|instead of|than|but|up from|down from)\s/i).filter((clause) => clause.trim() !== '');
}

function figureOf(groups: Record<string, string | undefined>, before: string | undefined, around: ReadonlySet<string>): Pick<Figure, 'kind' | 'value' | 'shown'> | undefined {
  const { iso, dmy, mdy, limit, pre, post, percent, span, count, noun } = groups;
  if (limit !== undefined) return partDateOf(limit);
  if (span !== undefined) return spanOf(span);
  const date = iso ?? dmy ?? mdy;
  if (date !== undefined) return dateOf(date);
  const money = pre ?? post;
  if (money !== undefined) {
    const unit = (/EUR|USD|GBP|CHF|euros?|dollars?|pounds?|[€$£]/i.exec(money)?.[0] ?? '').toLowerCase();
    return { kind: `money:${CURRENCY[unit] ?? unit}`, value: numberIn(money), shown: money };
  }
  if (percent !== undefined) return { kind: 'percent', value: numberIn(percent), shown: percent };
  if (count === undefined) return undefined;
  const counted = noun !== undefined && !isStop(noun) ? `count:${stem(noun)}` : before?.startsWith('count:') ? before : undefined;
  if ((noun === undefined || isStop(noun)) && (/,\d{3}/.test(count) || PRICED.some((word) => around.has(word)))) return { kind: 'amount', value: numberIn(count), shown: count.replace(/\s.*/s, '') };
  return counted === undefined ? undefined : { kind: counted, value: numberIn(count), shown: counted === before ? count.replace(/\s.*/s, '') : count };
}

/** Stems of words that say that a bare number is money. */
const PRICED = ['price', 'cost', 'fee', 'amount', 'rent', 'salary', 'budget', 'invoice'].map(stem);

/** A length of time in the smallest unit that has a fixed length: weeks as days, years as months. */
function spanOf(text: string): Pick<Figure, 'kind' | 'value' | 'shown'> {
  const unit = stem(/\p{L}+$/u.exec(text)?.[0] ?? '');
  const [kind, times] = unit === 'week' ? ['day', 7] : unit === 'year' ? ['month', 12] : [unit, 1];
  return { kind: `count:${kind}`, value: numberIn(text.replace(/-/g, ' ')) * times, shown: text };
}

/** A month or a year where something begins or ends. */
function partDateOf(text: string): Pick<Figure, 'kind' | 'value' | 'shown'> {
  const month = 1 + MONTHS.findIndex((name) => new RegExp(`\\b${name.slice(0, 3)}`, 'i').test(text));
  return { kind: 'date', value: Number(/\d{4}/.exec(text)?.[0] ?? 0) * 10_000 + month * 100, shown: text };
}

function numberIn(text: string): number {
  const digits = new RegExp(NUMBER).exec(text)?.[0] ?? '0';
  const scale = /\d\s?(k|m|mn|bn|thousand|million|billion)\b/i.exec(text)?.[1]?.toLowerCase() ?? '';
  return Number(digits.replace(/,/g, '')) * (SCALE[scale] ?? 1);
}

/** A day as a number, with year 0 where none is said; undefined for what is no day. */
function dateOf(text: string): Pick<Figure, 'kind' | 'value' | 'shown'> | undefined {
  const iso = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  const month = iso ? Number(iso[2]) : 1 + MONTHS.findIndex((name) => new RegExp(`\\b${name.slice(0, 3)}`, 'i').test(text));
  const day = iso ? Number(iso[3]) : Number(/\b(\d{1,2})(?!\d)/.exec(text)?.[1] ?? 0);
  const year = Number(iso?.[1] ?? /\b(\d{4})\b/.exec(text)?.[1] ?? 0);
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 ? { kind: 'date', value: year * 10_000 + month * 100 + day, shown: text } : undefined;
}

/** `Q3 2025` and `2025-Q3` -> `2025-Q3`; `Q3` alone and years as they are. */
export function periodOf(text: string): string {
  const quarter = /Q[1-4]/i.exec(text)?.[0].toUpperCase();
  const year = /\d{4}/.exec(text)?.[0];
  return [year, quarter].filter(Boolean).join('-');
}

/** May these two be said of the same time? A quarter without a year fits every year; nothing fits everything. */
export function samePeriod(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  if (a.size === 0 || b.size === 0) return a.size === b.size;
  return [...a].some((x) => [...b].some((y) => x === y || x.endsWith(y) || y.endsWith(x)));
}

/** Are two values the same, given that people round? Half a per cent for money; the same day, what is not said left out, for dates. */
export function sameValue(kind: string, a: number, b: number): boolean {
  if (kind === 'date') return [10_000, 100, 1].every((unit) => [a, b].some((value) => partOf(value, unit) === 0) || partOf(a, unit) === partOf(b, unit));
  if (kind === 'percent' || kind.startsWith('count:')) return a === b;
  return Math.abs(a - b) <= 0.005 * Math.max(Math.abs(a), Math.abs(b));
}

/** Year, month or day of a date as a number. */
const partOf = (date: number, unit: number): number => (unit === 10_000 ? Math.floor(date / unit) : Math.floor(date / unit) % 100);

/** Are these figures of one kind? An amount without a currency may be in any. */
export const sameKind = (a: string, b: string): boolean => a === b || (a === 'amount' && b.startsWith('money:')) || (b === 'amount' && a.startsWith('money:'));
