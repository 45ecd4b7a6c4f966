// Options that many commands share, and the reading of values from the command line. A value that cannot be read is a usage
// error (exit 2) that names the option and an example.
import { readFileSync } from 'node:fs';
import os from 'node:os';
import type { Command } from 'commander';
import type { Json } from '../core/canonical';
import { DEEPEST_JSON, nestedBeyond } from '../core/rules/binding';
import { durationMs } from '../core/rules/duration';
import type { Actor, Budget } from '../core/run';
import { EXIT, Stop } from './exit';

export interface CommonOptions { json?: boolean; stateDir?: string; config?: string; address?: string; namespace?: string; taskQueue?: string }

export interface DeciderOptions extends CommonOptions { as?: string; by?: string; messageId?: string; token?: string }

/** Characters that a run takes of what people give with a decision; messages.ts refuses what is longer. */
export const MOST = { messageId: 128, reason: 4_096, reference: 4_096, stepId: 100, terms: 8, member: 200, value: 500 } as const;

/** Reads a text of an option and refuses one that no run would take, before anything is sent. */
export const upTo = (option: string, most: number, least = 0) => (text: string): string => {
  if (text.length >= least && text.length <= most) return text;
  throw new Stop(EXIT.usage, text === '' ? `${option} is empty: give 1 to ${count(most)} characters, or leave it out.` : `${option} may have ${count(most)} characters at most, and this has ${count(text.length)}: say it in fewer.`);
};
const count = (n: number): string => n.toLocaleString('en');

/** `--json` and where the runs are. */
export function reading(command: Command): Command {
  return command
    .option('--json', 'print data as JSON, one value a line')
    .option('--state-dir <dir>', 'folder of journal, artifacts and ports (default: the configuration\'s, else .longhaul)')
    .option('--config <file>', 'configuration file (default: longhaul.config.* here, else the bundled example)');
}

/** The options of `reading`, and which Temporal server; flag names are Temporal's own. */
export function reaching(command: Command): Command {
  return reading(command)
    .option('--address <host:port>', 'Temporal server (default: TEMPORAL_ADDRESS, a profile, or the development server of the state folder)')
    .option('--namespace <name>', 'Temporal namespace')
    .option('--task-queue <name>', 'queue of the workers; give each state folder on one server its own (default: longhaul)');
}

/** The options of `reaching`, and who decides. */
export function deciding(command: Command): Command {
  return reaching(command)
    .option('--as <name>', 'decide under this name (default: the user of the operating system)')
    .option('--by <name>', 'the same as --as')
    .option('--message-id <id>', 'id of the message; the same id again counts once', upTo('--message-id', MOST.messageId, 1))
    .option('--token <file>', 'decide with a token (approvals token) from a file; - reads stdin');
}

/** Who acts at this command line. */
export function actorOf(options: { as?: string; by?: string }): Actor {
  return { id: nameOf(options.by === undefined ? '--as' : '--by', options.as ?? options.by ?? userName()), via: 'cli', assurance: 'local-user' };
}

/** A person's name. One person must not be two by blanks, by what cannot be seen, or by two ways to write one letter. */
export function nameOf(option: string, text: string): string {
  const name = text.trim().normalize('NFC');
  if (name === '' || name.length > 200 || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u.test(name)) {
    throw new Stop(EXIT.usage, `${option} needs a name of 1 to 200 characters that can be seen, not ${JSON.stringify(text.slice(0, 60))}.`);
  }
  return name;
}

/** The user of the operating system. */
export function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return process.env.USER || process.env.USERNAME || 'unknown';
  }
}

const KINDS: Record<string, keyof Budget> = { calls: 'calls', tokens: 'tokens', microUsd: 'microUsd', failures: 'failures', wallMs: 'wallMs' };

/** `calls=50,usd=0.5,wall=30m` as a budget. `usd` takes dollars, `wall` a time such as 90s, 30m, 2h. */
export function budgetOf(text: string): Budget {
  const budget: Budget = {};
  for (const part of text.split(',').map((one) => one.trim()).filter(Boolean)) {
    const [kind = '', value = ''] = part.split('=');
    if (kind === 'usd') budget.microUsd = number(part, Math.round(Number(value) * 1_000_000));
    else if (kind === 'wall') budget.wallMs = number(part, durationMs(value) ?? Number.NaN);
    else if (Object.hasOwn(KINDS, kind)) budget[KINDS[kind]!] = number(part, Number(value));
    else throw new Stop(EXIT.usage, `--budget has no kind "${kind}"; write e.g. --budget calls=50,tokens=200000,usd=0.5,failures=5,wall=30m.`);
  }
  return budget;
}

function number(part: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0 && !part.endsWith('=')) return value;
  throw new Stop(EXIT.usage, `--budget cannot read "${part}"; write e.g. --budget calls=50,usd=0.5,wall=30m.`);
}

/** A time such as `2h`, in ms. */
export function durationOf(option: string, text: string): number {
  const ms = durationMs(text);
  if (ms !== null) return ms;
  throw new Stop(EXIT.usage, `${option} needs a time such as 90s, 30m, 2h or 1d, not "${text}".`);
}

/** JSON given as it is, or as `@FILE`, nested at most `deepest` levels. */
export function jsonOf(option: string, text: string, deepest = DEEPEST_JSON): Json {
  try {
    const value = JSON.parse(textOf(option, text)) as Json;
    if (nestedBeyond(value, deepest)) throw new Stop(EXIT.usage, `${option} is nested too deep: write JSON of at most ${deepest} levels.`);
    return value;
  } catch (error) {
    if (error instanceof Stop) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw new Stop(EXIT.usage, `${option} is not JSON (${said}); write it as '{"name":"value"}' or as @FILE.`);
  }
}

/** Text that says something, given like that of `textOf`. */
export function saidIn(option: string, text: string): string {
  const said = textOf(option, text);
  if (said.trim() !== '') return said;
  throw new Stop(EXIT.usage, `${option} is empty; say something, or give a file that does as @FILE.`);
}

/** Text given as it is, or as `@FILE`; `@-` is stdin. */
export function textOf(option: string, text: string): string {
  if (!text.startsWith('@')) return text;
  try {
    return readFileSync(text === '@-' ? 0 : text.slice(1), 'utf8');
  } catch (error) {
    throw new Stop(EXIT.usage, `${option}: the file ${text.slice(1)} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`);
  }
}

/** A port, or 0 for any that is free. */
export function portOf(option: string, text: string): number {
  const port = wholeOf(option, text);
  if (port <= 65_535) return port;
  throw new Stop(EXIT.usage, `${option} needs a port from 1 to 65535, or 0 for any that is free, not "${text}".`);
}

/** A whole number of an option. */
export function wholeOf(option: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Stop(EXIT.usage, `${option} needs a whole number, not "${text}".`);
}
