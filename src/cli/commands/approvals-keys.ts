// `longhaul approvals token`, `approvals keys`: tokens with which people decide from elsewhere, and the keys that sign them. A token is
// data on stdout, once; a key is never printed. Where the keys are is where authority is given.
import type { Command } from 'commander';
import { MAY, type May } from '../../core/proof';
import type { WaitRow } from '../../core/row';
import { forWhom } from '../../core/waits';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { durationOf, nameOf, reading, userName, type CommonOptions } from '../options';
import type { Place } from '../place';
import { data, json, say, table, time } from '../print';
import { mayDecide } from './inbox';

interface TokenOptions extends CommonOptions { for: string; expires: string; may?: string }

/** What a token for this kind of thing usually allows. */
const USUAL: Record<string, May[]> = { a: ['approve', 'reject'], q: ['answer'], d: ['resolve'] };

function usesOf(id: string, given?: string): May[] {
  if (given === undefined) return USUAL[id[0] ?? ''] ?? ['approve', 'reject'];
  const uses = given.split(',').map((use) => use.trim());
  const unknown = uses.find((use) => !(MAY as readonly string[]).includes(use));
  if (unknown !== undefined) throw new Stop(EXIT.usage, `--may has no use "${unknown}"; known are ${MAY.join(', ')}.`);
  return uses as May[];
}

/** Why a token for this person would be refused as things stand; null where it would not. An escalation may change that. */
export function whyInVain(wait: WaitRow, name: string): string | null {
  if (mayDecide(wait, name)) return null;
  const why = wait.not === name ? 'who asked for a run may not decide this' : wait.granted?.includes(name) ? 'that word counts already' : `${wait.waitId} is for ${forWhom(wait)}`;
  return `As things stand the run will not take it from ${name}: ${why}.`;
}

async function token(place: Place, id: string, options: TokenOptions): Promise<void> {
  const client = await place.client();
  const runId = await client.runOf(id);
  (await place.keyring()).ensure();
  const [may, sub] = [usesOf(id, options.may), nameOf('--for', options.for)];
  const { token: made, claims } = await client.token(runId, { about: id, sub, iss: userName(), may, expiresInMs: durationOf('--expires', options.expires) });
  if (options.json) return json({ token: made, ...claims });
  data(made);
  const use = claims.may.includes('approve') ? `npx longhaul approvals approve ${id} --token FILE` : claims.may.includes('answer') ? `npx longhaul answer ${id} TEXT --token FILE` : `npx longhaul resolve ${runId} ${id} ... --token FILE`;
  say(`Token ${claims.jti} for ${claims.sub}: ${claims.may.join(', ')} of ${claims.about}, once, until ${time(claims.exp)}. Whoever holds it decides as ${claims.sub}: hand it over privately. Used with: ${use}`);
  const wait = (await (await place.stores()).journal.row(runId))?.waits.find(({ waitId }) => waitId === id);
  const inVain = wait ? whyInVain(wait, claims.sub) : null;
  if (inVain !== null) say(inVain);
}

interface KeysOptions extends CommonOptions { rotate?: boolean; remove?: string }

async function keys(place: Place, options: KeysOptions): Promise<number> {
  if (options.rotate && options.remove !== undefined) throw new Stop(EXIT.usage, 'Say one of --rotate and --remove.');
  const keyring = await place.keyring();
  if (options.rotate) {
    const kid = keyring.rotate();
    say(`Key ${kid} signs from now on; older ones still verify. Take one out with npx longhaul approvals keys --remove KID.`);
  }
  if (options.remove !== undefined) {
    if (!keyring.remove(options.remove)) throw new Stop(EXIT.error, `There is no key ${options.remove} here: see \`npx longhaul approvals keys\`.`);
    say(`Key ${options.remove} is gone: tokens that it signed are refused, and calls that wait on such an approval are asked for again.`);
  }
  const all = keyring.list();
  if (options.json) all.forEach((key) => json({ ...key }));
  else if (all.length === 0) say('There are no decision keys here; --rotate makes the first.');
  else table(['KEY', 'MADE', 'SIGNS'], all.map(({ kid, createdAt, signs }) => [kid, time(createdAt), signs ? 'yes' : '']));
  return EXIT.done;
}

/** Adds `token` and `keys` to `longhaul approvals`. */
export function addApprovalsKeys(approvals: Command): void {
  reading(approvals.command('token').argument('<id>', 'an open approval, question or decision').description('make a token with which one person decides this once, from anywhere'))
    .requiredOption('--for <name>', 'who decides with it').option('--expires <time>', 'how long it can be used', '24h')
    .option('--may <uses>', `what it allows, e.g. approve,reject,edit (known: ${MAY.join(', ')})`).action(act(token, ([, options]) => options));
  reading(approvals.command('keys').description('the keys that sign decisions; the newest signs, each verifies'))
    .option('--rotate', 'add a key').option('--remove <kid>', 'take a key out; what it has signed is void').action(act(keys, ([options]) => options));
}
