// When a run goes over to a newer law or newer event shapes: at the start of a generation, never within one, and never back. So all
// that one execution decides is decided under one law. What `open` offers is `migrationOf`; the event is decided here.
import { type Decision, draft, nothing, only } from '../draft';
import type { Migration } from '../commands';
import type { State } from '../state';

/** What this build would raise the run to; null when it is there already, or over. */
export function migrationOf(state: State, { law, eventSchema, build }: Migration): Migration | null {
  if (state.version === 0 || state.end || (law <= state.law && eventSchema <= state.pins.eventSchema)) return null;
  return { law: Math.max(law, state.law), eventSchema: Math.max(eventSchema, state.pins.eventSchema), build };
}

export function migrate(state: State, offered: Migration): Decision {
  const migration = migrationOf(state, offered);
  return migration ? only([draft('RunMigrated', { ...migration, from: { law: state.law, eventSchema: state.pins.eventSchema, build: state.pins.build } })]) : nothing;
}
