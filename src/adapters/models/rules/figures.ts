// Figures in a sentence: amounts, shares, counts and dates, each with the words it is said of and the period it is said for.
// Reads English and ISO forms (EUR 48,200 / 3.1 % / 14 July 2025 / 2025-07-14 / Q3 2025). Pure.
import { isContent, isStop, stem, wordsOf } from './words';

/** One figure. `kind` is `money:eur`, `percent`, `date`, or `count:<stem of the thing counted>`. Dates are numbers like 20250714. */
export interface Figure { kind: string; value: number; shown: string; subject: Set<string>; periods: Set<string> }

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const MONTH = MONTHS.map((name) => `${name}|${name.slice(0, 3)}\\.?`).join('|');
const NUMBER = '\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?|\\d+(?:\\.\\d+)?';
const MONEY = 'EUR|USD|GBP|CHF|euros?|dollars?|pounds?|€|\\$|£';
const CURRENCY: Record<string, string> = { '€': 'eur', euro: 'eur', euros: 'eur', $: 'usd', dollar: 'usd', dollars: 'usd', '£': 'gbp', pound: 'gbp', pounds: 'gbp' };
const SCALE: Record<string, number> = { k: 1e3, thousand: 1e3, m: 1e6, mn: 1e6, million: 1e6, bn: 1e9, billion: 1e9 };

const FORMS = new RegExp([
  `(?<iso>\\b\\d{4}-\\d{2}-\\d{2}\\b)`,
  `(?<dmy>\\b\\d{1,2}(?:st|nd|rd|th)?\\s+(?:of\\s+)?(?:${MONTH})\\b(?:,?\\s+\\d{4})?)`,
  `(?<mdy>\\b(?:${MONTH})\\s+\\d{1,2}(?:st|nd|rd|th)?\\b(?!\\s*[.,]?\\d)(?:,\\s+\\d{4})?)`,
  `(?<pre>(?:\\b(?:EUR|USD|GBP|CHF)|[€$£])\\s?(?:${NUMBER})(?:\\s?(?:k|m|mn|bn|thousand|million|billion)\\b)?)`,
  `(?<post>\\b(?:${NUMBER})(?:\\s?(?:k|m|mn|bn|thousand|million|billion))?\\s?(?:(?:${MONEY.replace(/\|€.*/, '')})\\b|[€$£]))`,
  `(?<percent>\\b(?:${NUMBER})\\s?(?:%|per ?cent\\b))`,
  `(?<period>\\bQ[1-4](?:[\\s/-]+\\d{4})?\\b|\\b(?:19|20)\\d{2}(?:-Q[1-4])?\\b)`,
  `(?<count>(?<![\\p{L}\\p{N}.,-]|\\p{Lu}\\p{Ll}{1,20} )(?:${NUMBER})(?![\\p{L}\\p{N}]|[.,]\\d)(?:\\s+(?<noun>\\p{L}{2,}))?)`,
].join('|'), 'gu');

/** All figures of a sentence. */
export function figuresOf(sentence: string): Figure[] {
  const figures: Figure[] = [];
  let subject = new Set<string>();
  let periods = new Set<string>();
  for (const clause of clausesOf(sentence)) {
    const found = [...clause.matchAll(FORMS)];
    const here = new Set(found.flatMap(({ groups }) => (groups?.['period'] ? [periodOf(groups['period'])] : [])));
    const words = new Set(wordsOf(clause.replace(FORMS, (match, ...rest) => String((rest.at(-1) as Record<string, string | undefined>)['noun'] ?? ' '))).filter((word) => isContent(word) && !/^\d+$/.test(word)).map(stem));
    if (words.size > 0) subject = words;
    if (here.size > 0) periods = here;
    for (const { groups = {} } of found) {
      const figure = figureOf(groups, figures.at(-1)?.kind);
      if (figure) figures.push({ ...figure, subject: new Set(subject), periods: new Set(periods) });
    }
  }
  return figures;
}

/** Parts of a sentence that speak of one thing each; commas inside numbers and dates do not part. */
function clausesOf(sentence: string): string[] {
  return sentence.split(/[;:]\s|,\s(?!\d{4}\b)|\s(?:against|versus|compared with|instead of|than|but|up from|down from)\s/i).filter((clause) => clause.trim() !== '');
}

function figureOf(groups: Record<string, string | undefined>, before: string | undefined): Pick<Figure, 'kind' | 'value' | 'shown'> | undefined {
  const { iso, dmy, mdy, pre, post, percent, count, noun } = groups;
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
  return counted === undefined ? undefined : { kind: counted, value: numberIn(count), shown: counted === before ? count.replace(/\s.*/s, '') : count };
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

/** Are two values the same, given that people round? Half a per cent for numbers; the same day, year left out or not, for dates. */
export function sameValue(kind: string, a: number, b: number): boolean {
  if (kind === 'date') return a === b || ((a < 10_000 || b < 10_000) && a % 10_000 === b % 10_000);
  if (kind === 'percent' || kind.startsWith('count:')) return a === b;
  return Math.abs(a - b) <= 0.005 * Math.max(Math.abs(a), Math.abs(b));
}
