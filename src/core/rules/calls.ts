// What follows from the answers of the world about a tool call: prepared, done, failed, in doubt, turned away.
// Judges one call at a time; whether anything new may begin is advance.ts, what an unknown outcome means is recovery.ts.
import { type Decision, draft, nothing, only } from '../draft';
import type { Draft } from '../events';
import type { Failure } from '../failure';
import { askId, callIdOf, callKey, majorOf } from '../keys';
import { callOf, stepOf, toolOf } from '../lookups';
import type { CallState, State, StepState } from '../state';
import type { CallResult, PremiseSeen, PrepareResult } from '../world';
import { askApproval } from './approvals';
import { NO_USAGE, breach } from './budgets';
import { accepted } from './callbacks';
import { refuseEdit } from './edits';
import { withDoubt } from './forking';
import { standIns } from './grants';
import { CANCELLED, finalFailure, premiseChanged, succeeded } from './outcomes';
import { backoffMs, isToolMissing, lookForToolMs, mayRetry } from './retries';

const PREPARE_ATTEMPTS = 5;
/** Attempts that lost workers may cost a call beside its own. */
const LOST_WORKERS = 5;

/** The step's call is known in full: policy says whether it may go, must be asked for, or is denied. */
export function prepareReturned(state: State, stepId: string, n: number, seen: PrepareResult, now: number): Decision {
  const step = stepOf(state, stepId);
  if (!step || step.status !== 'pending' || step.prepared + 1 !== n || step.action.type !== 'tool' || state.cancel) return nothing;
  if (seen.kind === 'failed') return prepareFailed(state, step, n, seen.failure, now);
  const result = { ...seen, policy: withDoubt(state, step, seen.policy, seen.argsDigest) };
  const tool = toolOf(state, step.action.tool);
  if (!tool) return only([draft('StepFailed', { stepId, failure: { class: 'tool-missing', code: 'unknown-tool', message: `No tool ${step.action.tool} is pinned in this run.` } }, stepId)]);
  const callSeq = state.callSeq + 1;
  const callId = callIdOf(callSeq);
  // The hands take any version of the pinned major one; people decide about the one that they would run.
  const version = result.version ?? tool.version;
  const prepared = draft('CallPrepared', {
    callId, callSeq, stepId, tool: tool.name, version, key: callKey(state.runId, callSeq, tool.name, majorOf(tool.version)),
    argsDigest: result.argsDigest, args: result.args, resourceVersion: result.resourceVersion, policy: result.policy,
    ...(result.previewRef ? { previewRef: result.previewRef } : {}),
    ...(result.ledgerIncarnation === undefined ? {} : { ledgerIncarnation: result.ledgerIncarnation }),
    ...(result.wants ? { wants: result.wants } : {}),
    ...(step.edited ? { edited: { by: step.edited.by, approvalId: step.edited.approvalId } } : {}),
  }, callId);
  const no = refusal(state, tool.name, result);
  if (no && step.edited?.fresh) return refuseEdit(step, no);
  if (no) return only([prepared, ...finalFailure(callId, stepId, 0, no, false)]);
  if (result.policy.decision === 'allow') return only([prepared]);
  const binding = { tool: tool.name, version, argsDigest: result.argsDigest, resourceVersion: result.resourceVersion, planVersion: step.since };
  // Nobody should approve what the budget does not allow, and then be asked for more.
  const over = breach(state, { ...NO_USAGE, calls: 1 });
  const rule = result.policy.approval;
  const asked = askApproval(state, {
    callId, binding, policy: result.policy, previewRef: result.previewRef, ...(step.edited?.fresh ? { editor: step.edited.by } : {}),
    grants: rule ? standIns(state, tool, rule, result.fits ?? [], now) : [],
  }, now);
  return only([prepared, ...asked, ...(over ? [over] : [])]);
}

/** A denial by policy, or a refusal that a person has given for the very same call before: nobody is asked again. */
function refusal(state: State, tool: string, result: Extract<PrepareResult, { kind: 'prepared' }>): Failure | null {
  const before = state.refused.find((no) => no.tool === tool && no.argsDigest === result.argsDigest);
  if (before) return { class: 'rejected', code: 'rejected-before', message: before.reason };
  if (result.policy.decision === 'deny') return { class: 'policy', code: result.policy.rule, message: result.policy.why };
  return null;
}

function prepareFailed(state: State, step: StepState, n: number, failure: Failure, now: number): Decision {
  const stepId = step.id;
  const failures = step.prepareFailures + 1;
  if (failure.class === 'cancelled') return nothing;
  if (isToolMissing(failure)) {
    const delayMs = lookForToolMs(step.missing ?? 0);
    return only([draft('RetryScheduled', { callId: `${stepId}#${n}`, stepId, attempt: n, class: failure.class, delayMs, dueAt: now + delayMs }, stepId)]);
  }
  if (step.edited?.fresh && (!mayRetry(failure, false) || failures >= PREPARE_ATTEMPTS)) return refuseEdit(step, failure);
  if (!mayRetry(failure, false) || failures >= PREPARE_ATTEMPTS) return only([draft('StepFailed', { stepId, failure }, stepId)]);
  const delayMs = backoffMs(failure, failures, 1000, state.seed, `prepare:${stepId}#${n}`);
  return only([draft('RetryScheduled', { callId: `${stepId}#${n}`, stepId, attempt: n, class: failure.class, delayMs, dueAt: now + delayMs }, stepId)]);
}

export function callReturned(state: State, callId: string, attempt: number, result: CallResult, now: number): Decision {
  const call = callOf(state, callId);
  if (!call || call.kind !== 'tool' || call.attempt !== attempt || !['sent', 'doubt', 'person'].includes(call.phase)) return nothing;
  if (result.kind === 'succeeded') {
    return only(succeeded(state, call, { output: result.output, summary: result.summary, via: result.via, settled: result.settled }, result));
  }
  if (result.kind === 'pending') {
    const { output, summary, via, settled, terms } = result;
    return only(accepted(state, call, { output, summary, via, settled }, terms, now, result));
  }
  if (call.phase !== 'sent') return nothing;
  switch (result.kind) {
    case 'failed': return only(failed(state, call, result.failure, result.sent, now));
    case 'unknown':
      if (call.effect === 'none') return only(failed(state, call, { class: 'unknown', code: 'no-answer', message: result.why }, true, now));
      return only([draft('ToolCallUnknown', { callId, attempt, why: result.why, ...(result.cause ? { cause: result.cause } : {}) }, callId)]);
    case 'in-doubt': return only([draft('ToolCallUnknown', { callId, attempt, why: result.why }, callId)]);
    case 'busy': return only([again(call, 'rate-limited', Math.max(100, result.retryAfterMs), now)]);
    case 'not-sent': return only(result.why === 'premise' ? broken(state, call, result.premise)
      : notSent(state, call, result.why === 'proof' ? 'approval' : result.why, now, result.fault));
  }
}

function failed(state: State, call: CallState, failure: Failure, sent: boolean, now: number): Draft[] {
  if (failure.class === 'cancelled' && !state.cancel) return [again(call, 'cancelled', 0, now)];
  if (isToolMissing(failure) && !sent && mayWaitForTool(state, call, now)) return [again(call, failure.class, lookForToolMs(call.missing ?? 0), now)];
  const tool = toolOf(state, call.tool);
  // A worker that dies is seldom the call's fault, so that a reader gets more tries then; it still has an end.
  const limit = (tool?.maxAttempts ?? 1) + (failure.code === 'worker-lost' ? LOST_WORKERS : 0);
  const left = call.failures + 1 < limit;
  const stopped = state.cancel !== null && call.undoOf === undefined;
  if (!stopped && left && mayRetry(failure, call.effect !== 'none')) {
    const delayMs = backoffMs(failure, call.failures + 1, tool?.backoffMs ?? 1000, state.seed, `${call.callId}#${call.attempt}`);
    return [
      draft('ToolCallFailed', { callId: call.callId, attempt: call.attempt, failure, sent, final: false }, call.callId),
      again(call, failure.class, delayMs, now),
    ];
  }
  if (call.unsure && failure.class !== 'business-refusal') return leftOpen(state, call, failure, sent);
  return finalFailure(call.callId, call.undoOf === undefined ? call.stepId : undefined, call.attempt, failure, sent);
}

/** A run that is being cancelled waits for a tool only to take an effect back, and no longer than for anything else. */
const mayWaitForTool = ({ cancel }: State, { undoOf }: CallState, now: number): boolean => cancel === null || (undoOf !== undefined && now < cancel.deadline);

/**
 * The gate lets a call be made again whose attempt had failed with an unknown outcome: it counts like every failure, is followed
 * after a pause, and only as often as the tool allows. `unsure`: it may have taken effect all the same.
 */
export function countedAgain(state: State, call: CallState, unsure: boolean, now: number): Draft[] {
  if (!call.cause) return [];
  const { callId, attempt } = call;
  const failure: Failure = { ...call.cause, message: call.why ?? '' };
  const tool = toolOf(state, call.tool);
  if (call.failures + 1 < (tool?.maxAttempts ?? 1)) {
    const delayMs = backoffMs(failure, call.failures + 1, tool?.backoffMs ?? 1000, state.seed, `${callId}#${attempt}`);
    return [draft('ToolCallFailed', { callId, attempt, failure, sent: true, final: false }, callId), again(call, failure.class, delayMs, now)];
  }
  if (unsure) return leftOpen(state, call, failure, true);
  return finalFailure(callId, call.undoOf === undefined ? call.stepId : undefined, attempt, failure, true);
}

/** This attempt failed for good, but an earlier one may have taken effect: the call is not over before that is known. */
function leftOpen(state: State, call: CallState, failure: Failure, sent: boolean): Draft[] {
  const { callId, attempt } = call;
  const why = `an earlier attempt may have taken effect, and the last one failed: ${failure.message}`.slice(0, 1000);
  const open = state.cancel ? draft('ToolCallUnknown', { callId, attempt, why }, callId)
    : draft('HumanDecisionRequested', { decisionId: askId('decision', state.runId, state.asked + 1), callId, why }, callId);
  return [draft('ToolCallFailed', { callId, attempt, failure, sent, final: false }, callId), open];
}

function again(call: CallState, why: Failure['class'], delayMs: number, now: number): Draft {
  return draft('RetryScheduled', { callId: call.callId, attempt: call.attempt, class: why, delayMs, dueAt: now + delayMs }, call.callId);
}

/** What the plan took for granted has changed: the step fails, so that the plan does. What an earlier attempt did is found out first. */
function broken(state: State, call: CallState, premise: PremiseSeen): Draft[] {
  const failure = premiseChanged(premise);
  if (call.unsure) return [draft('ToolCallUnknown', { callId: call.callId, attempt: call.attempt, why: failure.message }, call.callId)];
  return finalFailure(call.callId, call.stepId, call.attempt, state.cancel ? CANCELLED : failure, false);
}

function notSent(state: State, call: CallState, why: 'cancelled' | 'approval' | 'shutdown', now: number, words = 'what it was bound to was no longer so when the call was about to be made'): Draft[] {
  const stopped = why === 'approval' || (state.cancel !== null && call.undoOf === undefined);
  if (stopped && call.unsure) return [draft('ToolCallUnknown', { callId: call.callId, attempt: call.attempt, why: 'it was not sent this time; what earlier attempts did is looked up' }, call.callId)];
  if (why === 'approval' && !state.cancel) {
    return [draft('ApprovalVoided', { approvalId: call.approvalId ?? null, callId: call.callId, why: words }, call.callId)];
  }
  if (!state.cancel || call.undoOf !== undefined) return [again(call, 'cancelled', 0, now)];
  return finalFailure(call.callId, call.stepId, call.attempt, CANCELLED, false);
}
