// Reading a declared plan: the form that people write in YAML or JSON (parsed elsewhere) becomes a plan patch, or reasons.
// Pure and total for every JSON value. Unknown members are refused by name, so that a misspelt `dependOn` is never lost.
// Needs no run: the command line checks a plan with it before anything starts.
import { bytesOf, type Json } from '../canonical';
import type { OnDeadline } from '../plan';
import type { PlanPatch, Premise, StepOutline } from '../plan';
import { LIMITS, type ArtifactRef, type ToolManifest } from '../run';
import { durationMs } from './duration';
import { capReasons, nameOf, stepReasons, writtenUses } from './plan-checks';
import { isMembers, isOnDeadline } from './plan-shape';

type Members = { [key: string]: Json };

/** Bytes of canonical JSON that the outline of a plan may have before all arguments are moved out of it. */
export const OUTLINE_BYTES = 16 * 1024;

/**
 * Reads a declared plan. `tools` are those of the agent, `model` whether it has one (default: yes, judged again when
 * the run starts). Durations are texts such as `90s`, `24h`, `1d12h` (units ms, s, m, h, d, w); titles default to the id.
 */
export function parsePlan(json: Json, tools: readonly Pick<ToolManifest, 'name'>[], options: { model?: boolean } = {}): { patch: PlanPatch } | { reasons: string[] } {
  const faults: string[] = [];
  const root = membersOf(json, 'The plan', ['goal', 'steps'], faults);
  const goal = root['goal'];
  if (typeof goal !== 'string' || goal.trim() === '' || goal.length > 2_000) faults.push('The plan needs a "goal": a text of 1 to 2000 characters.');
  const steps = root['steps'];
  if (!Array.isArray(steps) || steps.length === 0) faults.push('The plan needs "steps": a list with at least one step.');
  else if (steps.length > LIMITS.planSteps) faults.push(`The plan has ${steps.length} steps; at most ${LIMITS.planSteps} are allowed.`);
  if (!Array.isArray(steps) || steps.length === 0 || steps.length > LIMITS.planSteps) return { reasons: capReasons(faults) };

  const add = steps.map((step, index) => readStep(step, index, faults));
  if (faults.length > 0) return { reasons: capReasons(faults) };
  const reasons = stepReasons(add, { tools: tools.map((tool) => tool.name), model: options.model ?? true, steps: new Map(), open: 0 });
  return reasons.length > 0 ? { reasons: capReasons(reasons) } : { patch: { goal: goal as string, add, drop: [] } };
}

/**
 * The same patch with large arguments replaced by references into the artifact that holds the plan: those above 512
 * bytes, or all when the outline is above 16 KiB. `root` leads to the plan inside the artifact (`['plan']` for a RunSpec);
 * the plan's steps must stand in the order of `patch.add`.
 */
export function outlineByReference(patch: PlanPatch, planRef: ArtifactRef, root: string[] = []): PlanPatch {
  const moved = (limit: number): StepOutline[] => patch.add.map((step, index) => {
    const { action } = step;
    if (!('args' in action) || action.args === undefined || bytesOf(action.args) <= limit) return step;
    const { args: _, ...rest } = action;
    return { ...step, action: { ...rest, argsRef: planRef, at: [...root, 'steps', String(index), 'action', 'args'] } };
  });
  const large = moved(LIMITS.inlineBytes);
  // An empty object is shorter than any reference.
  const add = bytesOf(large) > OUTLINE_BYTES ? moved(2) : large;
  return { ...patch, add, planRef };
}

function readStep(json: Json, index: number, faults: string[]): StepOutline {
  const name = nameOf(isMembers(json) ? json : {}, index);
  const step = membersOf(json, name, ['id', 'title', 'dependsOn', 'action', 'premises', 'optional'], faults);
  const id = typeof step['id'] === 'string' ? step['id'] : '';
  const title = step['title'] ?? id;
  if (typeof title !== 'string') faults.push(`${name} has a title that is not a text.`);
  const dependsOn = textsOf(step['dependsOn'], `${name} has a "dependsOn" that is not a list of step ids.`, faults);
  if (step['optional'] !== undefined && typeof step['optional'] !== 'boolean') faults.push(`${name} has an "optional" that is neither true nor false.`);
  const premises = step['premises'] === undefined ? undefined : readPremises(step['premises'], name, faults);
  const outline: StepOutline = { id, title: typeof title === 'string' ? title : id, dependsOn, action: readAction(step['action'], name, faults), uses: [] };
  if (premises) outline.premises = premises;
  if (step['optional'] === true) outline.optional = true;
  const uses = writtenUses(outline);
  return { ...outline, uses, dependsOn: [...new Set([...dependsOn, ...uses])] };
}

function readPremises(json: Json, name: string, faults: string[]): Premise[] {
  if (!Array.isArray(json)) { faults.push(`${name} has "premises" that are not a list.`); return []; }
  return json.map((item) => {
    const premise = membersOf(item, `${name}, a premise,`, ['resource', 'version'], faults);
    const { resource, version } = premise;
    if (typeof resource !== 'string' || resource === '' || version === undefined) faults.push(`${name} has a premise without "resource" (a text) or "version".`);
    return { resource: typeof resource === 'string' ? resource : '', version: version ?? null };
  });
}

const NO_ACTION: StepOutline['action'] = { type: 'wait', forMs: 1 };

function readAction(json: Json | undefined, name: string, faults: string[]): StepOutline['action'] {
  const type = isMembers(json) ? json['type'] : undefined;
  const where = `${name}, its action,`;
  if (type === 'tool') {
    const { tool, args } = membersOf(json, where, ['type', 'tool', 'args'], faults);
    if (typeof tool !== 'string' || tool === '') faults.push(`${name} needs the name of a tool.`);
    return { type, tool: textOr(tool), args: args ?? {} };
  }
  if (type === 'model') {
    const { prompt, args } = membersOf(json, where, ['type', 'prompt', 'args'], faults);
    if (typeof prompt !== 'string') faults.push(`${name} needs a prompt: a text, or the name of one of the agent's prompts.`);
    return { type, prompt: textOr(prompt), ...(args === undefined ? {} : { args }) };
  }
  if (type === 'question') return readQuestion(membersOf(json, where, ['type', 'question', 'deadline', 'deadlineMs', 'onDeadline'], faults), name, faults);
  if (type === 'wait') {
    if (isMembers(json) && json['callback'] !== undefined) return readCallback(membersOf(json, where, ['type', 'callback', 'expect', 'deadline', 'deadlineMs', 'onDeadline'], faults), name, faults);
    const wait = membersOf(json, where, ['type', 'for', 'forMs'], faults);
    return { type, forMs: spanOf(wait, 'for', name, faults) ?? (faults.push(`${name} needs to say how long it waits, e.g. for: 2h, or for what, e.g. callback: the bank's word.`), 1) };
  }
  faults.push(`${name} needs an "action" with a "type": tool, model, question or wait.`);
  return NO_ACTION;
}

function readCallback(json: Members, name: string, faults: string[]): StepOutline['action'] {
  const { callback, expect } = json;
  if (typeof callback !== 'string') faults.push(`${name} needs a callback: a text that says what is waited for.`);
  if (expect !== undefined && typeof expect !== 'number') faults.push(`${name} has an "expect" that is not a number of items.`);
  const deadlineMs = spanOf(json, 'deadline', name, faults);
  return {
    type: 'wait', callback: textOr(callback), ...(typeof expect === 'number' ? { expect } : {}), ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(json['onDeadline'] === undefined ? {} : { onDeadline: readOnDeadline(json['onDeadline'], name, faults) }),
  };
}

function readQuestion(json: Members, name: string, faults: string[]): StepOutline['action'] {
  const { question } = json;
  if (typeof question !== 'string') faults.push(`${name} needs a question: a text.`);
  const action: StepOutline['action'] = { type: 'question', question: textOr(question) };
  const deadlineMs = spanOf(json, 'deadline', name, faults);
  if (deadlineMs !== undefined) action.deadlineMs = deadlineMs;
  if (json['onDeadline'] !== undefined) action.onDeadline = readOnDeadline(json['onDeadline'], name, faults);
  return action;
}

function readOnDeadline(json: Json, name: string, faults: string[]): OnDeadline {
  const long = reminding(typeof json === 'string' ? Object.fromEntries([['then', json]]) : json, name, faults);
  const allowed = ['then', 'remindEvery', 'remindEveryMs', ...(isMembers(long) && long['then'] === 'escalate' ? ['escalateTo'] : []), ...(isMembers(long) && long['then'] === 'continue' ? ['default'] : [])];
  membersOf(long, `${name}, its onDeadline,`, allowed, faults);
  if (!isOnDeadline(long)) {
    faults.push(`${name} needs an onDeadline of { then: cancel-run | fail-step | ask-again }, { then: escalate, escalateTo: [who] } or { then: continue, default: value }.`);
  }
  return long as unknown as OnDeadline;
}

/** With `remindEvery: 1d` as ms. */
function reminding(json: Json, name: string, faults: string[]): Json {
  if (!isMembers(json) || json['remindEvery'] === undefined) return json;
  const { remindEvery: _, ...rest } = json as Members;
  return { ...rest, remindEveryMs: spanOf(json as Members, 'remindEvery', name, faults) ?? 0 };
}

/** A span written as `for: 2h` or `forMs: 7200000`, in ms; undefined when neither is there. */
function spanOf(json: Members, member: string, name: string, faults: string[]): number | undefined {
  const text = json[member];
  const ms = json[`${member}Ms`];
  if (text !== undefined && ms !== undefined) faults.push(`${name} has both "${member}" and "${member}Ms"; keep one.`);
  if (ms !== undefined) return typeof ms === 'number' ? ms : (faults.push(`${name} has a "${member}Ms" that is not a number of ms.`), 1);
  if (text === undefined) return undefined;
  const span = typeof text === 'string' ? durationMs(text) : null;
  if (span === null) faults.push(`${name} has a "${member}" that is not a duration such as 90s, 24h or 1d12h.`);
  return span ?? 1;
}

const textOr = (json: Json | undefined): string => (typeof json === 'string' ? json : '');

function textsOf(json: Json | undefined, otherwise: string, faults: string[]): string[] {
  if (json === undefined) return [];
  if (Array.isArray(json) && json.every((item): item is string => typeof item === 'string')) return json;
  faults.push(otherwise);
  return [];
}

function membersOf(json: Json | undefined, what: string, allowed: string[], faults: string[]): Members {
  if (json === undefined || !isMembers(json)) { faults.push(`${what} is not an object with named members.`); return {}; }
  for (const key of Object.keys(json)) {
    if (!allowed.includes(key)) faults.push(`${what} has an unknown member "${key.slice(0, 60)}"; known are ${allowed.join(', ')}.`);
  }
  return json as Members;
}
