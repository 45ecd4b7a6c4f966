// `longhaul run AGENT`: accepts a run durably and starts it. A plan is judged before anything is accepted (exit 2, naming the
// step). Ends with 0 once the run is accepted; with --watch it follows the run and ends with the code of what came of it.
import type { Command } from 'commander';
import type { Json } from '../../core/canonical';
import { contractOf } from '../../core/keys';
import { secretsNamed } from '../../core/rules/binding';
import type { StepOutline } from '../../core/plan';
import { parsePlan } from '../../core/rules/planning';
import type { RunRow } from '../../core/row';
import type { RunSpec } from '../../core/run';
import type { StartAnswer } from '../../client/types';
import type { ResolvedAgent } from '../../adapters/config/resolve';
import { act } from '../act';
import { executionsOf, lostWords, restoreCommand } from '../executions';
import { EXIT, EXIT_HELP, Stop } from '../exit';
import { follow } from '../follow';
import { actorOf, budgetOf, jsonOf, reaching, type CommonOptions } from '../options';
import type { Place } from '../place';
import { command, data, json, say } from '../print';
import { workerNote } from '../workers';

interface RunOptions extends CommonOptions { input?: string; plan?: string; runId?: string; budget?: string; watch?: boolean; stay?: boolean; as?: string; by?: string }

async function run(place: Place, name: string, options: RunOptions): Promise<number> {
  // First of all: what cannot be read is quoted.
  const secrets = await place.secrets();
  const agent = await agentOf(place, name);
  const input = options.input === undefined ? null : jsonOf('--input', options.input);
  const plan = options.plan === undefined ? null : await checkedPlan(place, agent, options.plan);
  if (plan === null && agent.manifest.planner === 'declared') throw new Stop(EXIT.usage, `Agent ${name} follows declared plans: give one with --plan FILE.`);
  for (const named of secretsNamed([input, plan])) secrets.learn(named);
  const budget = options.budget === undefined ? {} : budgetOf(options.budget);
  const owner = actorOf(options);
  const spec: RunSpec = { v: 1, agent: name, input, plan, budget, owner };
  const client = await place.client({ mustExist: false });
  const answer = await client.start({ runId: options.runId, agent: name, input, plan, budget, owner, title: agent.title(spec) });
  const runId = accepted(answer, options);
  if (!options.watch) {
    if (answer.kind === 'known') await tellLost(place, answer.row);
    await workerNote(place);
    return EXIT.done;
  }
  await workerNote(place);
  return follow(client, runId, { json: options.json, ...(options.stay ? { stay: true } : {}) });
}

/** Says what became of the request; answers the run id. Throws Stop (2) when it was refused. */
function accepted(answer: StartAnswer, options: RunOptions): string {
  if (answer.kind === 'other-input' || answer.kind === 'refused') {
    if (options.json) json(answer);
    throw new Stop(EXIT.usage, answer.why);
  }
  const { runId, kind, row } = answer;
  if (options.watch) say(kind === 'started' ? `Run ${runId} is accepted.` : `Run ${runId} was accepted before with this same input; it is ${row.status}.`);
  else if (options.json) json({ kind, ...row });
  else {
    data(runId);
    say(kind === 'started' ? `Accepted. Follow it with ${command(`longhaul runs watch ${runId}`)}` : `This run was accepted before with this same input; it is ${row.status}: ${row.detail}`);
  }
  return runId;
}

/** A run that was accepted before may have lost its execution since; asked for again it does not go on by itself. */
async function tellLost(place: Place, row: RunRow): Promise<void> {
  const lost = lostWords(row, (await executionsOf(place, [row])).get(row.runId));
  if (lost !== null) say(`Nothing runs it: its execution is ${lost}. ${command(restoreCommand(row.runId))} goes on with it.`);
}

/** The agent by name, with what it would be pinned with. */
export async function agentOf(place: Place, name: string): Promise<ResolvedAgent> {
  const [{ resolveAgents }, { modelFromEnv }] = [await import('../../adapters/config/resolve'), await import('../../adapters/models/from-env')];
  const { config, file } = await place.config();
  const model = modelFromEnv(process.env);
  const agents = resolveAgents(config, 'id' in model ? model.id : null);
  const agent = agents.get(name);
  if (!agent) throw new Stop(EXIT.usage, `No agent is called ${name} in ${file}; known are ${[...agents.keys()].join(', ')}.`);
  return agent;
}

async function checkedPlan(place: Place, agent: ResolvedAgent, file: string): Promise<Json> {
  const { readPlanFile } = await import('../../adapters/plans/plan-file');
  const plan = await readPlanFile(file).catch((error: unknown) => { throw new Stop(EXIT.usage, `${error instanceof Error ? error.message : String(error)} Nothing was started.`); });
  // Whether a model is there is judged by the worker: its environment, not this one, has the keys.
  const parsed = parsePlan(plan, agent.manifest.tools, { model: true });
  const reasons = 'reasons' in parsed ? parsed.reasons : await argumentsOf(place, agent, parsed.patch.add);
  if (reasons.length > 0) throw new Stop(EXIT.usage, `The plan ${file} is refused, nothing was started:\n${reasons.map((reason) => `  ${reason}`).join('\n')}`);
  return plan;
}

/** What the tools' schemas say of the names of arguments, and of arguments that are whole as written; other values are judged when their step is prepared. */
async function argumentsOf(place: Place, { manifest }: ResolvedAgent, steps: readonly StepOutline[]): Promise<string[]> {
  const [{ toolsByContract }, { misfits, misnamed }, { inputSchema }] = [await import('../../adapters/config/resolve'), await import('../../activities/schema-reasons'), await import('../../adapters/tools/define-tool')];
  const all = toolsByContract((await place.config()).config);
  const tools = new Map(manifest.tools.flatMap(({ name, version }) => { const tool = all.get(contractOf(name, version)); return tool ? [[name, tool] as const] : []; }));
  return steps.flatMap((step) => {
    const whole = misfits(step, tools);
    return whole.length > 0 ? whole : misnamed(step, tools, inputSchema);
  });
}

/** Adds `run`. */
export function addRun(program: Command): void {
  reaching(program.command('run').argument('<agent>').description('start a run; returns once it is accepted'))
    .option('--input <json>', 'what the run is asked to do, as JSON or @FILE')
    .option('--plan <file>', 'a declared plan (YAML or JSON)')
    .option('--run-id <id>', 'your id: the same id with the same input is the same run')
    .option('--budget <k=v,..>', 'limits, e.g. calls=50,tokens=200000,usd=0.5,failures=5,wall=30m')
    .option('--watch', 'follow the run; without a terminal until it is over or waits for a person')
    .option('--stay', 'with --watch: stay while it waits for a person (default on a terminal)')
    .option('--as <name>', 'owner of the run (default: the user of the operating system)').option('--by <name>', 'the same as --as')
    .addHelpText('after', `\n${EXIT_HELP}`)
    .action(act(run, ([, options]) => options));
}
