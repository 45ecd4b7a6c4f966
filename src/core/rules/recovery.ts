// The recovery gate: five questions in order, then one decision. The gate activity only saw; here it is judged.
// A recorded effect is always recorded, whatever the other answers are; nothing is sent unless it certainly was not done
// before, or repeating it is harmless (DESIGN 4). What cannot be told goes to a person.
import { type Decision, draft, nothing, only } from '../draft';
import type { Draft, Finding, GateDecision } from '../events';
import { askId, callbackIdOf } from '../keys';
import { callbackOf, callOf, ledgerOf, toolOf } from '../lookups';
import type { CallState, CallbackState, State } from '../state';
import type { GateEvidence, PremiseSeen } from '../world';
import { mustBeSigned } from './authority';
import { accepted, acceptedAsCalledBack } from './callbacks';
import { countedAgain } from './calls';
import { finalFailure, premiseChanged, succeeded } from './outcomes';
import { lookForToolMs } from './retries';

/** ms between two looks when nothing tells a better time. */
const LOOK_AGAIN_MS = 1000;
const STRAY_LOOK_MS = 5000;

interface Verdict { decision: GateDecision; why: string; againAt?: number; absent?: number; unsure?: true; missing?: true }

export function gateReturned(state: State, callId: string, n: number, seen: GateEvidence, now: number): Decision {
  const call = callOf(state, callId);
  if (!call || call.phase !== 'doubt' || call.gate + 1 !== n) return nothing;
  const verdict = judge(state, call, seen, now);
  const fence = seen.ledger.state === 'dead' || seen.ledger.state === 'unknown' ? seen.ledger.fence : undefined;
  const checked = draft('RecoveryChecked', {
    callId, n, findings: findings(state, call, seen, verdict, now), decision: verdict.decision,
    ...(verdict.againAt === undefined ? {} : { againAt: verdict.againAt }),
    ...(fence === undefined ? {} : { fence }), ...(verdict.absent === undefined ? {} : { absent: verdict.absent }),
    ...(verdict.unsure ? { unsure: verdict.unsure } : {}), ...(verdict.missing ? { missing: verdict.missing } : {}),
    ...(seen.incarnation === ledgerOf(state, call) ? {} : { incarnation: seen.incarnation }),
  }, callId);
  return only([checked, ...consequences(state, call, seen, verdict, now)]);
}

function consequences(state: State, call: CallState, seen: GateEvidence, verdict: Verdict, now: number): Draft[] {
  const { callId, attempt } = call;
  switch (verdict.decision) {
    case 'record': return recorded(state, call, seen, now);
    case 'ask-person': return [draft('HumanDecisionRequested', { decisionId: askId('decision', state.runId, state.asked + 1), callId, why: verdict.why }, callId)];
    case 'ask-again': return [draft('ApprovalVoided', { approvalId: call.approvalId ?? null, callId, why: verdict.why }, callId)];
    case 'replan': return finalFailure(callId, call.stepId, attempt, premiseChanged(brokenIn(seen)!), false);
    case 'stop':
      if (verdict.why === NOT_SENT) return finalFailure(callId, call.undoOf === undefined ? call.stepId : undefined, attempt, { class: 'cancelled', code: 'cancelled', message: 'The run was cancelled; the call was never sent.' }, false);
      return [draft('ToolCallUnknown', { callId, attempt, why: verdict.why }, callId)];
    case 'send':
    case 'retry': return countedAgain(state, call, verdict.unsure === true, now);
    default: return [];
  }
}

function recorded(state: State, call: CallState, seen: GateEvidence, now: number): Draft[] {
  if (seen.ledger.state === 'done' && seen.ledger.pending) return accepted(state, call, { output: seen.ledger.output, summary: seen.ledger.summary, via: 'ledger', settled: true }, seen.ledger.pending, now);
  if (seen.ledger.state === 'done') return succeeded(state, call, { output: seen.ledger.output, summary: seen.ledger.summary, via: 'ledger', settled: true }, {});
  if (seen.ledger.state === 'refused') return finalFailure(call.callId, call.undoOf === undefined ? call.stepId : undefined, call.attempt, seen.ledger.failure, true);
  if (seen.lookUp.kind !== 'found') return calledBack(state, call) ? acceptedAsCalledBack(state, call, now) : [];
  if (seen.lookUp.pending) return accepted(state, call, { output: seen.lookUp.output, summary: seen.lookUp.summary, via: 'look-up', settled: true }, seen.lookUp.pending, now);
  return succeeded(state, call, { output: seen.lookUp.output, summary: seen.lookUp.summary, via: 'look-up', settled: true }, {});
}

/** Events that came for the call although its answer was lost: the outside knows their id from the request alone. A run that a call has started is looked up. */
const calledBack = (state: State, call: CallState): CallbackState | undefined => (call.undoOf === undefined && call.carved === undefined ? callbackOf(state, callbackIdOf(state.runId, call.callId)) : undefined);

const NOT_SENT = 'never sent';

function judge(state: State, call: CallState, seen: GateEvidence, now: number): Verdict {
  const { ledger } = seen;
  if (ledger.state === 'done' || ledger.state === 'refused') return { decision: 'record', why: 'the ledger has the outcome' };
  if (ledger.state === 'live') return live(state, call, ledger.leaseUntil - seen.now, now);
  if (seen.lookUp.kind === 'found') return { decision: 'record', why: 'the outside knows the key' };
  const back = calledBack(state, call);
  if (back) return backed(state, back, call);
  const sameLedger = seen.incarnation === ledgerOf(state, call);
  const neverSent = sameLedger && !call.claimsLost && (ledger.state === 'none' || ledger.state === 'released');
  if (neverSent) return goOn(state, call, seen, 'send', now);
  if (seen.lookUp.kind === 'no-tool' && couldTell(state, call)) return toolGone(state, call, seen.lookUp.why, now);
  if (ledger.state === 'dead' && ledger.ownerLives && !seen.honoursKey) return stray(state, call, now);
  const absent = judgeAbsence(state, call, seen, now);
  if (absent.decision === 'retry') return goOn(state, call, seen, 'retry', now);
  // Not known to be undone: it may be repeated under its key, but never given up for another call with another key.
  const repeat = seen.honoursKey ? goOn(state, call, seen, 'retry', now) : null;
  if (repeat?.decision === 'retry') return { ...repeat, why: 'the outside does one effect per key', unsure: true };
  if (absent.decision !== 'ask-person') return absent;
  const why = repeat ? `${absent.why}; it is not repeated: ${repeat.why}` : absent.why;
  return state.cancel ? { decision: 'stop', why } : { decision: 'ask-person', why };
}

/** It was accepted. One that is called back with a plain result has it; how many items a batch has, only its lost answer said. */
function backed(state: State, { plain }: CallbackState, call: CallState): Verdict {
  // Whoever calls back signs nothing: where decisions must be signed, it is no more than a sign for those who decide.
  const unsigned = mustBeSigned(state, call.effect);
  if (plain && !unsigned) return { decision: 'record', why: 'the outside has called back' };
  const why = unsigned ? `somebody has called back under the id of ${call.tool}, which only its outside should know`
    : `${call.tool} was accepted, since items of it have come, but how many there will be is not known`;
  return state.cancel ? { decision: 'stop', why } : { decision: 'ask-person', why };
}

/** Would its tool help to find out what became of the call? */
function couldTell(state: State, { tool, undoOf }: CallState): boolean {
  const pinned = toolOf(state, tool);
  return pinned !== undefined && (pinned.honoursKey || (pinned.hasLookUp && undoOf === undefined));
}

/** No person is asked what a worker with the tool can find out: the run waits for one. */
function toolGone(state: State, call: CallState, why: string, now: number): Verdict {
  if (state.cancel && now >= state.cancel.deadline) return { decision: 'stop', why };
  return { decision: 'wait', why, againAt: now + lookForToolMs(call.missing ?? 0), missing: true };
}

/** Someone is at it. In a run that is being cancelled the wait ends with the cancel deadline. */
function live(state: State, call: CallState, leaseLeftMs: number, now: number): Verdict {
  if (state.cancel && now >= state.cancel.deadline) return { decision: 'stop', why: 'it did not answer the cancellation in time' };
  if (now >= strayUntil(state, call)) return { decision: 'ask-person', why: `${call.tool} still runs long after its time, so it may still happen` };
  // A living owner renews its lease, so that the lease's end says little: look soon at first, then ever more seldom.
  const pause = Math.min(Math.max(0, leaseLeftMs) + 250, LOOK_AGAIN_MS * 2 ** Math.min(call.gate, 4));
  return { decision: 'wait', why: 'a live owner holds the claim', againAt: now + pause };
}

/** ms after a call's own time-out in which its process may still come to an end by itself. */
const STRAY_MS = 60_000;

const strayUntil = (state: State, call: CallState): number => call.requestedAt + (toolOf(state, call.tool)?.timeoutMs ?? 0) + STRAY_MS;

/** The lease is over, but its process exists: it was stopped or is busy, and acts when it wakes up. */
function stray(state: State, call: CallState, now: number): Verdict {
  if (state.cancel && now >= state.cancel.deadline) return { decision: 'stop', why: 'it did not answer the cancellation in time' };
  if (now < strayUntil(state, call)) return { decision: 'wait', why: 'the process that has claimed it still exists and may wake up', againAt: now + STRAY_LOOK_MS };
  return { decision: 'ask-person', why: `the process that has claimed ${call.tool} still exists but does not answer, so it may still happen` };
}

/** A claim was made and nothing is recorded: is it certain that nothing happened and that nothing will any more? */
function judgeAbsence(state: State, call: CallState, seen: GateEvidence, now: number): Verdict {
  if (seen.lookUp.kind === 'none' || seen.lookUp.kind === 'not-asked' || seen.lookUp.kind === 'no-tool') return { decision: 'ask-person', why: `${call.tool} cannot be looked up` };
  if (seen.lookUp.kind === 'cannot-say') return { decision: 'ask-person', why: seen.lookUp.why };
  const { ledger } = seen;
  if (ledger.state !== 'dead' && ledger.state !== 'unknown') return judgeLost(state, call, seen, now);
  // A dead owner sends no more, a stalled one until its window closes; what has left before may still be on its way.
  const windowLeft = ledger.ownerGone ? 0 : ledger.sendWindowUntil - seen.now;
  if (windowLeft > 0) return { decision: 'wait', why: 'the old attempt may still send', againAt: now + windowLeft + 250 };
  if (call.absent < 1) return { decision: 'wait', why: 'one more look for what was on its way', againAt: now + LOOK_AGAIN_MS, absent: call.absent + 1 };
  return { decision: 'retry', why: 'absent at two looks after nothing could be sent any more' };
}

/**
 * The ledger that saw a claim is gone, so nobody knows when it was made; but it was before the run met this one, and sends for its window at
 * most. Counted from then on, and not from each look: else an approval that is shorter than the window would have ended at each second look.
 */
function judgeLost(state: State, call: CallState, seen: GateEvidence, now: number): Verdict {
  if (call.absent > 0) return { decision: 'retry', why: 'absent, and still absent when nothing could be sent any more' };
  const since = state.otherLedger?.incarnation === seen.incarnation ? state.otherLedger.since : now;
  const quiet = since + (toolOf(state, call.tool)?.sendWindowMs ?? 60_000) + LOOK_AGAIN_MS + 250;
  if (now >= quiet) return { decision: 'retry', why: 'absent, long after its claims were lost with their ledger' };
  return { decision: 'wait', why: 'the ledger that saw its claims is gone, and an old attempt may still send', againAt: quiet, absent: 1 };
}

/** The effect did not happen; may it now? Questions 1, 2, 3 and 5. */
function goOn(state: State, call: CallState, seen: GateEvidence, how: 'send' | 'retry', now: number): Verdict {
  if (state.cancel && call.undoOf === undefined) return { decision: 'stop', why: NOT_SENT };
  if (call.approvalId !== undefined && call.approvedUntil <= now) return { decision: 'ask-again', why: 'the approval has expired' };
  if (otherTool(call, seen)) return { decision: 'ask-again', why: `${call.tool} ${call.version} was approved, and ${seen.version} would run` };
  if (resourceChanged(call, seen)) return { decision: 'ask-again', why: 'the thing that it changes has another version now' };
  const broken = brokenIn(seen);
  if (broken) return { decision: 'replan', why: premiseChanged(broken).message };
  return { decision: how, why: how === 'send' ? NOT_SENT : 'it may be repeated' };
}

const brokenIn = (seen: GateEvidence): PremiseSeen | undefined => seen.premises.find((premise) => !premise.holds);

/** People approved one version of the tool, and the worker has another. Where nobody was asked, minor versions are the worker's. */
const otherTool = (call: CallState, seen: GateEvidence): boolean => call.approvalId !== undefined && seen.version !== undefined && seen.version !== call.version;

function resourceChanged(call: CallState, seen: GateEvidence): boolean {
  return call.resourceVersion !== null && typeof seen.resourceVersion === 'string' && seen.resourceVersion !== call.resourceVersion;
}

function findings(state: State, call: CallState, seen: GateEvidence, verdict: Verdict, now: number): Finding[] {
  const tool = toolOf(state, call.tool);
  const version = typeof seen.resourceVersion === 'object' && seen.resourceVersion !== null ? `could not be read: ${seen.resourceVersion.error}` : String(seen.resourceVersion);
  const approval = call.approvalId === undefined ? 'not needed' : call.approvedUntil <= now ? 'expired' : otherTool(call, seen) ? 'for another version' : 'valid';
  const premises = seen.premises.map((premise) => `${premise.resource}: ${premise.expected} -> ${premise.now}`).join('; ');
  return [
    { question: 1, verdict: state.cancel ? 'cancelled' : 'not cancelled', evidence: state.cancel?.reason ?? '' },
    { question: 2, verdict: approval, evidence: call.approvalId ?? tool?.effect ?? '' },
    { question: 3, verdict: call.resourceVersion === null ? 'no resource' : resourceChanged(call, seen) ? 'changed' : 'unchanged', evidence: call.resourceVersion === null ? '' : `${call.resourceVersion} -> ${version}` },
    { question: 4, verdict: verdict.decision, evidence: `ledger ${seen.ledger.state}, look-up ${seen.lookUp.kind}: ${verdict.why}`.slice(0, 500) },
    { question: 5, verdict: seen.premises.every((premise) => premise.holds) ? 'hold' : 'broken', evidence: premises.slice(0, 500) },
  ];
}
