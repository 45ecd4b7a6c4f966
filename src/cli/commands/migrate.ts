// `longhaul migrate --dry-run`: before a build is deployed, what it would do with every open run: go on as it is, go over to a newer
// law at its next generation, wait for something that is not here, or refuse it, and why: from the journals, and where a server answers
// from the histories as well. Changes nothing; runs migrate by themselves.
// Exit 1 when a run needs a person before this build may take over.
import type { Command } from 'commander';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { outlooks, type Outlook } from '../outlook';
import { withHistories } from '../outlook-histories';
import { reaching, type CommonOptions } from '../options';
import type { Place } from '../place';
import { count, json, line, say, table } from '../print';

async function migrate(place: Place, runId: string | undefined, options: CommonOptions & { dryRun?: boolean }): Promise<number> {
  if (!options.dryRun) throw new Stop(EXIT.usage, 'Runs go over to a newer law by themselves, at their next generation: write --dry-run to see what this build would do with each.');
  const { found, replayed } = await withHistories(place, await outlooks(place, runId));
  if (runId !== undefined && found.length === 0) throw new Stop(EXIT.error, `No open run here is called ${line(runId, 80)}: see npx longhaul runs list.`);
  const bad = found.filter(({ verdict }) => verdict === 'refused' || verdict === 'waits');
  if (options.json) found.forEach((one) => json(one));
  else if (found.length > 0) show(found);
  say(found.length === 0 ? 'No run is open here.' : `${count(found.length, 'open run')}: ${['as-is', 'migrates', 'waits', 'refused'].map((verdict) => `${found.filter((one) => one.verdict === verdict).length} ${verdict}`).join(', ')}. ${replayed === null ? 'No server answers, so that no history was replayed. ' : `Histories replayed: ${replayed}. `}Nothing was changed.`);
  return bad.length === 0 ? EXIT.done : EXIT.error;
}

function show(found: readonly Outlook[]): void {
  table(['RUN', 'STATUS', 'VERDICT', 'BUILD', 'LAW', 'SCHEMA', 'WHY'], found.map(({ runId, status, verdict, why, pins }) => [
    runId, status, verdict, pins?.build ?? '?', String(pins?.law ?? '?'), String(pins?.eventSchema ?? '?'), why,
  ]));
}

/** Adds `migrate`. */
export function addMigrate(program: Command): void {
  reaching(program.command('migrate').argument('[run]').description('what this build would do with every open run; exit 1 when one is refused or would wait'))
    .option('--dry-run', 'only look (nothing else can be asked for: runs migrate by themselves)')
    .action(act(migrate, ([, options]) => options));
}
