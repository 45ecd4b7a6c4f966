// An archive of a run: a folder with its journal as an export, its rows of the ledger and every artifact that it refers to, which needs
// no store to be read. Written beside its name, read back and judged, and only then given its name: what has the name is whole.
// Removes nothing from the store.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { namesIn } from '../../adapters/stores/sql/journal-names';
import type { Stores } from '../../adapters/stores/open-stores';
import type { LonghaulClient } from '../../client/client';
import { isOver } from '../../client/start';
import { EXIT, Stop } from '../exit';
import { ABOUT, JOURNAL, judged, LEDGER, ledgerKept, remember, differenceFrom, type Archive } from './judge-archive';
import { reached } from './mentions';

/** How the name of an archive that is being written begins, as no run's does, and age in ms from which whoever wrote it is dead. */
const PARTIAL = '.longhaul-partial-';
const ABANDONED_MS = 24 * 3_600_000;

/** Removes archives that dead writers have left half-written: they hold what was purged since, perhaps. */
export async function sweepArchives(into: string): Promise<void> {
  for (const name of await readdir(into).catch(() => [])) {
    const folder = path.join(into, name);
    const since = name.startsWith(PARTIAL) ? await stat(folder).then(({ mtimeMs }) => Date.now() - mtimeMs, () => 0) : 0;
    if (since > ABANDONED_MS) await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Writes and judges the archive of a run that is over; one that is there already is judged again, and counts only when it says what
 * the store would write now. Throws Stop with a sentence.
 */
export async function archiveRun(stores: Stores, client: LonghaulClient, runId: string, into: string): Promise<{ folder: string; archive: Archive; before: boolean }> {
  const folder = path.join(path.resolve(into), runId);
  // Whoever archived and purged it may have died before it could say so.
  const purged = await stores.journal.purged(runId);
  if (purged && existsSync(folder)) return { folder, archive: await judged(folder, runId, purged.events), before: true };
  const { row } = await client.show(runId);
  if (!isOver(row)) throw new Stop(EXIT.error, `Run ${runId} is ${row.status}: only a run that is over is archived. A copy of what it has come to: npx longhaul runs export ${runId} --out FILE`);
  if (existsSync(folder)) {
    const archive = await judged(folder, runId, row.version);
    const differs = await differenceFrom(stores, client.export(runId), folder, archive);
    if (differs !== null) throw new Stop(EXIT.error, `The archive ${folder} is not of run ${runId} as it is in this store: ${differs}. Nothing was removed from the store; archive the run with another --out.`);
    return { folder, archive, before: true };
  }
  await mkdir(path.dirname(folder), { recursive: true, mode: 0o700 });
  const beside = await mkdtemp(path.join(path.dirname(folder), `${PARTIAL}${runId}-`));
  try {
    await written(stores, client, runId, beside);
    const archive = await judged(beside, runId, row.version);
    const differs = await differenceFrom(stores, client.export(runId), beside, archive);
    if (differs !== null) throw new Stop(EXIT.error, `There was news of run ${runId} while it was archived: ${differs}. Nothing was removed from the store; archive it again.`);
    await rename(beside, folder);
    await flushed(path.dirname(folder));
    return { folder, archive, before: false };
  } catch (error) {
    await rm(beside, { recursive: true, force: true });
    if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY' || (error as NodeJS.ErrnoException).code === 'EEXIST') throw new Stop(EXIT.error, `Another process archives ${runId} into ${folder} at this moment; ask again.`);
    throw error;
  }
}

async function written(stores: Stores, client: LonghaulClient, runId: string, folder: string): Promise<void> {
  const named = new Set<string>();
  const vouched = new Set<string>();
  let [events, chain] = [0, ''];
  const journal = await open(path.join(folder, JOURNAL), 'wx', 0o600);
  try {
    for await (const line of client.export(runId)) {
      await journal.write(`${JSON.stringify(line)}\n`);
      remember(line, named, vouched);
      if (line.kind === 'end') [events, chain] = [line.events, line.chain];
    }
    await journal.sync();
  } finally {
    await journal.close();
  }
  const rows = ledgerKept(await stores.ledger.byRun(runId));
  for (const id of namesIn(rows)) named.add(id);
  await kept(path.join(folder, LEDGER), `${JSON.stringify(rows, null, 1)}\n`);
  const { count, bytes, absent } = await copied(stores, named, vouched, folder);
  const archive: Archive = { format: 'longhaul-archive', v: 1, runId, archivedAt: Date.now(), events, chain, artifacts: count, bytes, absent };
  await kept(path.join(folder, ABOUT), `${JSON.stringify(archive, null, 1)}\n`);
}

/** Every artifact that the run names, and what those mention. What the run vouches for has to be whole. */
async function copied({ artifacts }: Stores, named: ReadonlySet<string>, vouched: ReadonlySet<string>, folder: string): Promise<{ count: number; bytes: number; absent: string[] }> {
  const others = new Set<string>();
  for await (const id of artifacts.list()) if (!named.has(id)) others.add(id);
  const all = [...named, ...await reached(artifacts, named, others)].sort();
  const absent: string[] = [];
  let bytes = 0;
  for (const id of all) {
    const state = await artifacts.verify(id);
    if (state !== 'ok' && vouched.has(id)) throw new Stop(EXIT.error, `Artifact ${id} of the run is ${state}, so that no whole archive can be made: put it back from a copy, then npx longhaul artifacts verify ${id}.`);
    if (state !== 'ok') {
      absent.push(id);
      continue;
    }
    const content = await artifacts.read(id);
    bytes += content.byteLength;
    const file = fileOf(folder, id);
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    await kept(file, content);
  }
  return { count: all.length - absent.length, bytes, absent };
}

const fileOf = (folder: string, sha256: string): string => path.join(folder, 'artifacts', sha256.slice(0, 2), sha256.slice(2));

async function kept(file: string, content: string | Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function flushed(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().catch(() => undefined);
  await handle.close();
}

