// One attempt at a tool call (DESIGN 4, steps 2 and 3): resolve, look a last time, claim, then hand over to the runner.
// Whatever stops it before the claim has sent nothing, and no attempt is counted. Never throws: every end is a value.
// I13: the claim is the last act before the send.
import { Context } from '@temporalio/activity';
import type { Asked } from '../core/wire';
import type { CallNeed, CallResult } from '../core/world';
import type { ClaimAnswer, ClaimOwner } from '../ports/ledger';
import { crashPoint } from '../ports/crash-points';
import { redactText } from '../ports/redaction';
import type { ToolDefinition } from '../ports/tool';
import { newsOf, type News } from './admission';
import { boundArgs, parsedArgs } from './arguments';
import type { HandsDeps } from './deps';
import { failure, failureOf } from './failures';
import { refuseSecrets } from './guard';
import { stopReason } from './heartbeat';
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
    if ('kind' in early) return early;
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
    const result = await made(asked);
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
  if (need.approval && (need.approval.expiresAt <= Date.now() || need.approval.argsDigest !== bound.digest)) return { kind: 'not-sent', why: 'approval' };
  try {
    return { asked, inputRef: await inputRefOf(deps, asked.runId), tool, args, digest: bound.digest, claim: null };
  } catch (error) {
    return { kind: 'busy', why: failureOf(error).message, retryAfterMs: AWAY_MS };
  }
}

async function claimed(deps: HandsDeps, attempt: Attempt): Promise<CallResult> {
  const owner: ClaimOwner = { ...deps.owner, taskToken: Context.current().info.base64TaskToken };
  let answer: ClaimAnswer;
  crashPoint('call:ready', attempt.asked.need.tool);
  try {
    answer = await claim(deps, attempt, owner);
  } catch (error) {
    return { kind: 'busy', why: `The ledger does not answer: ${failureOf(error).message}`, retryAfterMs: AWAY_MS };
  }
  switch (answer.kind) {
    case 'claimed':
      crashPoint('call:claimed', attempt.asked.need.tool);
      return sent(deps, { ...attempt, claim: { key: attempt.asked.need.key, fence: answer.fence, leaseMs: LEASE_MS } });
    case 'outcome': return known(attempt, answer);
    // Not `busy`: what the other attempt does is this call's outcome, so that the gate must find it out.
    case 'held': return { kind: 'in-doubt', why: 'Another attempt at this call is under way.' };
    case 'dead-owner': return { kind: 'in-doubt', why: `An attempt by ${answer.owner.worker} stopped after its claim; whether it was sent is not known.` };
    case 'mismatch': return { kind: 'failed', failure: failure('mismatch', 'ledger-mismatch', `The key of ${attempt.asked.need.callId} was used with other arguments.`), sent: false };
    case 'fenced': return { kind: 'not-sent', why: 'cancelled' };
  }
}

/** Sends, unless what the call was prepared for has changed since. After a take-over the gate has looked already. */
async function sent(deps: HandsDeps, attempt: Attempt & { claim: Claim }): Promise<CallResult> {
  const { asked: { need, runId }, inputRef, claim } = attempt;
  if (need.takeOver === undefined && need.undoOf === undefined && typeof need.resourceVersion === 'string' && attempt.tool.resourceVersion) {
    const call = await toolCallOf(deps, { runId, inputRef, callId: need.callId, attempt: need.attempt, key: need.key, resourceVersion: need.resourceVersion, signal: ownSignal() });
    const now = await attempt.tool.resourceVersion(attempt.args, call).then(redactText, failureOf);
    if (now !== need.resourceVersion) {
      await deps.ledger.release(claim.key, claim.fence).catch(() => false);
      return typeof now === 'string' ? { kind: 'not-sent', why: 'approval' } : { kind: 'failed', failure: now, sent: false };
    }
  }
  return run(deps, attempt);
}

/** Asks the ledger until it answers. A claim whose answer was lost is known again by the token of this very attempt. */
async function claim(deps: HandsDeps, attempt: Attempt, owner: ClaimOwner): Promise<ClaimAnswer> {
  const { runId, epoch, need } = attempt.asked;
  const ask = (): Promise<ClaimAnswer> => deps.ledger.claim({
    key: need.key, runId, epoch, callId: need.callId, attempt: need.attempt, tool: need.tool, argsDigest: attempt.digest,
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
      if (Date.now() > until) throw error;
      await Context.current().sleep(500);
    }
  }
}

function known({ asked }: Attempt, { outcome }: Extract<ClaimAnswer, { kind: 'outcome' }>): CallResult {
  if (outcome.kind === 'refused') return { kind: 'failed', failure: outcome.failure, sent: true };
  return { kind: 'succeeded', output: outcome.output, summary: outcome.summary || asked.need.tool, via: 'ledger', settled: true };
}
