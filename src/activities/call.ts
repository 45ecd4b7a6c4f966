// One attempt at a tool call (DESIGN 4, steps 2 and 3): resolve, look a last time, claim, then hand over to the runner.
// Whatever stops it before the claim has sent nothing, and no attempt is counted. Never throws: every end is a value.
// I13: the claim is the last act before the send.
import { Context } from '@temporalio/activity';
import type { Asked } from '../core/wire';
import type { CallNeed, CallResult } from '../core/world';
import type { ClaimAnswer, ClaimOwner, Outcome } from '../ports/ledger';
import { crashPoint } from '../ports/crash-points';
import { redactText } from '../ports/redaction';
import type { ToolDefinition } from '../ports/tool';
import { newsOf, type News } from './admission';
import { boundArgs, parsedArgs } from './arguments';
import type { HandsDeps } from './deps';
import { failure, failureOf } from './failures';
import { refuseSecrets } from './guard';
import { stopReason } from './heartbeat';
import { answerInTime, premisesNow } from './premises';
import { unproved } from './proofs';
import { run, type Attempt, type Claim } from './runner';
import { inputRefOf, ownSignal, toolCallOf, toolOf } from './tool-call';

export const LEASE_MS = 15_000;
/** ms for which a claim is asked again while the ledger does not answer. */
const PATIENCE_MS = 20_000;
/** ms after which a call that met a store without an answer is made anew. */
const AWAY_MS = 2_000;

export function makeCall(deps: HandsDeps): (asked: Asked<CallNeed>) => Promise<CallResult> {
  const made = async (asked: Asked<CallNeed>): Promise<CallResult> => {
    const { need } = asked;
    const early = await ready(deps, asked).catch((error: unknown): CallResult => ({ kind: 'failed', failure: failureOf(error), sent: false }));
    if ('kind' in early) return withdrawn(deps, asked, early);
    const entered = deps.admission.enter(`tool ${need.tool}`, deps.concurrencyOf(early.tool));
    if (entered.kind === 'busy') return entered;
    let news: News = null;
    try {
      const result = need.effect === 'none' ? await run(deps, early) : await claimed(deps, early);
      news = newsOf(result);
      return result;
    } finally {
      entered.leave(news);
    }
  };
  return async (asked) => {
    crashPoint('call:before', asked.need.tool);
    const answer = await made(asked);
    const result = answer.kind === 'busy' && await claimedElsewhere(deps, asked) ? ELSEWHERE : answer;
    crashPoint('call:answer', asked.need.tool);
    return result;
  };
}

/** Everything that can be known before the claim. */
async function ready(deps: HandsDeps, asked: Asked<CallNeed>): Promise<CallResult | Attempt> {
  const { need } = asked;
  const tool: ToolDefinition = toolOf(deps, need.tool, need.version);
  const bound = await boundArgs(deps.artifacts, need.call, need.argsDigest !== undefined || need.undoOf !== undefined);
  if (need.argsDigest !== undefined && bound.digest !== need.argsDigest) {
    return { kind: 'failed', failure: failure('mismatch', 'args-digest', `The arguments of ${need.callId} are not those that were prepared.`), sent: false };
  }
  if (need.argsDigest === undefined && need.undoOf === undefined) refuseSecrets(bound.args);
  const args = await parsedArgs(deps.artifacts, tool, bound.args, deps.secret);
  const signal = ownSignal();
  if (signal.aborted) return { kind: 'not-sent', why: stopReason(signal.reason) === 'shutdown' ? 'shutdown' : 'cancelled' };
  if (lapsed(need, bound.digest)) return { kind: 'not-sent', why: 'approval' };
  if (need.approval && tool.version !== need.version) return { kind: 'not-sent', why: 'approval', fault: `${need.tool} ${need.version} was approved, and ${tool.version} would run` };
  const unsigned = unproved(deps, asked, bound.digest);
  if (unsigned) return unsigned;
  try {
    return { asked, inputRef: await inputRefOf(deps, asked.runId), tool, args, digest: bound.digest, claim: null };
  } catch (error) {
    return { kind: 'busy', why: failureOf(error).message, retryAfterMs: AWAY_MS };
  }
}

async function claimed(deps: HandsDeps, attempt: Attempt): Promise<CallResult> {
  const { asked, digest } = attempt;
  const { need } = asked;
  crashPoint('call:ready', need.tool);
  const claimedAt = performance.now();
  const answer = await claim(deps, asked, digest);
  if (answer.kind !== 'claimed') return notGiven(deps, asked, answer);
  crashPoint('call:claimed', need.tool);
  return sent(deps, { ...attempt, claim: { key: need.key, fence: answer.fence, leaseMs: LEASE_MS, claimedAt } });
}

/**
 * A call with an effect that is not to be made is claimed and given back, so that no other flight of this attempt, in an
 * execution that was reset, sends what the run takes for not sent. One that only met a full tool is made again under its key.
 */
async function withdrawn(deps: HandsDeps, asked: Asked<CallNeed>, no: CallResult): Promise<CallResult> {
  const { effect, argsDigest } = asked.need;
  if (effect === 'none' || argsDigest === undefined || no.kind === 'busy') return no;
  const answer = await claim(deps, asked, argsDigest);
  if (answer.kind === 'not-awaited') return unawaited(deps, asked, answer, no);
  if (answer.kind !== 'claimed') return notGiven(deps, asked, answer);
  return givenBack(deps, { key: asked.need.key, fence: answer.fence }, no);
}

/** What a call comes to whose claim was not given. */
async function notGiven(deps: HandsDeps, asked: Asked<CallNeed>, answer: Exclude<Answer, { kind: 'claimed' }>): Promise<CallResult> {
  const { need } = asked;
  switch (answer.kind) {
    case 'outcome': return known(need, answer.outcome);
    // Not `busy`: what the other attempt does is this call's outcome, so that the gate must find it out.
    case 'held': return { kind: 'in-doubt', why: 'Another attempt at this call is under way.' };
    case 'dead-owner': return { kind: 'in-doubt', why: `An attempt by ${answer.owner.worker} stopped after its claim; whether it was sent is not known.` };
    case 'claims-lost': return { kind: 'in-doubt', why: 'The ledger was put back from an older copy since the call was requested, so that no claim in it proves nothing.' };
    case 'mismatch': return { kind: 'failed', failure: failure('mismatch', 'ledger-mismatch', `The key of ${need.callId} was used with other arguments.`), sent: false };
    case 'fenced': return { kind: 'not-sent', why: 'cancelled' };
    case 'not-awaited': return unawaited(deps, asked, answer, { kind: 'not-sent', why: 'cancelled' });
    case 'away': return { kind: 'busy', why: answer.why, retryAfterMs: AWAY_MS };
  }
}

/**
 * The run waits for this attempt no more, so that nothing is sent here. Another flight of it, in an execution that was reset, may have
 * claimed and sent it: what came of that is for the gate to find out. A claim of this very flight, whose answer was lost, is given back.
 */
async function unawaited(deps: HandsDeps, { need }: Asked<CallNeed>, { standing }: Extract<ClaimAnswer, { kind: 'not-awaited' }>, no: CallResult): Promise<CallResult> {
  if (!standing) return no;
  if (standing.owner.taskToken === Context.current().info.base64TaskToken) return givenBack(deps, { key: need.key, fence: standing.fence }, no);
  return ELSEWHERE;
}

const ELSEWHERE: CallResult = { kind: 'in-doubt', why: 'Another execution of the run has claimed this call; whether it was sent is not known.' };

/** Has another flight of this very attempt claimed it? Then that this one was turned away says nothing. A ledger that does not answer says nothing either. */
async function claimedElsewhere({ ledger }: HandsDeps, { need }: Asked<CallNeed>): Promise<boolean> {
  if (need.effect === 'none') return false;
  const row = await ledger.get(need.key).catch(() => null);
  return row !== null && row.attempt === need.attempt && row.state !== 'released' && row.owner.taskToken !== Context.current().info.base64TaskToken;
}

/** A claim that is given up before the send. If the ledger does not hear it, the claim stands and the gate finds out. */
async function givenBack(deps: HandsDeps, { key, fence }: Pick<Claim, 'key' | 'fence'>, no: CallResult): Promise<CallResult> {
  await deps.ledger.release(key, fence).catch(() => false);
  return no;
}

/** Sends, unless what the call was prepared for has changed while it waited; also after a take-over, since the gate may have looked long ago. */
async function sent(deps: HandsDeps, attempt: Attempt & { claim: Claim }): Promise<CallResult> {
  const { asked: { need }, claim } = attempt;
  if (lapsed(need, attempt.digest)) return givenBack(deps, claim, { kind: 'not-sent', why: 'approval' });
  if (need.undoOf === undefined) {
    const changed = await changedSince(deps, attempt).catch((error: unknown): CallResult => ({ kind: 'busy', why: failureOf(error).message, retryAfterMs: AWAY_MS }));
    if (changed) return givenBack(deps, claim, changed);
  }
  return run(deps, attempt);
}

/** Has the approval that allows this call ended, or was it given for other arguments? */
const lapsed = ({ approval }: Pick<CallNeed, 'approval'>, digest: string): boolean =>
  approval !== undefined && (approval.expiresAt <= Date.now() || approval.argsDigest !== digest);

/** The version of the thing that the call changes, and the premises of its step, read once more; null when all is as it was. */
async function changedSince(deps: HandsDeps, { asked: { need, runId }, inputRef, tool, args }: Attempt): Promise<CallResult | null> {
  const versioned = typeof need.resourceVersion === 'string' && tool.resourceVersion !== undefined;
  if (!versioned && need.premises.length === 0) return null;
  const call = await toolCallOf(deps, { runId, inputRef, callId: need.callId, attempt: need.attempt, key: need.key, resourceVersion: need.resourceVersion ?? null, signal: ownSignal() });
  if (versioned) {
    const now = await answerInTime(tool.resourceVersion!(args, call)).then(redactText, failureOf);
    if (typeof now !== 'string') return { kind: 'failed', failure: now, sent: false };
    if (now !== need.resourceVersion) return { kind: 'not-sent', why: 'approval' };
  }
  const premise = (await premisesNow(deps, need, call)).find(({ holds }) => !holds);
  return premise ? { kind: 'not-sent', why: 'premise', premise } : null;
}

type Answer = ClaimAnswer | { kind: 'away'; why: string };

/** Asks the ledger until it answers. A claim whose answer was lost is known again by the token of this very attempt. */
async function claim(deps: HandsDeps, { runId, epoch, need }: Asked<CallNeed>, argsDigest: string): Promise<Answer> {
  const owner: ClaimOwner = { ...deps.owner, taskToken: Context.current().info.base64TaskToken };
  const ask = (): Promise<ClaimAnswer> => deps.ledger.claim({
    key: need.key, runId, epoch, callId: need.callId, attempt: need.attempt, tool: need.tool, argsDigest,
    owner, leaseMs: LEASE_MS, sendWindowMs: need.sendWindowMs, takeOver: need.takeOver,
  });
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      const answer = await ask();
      if (answer.kind !== 'held') return answer;
      if (answer.owner.taskToken === owner.taskToken) return { kind: 'claimed', fence: answer.fence, leaseUntil: answer.leaseUntil };
      if (!deps.ownerGone(answer.owner) || !(await deps.ledger.markUnknown(need.key, answer.fence))) return answer;
      return await ask();
    } catch (error) {
      if (Date.now() > until || ownSignal().aborted) return { kind: 'away', why: `The ledger does not answer: ${failureOf(error).message}` };
      await new Promise((resolve) => { setTimeout(resolve, 500); });
    }
  }
}

function known(need: Asked<CallNeed>['need'], outcome: Outcome): CallResult {
  if (outcome.kind === 'refused') return { kind: 'failed', failure: outcome.failure, sent: true };
  const done = { output: outcome.output, summary: outcome.summary || need.tool, via: 'ledger' as const, settled: true };
  return outcome.pending ? { kind: 'pending', ...done, terms: outcome.pending } : { kind: 'succeeded', ...done };
}
