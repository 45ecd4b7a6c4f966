// What makes a proposed plan acceptable, apart from any run: ids, references, cycles, sizes, known tools.
// Pure and total: a patch of any shape gives reasons, never an exception. Each reason is one sentence that names the step.
// Decides nothing about a run; planning.ts asks with what the run knows, plan-reading.ts with what a command line knows.
import { bytesOf, type Json } from '../canonical';
import type { StepOutline } from '../plan';
import { MOST_ITEMS } from '../pending';
import { LIMITS } from '../run';
import { faultsIn, usesOf } from './binding';

/** Step ids name one step for the run's life; no dot, so that `step.path` reads one way. */
export const STEP_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Most ms that a wait or a deadline may last: ten years. */
export const MAX_WAIT_MS = 3_650 * 86_400_000;

/** Most characters of a title, and of a prompt or question as written in a plan. */
const MAX_TITLE = 200;
const MAX_TEXT = 4_000;

/** What proposed steps are held against. */
export interface Known {
  tools: readonly string[];
  /** Is there a model that a step of type `model` could ask? */
  model: boolean;
  /** Earlier steps that may be depended on; `noOutput` when nothing can be read from them any more. */
  steps: ReadonlyMap<string, { noOutput: boolean }>;
  /** Steps that stay unsettled beside the new ones. */
  open: number;
}

/** Reasons against new steps; empty when there are none. */
export function stepReasons(add: readonly StepOutline[], known: Known): string[] {
  if (known.open + add.length > LIMITS.planSteps) {
    return [`The plan would have ${known.open + add.length} open steps; at most ${LIMITS.planSteps} are allowed.`];
  }
  const ids = new Set(add.map((step) => step.id));
  const seen = new Set<string>();
  const reasons: string[] = [];
  for (const [index, step] of add.entries()) {
    const name = nameOf(step, index);
    reasons.push(...idReasons(step, name, seen, known), ...writtenReasons(step, name), ...actionReasons(step, name, known));
    reasons.push(...linkReasons(step, name, ids, known));
    seen.add(step.id);
  }
  const cycle = cycleIn(add);
  if (cycle) reasons.push(`Steps ${cycle.join(' -> ')} depend on each other in a circle.`);
  return reasons;
}

/** At most twenty reasons of at most 300 characters, so that an event or a message can carry them. */
export function capReasons(reasons: readonly string[]): string[] {
  const cut = reasons.slice(0, 20).map((reason) => (reason.length > 300 ? `${reason.slice(0, 297)}...` : reason));
  return reasons.length > 20 ? [...cut.slice(0, 19), `${reasons.length - 19} more reasons are left out.`] : cut;
}

/** How a reason speaks of a step: by its id, or by its place when the id cannot be shown. */
export function nameOf(step: { id?: unknown }, index: number): string {
  return typeof step.id === 'string' && STEP_ID.test(step.id) ? `Step ${step.id}` : `Step ${index + 1} of the list`;
}

function idReasons(step: StepOutline, name: string, seen: ReadonlySet<string>, known: Known): string[] {
  if (!STEP_ID.test(step.id)) return [`${name} needs an id of 1 to 64 letters, digits, "_" or "-" (no dot), beginning with a letter or digit.`];
  if (seen.has(step.id)) return [`${name} is there twice; each step needs an id of its own.`];
  if (known.steps.has(step.id)) return [`${name} takes the id of an earlier step; an id names one step for the whole run.`];
  return [];
}

function writtenReasons(step: StepOutline, name: string): string[] {
  const reasons: string[] = [];
  if (step.title.length > MAX_TITLE) reasons.push(`${name} has a title of ${step.title.length} characters; at most ${MAX_TITLE} are allowed.`);
  for (const premise of step.premises ?? []) {
    for (const fault of faultsIn(premise.version)) reasons.push(`${name}, premise ${premise.resource.slice(0, 60)}: ${fault}.`);
    if (faultsIn(premise.version).length === 0 && bytesOf(premise) > LIMITS.inlineBytes) reasons.push(`${name} has a premise of more than ${LIMITS.inlineBytes} bytes.`);
  }
  return reasons;
}

function actionReasons(step: StepOutline, name: string, known: Known): string[] {
  const { action } = step;
  switch (action.type) {
    case 'tool':
      return known.tools.includes(action.tool) ? argsReasons(action.args, name)
        : [`${name} uses the tool "${action.tool.slice(0, 80)}", which this agent does not have; it has: ${listed(known.tools)}.`];
    case 'model': {
      const missing = known.model ? [] : [`${name} asks a model, but this agent has none; set the agent's model.`];
      return [...missing, ...textReasons(action.prompt, 'prompt', name), ...argsReasons(action.args, name)];
    }
    case 'question': {
      const { deadlineMs, onDeadline } = action;
      const when = deadlineMs === undefined ? [] : spanReasons(deadlineMs, 'deadline', name);
      const lone = onDeadline && deadlineMs === undefined ? [`${name} says what happens at its deadline but has no deadline.`] : [];
      return [...textReasons(action.question, 'question', name), ...when, ...lone];
    }
    case 'wait':
      return 'callback' in action ? callbackReasons(action, name) : spanReasons(action.forMs, 'wait', name);
    default:
      return [`${name} has an action of an unknown type; use tool, model, question or wait.`];
  }
}

function callbackReasons({ callback, expect, deadlineMs, onDeadline }: Extract<StepOutline['action'], { callback: string }>, name: string): string[] {
  const reasons = [...textReasons(callback, 'callback', name), ...(deadlineMs === undefined ? [] : spanReasons(deadlineMs, 'deadline', name))];
  if (expect !== undefined && !(Number.isInteger(expect) && expect >= 1 && expect <= MOST_ITEMS)) reasons.push(`${name} expects a number of items that is not a whole number from 1 to ${MOST_ITEMS}.`);
  if (onDeadline && deadlineMs === undefined) reasons.push(`${name} says what happens at its deadline but has no deadline.`);
  if (onDeadline && (onDeadline.then === 'ask-again' || onDeadline.then === 'escalate')) reasons.push(`${name} waits to be called back, so that nobody can be asked at its deadline; use cancel-run, fail-step or continue.`);
  return reasons;
}

function argsReasons(args: Json | undefined, name: string): string[] {
  if (args === undefined) return [];
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return [`${name} needs args that are an object with named members.`];
  return faultsIn(args).map((fault) => `${name}: ${fault}.`);
}

function textReasons(text: string, what: string, name: string): string[] {
  if (text.trim() === '') return [`${name} has an empty ${what}.`];
  return text.length > MAX_TEXT ? [`${name} has a ${what} of ${text.length} characters; at most ${MAX_TEXT} are allowed.`] : [];
}

function spanReasons(ms: number, what: string, name: string): string[] {
  return Number.isSafeInteger(ms) && ms > 0 && ms <= MAX_WAIT_MS ? [] : [`${name} has a ${what} that is not a whole number of ms between 1 and ten years.`];
}

function linkReasons(step: StepOutline, name: string, ids: ReadonlySet<string>, known: Known): string[] {
  const reasons: string[] = [];
  const uses = new Set([...step.uses, ...writtenUses(step)]);
  for (const id of new Set([...step.dependsOn, ...uses])) {
    const shown = id.slice(0, 80);
    if (id === step.id) reasons.push(`${name} depends on itself.`);
    else if (!ids.has(id) && !known.steps.has(id)) reasons.push(`${name} refers to step "${shown}", which does not exist.`);
    else if (uses.has(id) && known.steps.get(id)?.noOutput === true) reasons.push(`${name} uses the output of step "${shown}", which has none.`);
  }
  return reasons;
}

/** Uses as the arguments and premises say them, whatever the outline claims. */
export function writtenUses(step: StepOutline): string[] {
  const args = 'args' in step.action && step.action.args !== undefined ? usesOf(step.action.args) : [];
  return [...new Set([...args, ...(step.premises ?? []).flatMap((premise) => usesOf(premise.version))])];
}

/** One circle among the new steps as a list of ids that ends where it begins, or null. */
function cycleIn(add: readonly StepOutline[]): string[] | null {
  const links = new Map(add.map((step) => [step.id, [...new Set([...step.dependsOn, ...step.uses, ...writtenUses(step)])].filter((id) => id !== step.id)]));
  const left = new Map([...links].map(([id, to]) => [id, new Set(to.filter((other) => links.has(other)))]));
  for (let shrunk = true; shrunk; ) {
    shrunk = false;
    for (const [id, to] of left) {
      for (const other of to) if (!left.has(other)) to.delete(other);
      if (to.size === 0) shrunk = left.delete(id);
    }
  }
  let [at] = left.keys();
  const path: string[] = [];
  while (at !== undefined && !path.includes(at)) {
    path.push(at);
    [at] = left.get(at) ?? [];
  }
  return at === undefined ? null : [...path.slice(path.indexOf(at)), at].map((id) => id.slice(0, 64));
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'no tools';
  return names.length > 30 ? `${names.slice(0, 30).join(', ')} and ${names.length - 30} more` : names.join(', ');
}
