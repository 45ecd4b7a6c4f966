// Makes a Failure of whatever a tool, a store or a provider throws: a class of the closed table, a code and one safe
// sentence of at most 1 KiB. No stack, no cause, no details: those may hold secrets and megabytes. Values of secrets are taken
// out before a text is cut, since half of a value is found by nobody. Never throws.
import { ToolError, type ErrorClass, type Failure } from '../core/failure';
import { LIMITS } from '../core/run';
import { redactText, withoutCredentials } from '../ports/redaction';

/** An outside that asks for more patience than a day is not waited for longer; the attempt limit ends it. */
const LONGEST_RETRY_MS = 24 * 3600 * 1000;

/** The failure in an error of any shape, in a sentence of at most `maxBytes`. What is no ToolError is of class `unknown`. */
export function failureOf(error: unknown, maxBytes: number = LIMITS.errorBytes): Failure {
  try {
    if (error instanceof ToolError || looksLikeToolError(error)) {
      const retryAfterMs = Number.isFinite(error.retryAfterMs) && (error.retryAfterMs as number) >= 0 ? Math.min(LONGEST_RETRY_MS, Math.round(error.retryAfterMs as number)) : undefined;
      // Only the hands can tell that they were told to stop; a tool that says so has failed in its own way.
      const failureClass = error.failureClass === 'cancelled' ? 'unknown' : error.failureClass;
      return { class: failureClass, code: oneLine(error.code, 100) || 'error', message: sentence(error, maxBytes), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    }
    return { class: 'unknown', code: codeOf(error), message: sentence(error, maxBytes) };
  } catch {
    return { class: 'unknown', code: 'unreadable', message: 'It failed with an error that cannot be read.' };
  }
}

/** A tool of another copy of the package throws a ToolError that is not ours by identity. */
function looksLikeToolError(error: unknown): error is ToolError {
  return error instanceof Error && error.name === 'ToolError' && typeof (error as Partial<ToolError>).failureClass === 'string';
}

export const failure = (cls: ErrorClass, code: string, message: string): Failure => ({ class: cls, code, message: oneLine(message, LIMITS.errorBytes) });

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'error';
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (typeof code === 'string' && code !== '') return oneLine(code, 100);
  return typeof name === 'string' && name !== '' ? oneLine(name, 100) : 'error';
}

function sentence(error: unknown, maxBytes: number): string {
  const text = oneLine(withoutCredentials(cleanHead(textOf(error), maxBytes * 2).head), maxBytes);
  return text === '' ? 'It failed without a word.' : text;
}

function textOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (error instanceof AggregateError && !error.message) return [...error.errors].slice(0, 3).map(textOf).join('; ');
  if (typeof error !== 'object' || error === null) return error === undefined ? '' : String(error);
  const { message } = error as { message?: unknown };
  return typeof message === 'string' ? message : `It failed with ${Object.prototype.toString.call(error)}.`;
}

/** One line of at most `maxBytes` bytes of UTF-8 without values of secrets, cut with a mark. */
export function oneLine(text: string, maxBytes: number): string {
  const { head, whole } = cleanHead(text, maxBytes * 2);
  const flat = head.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  const bytes = Buffer.from(flat, 'utf8');
  if (bytes.length <= maxBytes && whole) return flat;
  return `${new TextDecoder().decode(bytes.subarray(0, maxBytes - 4)).replace(/\uFFFD+$/u, '')}…`;
}

/** Characters at the end of a cut text in which a value of a secret may have been cut in two. */
const SEAM = 4_096;

/** The first `length` characters without values of secrets. Most of a long text is never looked at: a message may have megabytes. */
export function cleanHead(text: string, length: number): { head: string; whole: boolean } {
  const given = text.trim();
  const seen = length * 4 + SEAM;
  const clean = given.length <= seen ? redactText(given) : redactText(given.slice(0, seen)).slice(0, -SEAM);
  return { head: clean.slice(0, length), whole: given.length <= seen && clean.length <= length };
}
