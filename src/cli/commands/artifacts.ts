// `longhaul artifacts list|cat|verify`: stored bytes by their sha256. An id may be shortened to its first 6 or more digits.
// Everything that is read is verified first; damaged bytes are never printed.
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { ArtifactRef } from '../../core/run';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { reading, type CommonOptions } from '../options';
import type { Place } from '../place';
import { count, data, json, line, say, table } from '../print';
import { addArtifactsGc } from './runs-keep';

/** What a run's events refer to, in the order in which it came. */
async function refsOf(place: Place, runId: string): Promise<{ ref: ArtifactRef; role: string }[]> {
  const client = await place.client();
  const { row } = await client.show(runId);
  const found = new Map<string, { ref: ArtifactRef; role: string }>([[row.inputRef.sha256, { ref: row.inputRef, role: 'input' }]]);
  for await (const event of client.events(runId)) {
    if (event.type === 'ArtifactProduced') found.set(event.data.ref.sha256, { ref: event.data.ref, role: event.data.role });
    else for (const ref of namedIn(event.data)) if (!found.has(ref.sha256)) found.set(ref.sha256, { ref, role: event.type });
  }
  return [...found.values()];
}

function namedIn(value: unknown): ArtifactRef[] {
  if (typeof value !== 'object' || value === null) return [];
  const ref = value as Partial<ArtifactRef>;
  if (typeof ref.sha256 === 'string' && typeof ref.bytes === 'number' && ref.bytes > 0) return [ref as ArtifactRef];
  return Object.values(value).flatMap(namedIn);
}

async function list(place: Place, runId: string, options: CommonOptions): Promise<void> {
  const refs = await refsOf(place, runId);
  if (options.json) return refs.forEach(({ ref, role }) => json({ role, ...ref }));
  table(['ID', 'ROLE', 'BYTES', 'NAME', 'SUMMARY'], refs.map(({ ref, role }) => [ref.sha256.slice(0, 16), role, String(ref.bytes), ref.name ?? '', line(ref.summary, 70)]));
}

/** The whole id of one that may be shortened. */
async function wholeId(place: Place, id: string): Promise<string> {
  if (/^[0-9a-f]{64}$/.test(id)) return id;
  if (!/^[0-9a-f]{6,63}$/.test(id)) throw new Stop(EXIT.usage, `${id} is no artifact id: write at least the first 6 hex digits of its sha256, as \`npx longhaul artifacts list RUN\` shows them.`);
  const hits: string[] = [];
  for await (const one of (await place.stores()).artifacts.list()) if (one.startsWith(id)) hits.push(one);
  if (hits.length === 1) return hits[0]!;
  throw new Stop(EXIT.error, hits.length === 0 ? `No stored artifact begins with ${id}: see \`npx longhaul artifacts list RUN\`.` : `${hits.length} artifacts begin with ${id}; write more digits.`);
}

async function cat(place: Place, id: string, options: CommonOptions & { out?: string }): Promise<void> {
  const { artifacts } = await place.stores();
  const bytes = await artifacts.read(await wholeId(place, id));
  if (options.out === undefined) return void process.stdout.write(bytes);
  writeFileSync(options.out, bytes);
  say(`${count(bytes.byteLength, 'byte')} ${bytes.byteLength === 1 ? 'is' : 'are'} in ${options.out}.`);
}

async function verify(place: Place, id: string | undefined, options: CommonOptions): Promise<number> {
  const { artifacts, journal } = await place.stores();
  const ids: string[] = [];
  if (id === undefined) for await (const one of artifacts.list()) ids.push(one);
  else if (await journal.row(id)) ids.push(...(await refsOf(place, id)).map(({ ref }) => ref.sha256));
  else ids.push(await wholeId(place, id));
  let bad = 0;
  for (const one of ids) {
    const state = await artifacts.verify(one);
    if (state !== 'ok') bad += 1;
    if (options.json) json({ sha256: one, state });
    else if (state !== 'ok') data(`${one}  ${state}`);
  }
  const all = count(ids.length, 'artifact');
  say(bad === 0 ? `Verified ${all}: whole.` : `${bad} of ${all} ${bad === 1 ? 'is' : 'are'} missing or corrupt: put the files back from a copy of the state folder.`);
  return bad === 0 ? EXIT.done : EXIT.error;
}

/** Adds `artifacts`. */
export function addArtifacts(program: Command): void {
  const artifacts = program.command('artifacts').description('stored bytes: inputs, results, reports, checkpoints');
  reading(artifacts.command('list').argument('<run>').description('what the events of a run refer to')).action(act(list, ([, options]) => options));
  reading(artifacts.command('cat').argument('<artifact>').option('--out <file>', 'write to a file').description('print one artifact, verified')).action(act(cat, ([, options]) => options));
  reading(artifacts.command('verify').argument('[run-or-id]').description('compare stored bytes with their checksums: one, those of a run, or all')).action(act(verify, ([, options]) => options));
  addArtifactsGc(artifacts);
}
