// Planning: whether a proposal (a plan patch) may become part of a run. Refusals are reasons for the planner, one sentence each.
// Pure and total. Reading a declared plan is plan-reading.ts; the checks apart from any run are plan-checks.ts.
// An id names one step for the run's life, so a patch only adds, drops what has not begun, or ends the run.
import type { PlanPatch, StepOutline } from '../plan';
import type { State } from '../state';
import { capReasons, stepReasons, type Known } from './plan-checks';
import { patchShapeReasons } from './plan-shape';

export { outlineByReference, parsePlan } from './plan-reading';

/** What `checkPatch` reads of a run's state. */
export type PlanningState = Pick<State, 'agent' | 'steps'>;

/**
 * Reasons why the patch cannot be accepted now; empty when it can. Asks: the shape, known tools, step ids (pattern,
 * twice, taken), references to nothing, circles, more open steps than allowed, dropped steps that have begun or are
 * needed (those of `waiting` may be dropped although they have), an end together with new steps, and a patch that says nothing. Budgets are judged when calls are requested.
 */
export function checkPatch(state: PlanningState, patch: PlanPatch, waiting: ReadonlySet<string> = new Set()): string[] {
  const shape = patchShapeReasons(patch);
  if (shape.length > 0) return capReasons(shape);
  return capReasons([...stepReasons(patch.add, knownOf(state, patch)), ...dropReasons(state, patch, waiting), ...endReasons(patch)]);
}

function knownOf(state: PlanningState, patch: PlanPatch): Known {
  const dropped = new Set(patch.drop);
  const unsettled = state.steps.filter((step) => (step.status === 'pending' || step.status === 'active') && !dropped.has(step.id));
  return {
    tools: state.agent.tools.map((tool) => tool.name),
    model: state.agent.model !== null,
    // A dropped step keeps its id, but nothing can come of it.
    steps: new Map(state.steps.map((step) => [step.id, { noOutput: dropped.has(step.id) || step.status === 'failed' || step.status === 'skipped' }])),
    open: unsettled.length,
  };
}

function dropReasons(state: PlanningState, patch: PlanPatch, waiting: ReadonlySet<string>): string[] {
  const dropped = new Set(patch.drop);
  const byId = new Map(state.steps.map((step) => [step.id, step]));
  const reasons = [...dropped].flatMap((id) => {
    const step = byId.get(id);
    if (!step) return [`Step ${id.slice(0, 80)} cannot be dropped: there is no such step.`];
    return step.status === 'pending' || waiting.has(id) ? [] : [`Step ${id} cannot be dropped: it is ${step.status === 'active' ? 'under way' : step.status}.`];
  });
  const staying: StepOutline[] = [...state.steps.filter((step) => step.status === 'pending' && !dropped.has(step.id)), ...patch.add];
  for (const step of staying) {
    const needed = [...step.dependsOn, ...step.uses].find((id) => dropped.has(id));
    if (needed !== undefined) reasons.push(`Step ${step.id.slice(0, 64)} depends on step ${needed.slice(0, 64)}, which the proposal drops.`);
  }
  return reasons;
}

function endReasons(patch: PlanPatch): string[] {
  const [first] = patch.add;
  if (patch.done && first) return [`Step ${first.id.slice(0, 64)} is added although the proposal ends the run; do one or the other.`];
  if (!patch.done && !first && patch.drop.length === 0) return ['The proposal has no step and does not end the run; add a step or say that the work is done.'];
  return [];
}
