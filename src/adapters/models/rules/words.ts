// Words as `rules@1` compares them: content words without the little ones, cut to a stem by a few English endings.
// Made for English; words of other languages match as they are written. Pure.

const STOP = new Set((
  'a an the and or but if then than that this these those there here it its they them their he she his her we us our you your i me my '
  + 'is are was were be been being am do does did done has have had having will would can could shall should may might must not no nor so '
  + 'of in on at by for from to into with without within over under about as after before during since until between per via up down out off '
  + 'how what why when where who whom whose which whether many much large big high long often far very more most less least some any all each '
  + 'also just only same such other another because due again once both few own too happen happens said say says tell show give please find come came get got '
  + 'mr mrs ms dr against der die das und oder ist war waren sind ein eine den dem des im in am zu von mit auf wie warum wann wer was nicht').split(' '));

/** Words that ask for the same as others, for the search only. */
const ALSO: Record<string, string[]> = {
  rise: ['rose', 'increase', 'grew'], rose: ['rise', 'increase'], increase: ['rose', 'rise', 'grew'], grow: ['grew', 'rise', 'increase'],
  fall: ['fell', 'drop', 'decrease'], fell: ['fall', 'drop'], drop: ['fell', 'decrease'], decrease: ['fell', 'drop'],
  cost: ['price', 'amount'], price: ['cost'], delay: ['late'], late: ['delay'], begin: ['began', 'start'], start: ['began', 'begin'],
};

/** Lower-case words of a text, digits included, in order. */
export const wordsOf = (text: string): string[] => text.toLowerCase().normalize('NFC').match(/[\p{L}\p{N}]+/gu) ?? [];

/** The stem that stands for a word: plural, past and -ing forms of English fall together. */
export function stem(word: string): string {
  let w = word.toLowerCase();
  if (w.length <= 3 || /\d/.test(w)) return w;
  if (w.endsWith('ies') && w.length > 4) w = `${w.slice(0, -3)}y`;
  else if (/(ss|x|ch|sh)es$/.test(w)) w = w.slice(0, -2);
  else if (/[^sui]s$/.test(w)) w = w.slice(0, -1);
  if (/[^aeiou]?[aeiou].*ing$/.test(w.slice(0, -3)) || (w.endsWith('ing') && w.length > 6)) w = w.slice(0, -3);
  else if (w.endsWith('ed') && w.length > 5) w = w.slice(0, -2);
  if (w.length > 4 && /([^aeiouls])\1$/.test(w)) w = w.slice(0, -1);
  return w.length > 4 && w.endsWith('e') ? w.slice(0, -1) : w;
}

export const isStop = (word: string): boolean => STOP.has(word.toLowerCase());

export const isContent = (word: string): boolean => !STOP.has(word) && (word.length > 2 || /\d/.test(word));

/** Content words of a text in order, each once. */
export const contentWords = (text: string): string[] => [...new Set(wordsOf(text).filter(isContent))];

/** Stems of the content words that are no numbers. */
export const stemsOf = (text: string): Set<string> => new Set(wordsOf(text).filter((word) => isContent(word) && !/^\d+$/.test(word)).map(stem));

/** Further words to search for beside these. */
export const alsoSearch = (words: string[]): string[] => [...new Set(words.flatMap((word) => ALSO[word] ?? ALSO[stem(word)] ?? []))].filter((word) => !words.includes(word));

/** How many members two sets share. */
export function shared<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): T[] {
  return [...a].filter((item) => b.has(item));
}
