// `longhaul inbox`: everything that people are asked for, over all runs, with the exact command that answers each. Read from the
// rows of the journal, so that it works with no server and no worker, and asks no workflow. Where a server answers, a wait whose run
// nothing runs is told apart: what is decided counts only once it is restored.
import { Option, type Command } from 'commander';
import type { RunRow, WaitRow } from '../../core/row';
import type { Effect } from '../../core/run';
import { forWhom, thenWords } from '../../core/waits';
import { redactText } from '../../ports/redaction';
import { act } from '../act';
import { executionsOf, lostWords, restoreCommand } from '../executions';
import { reaching, type CommonOptions } from '../options';
import type { Place } from '../place';
import { command, count, data, distance, json, line, say } from '../print';

export interface Open { run: RunRow; wait: WaitRow }

const KINDS: WaitRow['kind'][] = ['approval', 'question', 'decision', 'callback', 'blocked', 'budget', 'paused'];
const RISKS: Effect[] = ['irreversible', 'manual', 'reversible', 'none'];
const riskOf = ({ wait }: Open): number => (wait.risk === undefined ? RISKS.length : RISKS.indexOf(wait.risk));

const ORDERS = {
  /** As the client gives them: the soonest end first. */
  until: () => 0,
  age: (a: Open, b: Open) => a.wait.since - b.wait.since,
  risk: (a: Open, b: Open) => riskOf(a) - riskOf(b),
} satisfies Record<string, (a: Open, b: Open) => number>;

/** Is this something that the person may decide, and has not yet? */
export const mayDecide = ({ who, not, granted = [] }: WaitRow, name: string): boolean => name !== not && !granted.includes(name) && (who.length === 0 || who.includes(name));

interface InboxOptions extends CommonOptions { sort: keyof typeof ORDERS; kind?: WaitRow['kind'][]; risk?: Effect[]; for?: string }

async function inbox(place: Place, options: InboxOptions): Promise<void> {
  const all = await (await place.client()).inbox();
  const wanted = all.filter(({ wait }) => (!options.kind || options.kind.includes(wait.kind)) && (!options.risk || (wait.risk !== undefined && options.risk.includes(wait.risk)))
    && (options.for === undefined || mayDecide(wait, options.for)));
  const rows = wanted.sort(ORDERS[options.sort]);
  if (options.json) return rows.forEach(jsonOf);
  if (rows.length === 0) return say(all.length === 0 ? 'Nobody is asked for anything.' : `Nothing like that is open; ${count(all.length, 'other wait')} ${all.length === 1 ? 'is' : 'are'}.`);
  const views = await executionsOf(place, rows.map(({ run }) => run));
  data(rows.map((open) => [block(open), ...lostLines(lostWords(open.run, views.get(open.run.runId)), open.run.runId)].join('\n')).join('\n'));
  say(`${count(rows.length, 'open wait')}.`);
}

const lostLines = (lost: string | null, runId: string): string[] =>
  (lost === null ? [] : [`    nothing runs it: it is ${lost}; first ${command(restoreCommand(runId))}`]);

/** One open wait as a line of JSON. */
export function jsonOf({ run, wait }: Open): void {
  json({ runId: run.runId, title: run.title, agent: run.agent, owner: run.owner, ...wait });
}

function block({ run, wait }: Open): string {
  const until = wait.until === null ? 'no end' : `until ${distance(wait.until)}, then ${thenWords(wait)}`;
  const reminded = wait.reminded ? `, reminded ${wait.reminded}×` : '';
  return [
    `${wait.waitId}  ${line(wait.what, 100)}`,
    `    ${[wait.kind, ...(wait.risk ? [wait.risk] : []), `asked ${distance(wait.since)}${reminded}`, until, `for ${forWhom(wait)}`].join(' · ')}`,
    ...(wait.args === undefined ? [] : [`    with ${redactText(wait.args)}`]),
    ...(wait.doubt === undefined ? [] : [`    second time? ${line(wait.doubt, 300)}`]),
    `    run ${run.runId}: ${line(run.title, 80)}`,
    `    ${command(wait.command)}`,
    // How to reject stands on the page of the approval, where one looks before deciding.
    ...(wait.kind === 'approval' ? [] : (wait.or ?? []).map((other) => `    ${command(other)}`)),
  ].join('\n');
}

export function addInbox(program: Command): void {
  reaching(program.command('inbox').description('everything that people are asked for, over all runs, with the command that answers it'))
    .addOption(new Option('--sort <by>', 'soonest end, longest waiting or highest risk first').choices(Object.keys(ORDERS)).default('until'))
    .addOption(new Option('--kind <kind...>', 'only these').choices(KINDS))
    .addOption(new Option('--risk <class...>', 'only calls of this effect class').choices(RISKS))
    .option('--for <name>', 'only what this person may decide')
    .action(act(inbox, ([options]) => options));
}
