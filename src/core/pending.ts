// A tool's answer "accepted; the result comes later": the effect took place, and what came of it is told afterwards by callbacks.
// Holds the terms as the law, the ledger and the hands keep them, and the marked value that a tool returns. The mark is known
// across copies of this package; nothing here looks at the outside.
import type { Json } from './canonical';
import type { OnDeadline } from './plan';
import { durationMs } from './rules/duration';
import { LEAST_REMINDER_MS } from './rules/reminders';

/** Most items of one batch. */
export const MOST_ITEMS = 500;

/** What is waited for. */
export interface PendingTerms {
  /** Items of a batch; null for one plain result. */
  expect: number | null;
  /** ms from when the run hears of it; null when nothing ends the wait. */
  deadlineMs: number | null;
  onDeadline: OnDeadline;
  /** A run of longhaul whose end is awaited. */
  child?: string;
}

const MARK = Symbol.for('longhaul.pending');

/** What `pending` makes: returned by `execute`, or as the output that `lookUp` has found. */
export interface Pending { readonly terms: PendingTerms; readonly receipt: Json }

export interface PendingOptions {
  /** Items of a batch, 1 to 500: each callback is one, and the result lists them. Left out: one callback, whose payload is the result. */
  expect?: number;
  /** ms, or a text such as `24h`; left out, the wait has no end. */
  deadline?: number | string;
  /** Default `fail-step`. `continue` goes on with `default`; a batch goes on with the items that came. */
  onDeadline?: 'cancel-run' | 'fail-step' | { then: 'cancel-run' | 'fail-step' } | { then: 'continue'; default?: Json };
  /** Reminders in lists until then: ms, or a text such as `1d`. */
  remindEvery?: number | string;
  /** What the outside said when it accepted: stands in the journal, and is what `undo` is given until the result is there. */
  receipt?: Json;
}

/**
 * The answer of a tool whose request was accepted and whose result comes by callbacks to `call.callbackId`. Make it before the request
 * leaves and return it after.
 * @throws TypeError for terms that cannot be.
 */
export function pending(options: PendingOptions = {}): Pending {
  const { expect = null, receipt = null } = options;
  if (expect !== null && !(Number.isInteger(expect) && expect >= 1 && expect <= MOST_ITEMS)) throw new TypeError(`pending: \`expect\` must be a whole number from 1 to ${MOST_ITEMS}, not ${String(expect)}.`);
  const deadlineMs = options.deadline === undefined ? null : spanOf('deadline', options.deadline);
  const remindEveryMs = options.remindEvery === undefined ? undefined : Math.max(LEAST_REMINDER_MS, spanOf('remindEvery', options.remindEvery));
  const terms = { expect, deadlineMs, onDeadline: { ...policyOf(options.onDeadline ?? 'fail-step'), ...(remindEveryMs === undefined ? {} : { remindEveryMs }) } };
  return marked(terms, receipt);
}

/** The same value from its parts, where it has crossed between processes. */
export const marked = (terms: PendingTerms, receipt: Json): Pending => Object.freeze(Object.defineProperty({ terms, receipt }, MARK, { value: true }));

/** The marked value, or null for every other result of a tool. */
export function pendingOf(value: unknown): Pending | null {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[MARK] === true ? value as Pending : null;
}

function spanOf(name: string, span: number | string): number {
  const ms = typeof span === 'number' ? span : durationMs(span);
  if (ms !== null && Number.isSafeInteger(ms) && ms > 0) return ms;
  throw new TypeError(`pending: \`${name}\` must be a time in ms, or a text such as "24h", not ${String(span)}.`);
}

function policyOf(given: NonNullable<PendingOptions['onDeadline']>): OnDeadline {
  const policy = typeof given === 'string' ? { then: given } : given;
  if (policy.then === 'cancel-run' || policy.then === 'fail-step') return { then: policy.then };
  if (policy.then === 'continue') return { then: 'continue', default: policy.default ?? null };
  throw new TypeError('pending: `onDeadline` must be "cancel-run", "fail-step" or { then: "continue", default: value }.');
}
