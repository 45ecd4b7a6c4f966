// `longhaul runs restore RUN|--all`: goes on with runs that nothing runs any more, on their own queues, and wakes one that sleeps.
// Asked again it does nothing more. What is done to a run is the client's business; here it is told, one line a run.
import type { Command } from 'commander';
import type { RestoreAnswer } from '../../client/types';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { reaching, type CommonOptions } from '../options';
import type { Place } from '../place';
import { command, count, json, say } from '../print';
import { workerNote } from '../workers';

interface RestoreFlags extends CommonOptions { force?: boolean; all?: boolean }

async function restore(place: Place, runId: string | undefined, options: RestoreFlags): Promise<number> {
  if ((runId === undefined) === (options.all !== true)) throw new Stop(EXIT.usage, 'Name one run to restore, or --all for every open run that nothing runs: npx longhaul doctor names them.');
  if (runId === undefined && options.force) throw new Stop(EXIT.usage, '--force ends an execution that runs; it goes with the name of one run, not with --all.');
  const queue = options.taskQueue === undefined ? {} : { taskQueue: options.taskQueue };
  if (runId === undefined) return all(place, queue, options);
  const answer = await (await place.client()).restore(runId, { force: options.force === true, ...queue });
  if (options.json) json(answer);
  if (answer.kind === 'refused') {
    if (!options.json) say(answer.why);
    return EXIT.error;
  }
  if (options.json) return EXIT.done;
  say(`${wordsOf(runId, answer)} Follow it with ${command(`longhaul runs watch ${runId}`)}`);
  if (answer.kind === 'restored') await noteQueue(place, answer.taskQueue);
  await workerNote(place);
  return EXIT.done;
}

/** A run goes on where it was accepted: told when the workers here are others. */
async function noteQueue(place: Place, taskQueue: string): Promise<void> {
  if (taskQueue !== place.taskQueue) say(`Its workers poll "${taskQueue}", not "${place.taskQueue}" as here: start one with --task-queue ${taskQueue}, or restore it with --force --task-queue ${place.taskQueue}.`);
}

function wordsOf(runId: string, answer: RestoreAnswer): string {
  if (answer.kind === 'refused') return answer.why;
  if (answer.kind === 'woken') return `Run ${runId} had fallen behind its journal (${answer.over}) and was told to read on.`;
  return `Run ${runId} goes on in a new execution (epoch ${answer.epoch}); older ones are fenced.`;
}

async function all(place: Place, queue: { taskQueue?: string }, options: CommonOptions): Promise<number> {
  const told = { restored: 0, woken: 0, refused: 0 };
  const queues = new Set<string>();
  for await (const { row, answer } of (await place.client()).restoreAll(queue)) {
    told[answer.kind] += 1;
    if (answer.kind === 'restored') queues.add(answer.taskQueue);
    if (options.json) json({ title: row.title, ...answer, runId: row.runId });
    else say(wordsOf(row.runId, answer));
  }
  if (!options.json) {
    const some = told.restored + told.woken + told.refused;
    say(some === 0 ? 'Nothing to restore: every open run is run by an execution.' : `${count(told.restored, 'run')} restored${told.woken > 0 ? `, ${told.woken} woken` : ''}${told.refused > 0 ? `, ${told.refused} left alone` : ''}.`);
    for (const taskQueue of queues) await noteQueue(place, taskQueue);
    if (some > 0) await workerNote(place);
  }
  return told.refused > 0 ? EXIT.error : EXIT.done;
}

/** Adds `runs restore`. */
export function addRunsRestore(runs: Command): void {
  reaching(runs.command('restore').argument('[run]').description('go on in a new execution after a terminate, a reset, or the loss of Temporal\'s database'))
    .option('--all', 'every open run that nothing runs, one after the other; safe to ask again')
    .option('--force', 'also when Temporal says that its execution runs: that one is ended and fenced')
    .addHelpText('after', `
For a run whose execution was terminated or reset, reached Temporal's limit of history, began on a build that is gone (--force), or
that Temporal no longer knows because its database was lost. It keeps its id and its keys, and goes on on its own task queue unless
--task-queue names another. What may have been done is looked up before it is done again. A run that runs needs no restore, and
is woken if it has fallen behind its journal; one that waits for a person is answered: npx longhaul runs show RUN`)
    .action(act(restore, ([, options]) => options));
}
