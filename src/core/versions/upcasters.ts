// Old shapes of events and how each becomes the next: from schema N to N+1, one step a change (I9). The journal keeps what was
// written; whoever reads it hears the newest shape (door.ts). Steps are pure and total for every event of their schema, since a
// journal cannot be mended. A new one raises EVENT_SCHEMA (core/events.ts) by one and gets a file of its own beside this.
import type { Change } from './change';

/** An event as some build wrote it. */
export interface WrittenEvent { runId: string; seq: number; v: number; type: string; data: unknown }

export interface Upcaster extends Change {
  /** Schema of the events that it takes; what it answers is of the next. */
  from: number;
  up(event: WrittenEvent): WrittenEvent;
}

/** In order from schema 1 on, without a gap. */
export const UPCASTERS: readonly Upcaster[] = [];
