// Whether payloads are encrypted here, and with what. Wherever keys are, they are used; LONGHAUL_ENCRYPTION=on or the configuration
// demand them, so that nothing goes out in plain because a file is missing; LONGHAUL_ENCRYPTION=off stops encrypting where nothing
// demands it. Decrypting never stops. Every client and worker of Temporal in this product is made with the converter from here.
import { randomBytes } from 'node:crypto';
import type { DataConverter } from '@temporalio/common';
import { KeysError } from '../../ports/decision-keys';
import { EncryptionCodec } from './codec';
import { openPayloadKeys, type PayloadKeys } from './payload-keys';

export interface Encryption {
  /** Is what goes to Temporal encrypted? */
  on: boolean;
  keys: PayloadKeys;
  /** For `Client` and `Worker.create`. */
  dataConverter: DataConverter;
  /** Is the key of this id here? Throws KeysError when that cannot be known. */
  holds(kid: string): boolean;
}

export interface OpenEncryption {
  stateDir: string;
  env?: NodeJS.ProcessEnv;
  /** The configuration says `encryption: true`. */
  demanded?: boolean;
  /** Make the first key where one is demanded and the state folder has none: for a start that works on this machine alone. */
  make?: boolean;
}

/** Throws KeysError when encryption is demanded and there is no key, or the keys cannot be used. */
export function openEncryption({ stateDir, env = process.env, demanded = false, make = false }: OpenEncryption): Encryption {
  const said = env['LONGHAUL_ENCRYPTION']?.trim() ?? '';
  if (!['', 'on', 'off'].includes(said)) throw new KeysError(`LONGHAUL_ENCRYPTION is ${JSON.stringify(said)}: set it to on or off.`);
  const keys = openPayloadKeys({ stateDir, env });
  const wanted = demanded || said === 'on';
  if (wanted && make && !keys.gone()) keys.ensure();
  // Where keys were made and are gone, reading goes on; what would be sent in plain is refused.
  const gone = said !== 'off' && keys.gone();
  const on = wanted || gone || (said !== 'off' && keys.newest() !== null);
  if (on && !gone) tryOut(keys);
  return {
    on, keys,
    dataConverter: { payloadCodecs: [new EncryptionCodec(keys, on)], ...(on ? { failureConverterPath: require.resolve('./failure-converter') } : {}) },
    holds: (kid) => keys.byId(kid) !== null,
  };
}

/** Is there a key to encrypt with, and does what it encrypts come back? Throws KeysError. */
function tryOut(keys: PayloadKeys): void {
  if (!keys.newest()) throw new KeysError(`Payloads are to be encrypted, and there are no keys here (${keys.source}): make them with \`npx longhaul keys create\`, put the file there from where the others have it, or give their text in LONGHAUL_PAYLOAD_KEYS.`);
}

/** Encrypts and decrypts a sample, and looks that it is not to be seen in between. Throws KeysError: nothing may start then. */
export async function selfTest({ on, keys, dataConverter }: Encryption): Promise<void> {
  if (!on) return;
  const sample = randomBytes(64);
  const [codec] = dataConverter.payloadCodecs ?? [];
  const [sealed] = await codec!.encode([{ metadata: { encoding: Buffer.from('binary/plain') }, data: sample }]);
  const [back] = await codec!.decode([sealed!]);
  if (Buffer.from(sealed?.data ?? []).includes(sample) || !sample.equals(Buffer.from(back?.data ?? []))) throw new KeysError(`The payload keys (${keys.source}) do not work: what they encrypt does not come back.`);
}
