// When two names are one person's: names that read alike, in other letters of case, forms of Unicode, or with what nobody sees, count as one
// wherever people must differ (a quorum, the owner of a run). Who a rule names is matched exactly. Pure and total.

/** What is left of a name once everything is gone that a reader would not tell apart. */
const readAs = (id: string): string => id.normalize('NFKD').replace(UNSEEN, '').normalize('NFKC').toUpperCase().toLowerCase().replace(/\s+/g, ' ').trim();

/** Control and format characters, fillers, variation selectors, the blank of Braille: what nobody sees. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;

export const samePerson = (a: string, b: string): boolean => a === b || readAs(a) === readAs(b);

/** One that people can read and write again: composed, without outer blanks, and nothing in it that is not seen. */
export const isWritten = (id: string): boolean => id === id.normalize('NFC').trim() && id.search(UNSEEN) < 0;
