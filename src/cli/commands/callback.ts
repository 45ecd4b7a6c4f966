// `longhaul callback ID`: says in place of the outside, or by hand where its word was lost, what came of a request that it had
// accepted. The same event id counts once. Exit 0 when it counts or counted before, 1 when it is over, unknown or refused.
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Json } from '../../core/canonical';
import { act, tellDelivery } from '../act';
import { EXIT, Stop } from '../exit';
import { actorOf, jsonOf, reaching, type CommonOptions } from '../options';
import type { Place } from '../place';

interface CallbackOptions extends CommonOptions { eventId: string; payload: string; item?: string; as?: string; by?: string }

async function callback(place: Place, callbackId: string, options: CallbackOptions): Promise<number> {
  const { eventId, item } = options;
  for (const [name, text] of Object.entries({ '--event-id': eventId, '--item': item })) {
    if (text !== undefined && (text === '' || text.length > 200)) throw new Stop(EXIT.usage, `${name} needs 1 to 200 characters.`);
  }
  const client = await place.client();
  const delivery = await client.callback(callbackId, { eventId, payload: payloadOf(options.payload), ...(item === undefined ? {} : { item }) }, { actor: actorOf(options) });
  return tellDelivery(delivery.runId, delivery, options, undefined, callbackId);
}

/** JSON, @FILE, or the name of a file that holds JSON. */
const payloadOf = (text: string): Json => {
  if (/^[^\s@{["][^\s]*\.[a-z]+$/i.test(text) && !existsSync(text)) throw new Stop(EXIT.usage, `--payload: there is no file ${text}; give JSON, @FILE, or the name of a file with JSON.`);
  return jsonOf('--payload', !text.startsWith('@') && existsSync(text) ? `@${text}` : text);
};

/** Adds `callback`. */
export function addCallback(program: Command): void {
  reaching(program.command('callback').argument('<callback>').description('tell a run what the outside says of a request that it had accepted, or of a step that waits for it'))
    .requiredOption('--event-id <id>', 'the id of this event: the same again counts once')
    .requiredOption('--payload <json>', 'what came: JSON, @FILE, or the name of a file with JSON')
    .option('--item <key>', 'which item of a batch it is (default: the event id)')
    .option('--as <name>', 'say it under this name (default: the user of the operating system)').option('--by <name>', 'the same as --as')
    .action(act(callback, ([, options]) => options));
}
