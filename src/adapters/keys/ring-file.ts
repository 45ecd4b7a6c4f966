// A file of keys: JSON of version 1, mode 0600, written whole, by rename, one writer at a time. Knows no use of a key and never
// quotes one: a sentence about a fault names the file alone. Read anew at each use, so that a change needs no restart.
import { randomBytes } from 'node:crypto';
import { existsSync, fsyncSync, closeSync, linkSync, mkdirSync, openSync, renameSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { KeysError } from '../../ports/decision-keys';
import { readPrivately } from '../secrets/secrets-file';

export interface RingFile<K> {
  /** Throws KeysError when the file cannot be read, is damaged, or may be read by others. */
  read(): K[];
  exists(): boolean;
  /** Makes the file with these keys, unless another process was faster; answers whether it did. Throws KeysError. */
  first(keys: K[]): boolean;
  /** Throws KeysError; then nothing was changed. */
  change(how: (keys: K[]) => K[]): void;
}

export interface RingFileSettings<K> {
  at: string;
  /** Reads the member `keys`; throws for another shape. */
  parse: (value: unknown) => K[];
  /** The sentences for a file that is not there and for one that is no ring. */
  missing: string;
  damaged: string;
}

/** The file of keys at a path. Nothing is read or made before it is needed. */
export function ringFile<K>({ at, parse, missing, damaged }: RingFileSettings<K>): RingFile<K> {
  const read = (): K[] => {
    if (!existsSync(at)) throw new KeysError(missing);
    try {
      return parse(JSON.parse(readPrivately(at)));
    } catch (error) {
      // A private file's own sentence says what to do; a parser's would quote the file.
      throw new KeysError(error instanceof Error && error.name === 'SecretsFileError' ? error.message : damaged);
    }
  };
  return {
    read,
    exists: () => existsSync(at),
    first: (keys) => first(at, keys),
    change: (how) => locked(at, () => renameSync(written(at, how(existsSync(at) ? read() : [])), at)),
  };
}

function first(at: string, keys: unknown[]): boolean {
  const made = written(at, keys);
  try {
    linkSync(made, at);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new KeysError(`The keyring ${at} cannot be made (${(error as NodeJS.ErrnoException).code ?? 'it failed'}).`);
  } finally {
    rmSync(made, { force: true });
  }
}

function locked(at: string, act: () => void): void {
  const lock = `${at}.lock`;
  try {
    mkdirSync(lock);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new KeysError(`The folder of the keyring ${at} is not there: make it first.`);
    throw new KeysError(`Another process is changing the keyring: try again, and remove ${lock} if no such process runs.`);
  }
  try {
    act();
  } finally {
    rmdirSync(lock);
  }
}

/** A file beside the keyring that holds these keys, safe on the disk. */
function written(at: string, keys: unknown[]): string {
  const made = `${at}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const out = openSync(made, 'wx', 0o600);
    try {
      writeSync(out, `${JSON.stringify({ v: 1, keys }, null, 2)}\n`);
      fsyncSync(out);
    } finally {
      closeSync(out);
    }
    return made;
  } catch (error) {
    throw new KeysError(`The keyring ${at} cannot be written (${(error as NodeJS.ErrnoException).code ?? 'it failed'}).`);
  }
}
