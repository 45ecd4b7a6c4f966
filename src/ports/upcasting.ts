// A journal as its readers know it: every event that it answers has this build's shape, and what a newer build wrote is refused by
// NewerBuild. What is exported stays as it was written, since its chain of digests covers that. Put around every store when it is
// opened; changes nothing in it.
import { atDoor } from '../core/versions/door';
import type { JournalPort } from './journal';

export function upcasting(journal: JournalPort): JournalPort {
  return {
    ...journal,
    read: async (runId, after, limit) => {
      const { events, more } = await journal.read(runId, after, limit);
      return { events: events.map(atDoor), more };
    },
    append: async (request) => {
      const answer = await journal.append(request);
      return answer.kind === 'diverged' ? { ...answer, tail: answer.tail.map(atDoor) } : answer;
    },
    byKey: async (runId, key) => {
      const event = await journal.byKey(runId, key);
      return event && atDoor(event);
    },
  };
}
