// Where values of secrets come from, in this order: the place that the configuration names, the variable LONGHAUL_SECRET_<NAME>,
// the file of secrets, the variable of the secret's own name. Everything that is there at the start is known to the redactor at
// once, keys of models and variables that look like credentials too; the rest when it is first read. Hands a value to
// nobody but the tool's activity.
import path from 'node:path';
import type { Config } from '../../config';
import { ToolError } from '../../core/failure';
import { KnownSecrets, LEAST_CHARACTERS } from './known';
import { readPrivately, readSecretsFile, SecretsFileError } from './secrets-file';

const PREFIX = 'LONGHAUL_SECRET_';
/** Keys of models, of Temporal and of payloads: no tool is given these by us, but a provider may quote one. */
const KEYS = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'LONGHAUL_MODEL_API_KEY', 'TEMPORAL_API_KEY', 'LONGHAUL_PAYLOAD_KEYS'];
/** Variables that a tool may read by itself. */
const CREDENTIAL = /(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY)$/i;

export interface Secrets {
  /** Value by name, read anew each time. Throws ToolError `permission` with one sentence on what to do. */
  value: (name: string) => string;
  /** Makes the value of a name known, where it is set. */
  learn: (name: string) => void;
  known: KnownSecrets;
  /** What is to be said once, at start: secrets of the configuration that are not set or cannot be used. */
  notes: string[];
}

/** `folder` is the configuration's. Throws SecretsFileError when the file of secrets cannot be used. */
export function openSecrets({ config, folder, env }: { config: Pick<Config, 'secrets' | 'stores'> | null; folder: string; env: NodeJS.ProcessEnv }): Secrets {
  const known = new KnownSecrets();
  let file = readSecretsFile(folder, env);
  // A line that was added since counts without a new worker.
  const inFile = (name: string): string | undefined => file.get(name) ?? (file = readSecretsFile(folder, env)).get(name);
  const declared = config?.secrets ?? {};
  const placed = (name: string): string | undefined => {
    const place = Object.hasOwn(declared, name) ? declared[name] : undefined;
    if (place && 'file' in place) return readPrivately(path.resolve(folder, place.file)).trim();
    if (place) return env[place.env] ?? inFile(place.env);
    return env[variableOf(name)] ?? inFile(name) ?? env[name];
  };
  const value = (name: string): string => {
    const found = read(name, placed);
    if (known.add(name, found)) return found;
    throw refused(`The secret ${short(name)} has fewer than ${LEAST_CHARACTERS} characters, so that it could not be kept out of logs and events: set a longer one where the worker runs, and settle the run as retry.`);
  };
  const notes = Object.keys(declared).flatMap((name) => noteOf(name, value));
  for (const [name, text] of file) if (!known.add(name, text)) notes.push(`The secret ${name} of the secrets file has fewer than ${LEAST_CHARACTERS} characters and is refused: use a longer one.`);
  for (const name of Object.keys(env).filter((one) => one.startsWith(PREFIX))) {
    const text = env[name] ?? '';
    if (!known.add(name.slice(PREFIX.length), text) && text !== '') notes.push(`The variable ${name} has fewer than ${LEAST_CHARACTERS} characters and is refused as a secret: use a longer one.`);
  }
  for (const name of KEYS) for (const value of [env[name] ?? '', ...(env[name] ?? '').split(',')]) known.add(name, value.trim());
  for (const [name, text] of Object.entries(env)) if (CREDENTIAL.test(name) && looksStrong(text ?? '')) known.add(name, text ?? '');
  for (const text of [env['PGPASSWORD'], ...[env['LONGHAUL_DATABASE_URL'], config?.stores?.database].map(passwordOf)]) if (looksStrong(text ?? '')) known.add('LONGHAUL_DATABASE_URL', text ?? '');
  return { value, learn: (name) => void noteOf(name, value), known, notes };
}

/** The variable that sets a secret without any configuration. */
export const variableOf = (name: string): string => `${PREFIX}${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;

/** The password in an address, as it is typed where it is asked for. */
function passwordOf(address: string | undefined): string {
  try {
    return address && URL.canParse(address) ? decodeURIComponent(new URL(address).password) : '';
  } catch {
    return '';
  }
}

function read(name: string, placed: (name: string) => string | undefined): string {
  let found: string | undefined;
  try {
    found = placed(name);
  } catch (error) {
    if (error instanceof SecretsFileError) throw refused(`The secret ${short(name)} cannot be read. ${error.message}`);
    throw error;
  }
  if (found) return found;
  throw refused(`The secret ${short(name)} is not set: set ${variableOf(short(name))} where the worker runs, or a line ${short(name)}=... in secrets.env, and settle the run as retry.`);
}

/** A plan may name anything. */
const short = (name: string): string => name.slice(0, 80);

const refused = (message: string): ToolError => new ToolError('permission', 'secret', message);

function noteOf(name: string, value: (name: string) => string): string[] {
  try {
    value(name);
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** A word such as "postgres" in a variable called ..._PASSWORD would take that word out of every text. */
const looksStrong = (text: string): boolean => text.length >= 12 && /[0-9]/.test(text) && /[A-Za-z]/.test(text) && !/\s/.test(text) && !/^(\/|\.|[a-z]+:\/\/)/i.test(text);
