// `secrets.env`, the file of secrets: one `NAME=value` a line, `#` begins a comment line, quotes around a value are taken off.
// Refuses a file that others may read, and never quotes a line of it: a sentence about a fault has the line's number alone.
import { closeSync, existsSync, fstatSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Name of the file beside the configuration; LONGHAUL_SECRETS_FILE names another. */
export const SECRETS_FILE = 'secrets.env';

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,79}$/;

/** A file of secrets that cannot be used; the message is one sentence that says what to do. */
export class SecretsFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SecretsFileError';
  }
}

/** The secrets of the file that the environment names, or of `secrets.env` in the folder; empty without one. Throws SecretsFileError. */
export function readSecretsFile(folder: string, env: NodeJS.ProcessEnv): Map<string, string> {
  const named = env['LONGHAUL_SECRETS_FILE']?.trim();
  const file = path.resolve(folder, named || SECRETS_FILE);
  if (!named && !existsSync(file)) return new Map();
  return new Map(readPrivately(file).split(/\r?\n/).flatMap((line, i) => entryOf(line, i + 1, file)));
}

/** The text of a file that nobody else may read (mode 0600). Throws SecretsFileError. */
export function readPrivately(file: string): string {
  let opened: number;
  try {
    opened = openSync(file, 'r');
  } catch (error) {
    throw new SecretsFileError(`The secrets file ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'it failed'}): put it there with mode 0600.`);
  }
  try {
    const { mode } = fstatSync(opened);
    // Windows has no such modes.
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new SecretsFileError(`The secrets file ${file} may be read by others (mode ${(mode & 0o777).toString(8)}): run chmod 600 ${file}`);
    }
    return readFileSync(opened, 'utf8');
  } catch (error) {
    if (error instanceof SecretsFileError) throw error;
    throw new SecretsFileError(`The secrets file ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'it failed'}).`);
  } finally {
    closeSync(opened);
  }
}

function entryOf(line: string, number: number, file: string): [string, string][] {
  const text = line.trim();
  if (text === '' || text.startsWith('#')) return [];
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(0, at)).trim();
  if (!NAME.test(name)) throw new SecretsFileError(`Line ${number} of the secrets file ${file} cannot be read: write NAME=value.`);
  const value = text.slice(at + 1).trim();
  const quoted = /^(["'])(.*)\1$/s.exec(value);
  return [[name, quoted ? quoted[2] ?? '' : value]];
}
