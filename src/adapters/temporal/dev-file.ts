// Reads temporal-dev.yml, the one declaration of the development server: its command line and its search attributes.
// Owns nothing that the file declares: no flag and no search attribute is written down here a second time.
// Four flags are replaced for a local start (ip, port, ui-port, db-filename); everything else is passed on as it stands.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { TemporalUnavailable } from './unavailable';

const fileName = 'temporal-dev.yml';

/** Where a local server listens and what it keeps its state in. */
export interface LocalFlags {
  ip: string;
  port: number;
  uiPort: number;
  /** Path of the SQLite file. */
  dbFile: string;
}

export interface SearchAttribute {
  name: string;
  /** As Temporal's command line names it: Keyword, KeywordList, Datetime, ... */
  type: string;
}

/** The absolute path of the package's temporal-dev.yml: found upwards from here, in sources and in dist alike. */
export function devFile(): string {
  for (let folder = __dirname; ; folder = path.dirname(folder)) {
    const file = path.join(folder, fileName);
    if (existsSync(file)) return file;
    if (folder !== path.dirname(folder)) continue;
    throw new TemporalUnavailable('bad-declaration', `${fileName} is missing from the package: install it again.`);
  }
}

/** `services.temporal.command` as it stands in the file: the arguments after the binary's name. */
export function declaredCommand(file: string = devFile()): string[] {
  const document = parse(readFileSync(file, 'utf8')) as { services?: { temporal?: { command?: unknown } } } | null;
  const command = document?.services?.temporal?.command;
  if (Array.isArray(command) && command.length > 0 && command.every((part) => typeof part === 'string')) return command;
  throw new TemporalUnavailable('bad-declaration', `${file} needs services.temporal.command as a list of texts (quote the numbers).`);
}

/**
 * The arguments with which the local binary starts the declared server.
 * Throws TemporalUnavailable (`bad-declaration`) when one of the four flags is not in the file.
 */
export function devCommand(flags: LocalFlags, file: string = devFile()): string[] {
  const command = declaredCommand(file);
  const replaced = {
    '--ip': flags.ip,
    '--port': String(flags.port),
    '--ui-port': String(flags.uiPort),
    '--db-filename': flags.dbFile,
  };
  for (const [flag, value] of Object.entries(replaced)) {
    const at = command.indexOf(flag);
    if (at < 0 || at + 1 >= command.length) {
      throw new TemporalUnavailable('bad-declaration', `${file} needs ${flag} and its value as two entries of services.temporal.command.`);
    }
    command[at + 1] = value;
  }
  return command;
}

/** The declared search attributes, in the order of the file. Worker and doctor check this very list. */
export function declaredSearchAttributes(file: string = devFile()): SearchAttribute[] {
  const command = declaredCommand(file);
  return command.flatMap((part, index) => {
    const [name, type] = (command[index + 1] ?? '').split('=');
    return part === '--search-attribute' && name && type ? [{ name, type }] : [];
  });
}
