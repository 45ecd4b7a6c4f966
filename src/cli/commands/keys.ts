// `longhaul keys list|create|rotate|use|import|retire`: the keys that payloads in Temporal are encrypted with. A key is never printed.
// The newest encrypts, all decrypt; one is taken out only when nothing that Temporal keeps needs it any more, unless forced.
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { PayloadKeys } from '../../adapters/codec/payload-keys';
import { isOver } from '../../client/start';
import { act } from '../act';
import { executionsOf } from '../executions';
import { EXIT, Stop } from '../exit';
import { reaching, reading, type CommonOptions } from '../options';
import type { Place } from '../place';
import { command, count, json, say, table, time } from '../print';
import { workersInPlain } from '../workers';

/** Opened without asking whether there must be keys already: these commands make them. */
async function ringOf(place: Place): Promise<PayloadKeys> {
  const { openPayloadKeys } = await import('../../adapters/codec/payload-keys');
  return openPayloadKeys({ stateDir: place.stateDir });
}

async function list(place: Place, options: CommonOptions): Promise<void> {
  const keys = await ringOf(place);
  const all = keys.list();
  const { open, missing } = await missingHere(place);
  if (options.json) return [...all, ...[...missing].map(([kid, runs]) => ({ kid, missing: true, runs }))].forEach((key) => json(key));
  const back = `${command('longhaul keys import COPY')} puts a copy of them back, and the runs go on`;
  if (all.length === 0 && missing.size > 0) say(`There are no payload keys here (${keys.source}), and open runs need some; ${back}.`);
  else if (all.length === 0 && keys.gone()) return say(`The payload keys that were made here are gone (${keys.source}): nothing more is sent until they are back. ${command('longhaul keys import COPY')} puts a copy of them back; LONGHAUL_ENCRYPTION=off sends in plain.`);
  else if (all.length === 0) return say(`There are no payload keys (${keys.source}): what goes through Temporal is not encrypted. ${command('longhaul keys create')} begins with it.${open === 0 ? '' : ` Were there some before: ${back}.`}`);
  table(['KEY', 'MADE', 'USE'], [
    ...all.map(({ kid, createdAt, encrypts, waits }) => [kid, createdAt === null ? '' : time(createdAt), encrypts ? 'encrypts' : waits ? 'waits' : 'decrypts']),
    ...[...missing].map(([kid, runs]) => [kid, '', `missing: ${count(runs.length, 'open run')} (${runs.slice(0, 3).join(', ')}${runs.length > 3 ? ', ...' : ''})`]),
  ]);
  if (all.length > 0 && missing.size > 0) say(`Open runs stand still for want of a key; ${back}.`);
}

/** How many runs are open, and which of them need a key that is not here, by key; no key where Temporal cannot be asked. */
async function missingHere(place: Place): Promise<{ open: number; missing: Map<string, string[]> }> {
  const missing = new Map<string, string[]>();
  if (!await place.hasStores()) return { open: 0, missing };
  const rows = (await (await place.client()).list({ limit: 1_000 })).filter((row) => !isOver(row));
  for (const [runId, { missingKey }] of await executionsOf(place, rows, { whole: true })) if (missingKey !== null) missing.set(missingKey, [...missing.get(missingKey) ?? [], runId]);
  return { open: rows.length, missing };
}

/** Workers of this folder take no first key while they run: names those that go on in plain. */
function tellInPlain({ stateDir }: Place): void {
  const found = workersInPlain(stateDir);
  if (found.length > 0) say(`In plain until started again, since started without encryption: ${found.join(', ')}. Start ${found.length === 1 ? 'it' : 'them'} again now.`);
}

async function create(place: Place, options: CommonOptions): Promise<number> {
  place.writable();
  const keys = await ringOf(place);
  if (!keys.ensure()) throw new Stop(EXIT.error, `There are payload keys already (${keys.source}): a further one is made with \`npx longhaul keys rotate\`.`);
  const kid = keys.newest()?.kid;
  if (options.json) json({ kid, source: keys.source });
  say(`Key ${kid} encrypts what goes through Temporal, from the next start of each worker on. It stands in ${keys.source}: keep a copy elsewhere, and give the file to every worker and every place that sends messages.`);
  tellInPlain(place);
  return EXIT.done;
}

async function rotate(place: Place, options: CommonOptions & { later?: boolean }): Promise<void> {
  const keys = await ringOf(place);
  if (keys.list().length === 0) throw new Stop(EXIT.error, 'There are no payload keys yet: make the first with `npx longhaul keys create`.');
  const kid = keys.add({ waits: options.later === true });
  if (options.json) json({ kid, source: keys.source });
  if (options.later) say(`Key ${kid} can decrypt and waits: give ${keys.source} to every host, then \`npx longhaul keys use ${kid}\` on each.`);
  else say(`Key ${kid} encrypts from now on, also in running workers that were started with keys; older ones still decrypt. Where other hosts have copies of ${keys.source}, give them this one now: what they cannot read waits.`);
  tellInPlain(place);
}

async function use(place: Place, kid: string, _options: CommonOptions): Promise<void> {
  const keys = await ringOf(place);
  if (!keys.use(kid)) throw unknown(kid);
  say(`Key ${kid} encrypts from now on, also in running workers that were started with keys.`);
  tellInPlain(place);
}

async function take(place: Place, copy: string, _options: CommonOptions): Promise<void> {
  if (!existsSync(copy)) throw new Stop(EXIT.usage, `There is no file ${copy}: name a copy of ${(await ringOf(place)).source}.`);
  place.writable();
  const taken = (await ringOf(place)).take(copy);
  say(taken.length === 0 ? 'Nothing was taken in: all its keys are here.' : `Taken in: ${taken.join(', ')}. Runs that waited for them go on by themselves within seconds to minutes.`);
  if (taken.length > 0) tellInPlain(place);
}

async function retire(place: Place, kid: string, options: CommonOptions & { force?: boolean }): Promise<void> {
  const keys = await ringOf(place);
  const all = keys.list();
  const found = all.find((key) => key.kid === kid);
  if (!found) throw unknown(kid);
  if (found.encrypts) throw new Stop(EXIT.error, `Key ${kid} is the one that encrypts: make another first with \`npx longhaul keys rotate\`.`);
  if (!options.force) {
    const used = (await (await place.client({ mustExist: false })).keyUses()).get(kid);
    if (used && used.open.length > 0) throw new Stop(EXIT.error, `Key ${kid} is needed by ${count(used.open.length, 'open run')} (${used.open.slice(0, 5).join(', ')}${used.open.length > 5 ? ', ...' : ''}): they must end or continue as new first. --force takes it out all the same, and they stand still until it is back.`);
    if (used && used.ended > 0) throw new Stop(EXIT.error, `Key ${kid} is needed to read ${count(used.ended, 'ended execution')} that Temporal still keeps: wait until its retention is over, or say --force; the journal stays readable.`);
  }
  keys.remove(kid);
  say(`Key ${kid} is gone from ${keys.source}. Keep a copy as long as you keep a backup of Temporal's database that needs it.`);
}

const unknown = (kid: string): Stop => new Stop(EXIT.error, `There is no key ${kid} here: see \`npx longhaul keys list\`.`);

/** Adds `keys`. */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('keys that encrypt what goes through Temporal; the newest encrypts, each decrypts (decision keys: approvals keys)');
  reaching(keys.command('list').description('the keys, without their bytes, and those that open runs need and that are missing')).action(act(list, ([options]) => options));
  reading(keys.command('create').description('make the first key: from then on payloads are encrypted')).action(act(create, ([options]) => options));
  reading(keys.command('rotate').description('add a key that encrypts from now on; older ones still decrypt'))
    .option('--later', 'only let it decrypt, until `keys use`: for several hosts, which all need it before any encrypts with it').action(act(rotate, ([options]) => options));
  reading(keys.command('use').argument('<kid>').description('let this key encrypt')).action(act(use, ([, options]) => options));
  reading(keys.command('import').argument('<copy>', 'a copy of payload-keys.json').description('take the keys of a copy in, e.g. one that is missing; what encrypts stays')).action(act(take, ([, options]) => options));
  reaching(keys.command('retire').argument('<kid>').description('take a key out that nothing in Temporal needs any more'))
    .option('--force', 'also one that is needed, and without asking Temporal').action(act(retire, ([, options]) => options));
}
