// The keys that payloads are encrypted with: `payload-keys.json` in the state folder or where LONGHAUL_PAYLOAD_KEYS_FILE says (mode
// 0600), or LONGHAUL_PAYLOAD_KEYS itself. The newest key that does not wait encrypts, each decrypts. A key's id is drawn from the key,
// so that one id is never two keys. A change of the file counts without a restart; a file that cannot be read for a moment does not
// take away the keys that a process has.
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { KeysError } from '../../ports/decision-keys';
import { ringFile, type RingFile } from '../keys/ring-file';

export const PAYLOAD_KEYS_FILE = 'payload-keys.json';
const VARIABLE = 'LONGHAUL_PAYLOAD_KEYS';
const BYTES = 32;

const file = z.strictObject({
  v: z.literal(1),
  keys: z.array(z.strictObject({
    kid: z.string().regex(/^p-[0-9a-f]{12}$/), key: z.string().regex(/^[A-Za-z0-9_-]{43}$/), createdAt: z.number().int(), waits: z.literal(true).optional(),
  }).refine(({ kid, key }) => kid === kidOf(Buffer.from(key, 'base64url')))).max(100),
});
type Kept = z.infer<typeof file>['keys'][number];

/** AES-256. */
export interface PayloadKey { kid: string; key: Buffer }

/** A key without its bytes; `createdAt` is null where nobody knows. */
export interface PayloadKeyShown { kid: string; createdAt: number | null; encrypts: boolean; waits: boolean }

export interface PayloadKeys {
  /** Where they come from: a file's path, or the variable's name. */
  source: string;
  /** Were keys made in this file, and is it gone? What was encrypted must not go out in plain because of that. */
  gone(): boolean;
  /** The key that encrypts, or null where there is none. Throws KeysError when the keys cannot be read and never were. */
  newest(): PayloadKey | null;
  /** The key of an id, or null when it is not here. Throws KeysError like `newest`. */
  byId(kid: string): PayloadKey | null;
  list(): PayloadKeyShown[];
  /** Makes the first key where there is none; answers whether it did. Throws KeysError. */
  ensure(): boolean;
  /** Adds a key, which encrypts from now on, or waits until `use`; answers its id. Throws KeysError. */
  add(how?: { waits?: boolean }): string;
  /** Makes a key the one that encrypts; false when it is not here. Throws KeysError. */
  use(kid: string): boolean;
  /** Takes keys of a copy in, none of which then encrypts unless there was none; answers the ids that are new. Throws KeysError. */
  take(copy: string): string[];
  /** Takes a key out; answers whether it was there. Throws KeysError. */
  remove(kid: string): boolean;
}

/** The id of a key. */
export const kidOf = (key: Buffer): string => `p-${createHash('sha256').update('longhaul payload key').update(key).digest('hex').slice(0, 12)}`;

/** The payload keys of a state folder or of the environment. Nothing is read or made before it is needed. */
export function openPayloadKeys({ stateDir, env = process.env }: { stateDir: string; env?: NodeJS.ProcessEnv }): PayloadKeys {
  const given = env[VARIABLE]?.trim();
  if (given) return ofVariable(given);
  const named = env['LONGHAUL_PAYLOAD_KEYS_FILE']?.trim();
  return ofFile(named ? path.resolve(named) : path.join(stateDir, PAYLOAD_KEYS_FILE));
}

function ofFile(at: string): PayloadKeys {
  const ring = ringAt(at);
  const known = lastGood(at, ring);
  return {
    source: at,
    gone: () => !ring.exists() && existsSync(markOf(at)) && known().length === 0,
    newest: () => newestOf(known()),
    byId: (kid) => keyOf(known().find((one) => one.kid === kid)),
    list: () => shown(ring.exists() ? ring.read() : []),
    ensure: () => {
      if (ring.exists() || !ring.first([fresh()])) return false;
      mark(at);
      return true;
    },
    ...changesOf(at, ring),
  };
}

/** An empty file beside the keyring, which says that there was one. */
const markOf = (at: string): string => `${at}.made`;

function mark(at: string): void {
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(markOf(at), '', { mode: 0o600 });
}

function changesOf(at: string, ring: RingFile<Kept>): Pick<PayloadKeys, 'add' | 'use' | 'take' | 'remove'> {
  /** Makes the change; answers what of the keys it came to. */
  const change = <T>(how: (keys: Kept[]) => { keys: Kept[]; answer: T }): T => {
    let answer: T | undefined;
    ring.change((keys) => {
      const changed = how(keys);
      answer = changed.answer;
      return changed.keys;
    });
    mark(at);
    return answer as T;
  };
  return {
    add: ({ waits = false } = {}) => {
      const key: Kept = { ...fresh(), ...(waits ? { waits: true } : {}) };
      return change((keys) => ({ keys: [...keys, key], answer: key.kid }));
    },
    use: (kid) => change((keys) => {
      const chosen = keys.filter((key) => key.kid === kid).map((key) => ({ ...key, waits: undefined }));
      return { keys: [...keys.filter((key) => key.kid !== kid), ...chosen], answer: chosen.length > 0 };
    }),
    take: (copy) => {
      const others = ringAt(copy).read();
      // Before the others, so that what encrypts stays what it is.
      return change((keys) => {
        const more = others.filter(({ kid }) => !keys.some((key) => key.kid === kid));
        return { keys: [...more, ...keys], answer: more.map(({ kid }) => kid) };
      });
    },
    remove: (kid) => change((keys) => ({ keys: keys.filter((key) => key.kid !== kid), answer: keys.some((key) => key.kid === kid) })),
  };
}

/** The keys of the file as it is now; while it cannot be read, those that were read last. */
function lastGood(at: string, ring: RingFile<Kept>): () => Kept[] {
  let seen = '';
  let keys: Kept[] | undefined;
  return () => {
    const now = stampOf(at);
    if (keys !== undefined && now === seen) return keys;
    try {
      keys = now === null && keys === undefined ? [] : ring.read();
      seen = now ?? '';
    } catch (error) {
      if (keys === undefined) throw error;
    }
    return keys;
  };
}

function stampOf(at: string): string | null {
  const stat = statSync(at, { throwIfNoEntry: false });
  return stat ? `${stat.ino} ${stat.mtimeMs} ${stat.size}` : null;
}

/** Keys in base64, separated by commas; the first encrypts. For places where nobody can keep a private file. */
function ofVariable(text: string): PayloadKeys {
  const keys = text.split(',').map((part) => part.trim()).filter(Boolean).map((part): Kept => {
    const key = Buffer.from(part, 'base64');
    if (key.length !== BYTES) throw new KeysError(`${VARIABLE} holds a key of ${key.length} bytes: give keys of ${BYTES} bytes in base64, separated by commas, e.g. made with openssl rand -base64 ${BYTES}.`);
    return { kid: kidOf(key), key: key.toString('base64url'), createdAt: 0 };
  }).reverse();
  const fixed = (): never => { throw new KeysError(`The payload keys come from ${VARIABLE}: change that, the key that shall encrypt first, and restart.`); };
  return {
    source: VARIABLE, gone: () => false, newest: () => newestOf(keys), byId: (kid) => keyOf(keys.find((one) => one.kid === kid)),
    list: () => shown(keys).map((key) => ({ ...key, createdAt: null })), ensure: () => false, add: fixed, use: fixed, take: fixed, remove: fixed,
  };
}

const ringAt = (at: string): RingFile<Kept> => ringFile({
  at, parse: (value) => file.parse(value).keys,
  missing: `There are no payload keys here (${at}): make them with \`npx longhaul keys create\`, or put the file there from where the others have it.`,
  damaged: `The payload keys ${at} are damaged: put the file back from a copy.`,
});

function fresh(): Kept {
  const key = randomBytes(BYTES);
  return { kid: kidOf(key), key: key.toString('base64url'), createdAt: Date.now() };
}

const keyOf = (kept: Kept | undefined): PayloadKey | null => (kept ? { kid: kept.kid, key: Buffer.from(kept.key, 'base64url') } : null);

const newestOf = (keys: readonly Kept[]): PayloadKey | null => keyOf(keys.filter(({ waits }) => !waits).at(-1));

function shown(keys: readonly Kept[]): PayloadKeyShown[] {
  const newest = newestOf(keys)?.kid;
  return keys.map(({ kid, createdAt, waits = false }) => ({ kid, createdAt, waits, encrypts: kid === newest }));
}
