// The payload codec: AES-256-GCM over a whole payload, its type included, in the form of Temporal's own samples: `binary/encrypted`,
// the key's id in the metadata, and as data 12 random bytes, the ciphertext and the tag. Always decrypts what it has the key for;
// encrypts only where that is on. What was written in plain stays readable. Never logs and never quotes a payload.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { KeysError } from '../../ports/decision-keys';
import type { PayloadKey, PayloadKeys } from './payload-keys';

export const KEY_ID = 'encryption-key-id';
const ENCODING = 'encoding';
const ENCRYPTED = 'binary/encrypted';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

const { Payload: PayloadProto } = temporal.api.common.v1;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (value: Uint8Array | null | undefined): string => (value ? new TextDecoder().decode(value) : '');

/** A payload that only a key can read which is not here. The name and the sentence stand in Temporal, in plain: they hold no secret. */
export class MissingKeyError extends Error {
  constructor(readonly kid: string, source: string) {
    super(`The payload key ${kid} is missing (${source}): put it back with \`npx longhaul keys import COPY\`, and the run goes on.`);
    this.name = 'MissingKeyError';
  }
}

/** The id of the key that a payload was encrypted with; null for one in plain. */
export function kidOfPayload(payload: Payload): string | null {
  return textOf(payload.metadata?.[ENCODING]) === ENCRYPTED ? textOf(payload.metadata?.[KEY_ID]) : null;
}

/** `encrypt`: whether what is written is encrypted; then a missing key is a KeysError, never a payload in plain. */
export class EncryptionCodec implements PayloadCodec {
  constructor(private readonly keys: PayloadKeys, private readonly encrypts: boolean) {}

  async encode(payloads: Payload[]): Promise<Payload[]> {
    if (!this.encrypts || payloads.length === 0) return payloads;
    const key = this.keys.newest();
    if (!key) throw new KeysError(`Payloads are to be encrypted, and there is no key that does (${this.keys.source}): ${this.keys.gone() ? 'the file is gone; put it back from a copy, or set LONGHAUL_ENCRYPTION=off to send in plain from now on.' : 'make one with `npx longhaul keys create`.'}`);
    return payloads.map((payload) => encrypted(payload, key));
  }

  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => {
      const kid = kidOfPayload(payload);
      if (kid === null) return payload;
      const key = this.keys.byId(kid);
      if (!key) throw new MissingKeyError(kid, this.keys.source);
      return decrypted(payload, key);
    });
  }
}

function encrypted(payload: Payload, { kid, key }: PayloadKey): Payload {
  // Twice would only be larger: a codec server or a reset hands back what was encrypted before.
  if (kidOfPayload(payload) !== null) return payload;
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
  const data = Buffer.concat([iv, cipher.update(PayloadProto.encode(payload).finish()), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { [ENCODING]: bytes(ENCRYPTED), [KEY_ID]: bytes(kid), 'encryption-cipher': bytes('AES-256-GCM') }, data };
}

function decrypted({ data }: Payload, { kid, key }: PayloadKey): Payload {
  const whole = Buffer.from(data ?? []);
  try {
    const decipher = createDecipheriv(CIPHER, key, whole.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(whole.subarray(-TAG_BYTES));
    const { metadata, data: plain } = PayloadProto.decode(Buffer.concat([decipher.update(whole.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]));
    return { metadata, data: plain };
  } catch {
    throw new KeysError(`A payload of key ${kid} cannot be decrypted: it was changed or cut off after it was written.`);
  }
}
