// Cancellation: new work stops at once, running tools hear it, effects that can be taken back are taken back in reverse order,
// and the report says what finished, what was undone, what nobody knows and what needs a person (R7).
import { draft } from '../draft';
import type { CancelReport, Draft } from '../events';
import { LAST_LOOKS_MS, callsOf, stepOf } from '../lookups';
import { nextUndo } from '../needs';
import { CONDUCTOR, type Actor } from '../run';
import type { CallState, State } from '../state';
import { NO_USAGE } from './budgets';
import { CANCELLED, ENDED, endCallbacks } from './outcomes';

/** ms that running tools get to answer the signal before their outcome counts as unknown. */
export const CANCEL_DEADLINE_MS = 30_000;

/** The run is cancelled by its own rules, e.g. because an approval expired. `except` is an approval that is over already. */
export function cancelRun(state: State, who: string, reason: string, now: number, except?: string): Draft[] {
  return requestCancel(state, { ...CONDUCTOR, id: who, via: 'policy' }, reason, now, except);
}

/** CancelRequested and the end of everything that had not been sent. */
export function requestCancel(state: State, actor: Actor, reason: string, now: number, except?: string): Draft[] {
  const events: Draft[] = [draft('CancelRequested', { actor, reason, deadline: now + CANCEL_DEADLINE_MS }, undefined, actor)];
  events.push(...endCallbacks(state));
  for (const call of callsOf(state)) events.push(...dropUnsent(call, except));
  for (const question of Object.values(state.questions).sort((a, b) => (a.questionId < b.questionId ? -1 : 1))) {
    events.push(draft('QuestionExpired', { questionId: question.questionId, stepId: question.stepId }, question.questionId));
  }
  return events;
}

function dropUnsent(call: CallState, except: string | undefined): Draft[] {
  const { callId, attempt } = call;
  if (call.phase === 'asking' && call.approvalId !== undefined && call.approvalId !== except) {
    return [draft('ApprovalVoided', { approvalId: call.approvalId, callId, why: 'the run was cancelled' }, call.approvalId)];
  }
  if (call.phase === 'person') return [draft('ToolCallUnknown', { callId, attempt, why: call.why ?? 'nobody could say whether it happened' }, callId)];
  if (call.phase === 'sent' || call.phase === 'doubt') return [];
  if (call.phase === 'waiting') return [draft('ToolCallFailed', { callId, attempt, failure: ENDED, sent: true, final: true }, callId)];
  if (call.unsure) return [draft('ToolCallUnknown', { callId, attempt, why: 'it was about to be tried again; what earlier attempts did is looked up' }, callId)];
  if (call.kind === 'model') return [draft('ModelCallFailed', { callId, attempt, failure: CANCELLED, usage: NO_USAGE, final: true }, callId)];
  return [draft('ToolCallFailed', { callId, attempt, failure: CANCELLED, sent: false, final: true }, callId)];
}

/** What a run that is being cancelled does next; [] while it waits for answers. */
export function cancelProgress(state: State, now: number): Draft[] {
  if (!state.cancel) return [];
  if (now >= state.cancel.deadline) {
    const late = callsOf(state).find((call) => call.phase === 'sent' && call.undoOf === undefined);
    if (late) return [overdue(late)];
  }
  if (now >= state.cancel.deadline + LAST_LOOKS_MS) {
    const doubtful = callsOf(state).find((call) => call.phase === 'doubt');
    if (doubtful) return [draft('ToolCallUnknown', { callId: doubtful.callId, attempt: doubtful.attempt, why: 'nobody could find out before the cancel ended' }, doubtful.callId)];
  }
  // Nothing is tried again in a run that is being cancelled: what was about to be is over.
  const idle = callsOf(state).find((call) => call.phase === 'ready' && call.undoOf === undefined);
  if (idle) return dropUnsent(idle, undefined);
  if (callsOf(state).length > 0 || nextUndo(state)) return [];
  return [draft('RunCancelled', { report: reportOf(state), reason: state.cancel.reason, artifacts: artifactsOf(state) })];
}

/** A tool that did not answer the signal: with an effect its outcome is unknown and the gate looks once more. */
function overdue(call: CallState): Draft {
  const { callId, attempt } = call;
  const failure = { class: 'cancelled' as const, code: 'no-answer-to-cancel', message: 'It did not answer the cancellation in time.' };
  if (call.kind === 'model') return draft('ModelCallFailed', { callId, attempt, failure, usage: { ...NO_USAGE, calls: 1 }, final: true }, callId);
  if (call.effect === 'none') return draft('ToolCallFailed', { callId, attempt, failure, sent: true, final: true }, callId);
  return draft('ToolCallUnknown', { callId, attempt, why: failure.message }, callId);
}

export const artifactsOf = (state: State): string[] => state.artifacts.map((made) => made.ref.sha256);

function reportOf(state: State): CancelReport {
  const name = (done: State['effects'][number]): string => `${done.tool} ${done.callId}${stepOf(state, done.stepId) ? ` (${done.stepId})` : ''}`;
  const standing = state.effects.filter((done) => done.undone !== 'yes');
  const unknown = state.cancel?.report.unknown ?? [];
  const { standing: before, undoable } = state.effectsBefore ?? { standing: 0, undoable: 0 };
  return {
    finished: [...(before > 0 ? [`${before} earlier effects, which stand in the journal`] : []), ...standing.map(name)],
    undone: state.effects.filter((done) => done.undone === 'yes').map(name),
    unknown,
    needsPerson: [...(undoable > 0 ? [`${undoable} of the earlier effects could be taken back and were not: they are too many to be kept at hand`] : []), ...standing.filter((done) => done.undone === 'failed').map((done) => `${name(done)}: could not be undone`), ...unknown.map((what) => `${what}: find out whether it happened`)],
  };
}
