// Follows a run on the terminal: its events as they come, what it waits for when it stops, how it ended. Ctrl-C detaches, which
// changes nothing for the run. Without a terminal it ends when only a person can go on, with the code for that.
import { setTimeout as sleep } from 'node:timers/promises';
import type { LonghaulClient } from '../client/client';
import { isOver } from '../client/start';
import type { RunRow, WaitRow } from '../core/row';
import { lostWords, restoreCommand } from './executions';
import { codeOfRow, EXIT } from './exit';
import { waitLines } from './page';
import { command, data, isTerminal, json, say } from './print';
import { tellEvent } from './tell';

const PEOPLE: ReadonlySet<WaitRow['kind']> = new Set(['approval', 'question', 'decision', 'blocked', 'budget', 'paused']);

/** Does the run stand still until a person does something? */
export const waitsForPeople = (row: RunRow): boolean =>
  ['waiting', 'paused', 'blocked'].includes(row.status) && row.waits.some((wait) => PEOPLE.has(wait.kind));

export interface FollowOptions {
  json?: boolean;
  after?: number;
  /** Stay although only a person can go on; default: on a terminal. */
  stay?: boolean;
}

/** Prints a run's events until it is over, waits for people, or Ctrl-C. Answers the exit code. */
export async function follow(client: LonghaulClient, runId: string, options: FollowOptions = {}): Promise<number> {
  const stay = options.stay ?? isTerminal();
  const stop = new AbortController();
  const detach = (): void => stop.abort();
  process.once('SIGINT', detach);
  let last = options.after ?? 0;
  let told = '';
  const loss = lossOf(client, runId);
  const idle = (row: RunRow): boolean => {
    told = tellWaits(row, told);
    return loss.words(row) !== null || (!stay && waitsForPeople(row));
  };
  try {
    for (;;) {
      for await (const event of client.watch(runId, { after: last, signal: stop.signal, idle })) {
        last = event.seq;
        if (options.json) json(event);
        else data(tellEvent(event));
      }
      const { row } = await client.show(runId);
      if (stop.signal.aborted) {
        say(`Detached; the run goes on. Follow it again with ${command(`longhaul runs watch ${runId} --after ${last}`)}`);
        return EXIT.done;
      }
      // What Temporal said may be older than the row: it is asked once more before anything is called lost.
      const how = isOver(row) || loss.words(row) === null ? null : await loss.now(row);
      if (how !== null) {
        say(`${runId} is ${row.status}, but nothing runs it: it is ${how}. Go on with it: ${command(restoreCommand(runId))}`);
        return EXIT.error;
      }
      if (!isOver(row) && (stay || !waitsForPeople(row))) continue;
      say(`${runId} is ${row.status}${row.outcome ? ` (${row.outcome})` : ''}: ${row.detail}`);
      return codeOfRow(row);
    }
  } finally {
    process.removeListener('SIGINT', detach);
    await loss.over();
  }
}

/** Says what people are asked for, once; answers what has been said. */
function tellWaits(row: RunRow, told: string): string {
  const open = row.waits.filter((wait) => PEOPLE.has(wait.kind));
  const now = waitsForPeople(row) ? open.map((wait) => wait.waitId).join(',') : '';
  if (now !== '' && now !== told) for (const wait of open) say(waitLines(wait).join('\n'));
  return now;
}

/** ms between two looks at whether anything runs a run that says nothing. */
const LOOK_MS = 5_000;
/** ms for which the last look is waited for. */
const OVER_MS = 2_000;

/**
 * How Temporal lost the run; null while it runs, or where nobody can tell. `words` is asked now and then while nothing happens, `now` at once.
 * `over` waits for what was asked last, so that no connection is closed under it.
 */
function lossOf(client: LonghaulClient, runId: string): { words(row: RunRow): string | null; now(row: RunRow): Promise<string | null>; over(): Promise<unknown> } {
  let lost: string | null = null;
  let looked = Date.now();
  let look: Promise<unknown> = Promise.resolve();
  const now = (row: RunRow): Promise<string | null> => client.execution(runId).then((view) => (lost = lostWords(row, view)), () => null);
  return {
    now,
    over: async () => {
      const enough = new AbortController();
      await Promise.race([look, sleep(OVER_MS, undefined, { signal: enough.signal }).catch(() => undefined)]);
      enough.abort();
    },
    words: (row) => {
      if (Date.now() - looked > LOOK_MS) {
        looked = Date.now();
        look = now(row);
      }
      return lost;
    },
  };
}
