// `longhaul runs fork RUN --at SEQ`: a new run that begins with what another had come to, under keys of its own. Says what stands in,
// what the other run had done to the outside, and what nobody knows of. Decides nothing: the client judges place and plan.
import type { Command } from 'commander';
import type { Json } from '../../core/canonical';
import { secretsNamed } from '../../core/rules/binding';
import type { ForkAnswer } from '../../client/types';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { actorOf, budgetOf, reaching, wholeOf, type CommonOptions } from '../options';
import type { Place } from '../place';
import { command, data, json, say } from '../print';
import { workerNote } from '../workers';

interface ForkOptions extends CommonOptions { at: string; plan?: string; runId?: string; id?: string; budget?: string; as?: string; by?: string }

async function fork(place: Place, runId: string, options: ForkOptions): Promise<number> {
  const secrets = await place.secrets();
  const at = wholeOf('--at', options.at);
  const plan = options.plan === undefined ? undefined : await planIn(options.plan);
  for (const named of secretsNamed([plan ?? null])) secrets.learn(named);
  const client = await place.client();
  const id = options.runId ?? options.id;
  const answer = await client.fork(runId, {
    at, owner: actorOf(options), ...(id === undefined ? {} : { runId: id }), ...(plan === undefined ? {} : { plan }),
    ...(options.budget === undefined ? {} : { budget: budgetOf(options.budget) }),
  });
  if (options.json) json(answer);
  if (answer.kind === 'refused' || answer.kind === 'other-input') {
    if (!options.json) say(answer.why);
    return EXIT.usage;
  }
  if (options.json) return EXIT.done;
  data(answer.runId);
  tell(runId, at, answer);
  await workerNote(place);
  return EXIT.done;
}

async function planIn(file: string): Promise<Json> {
  const { readPlanFile } = await import('../../adapters/plans/plan-file');
  return readPlanFile(file).catch((error: unknown) => { throw new Stop(EXIT.usage, `${error instanceof Error ? error.message : String(error)} Nothing was forked.`); });
}

function tell(parent: string, at: number, { kind, runId, stands, effects, doubts, later }: Extract<ForkAnswer, { runId: string; row: object; stands: string[] }>): void {
  say(kind === 'forked' ? `Forked from ${parent} after event ${at}.` : `This fork was made before with this same request.`);
  if (stands.length > 0) say(`Done by then, and standing in: ${stands.join(', ')}`);
  if (effects.length > 0) say(`${parent} had done by then, and it is not repeated nor taken back by the fork: ${effects.join(', ')}`);
  const unknown = doubts.filter(({ since }) => !since);
  if (unknown.length > 0) say(`Nobody knows whether this was done before; you are asked before the fork does it: ${unknown.map(({ runId: by, tool, callId, why }) => `${by} ${tool} ${callId} (${why})`).join(', ')}`);
  for (const { tool, callId, since } of doubts) if (since) say(`Under way at event ${at}: ${tool} ${callId}. ${parent} ${since.how === 'done' ? 'did it' : 'failed at it'} at event ${since.seq}; you are asked before the fork does it again.`);
  if (later.length > 0) say(`${parent} has done since, or has under way; the fork does its own, where its plan says so: ${later.join(', ')}`);
  say(`Follow it with ${command(`longhaul runs watch ${runId}`)}`);
}

/** Adds `runs fork`. */
export function addRunsFork(runs: Command): void {
  reaching(runs.command('fork').argument('<run>').description('start a new run from what this one had come to after an event'))
    .requiredOption('--at <seq>', 'the event after which the fork begins: the last of a turn (npx longhaul runs events RUN)')
    .option('--plan <file>', 'what is done from there on (YAML or JSON); steps of it that are done by then stand in. Default: as planned')
    .option('--run-id <id>', 'id of the new run (default: made up)').option('--id <id>', 'the same as --run-id')
    .option('--budget <k=v,..>', 'what the fork may use from there on, by kind (default: what was left)')
    .option('--as <name>', 'owner of the fork (default: the user of the operating system)').option('--by <name>', 'the same as --as')
    .addHelpText('after', `
Earlier results stand in: no model and no tool is asked again for them. What the run had done to the outside stays its own: it
is listed (npx longhaul runs show ID), never repeated and never taken back by the fork. What was open is begun anew under new
keys: approvals and questions are asked again, and a call with an effect that may have been made is asked about first.`)
    .action(act(fork, ([, options]) => options));
}
