// The doctor's look at open runs: runs that nothing runs, that stand still until a person does something, whose workflow tasks
// or activities fail again and again, that need a tool which the configuration lacks, or an artifact that is missing.
// Each with the next command. Changes nothing.
import path from 'node:path';
import type { ExecutionView } from '../../client/execution';
import type { LonghaulClient } from '../../client/client';
import { isOver } from '../../client/start';
import type { RunEvent } from '../../core/events';
import { contractOf, majorOf } from '../../core/keys';
import type { RunRow } from '../../core/row';
import type { ArtifactRef } from '../../core/run';
import { toolsAhead } from '../../core/lookups';
import { artifactsVouchedBy } from '../../core/run-artifacts';
import { endedMeanwhile, keyBack, lostWords, restoreCommand } from '../executions';
import type { Place } from '../place';
import { line } from '../print';
import { ok, unlessUnreadable, wrong, type Check, type Finding } from './findings';

/** Runs that are looked at one by one. */
const MOST = 50;
/** Attempts at one workflow task from which it is stuck rather than unlucky. */
const STUCK = 3;
/** Attempts at one activity from which somebody has to look: half a minute of back-off has passed. */
const MANY = 10;
/** Artifacts of one run that are verified. */
const MOST_ARTIFACTS = 200;

/** The open runs, newest first. */
export async function openRuns(place: Place): Promise<RunRow[]> {
  if (!await place.hasStores()) return [];
  return (await (await place.client()).list({ limit: 200 })).filter((row) => !isOver(row));
}

/** Does Temporal run each open run, and does it get on? */
export const executions: Check = async (place) => {
  const open = await openRuns(place);
  const client = await place.client({ mustExist: false });
  const found: Finding[] = [];
  let lostRuns = 0;
  for (const row of open.slice(0, MOST)) {
    const view = await client.execution(row.runId);
    if (await endedMeanwhile(place, row, view)) continue;
    const lost = lostWords(row, view);
    if (lost !== null) lostRuns += 1;
    if (lost !== null) found.push(...wrong(`run ${row.runId}`, `it is ${row.status}, and its execution is ${lost}: nothing runs it`, `npx ${restoreCommand(row.runId)}`));
    else found.push(...waits(row), ...await keyless(client, row, view) ?? await stuck(place, row, view), ...asleep(row, await unlessUnreadable(() => client.sleeps(row, view))));
  }
  if (lostRuns > 1) found.push({ what: 'runs', state: 'note', detail: `${lostRuns} open runs are run by nothing`, next: 'npx longhaul runs restore --all' });
  return found;
};

/** A run that nothing would wake before the next message or timer. */
const asleep = ({ runId, status }: RunRow, over: string | null): Finding[] =>
  (over === null ? [] : wrong(`run ${runId}`, `it is ${status}, and its execution has fallen behind its journal: nothing is under way although this should be: ${over}`, `npx ${restoreCommand(runId)}: it wakes it, and ends nothing`));

/** Runs that only a person brings on. That somebody is asked for an approval or an answer is no trouble. */
function waits(row: RunRow): Finding[] {
  return row.waits.filter(({ kind }) => kind === 'blocked' || kind === 'budget' || kind === 'decision')
    .flatMap((wait) => wrong(`run ${row.runId}`, `${row.status}: ${line(wait.what, 120)}`, `npx ${wait.command}`));
}

/** Runs whose history needs a payload key that is not here; null when none is missing, so that other trouble is looked for. */
async function keyless(client: LonghaulClient, row: RunRow, view: ExecutionView): Promise<Finding[] | null> {
  const missing = view.missingKey === null ? await client.missingKeys(row.runId) : [view.missingKey];
  if (missing.length === 0) return null;
  return wrong(`run ${row.runId}`, `missing key: its history in Temporal needs the payload key ${missing.join(', ')}, which is not there; nothing is lost, and nothing goes on`, keyBack(row.runId));
}

async function stuck(place: Place, { runId }: RunRow, { taskAttempt, activities }: ExecutionView): Promise<Finding[]> {
  const log = path.join(place.stateDir, 'worker.log');
  const tasks = taskAttempt < STUCK ? [] : wrong(`run ${runId}`, `its workflow task fails again and again (attempt ${taskAttempt}): ${line(await (await place.client()).taskFailure(runId) ?? 'no worker says why', 200)}`,
    `start the build that the run began with, or go on from the journal: npx ${restoreCommand(runId)} --force (the worker's log: ${log})`);
  return [...tasks, ...activities.filter(({ attempt }) => attempt >= MANY).flatMap(({ type, attempt, lastFailure }) =>
    wrong(`run ${runId}`, `its activity ${type} is tried for the ${attempt}th time: ${line(lastFailure ?? 'no worker says why', 200)}`, `do what the sentence says, then restart the worker: npx longhaul dev, or npx longhaul worker`))];
}

/** Tools of open runs that the configuration here lacks, so that no worker started with it can make their calls. */
export const tools: Check = async (place) => {
  const open = await openRuns(place);
  if (open.length === 0) return [];
  const { config, file } = await place.config();
  const { toolsByContract } = await import('../../adapters/config/resolve');
  const here = toolsByContract(config);
  const client = await place.client();
  const found: Finding[] = [];
  for (const row of open.slice(0, MOST)) {
    const shown = await unlessUnreadable(() => client.show(row.runId));
    if (!shown) continue;
    const { state } = shown;
    const waits = row.waits.find(({ kind }) => kind === 'tool');
    const lacking = toolsAhead(state).filter(({ name, version }) => !here.has(contractOf(name, version)));
    for (const { name, version } of lacking) {
      const others = config.tools.filter((tool) => tool.name === name).map((tool) => tool.version);
      const has = others.length > 0 ? `has version ${others.join(' and ')} of it` : 'has none of that name';
      found.push(...wrong(`run ${row.runId}`, `it needs the tool ${contractOf(name, version)} (it began with ${version}), and ${file} ${has}`, `add ${name} with major version ${majorOf(version)} to the configuration, beside any other, then restart the worker: npx longhaul dev, or npx longhaul worker; the run goes on by itself`));
    }
    if (waits && lacking.length === 0) found.push(...wrong(`run ${row.runId}`, `it waits for ${line(waits.what, 200)}; ${file} has it`, 'restart the worker with this configuration: npx longhaul dev, or npx longhaul worker; the run goes on by itself within two minutes'));
  }
  return found;
};

/** Artifacts that open runs refer to and the store has not, or not whole. */
export const artifacts: Check = async (place) => {
  const open = await openRuns(place);
  if (open.length === 0) return [];
  const client = await place.client();
  const { artifacts: store } = await place.stores();
  const shelf = (await place.storesAt()).artifacts?.replace(/\?.*$/, '') ?? path.join(place.stateDir, 'artifacts');
  const found: Finding[] = [];
  let count = 0;
  for (const row of open.slice(0, MOST)) {
    const ids = new Set([row.inputRef.sha256]);
    await unlessUnreadable(async () => { for await (const event of client.events(row.runId)) for (const id of namedBy(event)) ids.add(id); });
    const bad: { sha256: string; how: string }[] = [];
    for (const sha256 of [...ids].slice(-MOST_ARTIFACTS)) {
      const how = await store.verify(sha256);
      count += 1;
      if (how !== 'ok') bad.push({ sha256, how });
    }
    found.push(...notWhole(shelf, row.runId, bad));
  }
  return found.length > 0 ? found : ok('artifacts', `${count} that open runs refer to are whole`);
};

/** One finding a run: where everything is gone, the first few are enough. */
function notWhole(shelf: string, runId: string, bad: { sha256: string; how: string }[]): Finding[] {
  const [first] = bad;
  if (!first) return [];
  const named = bad.slice(0, 3).map(({ sha256, how }) => `${sha256} is ${how}`).join(', ');
  const file = `${shelf}/${first.sha256.slice(0, 2)}/${first.sha256.slice(2)}`;
  return wrong(`run ${runId}`, `it refers to what the store has not whole: ${named}${bad.length > 3 ? ` and ${bad.length - 3} more` : ''}`, `put ${file} back from a copy, then npx longhaul artifacts verify ${first.sha256}`);
}

/** What the runtime itself wrote into the event: an id in arguments or in a plan may be anybody's word. A lost checkpoint costs nothing but time. */
function namedBy(event: RunEvent): string[] {
  const ids = (refs: (ArtifactRef | undefined)[]): string[] => refs.flatMap((ref) => (ref ? [ref.sha256] : []));
  switch (event.type) {
    case 'RunCreated': return ids([event.data.inputRef, event.data.pins.manifest, event.data.pins.prompts, event.data.pins.policy]);
    case 'PlanAccepted': return ids([event.data.planRef]);
    case 'CallPrepared': return ids([event.data.previewRef, 'ref' in event.data.args ? event.data.args.ref : undefined]);
    default: return artifactsVouchedBy(event);
  }
}
