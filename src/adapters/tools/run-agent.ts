// `run_agent`, the built-in tool by which an agent hands a part of its work to another agent: a run of its own, with its own plan,
// journal and waits, and a budget that is set aside from the caller's. The call answers `pending` at once and holds nothing.
// Honours its key (the child's id follows from the call), is looked up in the journal, and is undone by cancelling the child.
// Only agents that name it have it. It never runs an agent itself: it asks the port.
import { z } from 'zod';
import { bytesOf, type Json } from '../../core/canonical';
import { ToolError } from '../../core/failure';
import { marked, type Pending } from '../../core/pending';
import { parsePlan } from '../../core/rules/planning';
import type { AgentManifest, Budget } from '../../core/run';
import type { RunsPort } from '../../ports/runs';
import type { ToolCall, ToolDefinition } from '../../ports/tool';
import { defineTool } from './define-tool';

/** Bytes of JSON that a child is given at most. */
const ASKED_BYTES = 256 * 1024;
/** ms in which a child that is told to stop has to end: its own tools have 30 s of it. */
const STOP_MS = 50_000;

/** What the tool works with; a worker gives it, while a manifest needs none. */
export interface RunAgentDeps { runs: RunsPort; agents: ReadonlyMap<string, { manifest: Pick<AgentManifest, 'planner' | 'tools' | 'model'> }> }

const limit = z.number().int().min(0).optional();
const input = z.strictObject({
  agent: z.string().describe('name of the agent that does the work'),
  input: z.unknown().optional().describe('what it is asked to do, as its author wants it, e.g. {"question": "..."}'),
  plan: z.union([z.record(z.string(), z.unknown()), z.string()]).optional().describe('a plan, for an agent that follows declared plans; as JSON text where it has references of its own'),
  budget: z.strictObject({ calls: limit, tokens: limit, microUsd: limit, failures: limit, wallMs: limit }).optional().describe('what it may use up; at most what is left, and half of it where nothing is said'),
});
type Args = z.infer<typeof input>;

export const RUN_AGENT = 'run_agent';

/** The tool; without `deps` it can be pinned and shown, and not called. */
export function runAgent(deps?: RunAgentDeps): ToolDefinition {
  const given = (): RunAgentDeps => {
    if (!deps) throw new Error('run_agent was made without a way to start runs.');
    return deps;
  };
  return defineTool<Args, unknown>({
    name: RUN_AGENT, version: '1.0.0', effect: 'reversible', honoursKey: true, timeoutMs: 90_000, sendWindowMs: 60_000,
    description: `Gives a part of the work to another agent, as a run of its own, and answers how that ended: its status, summary, result and artifacts.${deps ? namesOf(deps.agents) : ''}`,
    input,
    carves: ({ budget }) => budgetOf(budget),
    execute: (args, call) => started(given(), args, call),
    lookUp: async (_, call) => {
      const runId = await given().runs.find(call);
      return runId === null ? { found: false } : { found: true, output: awaited(runId), reference: runId };
    },
    undo: ({ output }, call) => stopped(given().runs, output, call),
  }) as ToolDefinition;
}

/** What a model may choose from. */
function namesOf(agents: RunAgentDeps['agents']): string {
  const all = [...agents].map(([name, { manifest }]) => (manifest.planner === 'model' ? name : `${name} (needs a plan)`));
  return ` Agents: ${all.join(', ')}.`.slice(0, 2_000);
}

const budgetOf = (budget: Args['budget'] = {}): Budget => Object.fromEntries(Object.entries(budget).filter(([, n]) => n !== undefined));

/** The call waits for the end of the child; what the child calls back only says that it is time to look. */
const awaited = (runId: string): Pending => marked({ expect: null, deadlineMs: null, onDeadline: { then: 'fail-step' }, child: runId }, { runId, summary: `run ${runId} is started` });

async function started({ runs, agents }: RunAgentDeps, args: Args, call: ToolCall): Promise<Pending> {
  const plan = planOf(args.plan);
  const fault = faultOf(agents, args.agent, plan);
  if (fault) throw new ToolError('argument', 'agent', fault);
  const asked = { agent: args.agent, input: (args.input ?? null) as Json, plan };
  if (bytesOf(asked) > ASKED_BYTES) throw new ToolError('argument', 'too-large', `What a run is asked may have ${ASKED_BYTES} bytes; give it less, or leave the rest where its own tools can read it.`);
  const { runId, callId, callbackId } = call;
  const answer = await runs.start({ ...asked, parent: { runId, callId, callbackId }, budget: call.carved ?? budgetOf(args.budget) });
  if (answer.kind === 'refused') throw new ToolError(answer.code === 'request' ? 'argument' : 'policy', answer.code, answer.why);
  return awaited(answer.runId);
}

function planOf(plan: Args['plan']): Json | null {
  if (typeof plan !== 'string') return (plan ?? null) as Json | null;
  try {
    return JSON.parse(plan) as Json;
  } catch {
    throw new ToolError('argument', 'plan', 'The plan is a text that is no JSON; write it as JSON text, or as an object.');
  }
}

/** A run that could never be opened is not started. */
function faultOf(agents: RunAgentDeps['agents'], name: string, plan: Json | null): string | null {
  const agent = agents.get(name)?.manifest;
  if (!agent) return `No agent is called ${JSON.stringify(name)}; known are ${[...agents.keys()].join(', ')}.`;
  if (plan === null) return agent.planner === 'declared' ? `Agent ${name} follows declared plans; give it a plan.` : null;
  const parsed = parsePlan(plan, agent.tools, { model: agent.model !== null });
  return 'reasons' in parsed ? `The plan for ${name} cannot be followed: ${parsed.reasons.join(' ')}` : null;
}

/** Told to stop, waited for, and asked what stands of it: nothing may, or it counts as not taken back. */
async function stopped(runs: RunsPort, output: Json, call: ToolCall): Promise<Json> {
  const runId = String((output as { runId?: unknown } | null)?.runId ?? '');
  await runs.cancel(runId, `Its parent, run ${call.runId}, was cancelled.`);
  const row = await runs.ended(runId, STOP_MS, call.signal);
  if (!row && call.signal.aborted) throw new ToolError('server', 'interrupted', `Run ${runId} was told to stop; this worker stopped before it had ended.`);
  if (!row) throw new ToolError('business-refusal', 'child-open', `Run ${runId} was told to stop and has not ended in time; see longhaul runs show ${runId}.`);
  const standing = await runs.standing(runId);
  if (standing.length > 0) throw new ToolError('business-refusal', 'child-stands', `Run ${runId} is ${row.status}, and this of it stands: ${standing.join(', ')}.`.slice(0, 1000));
  return { runId, status: row.status, summary: `run ${runId} is ${row.status}, nothing of it stands` };
}
