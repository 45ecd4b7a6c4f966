// The values that this process knows to be secret, under their names, and the redactor over them. Grows as secrets are read and
// forgets none: a value that was replaced may still come back in an answer. Never hands out a value.
import type { Redactor } from '../../ports/redaction';
import { patternOf } from './forms';

/** Fewest characters of a value: shorter ones stand by chance in other texts, and could not be taken out without harm. */
export const LEAST_CHARACTERS = 8;
/** Characters from which one line of a value of several lines is a secret by itself. */
const LEAST_OF_LINE = 16;

interface Known { name: string; mark: string; value: string; pattern: RegExp }

export class KnownSecrets implements Redactor {
  private known: Known[] = [];

  /** True when the value is known from now on; false for one that is too short to be looked for. */
  add(name: string, value: string): boolean {
    const trimmed = value.trim();
    if (trimmed.length < LEAST_CHARACTERS) return false;
    const lines = trimmed.split(/\r?\n/).map((line) => line.trim()).filter((line) => line.length >= LEAST_OF_LINE);
    const fresh = [...new Set([trimmed, ...(lines.length > 1 ? lines : [])])].filter((one) => !this.known.some((before) => before.value === one));
    this.known.push(...fresh.map((one) => knownOf(name, one)));
    // The longest first: one secret may be part of another.
    this.known.sort((a, b) => b.value.length - a.value.length);
    return true;
  }

  text(text: string): string {
    let clean = text;
    for (const { pattern, mark } of this.known) if (clean.length >= LEAST_CHARACTERS) clean = clean.replace(pattern, mark);
    return clean;
  }

  found(text: string): string | null {
    if (text.length < LEAST_CHARACTERS) return null;
    return this.known.find(({ pattern }) => text.search(pattern) >= 0)?.name ?? null;
  }

  spans(text: string): { from: number; to: number }[] {
    return this.known.flatMap(({ pattern }) => [...text.matchAll(pattern)].map((match) => ({ from: match.index, to: match.index + match[0].length })));
  }
}

function knownOf(name: string, value: string): Known {
  const pattern = new RegExp(patternOf(value), 'gi');
  const mark = `[secret ${name.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 80)}]`;
  return { name, value, pattern, mark: mark.search(pattern) >= 0 ? '[secret]' : mark };
}
