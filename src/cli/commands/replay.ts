// `longhaul replay RUN|FILE`: folds a journal with its recorded results, with no server, no model and no tool, and compares every
// stored digest of a state. Says what the state was at a version, and where two versions or two journals differ. Exit 1 names the
// event that does not fit, or the first that differs.
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import type { RunEvent } from '../../core/events';
import { canonical } from '../../core/canonical';
import { iso } from '../../core/iso';
import { statusOf } from '../../core/summary';
import { act } from '../act';
import { partingOf, stateChanges, tellChange } from '../compare-journals';
import { EXIT, Stop } from '../exit';
import { openExport } from '../journal-file';
import { reading, wholeOf, type CommonOptions } from '../options';
import type { Place } from '../place';
import { count, data, json, say } from '../print';
import { JOURNAL } from '../retention/judge-archive';
import { judgeJournal, type Fault, type JournalToJudge, type Judgement, type ReplayedEvent } from '../verify-journal';

interface ReplayOptions extends CommonOptions { until?: string; state?: boolean; diff?: string }

async function replay(place: Place, what: string, options: ReplayOptions): Promise<number> {
  const until = options.until === undefined ? {} : { until: wholeOf('--until', options.until) };
  if (options.diff !== undefined && !/^\d+$/.test(options.diff)) return compare(place, [what, options.diff], options);
  const from = options.diff === undefined ? undefined : Number(options.diff);
  const judged = await judgeJournal({ ...await journalOf(place, what), ...until, ...(from === undefined ? {} : { keep: [from] }) });
  if (judged.fault) return tellFault(judged.runId, judged.fault, judged, options);
  if (from !== undefined) return tellVersions(judged, from, options);
  if (options.state) data(canonical(judged.state));
  else tell(judged, options);
  return EXIT.done;
}

const summaryOf = ({ ok, runId, events, checkpoints, states, digest, state }: Judgement): object => ({ ok, runId, events, checkpoints, states, status: statusOf(state), digest });

function tell(judged: Judgement, { json: asJson, until }: ReplayOptions): void {
  const { runId, events, checkpoints, states, digest, state } = judged;
  if (asJson) return json(summaryOf(judged));
  const equal = `${count(checkpoints, 'checkpoint')}${states > 0 ? ` and ${count(states, 'version')}` : ''} byte-equal`;
  data(`${runId}${until === undefined ? '' : ` at ${events}`}: ${count(events, 'event')} folded, ${equal}, status ${statusOf(state)}, state ${digest}`);
}

function tellFault(runId: string, { seq, type, why }: Fault, judged: Judgement, { json: asJson, until }: ReplayOptions): number {
  if (asJson) json({ ...summaryOf(judged), fault: { seq, type, why } });
  if (type === 'end') say(`${runId}: ${why}.`);
  else if (type === 'header' || type === 'line') say(`${runId}: ${type === 'header' ? 'the header' : `the line after event ${seq}`} does not fit: ${why}.`);
  else say(`${runId}: event ${seq} (${type}) does not fit: ${why}.`);
  // An event asked for beyond the end is no fault of the journal.
  return type === 'end' && until !== undefined ? EXIT.usage : EXIT.error;
}

function tellVersions({ runId, at, state: now }: Judgement, from: number, { json: asJson }: ReplayOptions): number {
  const before = at.get(from);
  if (!before) throw new Stop(EXIT.usage, `--diff ${from} must name a version of ${runId} up to ${now.version}.`);
  const changes = stateChanges(before, now);
  if (asJson) json({ runId, from, to: now.version, changes });
  else data([`${runId}: ${count(changes.length, 'change')} of the state from version ${from} to ${now.version}`, ...changes.map(tellChange)].join('\n'));
  return EXIT.done;
}

async function compare(place: Place, names: [string, string], { json: asJson, until }: ReplayOptions): Promise<number> {
  if (until !== undefined) throw new Stop(EXIT.usage, '--until goes with --diff SEQ, not with the --diff of another journal.');
  const [one, other] = [await whole(place, names[0]), await whole(place, names[1])];
  for (const { judged } of [one, other]) if (judged.fault) return tellFault(judged.runId, judged.fault, judged, { json: asJson });
  const parting = partingOf(one.events, other.events);
  const changes = parting.seq === null ? [] : stateChanges(one.judged.state, other.judged.state);
  if (asJson) json({ first: summaryOf(one.judged), second: summaryOf(other.judged), seq: parting.seq, where: parting.where, event: parting.changes, state: changes });
  else data([`${one.judged.runId}, ${other.judged.runId}: ${parting.where}`, ...parting.changes.map(tellChange), ...(changes.length > 0 ? [`${count(changes.length, 'change')} of the state at the end`, ...changes.map(tellChange)] : [])].join('\n'));
  return parting.seq === null ? EXIT.done : EXIT.error;
}

async function whole(place: Place, name: string): Promise<{ judged: Judgement; events: RunEvent[] }> {
  const journal = await journalOf(place, name);
  const events: RunEvent[] = [];
  const kept = async function* (): AsyncGenerator<ReplayedEvent> {
    for await (const one of journal.events) {
      events.push(one.event);
      yield one;
    }
  };
  return { judged: await judgeJournal({ ...journal, events: kept() }), events };
}

/** An export, or the one in the folder of an archive; null when the name is that of a run. */
function fileOf(name: string): string | null {
  if (!existsSync(name)) return null;
  if (statSync(name).isFile()) return name;
  const within = path.join(name, JOURNAL);
  return existsSync(within) ? within : null;
}

async function journalOf(place: Place, name: string): Promise<JournalToJudge> {
  const file = fileOf(name);
  return file === null ? stored(place, name) : openExport(file);
}

/** The journal of a run in the stores, up to the version of its list row: later events belong to a batch that came after it was read. */
async function stored(place: Place, runId: string): Promise<JournalToJudge> {
  const { journal } = await place.stores();
  const row = await journal.row(runId);
  const purged = row ? null : await journal.purged(runId);
  if (purged) throw new Stop(EXIT.error, `Run ${runId} was purged at ${iso(purged.purgedAt)}: give the journal of its archive, if one was made, as FOLDER/${runId}/${JOURNAL}.`);
  if (!row) throw new Stop(EXIT.error, `There is neither a file nor a run called ${JSON.stringify(runId).slice(0, 100)}: see \`npx longhaul runs list\`.`);
  const checkpoints = (await journal.checkpoints(runId)).filter(({ version }) => version <= row.version);
  return { runId, row, checkpoints, events: pages(place, runId, row.version) };
}

async function* pages(place: Place, runId: string, version: number): AsyncGenerator<ReplayedEvent> {
  const { journal } = await place.stores();
  for (let after = 0; after < version;) {
    const rows = await journal.exportRows(runId, after, Math.min(PAGE, version - after));
    for (const { event, epoch } of rows) yield { event, epoch };
    if (rows.length === 0) return;
    after = rows.at(-1)?.event.seq ?? version;
  }
}

const PAGE = 200;

/** Adds `replay`. */
export function addReplay(program: Command): void {
  reading(program.command('replay').argument('<run-or-file>').description('fold a journal offline, with no server, model or tool, and compare every stored digest of a state; exit 1 names the event that does not fit'))
    .option('--until <seq>', 'end after this event, and say what the state was then')
    .option('--state', 'print the folded state itself, as canonical JSON')
    .option('--diff <seq-or-other>', 'how the state changed since version SEQ; or where another run or export parts from this one (exit 1)')
    .action(act(replay, ([, options]) => options, { anyConfig: true }));
}
