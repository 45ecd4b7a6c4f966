// What this build would do with each open run of the state folder, found out from the journals alone: they are brought to this build's
// event shapes and folded with its rules, and the run's pins are compared with the configuration here. Asks no server, changes nothing.
// One entry a run; a run that this build does not know enough for is `refused`, and why.
import { StoreError } from '../adapters/stores/store-error';
import { isOver } from '../client/start';
import { EVENT_SCHEMA } from '../core/events';
import { contractOf } from '../core/keys';
import { toolsAhead } from '../core/lookups';
import type { RunRow } from '../core/row';
import type { State } from '../core/state';
import { isNewer } from '../core/versions/door';
import { LAW } from '../core/versions/laws';
import { migrationOf } from '../core/versions/migrate';
import { nextAfter } from '../ports/journal';
import type { Place } from './place';

export interface Outlook {
  runId: string;
  status: RunRow['status'];
  /** `as-is`: goes on under the law that it has. `migrates`: RunMigrated begins its next generation. `waits`: goes on once what `why` names is there. */
  verdict: 'as-is' | 'migrates' | 'waits' | 'refused';
  /** One sentence. */
  why: string;
  /** Its journal is damaged in the store: no build can go on with it. */
  damaged?: true;
  /** What the run is pinned to; absent when its journal cannot be read by this build. */
  pins?: { build: string; law: number; eventSchema: number; agent: string; model: string | null; tools: string[] };
}

const PAGE = 500;

/** The outlook of every open run, oldest first. `only`: of this run alone. */
export async function outlooks(place: Place, only?: string): Promise<Outlook[]> {
  const rows = await openRows(place);
  const found: Outlook[] = [];
  for (const row of rows.filter(({ runId }) => only === undefined || runId === only)) found.push(await outlookOf(place, row));
  return found;
}

/** Is it the store's word that what it holds of a run is damaged? */
export const isDamaged = (error: unknown): error is StoreError => error instanceof StoreError && error.code === 'corrupt';

async function openRows(place: Place): Promise<RunRow[]> {
  const client = await place.client({ mustExist: false });
  const rows: RunRow[] = [];
  for (let page: RunRow[] | undefined; page === undefined || page.length === PAGE;) {
    page = await client.list({ limit: PAGE, ...nextAfter(page) });
    rows.push(...page);
  }
  return rows.filter((row) => !isOver(row)).reverse();
}

async function outlookOf(place: Place, { runId, status }: RunRow): Promise<Outlook> {
  const client = await place.client({ mustExist: false });
  try {
    const { state } = await client.show(runId);
    return { runId, status, ...await judged(place, state), ...(state.version > 0 ? { pins: pinsOf(state) } : {}) };
  } catch (error) {
    if (isNewer(error)) return { runId, status, verdict: 'refused', why: (error as Error).message };
    if (isDamaged(error)) return { runId, status, verdict: 'refused', why: error.message, damaged: true };
    return { runId, status, verdict: 'refused', why: `Its journal cannot be folded: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function judged(place: Place, state: State): Promise<Pick<Outlook, 'verdict' | 'why'>> {
  if (state.version === 0) return { verdict: 'as-is', why: 'It is accepted and not begun; it begins under this build.' };
  const missing = await missingHere(place, state);
  if (missing.length > 0) return { verdict: 'waits', why: `It needs ${missing.join(', ')}, and nothing here has that.` };
  const migration = migrationOf(state, { law: LAW, eventSchema: EVENT_SCHEMA, build: '' });
  if (!migration) return { verdict: 'as-is', why: `It goes on under law ${state.law}.` };
  const parts = [...(migration.law > state.law ? [`law ${state.law} to ${migration.law}`] : []), ...(migration.eventSchema > state.pins.eventSchema ? [`event schema ${state.pins.eventSchema} to ${migration.eventSchema}`] : [])];
  return { verdict: 'migrates', why: `RunMigrated begins its next generation: ${parts.join(', ')}.` };
}

/** Tools that it still needs in a major version that the configuration here lacks, and pinned texts that the store lacks. */
async function missingHere(place: Place, state: State): Promise<string[]> {
  // Loaded when a run is judged: every command line would pay for the schema library.
  const { toolsByContract } = await import('../adapters/config/resolve');
  const here = toolsByContract((await place.config()).config);
  const tools = toolsAhead(state).map(({ name, version }) => contractOf(name, version)).filter((contract) => !here.has(contract)).map((contract) => `the tool ${contract}`);
  const { artifacts } = await place.stores({ mustExist: false });
  const texts = await Promise.all((['manifest', 'prompts', 'policy'] as const).map(async (name) => {
    const { sha256 } = state.pins[name];
    return await artifacts.verify(sha256) === 'ok' ? [] : [`its pinned ${name} (artifact ${sha256.slice(0, 12)})`];
  }));
  return [...tools, ...texts.flat()];
}

const pinsOf = ({ pins, law, agent }: State): NonNullable<Outlook['pins']> => ({
  build: pins.build, law, eventSchema: pins.eventSchema, agent: `${agent.name}@${agent.version}`, model: pins.model, tools: agent.tools.map(({ name, version }) => `${name}@${version}`),
});
