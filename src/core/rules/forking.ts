// Forks: which events a run may be forked after, what becomes the fork's own, and how a plan takes the place of what had not ended.
// Earlier results stand in; earlier effects are the parent's; what the parent may have done without a result is asked about before
// it is done here. Pure; the copying is the journal's.
import { canonical, type Json } from '../canonical';
import type { ForkOrder } from '../commands';
import { type Decision, draft, nothing, only } from '../draft';
import type { EventData, PolicyVerdict, RunEvent } from '../events';
import { callsOf, mayHaveHappened, stepOf } from '../lookups';
import type { PlanPatch, StepOutline } from '../plan';
import type { Budget, ForkDoubt } from '../run';
import type { CallState, State, StepState } from '../state';
import { checkPatch } from './planning';

/** Effects that the event names; what is beyond stands in the copied events all the same. */
const MOST_EFFECTS = 200;
/** Doubts about one call that an approval names, the newest. */
const MOST_SAID = 5;

/** The events that one turn wrote around place `at`: a fork may begin after the last of them. */
export function batchAround(events: readonly RunEvent[], at: number): { from: number; to: number } {
  const time = events[at - 1]?.at;
  let [from, to] = [at, at];
  while (from > 1 && events[from - 2]?.at === time) from -= 1;
  while (to < events.length && events[to]?.at === time) to += 1;
  return { from, to };
}

/** Why a run cannot be forked in this state; null when it can. */
export function faultOfFork(state: State): string | null {
  if (state.end) return `the run is over there (${state.end.status})`;
  return state.cancel ? 'the run is being cancelled there, and what is taken back cannot be had twice' : null;
}

/** The first command of a fork. A state that is the fork's already yields nothing new (I12). */
export function forkRun(state: State, order: ForkOrder): Decision {
  if (state.inputDigest === order.inputDigest) return nothing;
  const { plan, budget, refused, ...own } = order;
  const data: EventData['RunForked'] = { ...own, budget: budgetFrom(state, budget), ...standing(state), doubts: doubtsOf(state, own.parent.of ?? own.parent.runId), replanned: plan !== null };
  const forked = draft('RunForked', data);
  if (refused) return only([forked, draft('RunFailed', { failure: refused, artifacts: [] })]);
  if (!plan) return only([forked]);
  const chosen = planOfFork(state, plan);
  if ('reasons' in chosen) return only([forked, draft('RunFailed', { failure: { class: 'argument', code: 'plan', message: chosen.reasons.join(' ').slice(0, 1000) }, artifacts: [] })]);
  const { add, goal = '', planRef } = chosen.patch;
  return only([forked, draft('PlanAccepted', { planVersion: state.plan.version + 1, by: 'fork', goal, add, drop: [], ...(planRef ? { planRef } : {}) })]);
}

/**
 * What is left of a given plan once the steps that are done stand in: the steps to add, or reasons why it does not fit. A step of
 * the plan whose id is that of a finished one is that step, and must not differ from it; one that failed or was skipped needs
 * another id. Arguments that lie in an artifact are compared by whoever has read them.
 */
export function planOfFork(state: State, patch: PlanPatch): { patch: PlanPatch; stands: string[] } | { reasons: string[] } {
  const settled = state.steps.filter((step) => step.status === 'done' || step.status === 'failed' || step.status === 'skipped');
  const byId = new Map(settled.map((step) => [step.id, step]));
  const reasons: string[] = [];
  const stands: string[] = [];
  for (const step of patch.add) {
    const before = byId.get(step.id);
    if (!before) continue;
    if (before.status !== 'done') reasons.push(`Step ${step.id} has ${before.status === 'failed' ? 'failed' : 'been skipped'} by then: give it another id, or fork the run before that.`);
    else if (differs(before, step)) reasons.push(`Step ${step.id} is done by then, and not as the plan has it now: give it another id to have it done again, or leave it as it was.`);
    else stands.push(step.id);
  }
  const add = patch.add.filter((step) => !byId.has(step.id));
  if (reasons.length === 0 && add.length === 0) reasons.push('Every step of the plan is done by then; there is nothing to do.');
  const rest = { ...patch, add };
  return reasons.length > 0 ? { reasons } : checked({ agent: state.agent, steps: settled }, rest, stands);
}

function checked(state: Parameters<typeof checkPatch>[0], patch: PlanPatch, stands: string[]): { patch: PlanPatch; stands: string[] } | { reasons: string[] } {
  const reasons = checkPatch(state, patch);
  return reasons.length > 0 ? { reasons } : { patch, stands };
}

function differs(before: StepState, now: StepOutline): boolean {
  const part = ({ action }: StepOutline): Json => {
    const byReference = 'argsRef' in action || ('argsRef' in before.action) || ('argsRef' in now.action);
    const { argsRef: _ref, at: _at, args, ...rest } = action as Record<string, Json>;
    return byReference || args === undefined ? rest : { ...rest, args };
  };
  return canonical(part(before)) !== canonical(part(now));
}

/** A kind that is named may be used up anew from here on; of the others what is left is left. */
function budgetFrom(state: State, given: Budget): Budget {
  const out: Budget = { ...state.budget };
  for (const [kind, most] of Object.entries(given) as [keyof Budget, number][]) out[kind] = most + (kind === 'wallMs' ? state.activeMs : state.spent[kind]);
  return out;
}

function standing(state: State): Pick<EventData['RunForked'], 'effects' | 'earlierEffects'> {
  const done = state.effects.filter(({ undone }) => undone !== 'yes');
  const effects = done.slice(-MOST_EFFECTS).map(({ tool, callId, stepId }) => `${tool} ${callId}${stepId === '' ? '' : ` (${stepId})`}`);
  return { effects, earlierEffects: (state.effectsBefore?.standing ?? 0) + done.length - effects.length };
}

/**
 * Calls with an effect that `runId`, whose state this is, has requested and had no result of, after those that it inherited as a fork.
 * What a person has decided here says nothing of what the other run did, so that no doubt of it ends.
 */
export function doubtsOf(state: State, runId: string): ForkDoubt[] {
  return [...inheritedDoubts(state), ...callsOf(state).flatMap((call) => {
    const step = stepOf(state, call.stepId);
    const open = step?.status === 'active' && call.kind === 'tool' && call.effect !== 'none' && call.undoOf === undefined && (mayHaveHappened(call) || call.phase === 'waiting');
    return open ? [{ runId, stepId: step.id, callId: call.callId, tool: call.tool, ...(call.argsDigest === undefined ? {} : { argsDigest: call.argsDigest }), why: whyDoubtful(call) }] : [];
  })];
}

/** What the runs that this one was forked from may have done without a result. An older build kept it on steps alone. */
export function inheritedDoubts({ forked, steps }: State): ForkDoubt[] {
  if (!forked) return [];
  return forked.doubts ?? steps.flatMap(({ id, doubt, action }) => (doubt && action.type === 'tool' ? [{ runId: forked.runId, stepId: id, tool: action.tool, ...doubt }] : []));
}

/** How a call has ended in the later events of its run: the event that says so; undefined while nobody knows. */
export function endOf(events: readonly RunEvent[], callId: string): { seq: number; how: 'done' | 'failed' } | undefined {
  for (const { type, data, seq } of events) {
    if (type === 'ToolCallSucceeded' && data.callId === callId) return { seq, how: 'done' };
    if (type === 'ToolCallFailed' && data.callId === callId && data.final && data.failure.class !== 'unknown') return { seq, how: 'failed' };
  }
  return undefined;
}

const whyDoubtful = ({ phase, why }: CallState): string => {
  if (phase === 'waiting') return 'the outside had accepted it, and its result goes to that run';
  return phase === 'sent' ? 'it was under way' : why ?? 'nobody knew whether it had happened';
};

/** One line on who may have made a call of this step before, with these arguments; null where nobody may. */
export function doubtWords(state: State, step: StepState, argsDigest: string): string | null {
  if (!state.forked || step.action.type !== 'tool') return null;
  const { tool } = step.action;
  const found = inheritedDoubts(state).filter((doubt) => doubt.tool === tool && (doubt.stepId === step.id || (doubt.argsDigest ?? argsDigest) === argsDigest));
  return found.length === 0 ? null : `${found.slice(-MOST_SAID).map((doubt) => `Run ${doubt.runId} may have done this by its call ${doubt.callId}: ${doubt.why}.`).join(' ')} Find out first.`;
}

/**
 * What policy says of a call that a run before may have made: the step's own, under whatever arguments, or another of the same tool
 * with the same arguments, as a new plan may have it. At least one person is asked about this very call.
 */
export function withDoubt(state: State, step: StepState, policy: PolicyVerdict, argsDigest: string): PolicyVerdict {
  const why = policy.decision === 'deny' ? null : doubtWords(state, step, argsDigest);
  if (why === null) return policy;
  const asked = policy.decision === 'ask';
  const approval = (asked ? policy.approval : undefined) ?? { quorum: 1, approvers: [], ownerMay: !asked, rule: asked ? policy.rule : 'fork' };
  return { ...policy, decision: 'ask', rule: approval.rule, why, approval: { ...approval, mayGrant: false } };
}
