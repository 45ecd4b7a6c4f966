// What a look of the doctor finds, and how it is said. `wrong` needs a person and makes the exit code 1; `note` does not.
import { isNewer } from '../../core/versions/door';
import { isDamaged } from '../outlook';
import type { Place } from '../place';

export interface Finding { what: string; state: 'ok' | 'note' | 'wrong'; detail: string; next?: string }

export type Check = (place: Place, fix: boolean) => Promise<Finding[]>;

export const ok = (what: string, detail: string): Finding[] => [{ what, state: 'ok', detail }];
export const wrong = (what: string, detail: string, next: string): Finding[] => [{ what, state: 'wrong', detail, next }];

/** What is asked of a run, or nothing of one that a newer build carried on or whose journal is damaged: that is told as such. */
export async function unlessUnreadable<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (isNewer(error) || isDamaged(error)) return null;
    throw error;
  }
}
