// Reminders beside deadlines: when they fall due, and the event that counts them. A reminder decides nothing; it wakes the run,
// stands in the journal and shows in lists. The first eight come in equal steps, each later one after twice the pause before it,
// so that a wait of any length writes few of them.
import { draft } from '../draft';
import type { Draft } from '../events';
import type { ApprovalState, CallbackState, QuestionState } from '../state';

/** Least pause between reminders in ms. */
export const LEAST_REMINDER_MS = 1_000;

type Asked = Pick<ApprovalState, 'askedAt' | 'onDeadline' | 'reminded'> & { expiresAt: number | null };

/** How many pauses after the beginning of a wait its n-th reminder comes: 1 to 8, then 10, 14, 22, … */
const pauses = (n: number): number => (n <= 8 ? n : 8 + 2 ** (n - 7) - 2);

function timeOf({ askedAt, onDeadline: { remindEveryMs }, expiresAt }: Asked, n: number): number | null {
  if (remindEveryMs === undefined) return null;
  const at = askedAt + pauses(n) * remindEveryMs;
  return expiresAt === null || at < expiresAt ? at : null;
}

/** ms at which the next reminder falls due; null when none does before the deadline. */
export const nextReminder = (asked: Asked): number | null => timeOf(asked, (asked.reminded ?? 0) + 1);

/** Id of what is waited for. */
export const idOf = (asked: ApprovalState | QuestionState | CallbackState): string => ('approvalId' in asked ? asked.approvalId : 'questionId' in asked ? asked.questionId : asked.callbackId);

/** The reminder that is due, if one is; those that fell due while nothing ran are one. */
export function remind(asked: ApprovalState | QuestionState | CallbackState, now: number): Draft | null {
  let n = asked.reminded ?? 0;
  for (let at = timeOf(asked, n + 1); at !== null && at <= now; at = timeOf(asked, n + 1)) n += 1;
  return n > (asked.reminded ?? 0) ? draft('WaitReminded', { waitId: idOf(asked), n }, idOf(asked)) : null;
}
