// The newest events of the runs that this worker plans for, kept in memory: a turn then reads what the last one added, not its whole
// window. The journal stays the authority: each look reads the newest kept event again, and drops what is kept when it differs
// (an older copy of the database was put back). Bounded in runs and in events a run; loses nothing when it is dropped.
import { canonical, type Json } from '../core/canonical';
import type { RunEvent } from '../core/events';
import type { JournalPort } from '../ports/journal';

const RUNS = 8;
const EVENTS = 8_192;

export class RecentEvents {
  /** By run, the one looked at longest ago first. Each list is without a gap. */
  private readonly kept = new Map<string, RunEvent[]>();

  constructor(private readonly journal: Pick<JournalPort, 'read'>) {}

  /** The events with `after < seq <= upTo`, oldest first. */
  async of(runId: string, after: number, upTo: number): Promise<RunEvent[]> {
    const known = this.kept.get(runId) ?? [];
    const [first, last] = [known[0], known.at(-1)];
    const start = first && last && first.seq <= after + 1 && last.seq > after ? known : [];
    const all = await this.readOn(runId, start, after, upTo) ?? await this.readOn(runId, [], after, upTo) ?? [];
    this.keep(runId, all);
    return all.filter(({ seq }) => seq > after && seq <= upTo);
  }

  /** `start` and what follows it; null when the journal no longer holds its newest event. */
  private async readOn(runId: string, start: readonly RunEvent[], after: number, upTo: number): Promise<RunEvent[] | null> {
    const newest = start.at(-1);
    const events = start.slice(0, -1);
    for (let from = newest ? newest.seq - 1 : after, more = true; more && from < Math.max(upTo, newest?.seq ?? 0); ) {
      const page = await this.journal.read(runId, from);
      if (newest && from === newest.seq - 1 && textOf(page.events[0]) !== textOf(newest)) return null;
      for (const event of page.events) events.push(event);
      from = page.events.at(-1)?.seq ?? upTo;
      more = page.more;
    }
    return events;
  }

  private keep(runId: string, events: RunEvent[]): void {
    this.kept.delete(runId);
    this.kept.set(runId, events.slice(-EVENTS));
    for (const oldest of [...this.kept.keys()].slice(0, Math.max(0, this.kept.size - RUNS))) this.kept.delete(oldest);
  }
}

const textOf = (event: RunEvent | undefined): string => canonical((event ?? null) as unknown as Json);
