// Runs a tool that may be run (DESIGN 4, steps 4 to 6): heartbeats and lease, the send, then blob, settle, small answer.
// After the effect nothing is repeated: what fails later makes the answer poorer, never the effect double. An end that cannot
// be told is `unknown`, and the claim stays for the gate. Never throws.
import type { Json } from '../core/canonical';
import type { ErrorClass, Failure } from '../core/failure';
import { pendingOf, type PendingTerms } from '../core/pending';
import type { ArtifactRef, Output } from '../core/run';
import type { Asked } from '../core/wire';
import type { CallNeed, CallResult } from '../core/world';
import { crashPoint } from '../ports/crash-points';
import type { Outcome } from '../ports/ledger';
import type { ToolDefinition } from '../ports/tool';
import { checkedResult } from './checked';
import type { HandsDeps } from './deps';
import { failure, failureOf } from './failures';
import { watched, type Watch } from './heartbeat';
import { artifactsIn, loadOutput, storeOutput, summaryOf } from './outputs';
import { toolCallOf } from './tool-call';

/** `claimedAt` by this process's monotonic clock, before the claim was asked for. */
export interface Claim { key: string; fence: number; leaseMs: number; claimedAt: number }

/** An attempt that has passed every check; `claim` null for a tool without effect. */
export interface Attempt { asked: Asked<CallNeed>; inputRef: Pick<ArtifactRef, 'sha256'>; tool: ToolDefinition; args: unknown; digest: string; claim: Claim | null }

/** ms that a tool has to come back after its time was over. */
const GRACE_MS = 10_000;
/** Failures of these classes say that the request certainly did not reach the other side. */
const NOT_SENT: ReadonlySet<ErrorClass> = new Set(['timeout-before-send', 'argument', 'permission', 'not-found', 'policy']);

export function run(deps: HandsDeps, attempt: Attempt): Promise<CallResult> {
  const { claim } = attempt;
  const options = { timeoutMs: attempt.asked.need.timeoutMs, ...(claim ? { renew: renewal(deps, claim) } : {}) };
  return watched((watch) => attempted(deps, attempt, watch), options);
}

async function attempted(deps: HandsDeps, attempt: Attempt, watch: Watch): Promise<CallResult> {
  const { claim, inputRef, asked: { need, runId } } = attempt;
  let result: Result;
  let sending = false;
  try {
    const call = await toolCallOf(deps, {
      runId, inputRef, callId: need.callId, attempt: need.attempt, key: need.key, resourceVersion: need.resourceVersion ?? null, signal: watch.signal,
      ...(need.carved ? { carved: need.carved } : {}),
    });
    const undo = await undone(deps, need);
    if (watch.signal.aborted || tooLate(attempt)) return await givenUp(deps, claim, watch);
    sending = true;
    crashPoint('call:sending', need.tool);
    result = checked(attempt, await inTime(send(attempt, call, undo), watch));
  } catch (error) {
    if (!sending && watch.signal.aborted) return givenUp(deps, claim, watch);
    if (error instanceof LeftBehind && claim) {
      void followed(deps, attempt, claim, error.work);
      return { kind: 'unknown', why: error.message, cause: { class: 'network', code: 'timeout' } };
    }
    const fault = failureOf(error);
    if (!claim) return failedReader(fault, watch);
    // Told to stop, and certain that nothing left: no attempt was made, so none is counted.
    if (fault.class === 'timeout-before-send' && watch.reason() !== null && watch.reason() !== 'timeout') return givenUp(deps, claim, watch);
    return because(await failedEffect(deps, attempt, claim, fault, sending), fault, watch);
  }
  crashPoint('call:sent', need.tool);
  return kept(deps, attempt, result);
}

/** Says how an attempt failed that came to its end by itself; one that was told to stop or lost its lease has not failed. */
function because(end: CallResult, { class: cls, code, retryAfterMs }: Failure, watch: Watch): CallResult {
  const reason = watch.reason();
  if (end.kind !== 'unknown' || (reason !== null && reason !== 'timeout')) return end;
  return { ...end, cause: reason === 'timeout' ? { class: 'network', code: 'timeout' } : { class: cls, code, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) } };
}

/** A process that was stopped between its claim and its send does not send when it wakes up: others count on that. */
const tooLate = ({ claim, asked: { need } }: Attempt): boolean => claim !== null && performance.now() - claim.claimedAt >= need.sendWindowMs;

type Call = Awaited<ReturnType<typeof toolCallOf>>;

function send({ tool, args }: Attempt, call: Call, undo: { output: Json; key: string } | null): Promise<unknown> {
  if (!undo) return tool.execute(args, call);
  if (!tool.undo) return Promise.reject(new Error(`${tool.name} declares no undo.`));
  return tool.undo({ args, ...undo }, call);
}

async function undone(deps: HandsDeps, { undoOf }: Pick<CallNeed, 'undoOf'>): Promise<{ output: Json; key: string } | null> {
  return undoOf ? { output: await loadOutput(deps.artifacts, undoOf.output), key: undoOf.key } : null;
}

/** A tool that ignored its signal: its attempt gives no answer, but `work` may still end. */
class LeftBehind extends Error {
  constructor(readonly work: Promise<unknown>) {
    super('The tool did not come back in time and still runs.');
  }
}

/** A tool that is left behind may still act, so that its claim is kept alive until it ends, and its end is settled then. */
async function followed(deps: HandsDeps, attempt: Attempt, claim: Claim, work: Promise<unknown>): Promise<void> {
  const beat = setInterval(() => void deps.ledger.renew(claim.key, claim.fence, claim.leaseMs).catch(() => false), claim.leaseMs / 3);
  beat.unref();
  try {
    await kept(deps, attempt, checked(attempt, await work));
  } catch (error) {
    await failedEffect(deps, attempt, claim, failureOf(error), true);
  } finally {
    clearInterval(beat);
  }
}

/** A tool that ignores its signal is left behind after a grace time. */
async function inTime<T>(work: Promise<T>, watch: Watch): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    const wait = (): void => { if (watch.reason() === 'timeout') timer = setTimeout(() => reject(new LeftBehind(work)), GRACE_MS); };
    watch.signal.addEventListener('abort', wait, { once: true });
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Stopped before the send: the claim goes back, and the next one takes it at once. */
async function givenUp(deps: HandsDeps, claim: Claim | null, watch: Watch): Promise<CallResult> {
  if (claim) await deps.ledger.release(claim.key, claim.fence).catch(() => false);
  return { kind: 'not-sent', why: watch.reason() === 'shutdown' ? 'shutdown' : 'cancelled' };
}

function failedReader(fault: Failure, watch: Watch): CallResult {
  const reason = watch.reason();
  if (reason === 'cancelled' || reason === 'shutdown') return { kind: 'not-sent', why: reason };
  if (reason === 'timeout') return { kind: 'failed', failure: failure('network', 'timeout', fault.message), sent: true };
  return { kind: 'failed', failure: fault, sent: true };
}

async function failedEffect(deps: HandsDeps, { tool }: Attempt, claim: Claim, fault: Failure, sending: boolean): Promise<CallResult> {
  const { key, fence } = claim;
  if (fault.class === 'business-refusal') {
    await deps.ledger.settle(key, fence, { kind: 'refused', failure: fault }).catch(() => undefined);
    return { kind: 'failed', failure: fault, sent: true };
  }
  // 429 is answered before anything is done; believed only of an outside that can be asked afterwards.
  const turnedAway = fault.class === 'rate-limited' && (tool.honoursKey === true || tool.lookUp !== undefined);
  if (!sending || NOT_SENT.has(fault.class) || turnedAway) {
    await deps.ledger.release(key, fence).catch(() => false);
    return { kind: 'failed', failure: fault, sent: turnedAway };
  }
  // This attempt is over, so its lease need not run out before the gate looks.
  await deps.ledger.markUnknown(key, fence).catch(() => false);
  return { kind: 'unknown', why: fault.message };
}

/** The effect took place: keep its result, then settle, then answer small. */
async function kept(deps: HandsDeps, attempt: Attempt, { value, terms }: Result): Promise<CallResult> {
  const { tool, claim, asked: { need } } = attempt;
  const summary = summaryOf(tool.name, value);
  let output: Output;
  try {
    output = await patiently(() => storeOutput(deps.artifacts, value, { name: `${need.callId}-${tool.name}.json`, summary }), claim?.leaseMs ?? 0);
  } catch (error) {
    const why = `The result of ${tool.name} could not be stored: ${failureOf(error).message}`;
    return claim ? { kind: 'unknown', why } : { kind: 'failed', failure: failure('artifact', 'store', why), sent: true };
  }
  crashPoint('call:blob', need.tool);
  const artifacts = artifactsIn(value);
  const about = { output, summary, via: 'sent' as const, ...(artifacts.length > 0 ? { artifacts } : {}) };
  const done = terms ? { kind: 'pending' as const, ...about, terms } : { kind: 'succeeded' as const, ...about };
  if (!claim) return { ...done, settled: true };
  const settled = await settle(deps, claim, { kind: 'done', output, summary, ...(terms ? { pending: terms } : {}) });
  crashPoint('call:settled', need.tool);
  return { ...done, settled };
}

/** False when the ledger does not take the outcome before the lease would end; it is then tried on in the background. */
async function settle(deps: HandsDeps, { key, fence, leaseMs }: Claim, outcome: Outcome): Promise<boolean> {
  const once = (): Promise<unknown> => deps.ledger.settle(key, fence, outcome);
  try {
    await patiently(once, leaseMs);
    return true;
  } catch (error) {
    deps.log('an outcome could not be settled in time; trying on in the background', { key, error: failureOf(error).message });
    void patiently(once, 600_000, 5_000).catch(() => undefined);
    return false;
  }
}

async function patiently<T>(act: () => Promise<T>, forMs: number, pauseMs = 500): Promise<T> {
  const until = Date.now() + forMs;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (Date.now() + pauseMs > until) throw error;
      await new Promise((resolve) => { setTimeout(resolve, pauseMs); });
    }
  }
}

/** Renews the lease at each beat; it is lost when another fence has it, or when nobody could say so for a whole lease. */
function renewal(deps: HandsDeps, { key, fence, leaseMs }: Claim): () => Promise<boolean> {
  let until = Date.now() + leaseMs;
  return async () => {
    try {
      const asked = Date.now();
      if (!(await deps.ledger.renew(key, fence, leaseMs))) return false;
      until = asked + leaseMs;
      return true;
    } catch {
      return Date.now() < until;
    }
  };
}

/** What a tool came to: its result, or what the outside said when it accepted, with the terms under which the result comes. */
interface Result { value: Json; terms?: PendingTerms }

function checked({ tool, claim, asked }: Attempt, result: unknown): Result {
  const [later, undo] = [pendingOf(result), asked.need.undoOf !== undefined];
  if (!later) return { value: checkedResult(tool, { effect: claim !== null, undo }, result) };
  // No schema is declared for a receipt. What takes an effect back is done when it is accepted.
  return { value: checkedResult({ name: tool.name }, { effect: true, undo }, later.receipt), ...(undo ? {} : { terms: later.terms }) };
}
