// Crashes a user's plan everywhere, over the pure law: first once at every boundary of a good day (each workflow task, each
// step of each activity, each reply), then under random faults of many seeds. Tools count by their declaration (effect class,
// look-up, keys, undo); none of their code runs. The outside of the simulation is the judge, never what the run says of itself.
import { canonical, type Json } from '../core/canonical';
import type { PolicyVerdict } from '../core/events';
import type { Budget, ToolManifest } from '../core/run';
import { parsePlan } from '../core/rules/plan-reading';
import { toolManifest, type ToolDeclaration } from '../core/tool';
import { crashTable, type CrashRow, type CrashToolRow } from './crash-table';
import { simulate, type SimulatedScenario, type SimulateOptions, type SimulationReport } from './simulator';
import { agentManifest } from './simulator-scenarios';
import { STRIKES, type Mutant, type Strike } from './simulator-types';

/** What is crashed: tools as they are declared, a plan as it stands in a plan file, and what policy says. */
export interface CrashScenario {
  name?: string;
  /** `defineTool(...)` fits as it is. */
  tools: readonly ToolDeclaration[];
  /** `{goal, steps}`, as in a plan file. */
  plan: Json;
  /** Verdict by tool. Left out, the effect class decides: readers and reversible tools are free, for others a person is asked. */
  policy?: Readonly<Record<string, 'allow' | 'ask' | PolicyVerdict>>;
  /** What tools answer, by name, for steps that refer to it with `$from`. */
  outputs?: Readonly<Record<string, Json>>;
  budget?: Budget;
}

export interface CrashOptions {
  /** Seeds of random faults, for each of the two kinds: faults without end, and faults that stop. Default 100. */
  seeds?: number;
  /** The first seed; default 1. */
  from?: number;
  /** Stop at the first problem. */
  firstProblem?: boolean;
  /** A deliberate bug of the runtime, to see that it is noticed. */
  mutant?: Mutant;
  /** Hears each row as it is done. */
  progress?: (row: CrashRow) => void;
}

export interface CrashReport {
  rows: CrashRow[];
  tools: CrashToolRow[];
  /** Runs that were played. */
  runs: number;
  /** What must never be and was, one line each with how to play it again; empty when all is well. */
  problems: string[];
  /** Both tables, ready to print. */
  table: string;
}

/**
 * Plays every crash and reports. Takes some milliseconds a run; a plan of five steps has a few hundred boundaries.
 * @throws Error with one sentence when the plan cannot be read, or does not complete on a day without any crash.
 */
export function crashEverywhere(scenario: CrashScenario, options: CrashOptions = {}): CrashReport {
  return new Crashes(simulated(scenario), options).report();
}

class Crashes {
  private readonly rows: CrashRow[] = [];
  private readonly problems: string[] = [];
  private readonly tools = new Map<string, CrashToolRow>();
  private readonly calm: SimulationReport;

  constructor(private readonly scenario: SimulatedScenario, private readonly options: CrashOptions) {
    this.calm = simulate(this.calmly());
    const { end, steps, blocked } = this.calm.state;
    if (end?.status === 'completed' && end.outcome === 'full' && this.calm.violations.length === 0) return;
    const why = this.calm.violations[0] ?? this.calm.events.flatMap((event) => (event.type === 'StepFailed' ? [`step ${event.data.stepId} failed: ${event.data.failure.message}`] : []))[0]
      ?? `its end is ${end?.outcome ?? 'not reached'}`;
    throw new Error(`The plan does not complete even without a crash (${why}${blocked ? ', and the run is blocked' : ''}; ${steps.length} steps); mend the plan, or say in "outputs" what tools answer that it refers to.`);
  }

  private calmly(): SimulateOptions {
    return { seed: this.options.from ?? 1, mode: 'liveness', calm: true, scenario: this.scenario };
  }

  report(): CrashReport {
    for (const kind of STRIKES) this.struck(kind);
    const { seeds = 100, from = 1 } = this.options;
    if (seeds > 0) for (const mode of ['safety', 'liveness'] as const) this.stormy(mode, from, seeds);
    const tools = [...this.tools.values()].sort((a, b) => (a.tool < b.tool ? -1 : 1));
    const runs = this.rows.reduce((sum, row) => sum + row.runs, 0);
    return { rows: this.rows, tools, runs, problems: this.problems, table: crashTable(this.rows, tools) };
  }

  /** One run for each boundary at which this can happen. */
  private struck(kind: Strike): void {
    const row = emptyRow(kind, 0);
    const expected = stepsOf(this.calm);
    const points = this.calm.boundaries.get(kind) ?? 0;
    for (let nth = 1; nth <= points && !this.enough(); nth += 1) {
      const strike = { kind, nth };
      const run = simulate({ ...this.calmly(), strike, mutant: this.options.mutant });
      this.count(row, run, `strike ${JSON.stringify(strike)}`);
      row.expected = (row.expected ?? 0) + expected.length;
      const alike = endOf(run) === endOf(this.calm);
      if (!alike) row.otherEnds += 1;
      const seen = stepsOf(run);
      const missing = expected.filter((step) => !seen.includes(step));
      if (!alike || missing.length === 0) continue;
      row.lost += missing.length;
      this.problems.push(`strike ${JSON.stringify(strike)}: the run ends as on a good day, but ${missing.join(', ')} did not happen.`);
    }
    this.done(row);
  }

  private stormy(mode: 'safety' | 'liveness', from: number, seeds: number): void {
    const row = emptyRow(mode === 'safety' ? 'random faults without end' : 'random faults that stop', null);
    for (let seed = from; seed < from + seeds && !this.enough(); seed += 1) this.count(row, simulate({ seed, mode, scenario: this.scenario, mutant: this.options.mutant }), `seed ${seed} (${mode})`);
    this.done(row);
  }

  private enough(): boolean {
    return this.options.firstProblem === true && this.problems.length > 0;
  }

  private done(row: CrashRow): void {
    this.rows.push(row);
    this.options.progress?.(row);
  }

  private count(row: CrashRow, run: SimulationReport, which: string): void {
    row.runs += 1;
    for (const violation of run.violations) {
      this.problems.push(`${which}: ${violation}`);
      if (violation.startsWith('C1')) row.doubled += 1;
      if (violation.startsWith('C2')) row.lost += 1;
    }
    for (const effect of run.effects) {
      row.seen += 1;
      this.tool(effect.tool).effects += 1;
    }
    const tools = new Map(run.events.flatMap((event) => (event.type === 'ToolCallRequested' ? [[event.data.callId, event.data.tool] as const] : [])));
    for (const event of run.events) {
      if (event.type !== 'HumanDecisionRequested') continue;
      row.asked += 1;
      this.tool(tools.get(event.data.callId) ?? 'unknown').asked += 1;
    }
  }

  private tool(name: string): CrashToolRow {
    const known = this.tools.get(name) ?? { tool: name, effects: 0, asked: 0 };
    this.tools.set(name, known);
    return known;
  }
}

const emptyRow = (crash: string, expected: number | null): CrashRow => ({ crash, runs: 0, expected, seen: 0, asked: 0, otherEnds: 0, doubled: 0, lost: 0 });

/** Step and tool of each effect; the key of a call differs from run to run only where a step was prepared anew. */
function stepsOf(run: SimulationReport): string[] {
  const byKey = new Map(run.events.flatMap((event) => (event.type === 'ToolCallRequested' ? [[event.data.key, event.data.stepId ?? ''] as const] : [])));
  return run.effects.map((effect) => `${effect.tool} of step ${byKey.get(effect.key) ?? '?'}${effect.undoes ? ' taken back' : ''}`);
}

const endOf = ({ state }: SimulationReport): string => canonical({ end: [state.end?.status, state.end?.outcome], steps: state.steps.map(({ id, status }) => ({ id, status })) });

function simulated({ name = 'crashed everywhere', tools, plan, policy = {}, outputs, budget = {} }: CrashScenario): SimulatedScenario {
  const manifests = tools.map(toolManifest);
  const read = parsePlan(plan, manifests);
  if ('reasons' in read) throw new Error(`The plan cannot be read: ${read.reasons.join(' ')}`);
  return {
    name, agent: agentManifest({ tools: manifests }), plan: read.patch, proposals: [], budget, oneHost: true,
    owner: { id: 'olga', via: 'cli', assurance: 'local-user' }, people: ['ann', 'bob', 'boss', 'olga'],
    policy: Object.fromEntries(manifests.map((tool) => [tool.name, verdict(tool, policy[tool.name])])),
    ...(outputs ? { outputs } : {}),
  };
}

function verdict({ effect }: ToolManifest, said: 'allow' | 'ask' | PolicyVerdict | undefined): PolicyVerdict {
  if (typeof said === 'object') return said;
  const free = said === undefined ? effect === 'none' || effect === 'reversible' : said === 'allow';
  if (free) return { decision: 'allow', rule: 'free', why: 'The scenario allows it.' };
  return { decision: 'ask', rule: 'asked', why: 'A person decides.', approval: { quorum: 1, approvers: [], ownerMay: effect !== 'irreversible', rule: 'asked' } };
}
