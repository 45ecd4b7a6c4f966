// `longhaul runs archive|purge` and `longhaul artifacts gc`: what is kept for how long. Archives are read back and judged before
// anything is removed; every removal says what it removed, and with --dry-run what it would.
import type { Command } from 'commander';
import type { RunRow } from '../../core/row';
import { ClientError } from '../../client/types';
import { nextAfter } from '../../ports/journal';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { durationOf, reaching, reading, type CommonOptions } from '../options';
import type { Place } from '../place';
import { count, data, distance, json, say } from '../print';
import { archiveRun, sweepArchives } from '../retention/archive';
import { collectGarbage } from '../retention/garbage';
import { purgeRun, type Purged } from '../retention/purge';

interface Chosen extends CommonOptions { olderThan?: string }

const OVER: RunRow['status'][] = ['completed', 'failed', 'cancelled'];
const PAGE = 200;

/** Ids of the run that is named, or of all that have been over for so long, oldest last. */
async function chosen(place: Place, runId: string | undefined, { olderThan }: Chosen): Promise<string[]> {
  if ((runId === undefined) === (olderThan === undefined)) throw new Stop(EXIT.usage, 'Name one run, or all that have been over for longer than a time: --older-than 90d.');
  if (runId !== undefined) return [runId];
  const updatedBefore = Date.now() - durationOf('--older-than', olderThan ?? '');
  const { journal } = await place.stores();
  const ids: string[] = [];
  for (let page: RunRow[] | undefined; page === undefined || page.length === PAGE;) {
    page = await journal.list({ status: OVER, updatedBefore, limit: PAGE, ...nextAfter(page) });
    ids.push(...page.map((row) => row.runId));
  }
  return ids;
}

/** Of many, one that an open run may still read is kept for now, and nothing is wrong with that. */
const isBad = (gone: Purged | null, runId: string | undefined): boolean => gone?.kind === 'refused' || (gone?.kind === 'held' && runId !== undefined);
const keptWhy = (gone: Purged | null): string | null => (gone?.kind === 'refused' || gone?.kind === 'held' ? gone.why : null);

interface ArchiveOptions extends Chosen { out: string; purge?: boolean; withDoubts?: boolean }

async function archive(place: Place, runId: string | undefined, options: ArchiveOptions): Promise<number> {
  const [stores, client] = [await place.stores(), await place.client()];
  const ids = await chosen(place, runId, options);
  let [bad, done] = [0, 0];
  await sweepArchives(options.out);
  for (const id of ids) {
    const made = await archiveRun(stores, client, id, options.out).catch((error: unknown) => told(id, error, options));
    const gone = made && options.purge ? await purgeRun(stores, client, id, { withDoubts: options.withDoubts === true }) : null;
    if (!made || isBad(gone, runId)) bad += 1;
    if (!made) continue;
    done += 1;
    const why = keptWhy(gone);
    const { folder, archive: about, before } = made;
    if (options.json) json({ folder, ...about, before, ...(gone ? { purge: gone.kind } : {}), ...(why === null ? {} : { why }) });
    else data(`${id}  ${count(about.events, 'event')}, ${count(about.artifacts, 'artifact')}, ${about.bytes} bytes in ${folder}${before ? ' (archived before)' : ''}${gone && why === null ? '; purged here' : ''}`);
    if (why !== null && !options.json) say(why);
  }
  if (!options.json) say(ids.length === 0 ? 'No run has been over for that long.' : `${count(done, 'run')} archived and read back${done < ids.length ? `, ${ids.length - done} not` : ''}.`);
  return bad === 0 ? EXIT.done : EXIT.error;
}

/** One run of several that cannot be archived keeps no other from it. */
function told(runId: string, error: unknown, { json: asJson }: CommonOptions): null {
  if (!(error instanceof Stop || (error instanceof ClientError && error.code === 'unknown-run'))) throw error;
  if (asJson) json({ runId, why: error.message });
  else say(error.message);
  return null;
}

interface PurgeOptions extends Chosen { dryRun?: boolean; withDoubts?: boolean }

async function purge(place: Place, runId: string | undefined, options: PurgeOptions): Promise<number> {
  const [stores, client] = [await place.stores(), await place.client()];
  const ids = await chosen(place, runId, options);
  let [gone, bad, held] = [0, 0, 0];
  for (const id of ids) {
    if (options.dryRun) {
      const { row } = await client.show(id);
      if (options.json) json({ runId: id, kind: OVER.includes(row.status) ? 'would-purge' : 'refused', status: row.status, events: row.version });
      else data(`${id}  ${row.status}, ${count(row.version, 'event')}, last event ${distance(row.updatedAt)}`);
      continue;
    }
    const answer = await purgeRun(stores, client, id, { withDoubts: options.withDoubts === true });
    if (isBad(answer, runId)) bad += 1;
    else if (answer.kind === 'held') held += 1;
    else if (answer.kind === 'purged') gone += 1;
    if (options.json) json({ runId: id, ...answer });
    else if (answer.kind === 'refused' || answer.kind === 'held') say(answer.why);
    else data(`${id}  ${answer.kind === 'already' ? 'was purged before' : `${count(answer.purged.events, 'event')} purged`}${answer.purged.doubts.length > 0 ? `; left in the ledger: ${answer.purged.doubts.join(', ')}` : ''}`);
  }
  if (options.json) return bad === 0 ? EXIT.done : EXIT.error;
  if (options.dryRun) say(`${count(ids.length, 'run')} would be purged, as far as nothing of them is in doubt.`);
  else say(`${count(gone, 'run')} purged${bad > 0 ? `, ${bad} not` : ''}${held > 0 ? `, ${held} kept for open runs` : ''}.${gone > 0 ? ' Their artifacts stay until npx longhaul artifacts gc.' : ''}`);
  return bad === 0 ? EXIT.done : EXIT.error;
}

async function gc(place: Place, options: CommonOptions & { olderThan: string; dryRun?: boolean }): Promise<void> {
  const [stores, client] = [await place.stores(), await place.client()];
  const found = await collectGarbage(stores, client, { graceMs: durationOf('--older-than', options.olderThan), dryRun: options.dryRun === true });
  if (options.json) return json(found);
  const { artifacts, named, mentioned, young, held, heldBy, garbage, bytes, removed } = found;
  data(`${count(artifacts, 'artifact')}: ${named} named by runs, ${mentioned} mentioned by others, ${young} younger than ${options.olderThan}${held > 0 ? `, ${held} held` : ''}, ${garbage} that nothing refers to (${bytes} bytes)`);
  if (heldBy) say(`Whatever was written since the last event of run ${heldBy.runId} (${distance(heldBy.since)}) may still be named by it: it is looked at once that run has ended, or waits with Temporal in reach.`);
  say(options.dryRun ? `Nothing was removed; without --dry-run ${count(garbage, 'artifact')} would be.` : `${count(removed, 'artifact')} removed.`);
}

/** Adds `runs archive` and `runs purge`. */
export function addRunsKeep(runs: Command): void {
  reading(runs.command('archive').argument('[run]').description('write a run that is over into a folder that needs no store, and read it back'))
    .requiredOption('--out <folder>', 'where the archive is made, in a folder named after the run').option('--older-than <time>', 'all runs that have been over for longer than this, e.g. 90d')
    .option('--purge', 'remove the run here once its archive has been read back').option('--with-doubts', 'with --purge: also when nobody knows whether a call of it happened')
    .addHelpText('after', '\nAn archive holds the journal as an export, the ledger\'s rows and every artifact: npx longhaul replay FOLDER/RUN/journal.jsonl')
    .action(act(archive, ([, options]) => options));
  reading(runs.command('purge').argument('[run]').description('remove everything that is kept of a run that is over; its id is never given out again'))
    .option('--older-than <time>', 'all runs that have been over for longer than this, e.g. 90d').option('--dry-run', 'only say which')
    .option('--with-doubts', 'also when nobody knows whether a call of it happened: that call stays in the ledger')
    .action(act(purge, ([, options]) => options));
}

/** Adds `artifacts gc`. */
export function addArtifactsGc(artifacts: Command): void {
  reaching(artifacts.command('gc').description('remove artifacts that nothing refers to'))
    .option('--older-than <time>', 'only what was last written before that: writes under way are younger', '7d').option('--dry-run', 'only count')
    .action(act(gc, ([options]) => options));
}
