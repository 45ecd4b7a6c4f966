// The effect server's own log, one JSON line for each effect and each request: the judge of what really happened. Appended and
// flushed to disk before anything is answered, read back at the start, so that a kill at any moment loses nothing that was said.
// Knows no HTTP and nothing of runs.
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { Json } from '../core/canonical';

/** One effect that took place. */
export interface LoggedEffect { kind: 'effect'; at: number; thing: string; key: string | null; body: Json; revision: number }

/** One request and what it met; `outcome` names the trouble, or what was answered. */
export interface LoggedRequestLine { kind: 'request'; at: number; method: string; path: string; key: string | null; status: number; outcome: string }

/** How a thing behaves until it is told otherwise. */
export interface ThingRules {
  /** One effect a key, the same answer again for the same request. Default true. */
  honoursKeys: boolean;
  /** Answers `GET /keys/KEY`. Default true. */
  lookUp: boolean;
}

/** What a request meets, once. Times in ms. */
export type Trouble =
  | { kind: 'slow'; beforeMs?: number; afterMs?: number }
  /** Has the effect and never answers. */
  | { kind: 'hang' }
  /** Has the effect and destroys the connection. */
  | { kind: 'drop' }
  /** Has the effect and answers with a failure all the same. */
  | { kind: 'fail-after'; status: number }
  /** Has no effect and answers with this status, e.g. 429 or 503; `retryAfterS` is sent as Retry-After. */
  | { kind: 'fail'; status: number; retryAfterS?: number }
  /** Has no effect and refuses for good: 422. */
  | { kind: 'refuse'; why?: string };

/** What the server was told; kept in the log as well, so that a restart changes nothing. */
export type ToldLine = { kind: 'told'; at: number; thing: string } & ({ rules: Partial<ThingRules> } | { troubles: Trouble[] });

type Line = LoggedEffect | LoggedRequestLine | ToldLine;

export const EFFECT_LOG = 'effects.jsonl';

/** Every whole line of a log; a line that was cut off by a kill is left out. */
export function readEffectLog(folder: string): Line[] {
  const file = path.join(folder, EFFECT_LOG);
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').split('\n').slice(0, -1).filter(Boolean).map((line) => JSON.parse(line) as Line);
}

export class EffectLog {
  private readonly fd: number;
  readonly before: readonly Line[];

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    const file = path.join(folder, EFFECT_LOG);
    this.before = readEffectLog(folder);
    // What a kill cut off was never answered.
    if (existsSync(file)) truncateSync(file, readFileSync(file).lastIndexOf('\n') + 1);
    this.fd = openSync(file, 'a', 0o600);
  }

  write(line: Line): void {
    writeSync(this.fd, `${JSON.stringify(line)}\n`);
    fsyncSync(this.fd);
  }

  close(): void {
    closeSync(this.fd);
  }
}
