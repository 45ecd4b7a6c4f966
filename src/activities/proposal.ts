// From a model's answer to a plan patch. Each call is one step, `propose_plan` several that may depend on each other; text
// without calls is the end. A call that cannot become a step is an error for the model, beside the good ones.
// Ids come from the number of the model call, so that no model can reuse one. Decides nothing about the run: the law
// checks the patch again. Reasons never repeat values of sensitive arguments.
import { bytesOf, type Json } from '../core/canonical';
import type { PlanPatch, StepOutline } from '../core/plan';
import { LIMITS, type ArtifactRef } from '../core/run';
import { faultsIn, namesSecret, usesOf } from '../core/rules/binding';
import { capReasons, stepReasons, type Known } from '../core/rules/plan-checks';
import { OUTLINE_BYTES } from '../core/rules/plan-reading';
import { isSensitive, withoutSensitive } from '../core/sensitive';
import type { ModelAnswer, ModelToolCall } from '../ports/model';
import type { ToolDefinition } from '../ports/tool';
import { oneLine } from './failures';
import { stepsOfPlan } from './proposed-plan';
import { misfits } from './schema-reasons';
import type { MadeCall, StoredAnswer, Transcript } from './transcript';

/** Most calls of one answer that become steps. */
export const MAX_CALLS = 16;

/** What a proposal is read against. */
export interface ProposalInput {
  answer: ModelAnswer;
  callSeq: number;
  transcript: Transcript;
  /** Tools that were offered. */
  tools: ReadonlyMap<string, ToolDefinition>;
}

/** `stored` is kept whole, so that the turn can be shown again; `patch` still holds all arguments inline. */
export interface Proposal { stored: StoredAnswer; patch?: PlanPatch; rejected: string[]; places: Map<string, string[]> }

/** Reads an answer. Never throws for anything that a model may write. */
export function proposalOf(input: ProposalInput): Proposal {
  const { answer, callSeq } = input;
  const many = answer.calls.length > 1;
  const places = new Map<string, string[]>();
  const add: StepOutline[] = [];
  const goals: string[] = [];
  const drop: string[] = [];
  const calls = answer.calls.map((call, index): MadeCall => {
    const id = many ? `s${callSeq}-${index + 1}` : `s${callSeq}`;
    const made = { id: `c${callSeq}-${index + 1}`, tool: call.tool, args: call.args };
    const read = stepsOf(call, id, index, input);
    if ('error' in read) return { ...made, args: faultsIn(call.args).length === 0 ? call.args : {}, steps: [], error: read.error };
    for (const [place, step] of read.steps.entries()) places.set(step.id, ['calls', String(index), 'args', ...(read.plan ? ['steps', String(place), 'args'] : [])]);
    add.push(...read.steps);
    drop.push(...(read.plan?.drop ?? []));
    if (read.plan?.goal !== undefined) goals.push(read.plan.goal);
    return { ...made, args: read.args, steps: read.steps.map((step) => step.id) };
  });
  const stored: StoredAnswer = { v: 1, text: answer.text, finish: answer.finish, calls };
  const rejected = calls.flatMap((call) => (call.error === undefined ? [] : [oneLine(`${call.tool.slice(0, 80)}: ${call.error}`, 300)]));
  if (calls.length === 0) return ended(stored, answer);
  if (add.length === 0 && drop.length === 0) return { stored, rejected: capReasons(rejected), places };
  return { stored, patch: { ...(goals[0] === undefined ? {} : { goal: goals[0] }), add, drop }, rejected: capReasons(rejected), places };
}

function ended(stored: StoredAnswer, { text, finish }: ModelAnswer): Proposal {
  const places = new Map<string, string[]>();
  if (finish === 'length') return { stored, rejected: ['The answer was cut off at the token limit; answer more shortly.'], places };
  if (text.trim() === '') return { stored, rejected: ['The answer was empty; call a tool, or answer with text to end.'], places };
  const value: Json = text.trim();
  return { stored, patch: { add: [], drop: [], done: { outcome: 'full', summary: oneLine(text, LIMITS.summaryBytes), result: { value } } }, rejected: [], places };
}

type Read = { error: string } | { steps: StepOutline[]; args: Json; plan?: { goal?: string; drop: string[] } };

function stepsOf(call: ModelToolCall, id: string, index: number, input: ProposalInput): Read {
  if (call.error !== undefined) return { error: call.error };
  if (index >= MAX_CALLS) return { error: `Only the first ${MAX_CALLS} calls of an answer are made; make this one in the next.` };
  const faults = faultsIn(call.args);
  if (faults.length > 0) return { error: `The arguments cannot be used: ${faults.join('; ')}.` };
  if (namesSecret(call.args)) return { error: 'Secrets are named by people in plans and configuration, not by a model; leave $secret out.' };
  if (call.tool === 'propose_plan') return planned(call.args, id, input);
  const step: StepOutline = { id, title: titleOf(call, input.tools.get(call.tool)), dependsOn: usesOf(call.args), uses: usesOf(call.args), action: { type: 'tool', tool: call.tool, args: call.args } };
  const reasons = reasonsAgainst([step], input);
  return reasons.length > 0 ? { error: reasons.join(' ') } : { steps: [step], args: call.args };
}

function planned(args: Json, prefix: string, input: ProposalInput): Read {
  const read = stepsOfPlan(args, prefix);
  if ('error' in read) return read;
  const reasons = reasonsAgainst(read.steps, input);
  const steps = read.steps.map((step) => ({ ...step, title: step.action.type === 'tool' ? withoutSensitive(step.title, step.action.args, input.tools.get(step.action.tool)?.sensitive) : step.title }));
  return reasons.length > 0 ? { error: capReasons(reasons).join(' ') } : { steps, args: read.args, plan: { drop: read.drop, ...(read.goal === undefined ? {} : { goal: read.goal }) } };
}

/** Reasons against steps as the law would give them, and what the tools' schemas say of arguments that are whole already. */
function reasonsAgainst(steps: StepOutline[], { transcript, tools }: ProposalInput): string[] {
  const known: Known = {
    tools: [...tools.keys()], model: true, open: 0,
    steps: new Map([...transcript.steps].map(([id, end]) => [id, { noOutput: end.is === 'failed' || end.is === 'skipped' || end.is === 'dropped' }])),
  };
  const written = stepReasons(steps, known);
  return written.length > 0 ? written : steps.flatMap((step) => misfits(step, tools));
}

/** The tool's name and the first short text among its arguments, for people who read along. */
function titleOf({ tool, args }: ModelToolCall, definition: ToolDefinition | undefined): string {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return tool;
  const shown = Object.entries(args).find(([name, value]) => typeof value === 'string' && value !== '' && !isSensitive(definition?.sensitive ?? [], [name]));
  return shown ? `${tool}: ${oneLine(withoutSensitive(shown[1] as string, args, definition?.sensitive), 60)}` : tool;
}

/**
 * The patch with large arguments replaced by references into the stored answer: those above 512 bytes of canonical
 * JSON, or all when the outline is above 16 KiB. `places` says where each step's arguments lie in it.
 */
export function referred(patch: PlanPatch, ref: ArtifactRef, places: ReadonlyMap<string, string[]>): PlanPatch {
  const moved = (limit: number): StepOutline[] => patch.add.map((step) => {
    const { action } = step;
    const at = places.get(step.id);
    if (!('args' in action) || action.args === undefined || at === undefined || bytesOf(action.args) <= limit) return step;
    const { args: _, ...rest } = action;
    return { ...step, action: { ...rest, argsRef: ref, at } };
  });
  const large = moved(LIMITS.inlineBytes);
  return { ...patch, add: bytesOf(large) > OUTLINE_BYTES ? moved(2) : large };
}
