// Questions about a state that more than one rule asks. Reads only; decides nothing.
// Pure and cheap: rules, folds and needs share them.
import { usesOf } from './rules/binding';
import type { Output, ToolManifest } from './run';
import { callbackIdOf } from './keys';
import type { ApprovalState, CallState, CallbackState, State, StepState } from './state';
import type { CallArgs } from './world';

/** The entry of a record under a name from outside; names such as `constructor` lead to nothing. */
export function entryOf<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.prototype.hasOwnProperty.call(record, name) ? record[name] : undefined;
}

/** A call that is open. */
export const callOf = (state: State, callId: string): CallState | undefined => entryOf(state.calls, callId);

/** ms after the cancel deadline in which the gate may still find out what became of a call. */
export const LAST_LOOKS_MS = 60_000;

export const isOver = (state: State): boolean => state.end !== null;

export function stepOf(state: State, stepId: string | undefined): StepState | undefined {
  return stepId === undefined ? undefined : state.steps.find((step) => step.id === stepId);
}

/** The pinned contract of a tool in this run. */
export function toolOf(state: State, name: string): ToolManifest | undefined {
  return state.agent.tools.find((tool) => tool.name === name);
}

/** Contracts of the tools that steps still to be done call, that open calls need, and that a planner may still ask for. */
export function toolsAhead(state: State): ToolManifest[] {
  if (state.end) return [];
  if (state.agent.planner === 'model' && !state.plan.done) return state.agent.tools;
  const names = new Set([
    ...state.steps.flatMap((step) => (step.action.type === 'tool' && !isSettled(step) ? [step.action.tool] : [])), ...callsOf(state).map((call) => call.tool),
  ]);
  return state.agent.tools.filter(({ name }) => names.has(name));
}

export const isSettled = (step: StepState): boolean => step.status === 'done' || step.status === 'failed' || step.status === 'skipped';

/** Nobody has said stop, and nothing waits for a person before the run as a whole may go on. */
export function mayBegin(state: State): boolean {
  return !state.paused && !state.blocked && state.exhausted.length === 0 && !state.cancel && !state.end;
}

/** Nothing hangs on whether the step comes to something: its plan or a person has said so. */
export const mayFail = (step: StepState): boolean => step.optional === true || step.waived === true;

/** Do the steps that this one hangs on allow it? An optional one that failed does not hold a step that does not use it. */
export const isAllowed = (state: State, step: StepState): boolean => step.dependsOn.every((id) => {
  const dep = stepOf(state, id);
  if (!dep) return true;
  return dep.status === 'done' || (!step.uses.includes(id) && mayFail(dep) && isSettled(dep));
});

/** Steps that may start. */
export const isReady = (state: State, step: StepState): boolean => step.status === 'pending' && isAllowed(state, step);

/** Outputs of steps by their ids, as far as they are there. */
function outputsOf(state: State, ids: string[]): Record<string, Output> {
  const outputs: Record<string, Output> = {};
  for (const id of ids) {
    const output = stepOf(state, id)?.output;
    if (output) outputs[id] = output;
  }
  return outputs;
}

/** Arguments of a step with the outputs that they refer to. */
export function argsOfStep(state: State, step: StepState): CallArgs {
  const inputs = outputsOf(state, step.uses);
  const action = step.action;
  if (action.type !== 'tool' && action.type !== 'model') return { inputs };
  return {
    ...(action.args !== undefined ? { args: action.args } : {}),
    ...(action.argsRef ? { argsRef: action.argsRef, at: action.at ?? [] } : {}),
    inputs,
  };
}

/** Bound arguments as the activity takes them. */
export function argsOfOutput(args: Output | null | undefined): CallArgs {
  if (!args) return { inputs: {} };
  return 'value' in args ? { args: args.value, inputs: {} } : { argsRef: args.ref, at: [], inputs: {} };
}

/** Arguments of a call: as prepared, with the outputs that premises of its step refer to, or from its step. */
export function argsOfCall(state: State, call: CallState): CallArgs {
  const step = stepOf(state, call.stepId);
  if (call.args) return { ...argsOfOutput(call.args), inputs: outputsOf(state, (step?.premises ?? []).flatMap(({ version }) => usesOf(version))) };
  return step ? argsOfStep(state, step) : { inputs: {} };
}

export const callsOf = (state: State): CallState[] => Object.values(state.calls).sort((a, b) => a.callSeq - b.callSeq);

/** Incarnation of the ledger that saw every claim of the call. */
export const ledgerOf = (state: State, call: CallState): string => call.ledgerIncarnation ?? state.ledgerIncarnation;

/** Is this a call whose effect may have taken place although nothing is recorded? */
export const mayHaveHappened = (call: CallState): boolean => call.effect !== 'none'
  && (call.unsure === true || call.phase === 'sent' || call.phase === 'doubt' || call.phase === 'person');

/** What is awaited, or has come early, under this id. */
export const callbackOf = (state: State, callbackId: string): CallbackState | undefined => entryOf(state.callbacks ?? {}, callbackId);

export const callbacksOf = (state: State): CallbackState[] => Object.values(state.callbacks ?? {}).sort((a, b) => (a.callbackId < b.callbackId ? -1 : 1));

/** Nothing more is taken: everything has come, or the time is over. What came is put together next. */
export const isFull = ({ open, over, items, expect }: CallbackState): boolean => over === true || (open && items.length >= (expect ?? 1));

/** The open call whose outside would call back under this id. */
export const callCalledBack = (state: State, callbackId: string): CallState | undefined =>
  callsOf(state).find((call) => call.kind === 'tool' && call.undoOf === undefined && call.attempt > 0 && callbackIdOf(state.runId, call.callId) === callbackId);

/** Who has approved so far: a word that was given beforehand for a time counts no longer than that. */
export function votesAt({ granted, byGrant = [] }: Pick<ApprovalState, 'granted' | 'byGrant'>, now: number): Pick<ApprovalState, 'granted'> & { byGrant: NonNullable<ApprovalState['byGrant']> } {
  const over = byGrant.filter(({ until }) => until !== null && until <= now);
  return { granted: granted.filter(({ id }) => !over.some((vote) => vote.id === id)), byGrant: byGrant.filter((vote) => !over.includes(vote)) };
}

/** Does anything wait for a person? */
export function waitsForPerson(state: State): boolean {
  return Object.keys(state.approvals).length + Object.keys(state.questions).length + Object.keys(state.decisions).length > 0
    || state.paused !== null || state.blocked !== null || state.exhausted.length > 0;
}
