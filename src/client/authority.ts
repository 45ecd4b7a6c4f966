// A door that has the keys: makes tokens for people, signs what somebody decides at this machine, and looks at a token that comes
// with a message. Without keys a token goes to the run as it is. Decides nothing: the run does, and records what it refuses.
// A decision that a door has looked at travels under a token of the door's own: good for this one message body and no other, with
// the time at which the door received it. That is all that Temporal's history holds of it.
import { v7 as uuidv7 } from 'uuid';
import { digestOf } from '../core/canonical';
import type { Message } from '../core/message';
import type { Claims, May } from '../core/proof';
import { matterOf, useOf } from '../core/rules/authority';
import type { DecisionKeys } from '../ports/decision-keys';
import { stateOf } from './reads';
import { ClientError, type ClientStores } from './types';

/** ms for which a decision that a door has signed may wait for a worker. */
const PARKED_MS = 7 * 24 * 3_600_000;

export interface TokenRequest {
  /** Id of an open approval, question or decision. */
  about: string;
  /** Who may use it. */
  sub: string;
  /** Who makes it. */
  iss: string;
  may: May[];
  expiresInMs: number;
}

/** A token for somebody, bound to what is asked now. Throws ClientError `unknown-wait` when it is not open, KeysError without keys. */
export async function makeToken(stores: ClientStores, keys: DecisionKeys, runId: string, { about, sub, iss, may, expiresInMs }: TokenRequest): Promise<{ token: string; claims: Claims }> {
  const matter = matterOf(await stateOf(stores, runId), about);
  if (!matter) throw new ClientError('unknown-wait', `${about} is not open any more: see \`npx longhaul inbox\`.`);
  const iat = Date.now();
  const claims: Claims = { jti: uuidv7(), sub, iss, run: runId, about: matter.about, may, binding: matter.binding, iat, exp: iat + expiresInMs };
  return { token: keys.sign(claims), claims };
}

/**
 * A message as it leaves a door with keys: a token that is genuine and in time is replaced by the door's own, any other is left for the
 * run to refuse; what a known person decides in production without one is signed here, for exactly this body. Throws KeysError when
 * that has to be and the keys cannot be read.
 */
export async function atDoor(stores: ClientStores, keys: DecisionKeys, runId: string, message: Message, door?: string): Promise<Message> {
  const use = useOf(message.body);
  if (!use) return message;
  const now = message.receivedAt ?? Date.now();
  const own = { may: [use.use], body: digestOf(message.body), iat: now, exp: now + PARKED_MS, received: now };
  if (message.token !== undefined) {
    const found = keys.check(message.token, use.use);
    if (found.kind === 'invalid' || found.claims.body !== undefined || now > found.claims.exp || !found.claims.may.includes(use.use)) return message;
    return { ...message, token: keys.sign({ ...found.claims, ...own }) };
  }
  if (message.actor.assurance !== 'local-user' || !(await isProduction(stores, runId))) return message;
  const matter = matterOf(await stateOf(stores, runId), use.id);
  if (!matter) return message;
  // The same decision again has the same name, so that it counts once however often it is sent.
  const said = { run: runId, about: matter.about, sub: message.actor.id, binding: matter.binding };
  return { ...message, token: keys.sign({ ...said, ...own, iss: door ?? message.actor.id, jti: digestOf({ ...said, body: own.body }).slice(0, 32) }) };
}

const isProduction = async (stores: ClientStores, runId: string): Promise<boolean> => (await stateOf(stores, runId)).pins.mode === 'production';
