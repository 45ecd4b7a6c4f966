// Runs one command: opens its place, catches what is thrown, closes everything, and leaves the exit code. Sends messages and says
// what came of them. Commands themselves hold no error handling.
import os from 'node:os';
import type { MessageBody } from '../core/message';
import type { LonghaulClient } from '../client/client';
import type { Delivery } from '../client/types';
import { EXIT, stopOf } from './exit';
import { actorOf, type CommonOptions, type DeciderOptions } from './options';
import { Place } from './place';
import { asTyped, json, say } from './print';

/** What the process will end with; a command leaves its code here. */
export const ending = { code: EXIT.done as number };

/** Makes of a command's body the action that commander calls. The body answers an exit code, or nothing for 0. */
export function act<A extends unknown[]>(body: (place: Place, ...args: A) => Promise<number | void>, optionsOf: (args: A) => CommonOptions, how?: { anyConfig?: boolean }): (...args: A) => Promise<void> {
  return async (...args) => {
    let place: Place | undefined;
    try {
      place = await Place.at(optionsOf(args), how);
      ending.code = (await body(place, ...args)) ?? EXIT.done;
    } catch (error) {
      const stop = stopOf(error);
      say(await withoutSecrets(stop.message));
      ending.code = stop.code;
    } finally {
      await place?.close();
    }
  };
}

/** An error may quote what it stumbled over, e.g. a configuration that throws, before any secret of this place is known. */
async function withoutSecrets(message: string): Promise<string> {
  const { openSecrets } = await import('../adapters/secrets/sources');
  const read = (env: NodeJS.ProcessEnv, folder: string): string => openSecrets({ config: null, folder, env }).known.text(message);
  try {
    return read(process.env, process.cwd());
  } catch {
    // The file of secrets is what is wrong: the environment still counts.
    return read({ ...process.env, LONGHAUL_SECRETS_FILE: '' }, os.devNull);
  }
}

const FINE: ReadonlySet<string> = new Set(['done', 'granted', 'counted', 'rejected', 'already-decided']);

/** Says what came of a message; answers the exit code. `notTaken` tells that somebody had decided otherwise before, `about` which of several. */
export function tellDelivery(runId: string, delivery: Delivery, options: CommonOptions, notTaken?: string, about?: string): number {
  if (options.json) json({ runId, ...(about === undefined ? {} : { id: about }), ...delivery });
  if (!delivery.known) {
    if (!options.json) say(delivery.why);
    return delivery.state === 'unreachable' ? EXIT.unreachable : EXIT.error;
  }
  const { kind, text } = delivery.answer;
  const fine = FINE.has(kind) && notTaken === undefined;
  if (!options.json) say(`${about ?? runId}: ${notTaken ?? ''}${asTyped(text)}`);
  return fine ? EXIT.done : EXIT.error;
}

/** Sends one message under the caller's name and says what came of it. */
export async function deliver(client: LonghaulClient, runId: string, body: MessageBody, options: DeciderOptions, messageId = options.messageId): Promise<number> {
  const delivery = await client.message(runId, body, { actor: actorOf(options), ...(messageId === undefined ? {} : { messageId }) });
  return tellDelivery(runId, delivery, options);
}
