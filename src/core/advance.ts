// What a run does by itself at a given moment: deadlines that have come, steps that open, ends, and the beginning of one new
// need at a time (I2: its event is written before the world is asked). Called until nothing is new; every call makes progress.
import { draft } from './draft';
import type { Draft } from './events';
import { callbacksOf, callOf, isFull, isReady, mayBegin } from './lookups';
import { needsOf } from './needs';
import { expireApproval } from './rules/approvals';
import { breach, modelReserve } from './rules/budgets';
import { expireCallback } from './rules/callbacks';
import { cancelProgress } from './rules/cancellation';
import { reservedFor } from './rules/children';
import { endOrStop, skipOne } from './rules/ending';
import { remind } from './rules/reminders';
import { expireQuestion, openWait, wake } from './rules/waits';
import type { Usage } from './run';
import type { State } from './state';
import type { CallNeed, ModelNeed } from './world';

/** The next events that follow by themselves, or [] when the run can only wait. `hold`: no new need begins. */
export function advance(state: State, now: number, hold: boolean): Draft[] {
  if (state.version === 0 || state.end) return [];
  if (state.cancel) {
    const next = cancelProgress(state, now);
    return next.length > 0 || hold ? next : begin(state, now);
  }
  const due = deadlines(state, now);
  if (due.length > 0) return due;
  if (!mayBegin(state)) return [];
  const skipped = skipOne(state);
  if (skipped) return [skipped];
  const opened = openOne(state, now);
  if (opened) return [opened];
  const end = endOrStop(state);
  if (end) return [end];
  return hold ? [] : begin(state, now);
}

function deadlines(state: State, now: number): Draft[] {
  const byId = <T>(record: Record<string, T>): T[] => Object.keys(record).sort().map((key) => record[key] as T);
  const approval = byId(state.approvals).find((asked) => asked.expiresAt <= now);
  if (approval) return expireApproval(state, approval, now);
  const question = byId(state.questions).find((asked) => asked.expiresAt !== null && asked.expiresAt <= now);
  if (question) return expireQuestion(state, question, now);
  const step = state.steps.find((one) => one.action.type === 'wait' && 'forMs' in one.action && one.status === 'active' && (one.wakeAt ?? 0) <= now);
  if (step) return wake(step);
  const awaited = callbacksOf(state).filter((entry) => entry.open && !isFull(entry));
  const silent = awaited.find((entry) => entry.expiresAt !== null && entry.expiresAt <= now);
  if (silent) return expireCallback(state, silent, now);
  for (const asked of [...byId(state.approvals), ...byId(state.questions), ...awaited]) {
    const reminder = remind(asked, now);
    if (reminder) return [reminder];
  }
  return [];
}

function openOne(state: State, now: number): Draft | null {
  for (const step of state.steps) {
    if (!isReady(state, step)) continue;
    const opened = openWait(state, step, now);
    if (opened) return opened;
  }
  return null;
}

function begin(state: State, now: number): Draft[] {
  const need = needsOf(state, now).find((one): one is ModelNeed | CallNeed => !one.begun);
  if (!need) return [];
  if (need.kind === 'model') return [beginModel(state, need)];
  return [beginCall(state, need, now)];
}

function beginModel(state: State, need: ModelNeed): Draft {
  const reserved = modelReserve(state);
  return breach(state, reserved) ?? draft('ModelCallRequested', {
    callId: need.callId, callSeq: need.callSeq, attempt: need.attempt, purpose: need.purpose, reserved,
    ...(need.stepId === undefined ? {} : { stepId: need.stepId }), ...(need.midway ? { midway: true as const } : {}),
  }, need.callId);
}

const LOST = 'an older copy of the ledger was put back since the run began, so that the call may have been made before';

function beginCall(state: State, need: CallNeed, now: number): Draft {
  if (need.approval && need.approval.expiresAt <= now) {
    if (callOf(state, need.callId)?.unsure) return draft('ToolCallUnknown', { callId: need.callId, attempt: need.attempt - 1, why: 'its approval expired between two attempts; what the first did is looked up' }, need.callId);
    return draft('ApprovalVoided', { approvalId: need.approval.approvalId, callId: need.callId, why: 'it expired before the call was made' }, need.approval.approvalId);
  }
  const call = callOf(state, need.callId);
  if (call?.claimsLost && call.gate === 0) return draft('ToolCallUnknown', { callId: need.callId, attempt: need.attempt - 1, why: LOST }, need.callId);
  const reserved: Usage = need.carved ? reservedFor(need.carved) : { calls: 1, tokens: 0, microUsd: 0, failures: 0 };
  const over = need.undoOf ? null : breach(state, reserved);
  return over ?? draft('ToolCallRequested', {
    callId: need.callId, callSeq: need.callSeq, tool: need.tool, version: need.version, key: need.key, attempt: need.attempt,
    ledgerIncarnation: need.ledgerIncarnation, reserved,
    ...(need.stepId === undefined ? {} : { stepId: need.stepId }),
    ...(need.argsDigest === undefined ? {} : { argsDigest: need.argsDigest }),
    ...(need.approval ? { approvalId: need.approval.approvalId } : {}),
    ...(need.undoOf ? { undoOf: need.undoOf.callId } : {}),
    ...(need.carved ? { carved: need.carved } : {}),
  }, need.callId);
}

