// `longhaul runs list|show|watch|events|checkpoint|export`: what runs are and did, read from the stores. No server is
// needed; where one answers, `list` and `show` say of open runs whether anything runs them.
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { Option, type Command } from 'commander';
import type { ExecutionView } from '../../client/execution';
import { canonical, sha256Hex } from '../../core/canonical';
import { fold } from '../../core/evolve';
import { initialState } from '../../core/initial';
import type { RunRow } from '../../core/row';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { executionsOf, lostWords, missingKeyWords, restoreCommand } from '../executions';
import { follow } from '../follow';
import { reaching, reading, wholeOf, type CommonOptions } from '../options';
import { pageOfRun } from '../page';
import type { Place } from '../place';
import { count, data, distance, json, line, say, table, time } from '../print';
import { tellEvent } from '../tell';
import { looksIn, type Look } from '../verdicts';

const STATUSES: RunRow['status'][] = ['accepted', 'running', 'waiting', 'paused', 'blocked', 'cancelling', 'completed', 'failed', 'cancelled'];

interface ListOptions extends CommonOptions { status?: RunRow['status'][]; waitingFor?: RunRow['waits'][number]['kind'][]; limit: string }

async function list(place: Place, options: ListOptions): Promise<void> {
  const client = await place.client();
  const rows = await client.list({ limit: wholeOf('--limit', options.limit), ...(options.status ? { status: options.status } : {}), ...(options.waitingFor ? { waitingFor: options.waitingFor } : {}) });
  const views = await executionsOf(place, rows);
  if (options.json) return rows.forEach((row) => json({ ...row, ...executionIn(views, row) }));
  if (rows.length === 0) return say(`No run here is like that. Start one with \`npx longhaul run AGENT\` (state folder ${place.stateDir}).`);
  table(['RUN', 'STATUS', 'STEPS', 'UPDATED', 'AGENT', 'TITLE', 'DETAIL'],
    rows.map((row) => {
      const [status, detail] = lookOf(row, views.get(row.runId));
      return [row.runId, status, `${row.steps.done}/${row.steps.total}`, distance(row.updatedAt), row.agent, line(row.title, 40), detail];
    }));
}

/** Status and detail of a run in the list: what keeps it from going on comes before what it says of itself. */
function lookOf(row: RunRow, view: ExecutionView | undefined): [string, string] {
  const lost = lostWords(row, view);
  if (lost !== null) return ['lost', `${lost}: npx ${restoreCommand(row.runId)}`];
  const missing = missingKeyWords(row, view);
  return missing === null ? [row.status, line(row.detail, 60)] : ['missing key', `${missing}: npx longhaul keys import COPY`];
}

/** Temporal's word for the execution of an open run, where it was asked. */
function executionIn(views: ReadonlyMap<string, ExecutionView>, { runId }: RunRow): { execution?: string; missingKey?: string } {
  const view = views.get(runId);
  return view ? { execution: view.status, ...(view.missingKey === null ? {} : { missingKey: view.missingKey }) } : {};
}

async function show(place: Place, runId: string, options: CommonOptions): Promise<void> {
  const client = await place.client();
  const { row, state, below } = await client.show(runId);
  const looks = Object.keys(state.decisions).length > 0 ? await looksIn(client.events(runId)) : new Map<string, Look>();
  const views = await executionsOf(place, [row], { whole: true });
  if (!options.json) return data(pageOfRun(row, state, { lost: lostWords(row, views.get(runId)), missingKey: missingKeyWords(row, views.get(runId)), ledger: await (await place.stores()).ledger.byRun(runId), looks, below }));
  const { approvals, questions, decisions, steps, plan, artifacts, facts, budget, spent, end, law, pins, agent } = state;
  json({ ...row, ...executionIn(views, row), pins: { ...pins, law, tools: agent.tools.map(({ name, version }) => `${name}@${version}`) }, plan: { ...plan, steps }, approvals, questions, decisions, looks: Object.fromEntries(looks), artifacts, facts, budget, spent, end, below: below.map(({ run, wait }) => ({ ...wait, runId: run.runId })) });
}

interface WatchOptions extends CommonOptions { after: string; stay?: boolean }

async function watch(place: Place, runId: string, options: WatchOptions): Promise<number> {
  return follow(await place.client(), runId, { json: options.json, after: wholeOf('--after', options.after), ...(options.stay ? { stay: true } : {}) });
}

interface EventsOptions extends CommonOptions { after: string; type?: string[] }

async function events(place: Place, runId: string, options: EventsOptions): Promise<void> {
  const client = await place.client();
  await client.show(runId);
  for await (const event of client.events(runId, wholeOf('--after', options.after))) {
    if (options.type && !options.type.includes(event.type)) continue;
    if (options.json) json(event);
    else data(tellEvent(event));
  }
}

interface CheckpointOptions extends CommonOptions { state?: boolean }

async function checkpoint(place: Place, runId: string, options: CheckpointOptions): Promise<number> {
  const { journal, artifacts } = await place.stores();
  const client = await place.client();
  await client.show(runId);
  const saved = await journal.checkpoints(runId);
  const newest = saved.at(-1);
  if (!newest) {
    say(`Run ${runId} has no checkpoint yet: they are saved every 25 turns, before long waits and when its history is renewed.`);
    return EXIT.done;
  }
  if (options.state) {
    data(new TextDecoder().decode(await artifacts.read(newest.ref.sha256)));
    return EXIT.done;
  }
  let equal = true;
  for (const row of saved) {
    const folded = await foldedDigest(client, runId, row.version);
    const stored = await artifacts.verify(row.ref.sha256);
    const same = folded === row.ref.sha256;
    equal = equal && same && stored === 'ok';
    if (options.json) json({ ...row, stored, equalsJournal: same });
    else data(`version ${row.version}  ${time(row.at)}  ${row.ref.bytes} bytes  ${row.ref.sha256}  stored: ${stored}, equals the journal: ${same ? 'yes' : 'NO'}`);
  }
  return equal ? EXIT.done : EXIT.error;
}

async function foldedDigest(client: Awaited<ReturnType<Place['client']>>, runId: string, version: number): Promise<string> {
  let state = initialState(runId);
  for await (const event of client.events(runId)) {
    if (event.seq > version) break;
    state = fold(state, [event]);
  }
  return sha256Hex(canonical(state));
}

interface ExportOptions extends CommonOptions { out?: string }

async function exportRun(place: Place, runId: string, options: ExportOptions): Promise<void> {
  const lines = (await place.client()).export(runId);
  let events = 0;
  const out = options.out === undefined ? process.stdout : createWriteStream(options.out, { mode: 0o600 });
  const failed = new Promise<never>((_, reject) => { out.once('error', (error: Error) => reject(new Stop(EXIT.error, `${options.out ?? 'stdout'} cannot be written: ${error.message}`))); });
  failed.catch(() => undefined);
  for await (const one of lines) {
    events += one.kind === 'event' ? 1 : 0;
    if (!out.write(`${JSON.stringify(one)}\n`)) await Promise.race([once(out, 'drain'), failed]);
  }
  if (options.out === undefined) return;
  out.end();
  await Promise.race([once(out, 'finish'), failed]);
  say(`${count(events, 'event')} of ${runId} ${events === 1 ? 'is' : 'are'} in ${options.out}; check them any time with \`npx longhaul replay ${options.out}\`.`);
}

/** Adds the reading commands to `longhaul runs`. */
export function addRunsRead(runs: Command): void {
  reaching(runs.command('list').description('list runs, the newest first'))
    .addOption(new Option('--status <status...>', 'only runs with this status').choices(STATUSES))
    .addOption(new Option('--waiting-for <kind...>', 'only runs that wait for this').choices(['approval', 'question', 'decision', 'callback', 'time', 'retry', 'tool', 'blocked', 'budget', 'paused']))
    .option('--limit <n>', 'at most so many', '50').action(act(list, ([options]) => options));
  reaching(runs.command('show').argument('<run>').description('what a run does and waits for: for whom, until when, what then, the command that decides'))
    .action(act(show, ([, options]) => options));
  reading(runs.command('watch').argument('<run>').description('follow a run; Ctrl-C detaches, the run goes on'))
    .option('--after <seq>', 'events after this number', '0')
    .option('--stay', 'stay while the run waits for a person (default on a terminal)').action(act(watch, ([, options]) => options));
  reading(runs.command('events').argument('<run>').description('the journal of a run, one event a line'))
    .option('--after <seq>', 'events after this number', '0').option('--type <type...>', 'only events of these types').action(act(events, ([, options]) => options));
  reading(runs.command('checkpoint').argument('<run>').description('the checkpoints of a run, each compared with the journal'))
    .option('--state', 'print the newest checkpoint itself').action(act(checkpoint, ([, options]) => options));
  reading(runs.command('export').argument('<run>').description('the journal as lines of JSON with a chain of digests'))
    .option('--out <file>', 'write to a file instead of stdout').action(act(exportRun, ([, options]) => options));
}
