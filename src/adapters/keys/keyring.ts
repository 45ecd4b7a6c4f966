// The keyring: `decision-keys.json` in the state folder, mode 0600. The newest key signs, each of them verifies; taking one out makes
// void whatever it has signed. Read anew at each use, so that a rotation needs no restart (ring-file.ts has the file's manners).
// Who can read this file can decide in anybody's name: that is what it is for, and why it is the one thing to guard.
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { z } from 'zod';
import type { Checked } from '../../core/proof';
import { sealedText } from '../../core/proof';
import { KeysError, type DecisionKeys } from '../../ports/decision-keys';
import { ringFile, type RingFile } from './ring-file';
import { macOf, readToken, sameMac, writeToken } from './token';

export const KEYRING_FILE = 'decision-keys.json';

const BYTES = 32;
const file = z.strictObject({
  v: z.literal(1),
  keys: z.array(z.strictObject({ kid: z.string().regex(/^k-[0-9a-f]{8}$/), secret: z.string().regex(/^[A-Za-z0-9_-]{43}$/), createdAt: z.number().int() })).max(100),
});
type Key = z.infer<typeof file>['keys'][number];

/** A key without its secret. */
export interface KeyShown { kid: string; createdAt: number; signs: boolean }

export interface Keyring extends DecisionKeys {
  /** Makes the first key where there is none; answers whether it did. Throws KeysError. */
  ensure(): boolean;
  /** Adds a key, which signs from now on; answers its id. Throws KeysError. */
  rotate(): string;
  /** Takes a key out: what it has signed is void from now on. Answers whether it was there. Throws KeysError. */
  remove(kid: string): boolean;
  list(): KeyShown[];
}

/** The keyring of a state folder. Nothing is read or made before it is needed. */
export function openKeyring(stateDir: string): Keyring {
  const at = path.join(stateDir, KEYRING_FILE);
  const ring = ringOf(at);
  return {
    ensure: () => !ring.exists() && ring.first([fresh()]),
    rotate: () => {
      const key = fresh();
      ring.change((keys) => [...keys, key]);
      return key.kid;
    },
    remove: (kid) => {
      let found = false;
      ring.change((keys) => {
        found = keys.some((key) => key.kid === kid);
        return keys.filter((key) => key.kid !== kid);
      });
      return found;
    },
    list: () => (ring.exists() ? ring.read() : []).map(({ kid, createdAt }, i, all) => ({ kid, createdAt, signs: i === all.length - 1 })),
    sign: (claims) => {
      const key = ring.read().at(-1);
      if (!key) throw new KeysError(`The keyring ${at} is empty: add a key with \`npx longhaul approvals keys --rotate\`.`);
      return writeToken(key.kid, secretOf(key), claims);
    },
    check: (token, use) => attempt((why): Checked => ({ kind: 'invalid', why }), () => checked(ring, token, use)),
    faultOf: (run, sub, proof) => attempt((why): ReturnType<DecisionKeys['faultOf']> => ({ kind: 'away', why }), () => {
      const key = ring.read().find(({ kid }) => kid === proof.kid);
      if (!key) return { kind: 'broken', why: `key ${proof.kid}, with which ${sub} approved, was taken out` };
      const same = sameMac(macOf(secretOf(key), sealedText(run, sub, proof)), Buffer.from(proof.seal, 'base64url'));
      return same ? null : { kind: 'broken', why: `the kept approval of ${sub} is not what was signed` };
    }),
  };
}

const ringOf = (at: string): RingFile<Key> => ringFile({
  at, parse: (value) => file.parse(value).keys,
  missing: `There are no decision keys here (${at}): copy the file of the workers to that place, or decide where they are. Only where no worker has any yet, make the first with \`npx longhaul approvals keys --rotate\`.`,
  damaged: `The keyring ${at} is damaged: put it back from a copy, or remove it and ask for new tokens.`,
});

const secretOf = (key: Key): Buffer => Buffer.from(key.secret, 'base64url');

const fresh = (): Key => ({ kid: `k-${randomBytes(4).toString('hex')}`, secret: randomBytes(BYTES).toString('base64url'), createdAt: Date.now() });

function checked(ring: RingFile<Key>, token: string, use: Parameters<DecisionKeys['check']>[1]): Checked {
  const written = readToken(token);
  if (!written) return { kind: 'invalid', why: 'it has not the form of one.' };
  const { kid, claims, signed, signature } = written;
  const key = ring.read().find((one) => one.kid === kid);
  if (!key) return { kind: 'invalid', why: `it names the key ${kid}, which is not in the keyring; ask for a new one.` };
  if (!sameMac(macOf(secretOf(key), signed), signature)) return { kind: 'invalid', why: 'its signature is wrong.' };
  const proof = { kid, jti: claims.jti, iss: claims.iss, about: claims.about, for: use, binding: claims.binding };
  return { kind: 'valid', claims, proof: { ...proof, seal: macOf(secretOf(key), sealedText(claims.run, claims.sub, proof)).toString('base64url') } };
}

/** Turns trouble with the file into an answer. */
function attempt<T>(failed: (why: string) => T, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof KeysError) return failed(error.message);
    throw error;
  }
}
