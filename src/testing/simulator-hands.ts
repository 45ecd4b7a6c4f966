// The hands of the simulation: what the activities do, step by step, as src/activities does it. Each `yield` is a pause in ms
// and a boundary at which the process may die or stall. They decide nothing and never throw; what goes wrong is a value.
import { digestOf, type Json } from '../core/canonical';
import type { Failure } from '../core/failure';
import { toolOf } from '../core/lookups';
import type { PendingTerms } from '../core/pending';
import { bind } from '../core/rules/binding';
import { fitsTerms } from '../core/rules/grants';
import type { Output, ToolManifest } from '../core/run';
import type { CallNeed, CallResult, PrepareNeed, PrepareResult } from '../core/world';
import type { ClaimAnswer, ClaimOwner } from '../ports/ledger';
import type { Stage, WorkerProcess } from './simulator-stage';
import type { State } from '../core/state';

/** One attempt at an activity, as the hands see it. */
export interface Attempt {
  runId: string;
  epoch: number;
  /** Unique; a claim is known again by it. */
  token: string;
  process: WorkerProcess;
  /** Why to stop, once it was told. */
  aborted: 'cancelled' | 'shutdown' | 'lease' | null;
}

export type Steps<R> = Generator<number, R>;

export const LEASE_MS = 15_000;
const RENEW_MS = 3_000;

const failure = (cls: Failure['class'], code: string, message = code): Failure => ({ class: cls, code, message });

const valueOf = (args: CallNeed['call']): Json => args.args ?? {};

/** The tool as this run pins it. */
const pinned = (stage: Stage, name: string): ToolManifest | undefined => toolOf({ agent: stage.scenario.agent } as State, name);

export function* prepare(stage: Stage, attempt: Attempt, need: PrepareNeed): Steps<PrepareResult> {
  yield stage.random.delay(20, 2_000);
  if (attempt.aborted) return { kind: 'failed', failure: failure('cancelled', 'cancelled') };
  if (stage.fault(0.04)) return { kind: 'failed', failure: failure(stage.random.pick(['network', 'rate-limited', 'argument'] as const), 'prepare') };
  if (need.edited && stage.random.chance(0.2)) return { kind: 'failed', failure: failure('argument', 'schema', 'the edited arguments do not fit') };
  const bound = need.edited ? { ok: valueOf(need.call) } : bind(valueOf(need.call), need.call.inputs);
  if ('fault' in bound) return { kind: 'failed', failure: failure('argument', 'binding', bound.fault) };
  const fits = (need.grants ?? []).filter(({ where }) => fitsTerms(bound.ok, where)).map(({ grantId }) => grantId);
  const tool = pinned(stage, need.tool);
  const resourceVersion = tool?.hasResourceVersion ? stage.outside.version(`tool:${need.tool}`) : null;
  const policy = stage.scenario.policy[need.tool] ?? { decision: 'allow' as const, rule: 'free', why: 'The scenario allows it.' };
  yield stage.random.delay(5, 200);
  return { kind: 'prepared', argsDigest: digestOf(bound.ok), args: { value: bound.ok }, resourceVersion, policy, ledgerIncarnation: stage.ledger.incarnation, ...(fits.length > 0 ? { fits } : {}) };
}

/**
 * One attempt. The claim is the last act before the send (I13). A call that is not to be sent is withdrawn: claimed and
 * released, so that no other flight of the same attempt (after a reset) can send what the run takes for not sent.
 */
export function* call(stage: Stage, attempt: Attempt, need: CallNeed): Steps<CallResult> {
  yield stage.random.delay(20, 3_000);
  const tool = pinned(stage, need.tool);
  const prepared = need.argsDigest !== undefined || need.undoOf !== undefined;
  const bound = prepared ? { ok: valueOf(need.call) } : bind(valueOf(need.call), need.call.inputs);
  const argsDigest = 'ok' in bound ? digestOf(bound.ok) : '';
  const no = !tool ? failed('tool-missing') : 'fault' in bound ? failed('argument') : obstacle(stage, attempt, need, argsDigest);
  if (need.effect === 'none') return no ?? (yield* read(stage, attempt, need));
  if (no && stage.mutant === 'not-withdrawn') return no;
  const key = stage.mutant === 'key-by-attempt' ? `${need.key}#${need.attempt}` : need.key;
  const claimed = yield* claim(stage, attempt, need, key, argsDigest);
  if (typeof claimed === 'object') return claimed;
  const over = no ?? lapsed(stage, need, argsDigest);
  if (over || !tool) {
    stage.ledger.release(key, claimed);
    return over ?? failed('tool-missing');
  }
  stage.judge.sends(need, stage.clock.now);
  const later = need.undoOf ? undefined : stage.scenario.later?.[tool.name];
  return yield* send(stage, attempt, need, { key, tool, argsDigest, fence: claimed, ...(later ? { later } : {}) });
}

const failed = (cls: Failure['class']): CallResult => ({ kind: 'failed', failure: failure(cls, cls), sent: false });

/** What stands in the way of a call before its claim. */
function obstacle(stage: Stage, attempt: Attempt, need: CallNeed, argsDigest: string): CallResult | null {
  if (need.argsDigest !== undefined && need.argsDigest !== argsDigest) return failed('mismatch');
  if (attempt.aborted) return { kind: 'not-sent', why: attempt.aborted === 'shutdown' ? 'shutdown' : 'cancelled' };
  const over = lapsed(stage, need, argsDigest);
  if (over) return over;
  if (stage.fault(0.02)) return failed(stage.random.pick(['tool-missing', 'artifact', 'permission'] as const));
  return stage.fault(0.03) ? { kind: 'busy', why: 'full', retryAfterMs: 1_000 } : null;
}

function lapsed(stage: Stage, { approval }: CallNeed, argsDigest: string): CallResult | null {
  if (!approval || stage.mutant === 'approval-unchecked') return null;
  return approval.expiresAt <= stage.clock.now || approval.argsDigest !== argsDigest ? { kind: 'not-sent', why: 'approval' } : null;
}

function* read(stage: Stage, attempt: Attempt, need: CallNeed): Steps<CallResult> {
  yield stage.random.delay(50, 8_000);
  if (attempt.aborted) return { kind: 'not-sent', why: 'cancelled' };
  if (stage.fault(0.1)) {
    const cls = stage.random.pick(['network', 'server', 'rate-limited', 'unknown', 'permission'] as const);
    return { kind: 'failed', failure: { ...failure(cls, cls), ...(cls === 'rate-limited' ? { retryAfterMs: stage.random.int(100, 20_000) } : {}) }, sent: true };
  }
  const output: Output = { value: stage.scenario.outputs?.[need.tool] ?? { read: need.tool, version: stage.outside.version(`tool:${need.tool}`) } };
  return { kind: 'succeeded', output, summary: need.tool, via: 'sent', settled: true, artifacts: [], facts: [] };
}

/** The fence of a claim, or the answer where there is none. */
function* claim(stage: Stage, attempt: Attempt, need: CallNeed, key: string, argsDigest: string): Steps<number | CallResult> {
  if (stage.mutant === 'claim-skipped') return 1;
  const { process, token } = attempt;
  const owner: ClaimOwner = { host: process.host, pid: process.pid, processStart: '0', worker: `worker-${process.pid}`, taskToken: token };
  const ask = (): ClaimAnswer => stage.ledger.claim({
    key, runId: attempt.runId, epoch: attempt.epoch, callId: need.callId, attempt: need.attempt, tool: need.tool, argsDigest, owner,
    leaseMs: LEASE_MS, sendWindowMs: need.sendWindowMs, takeOver: need.takeOver,
  });
  let answer = ask();
  if (stage.fault(0.05)) {
    yield 500; // the answer was lost: the claim is asked again
    answer = ask();
  }
  if (answer.kind === 'held' && answer.owner.taskToken === token) return answer.fence;
  if (answer.kind === 'held' && stage.processes.gone(answer.owner, process) && stage.ledger.markUnknown(key, answer.fence)) answer = ask();
  stage.trace(() => `claim ${need.callId}#${need.attempt} by worker-${process.pid}: ${answer.kind}${'fence' in answer ? ` fence ${answer.fence}` : ''}`);
  switch (answer.kind) {
    case 'claimed': return answer.fence;
    case 'outcome': return answer.outcome.kind === 'refused'
      ? { kind: 'failed', failure: answer.outcome.failure, sent: true }
      : answer.outcome.pending ? { kind: 'pending', output: answer.outcome.output, summary: answer.outcome.summary, via: 'ledger', settled: true, terms: answer.outcome.pending } : { kind: 'succeeded', output: answer.outcome.output, summary: answer.outcome.summary, via: 'ledger', settled: true, artifacts: [], facts: [] };
    case 'held': return stage.mutant === 'held-is-busy' ? { kind: 'busy', why: 'held', retryAfterMs: LEASE_MS / 3 } : { kind: 'in-doubt', why: 'another attempt is under way' };
    case 'dead-owner': return { kind: 'in-doubt', why: 'a claim without an outcome' };
    case 'mismatch': return failed('mismatch');
    case 'claims-lost': return { kind: 'in-doubt', why: 'the ledger was put back from an older copy' };
    case 'fenced': return { kind: 'not-sent', why: 'cancelled' };
    case 'not-awaited': return answer.standing === undefined || stage.mutant === 'standing-is-nothing' ? { kind: 'not-sent', why: 'cancelled' } : unawaited(stage, key, token, answer.standing);
  }
}

/** Nothing is sent any more; what another flight of the call has claimed may have been. */
function unawaited(stage: Stage, key: string, token: string, { fence, owner }: { fence: number; owner: ClaimOwner }): CallResult {
  if (owner.taskToken !== token) return { kind: 'in-doubt', why: 'another flight of this call has claimed it' };
  stage.ledger.release(key, fence);
  return { kind: 'not-sent', why: 'cancelled' };
}

/** `later`: the terms under which the result comes by callbacks. */
interface Sending { key: string; tool: ToolManifest; argsDigest: string; fence: number; later?: PendingTerms }

/** Passes time while the lease is renewed; hears when it is lost. */
function* holding(stage: Stage, attempt: Attempt, { key, fence }: Sending, ms: number): Steps<void> {
  for (let left = ms; left > 0; left -= RENEW_MS) {
    yield Math.min(left, RENEW_MS);
    if (stage.mutant !== 'claim-skipped' && !stage.ledger.renew(key, fence, LEASE_MS)) attempt.aborted ??= 'lease';
  }
}

/** From here on the request may leave. A stalled process may send as late as its window allows, also without a lease. */
function* send(stage: Stage, attempt: Attempt, need: CallNeed, sending: Sending): Steps<CallResult> {
  const { key, tool, fence, argsDigest } = sending;
  const closes = stage.clock.now + need.sendWindowMs;
  yield stage.random.delay(10, 1_000);
  if (attempt.aborted) {
    stage.ledger.release(key, fence);
    return { kind: 'not-sent', why: attempt.aborted === 'shutdown' ? 'shutdown' : 'cancelled' };
  }
  yield 0; // between the last look and the send
  if (stage.clock.now >= closes) return unknown(stage, sending, 'the time to send was over');
  const request = { key, tool, argsDigest, ...(need.undoOf ? { undoes: need.undoOf.key } : {}) };
  const trouble = stage.fault(0.25) ? stage.random.pick(TROUBLES) : 'none';
  if (trouble !== 'none') return yield* troubled(stage, attempt, sending, trouble, () => stage.outside.apply(request));
  const output = stage.outside.apply(request);
  yield* holding(stage, attempt, sending, stage.random.delay(200, stage.fault(0.1) ? 40_000 : 4_000));
  return yield* kept(stage, attempt, sending, output);
}

const TROUBLES = ['not-sent', 'permission', 'rate-limited', 'refused', 'reply-lost', 'slow', 'server', 'aborted'] as const;
type Trouble = (typeof TROUBLES)[number];
/** ms that a request may be on its way once it has left. */
const ON_THE_WAY_MS = 900;

function* troubled(stage: Stage, attempt: Attempt, sending: Sending, trouble: Trouble, apply: () => Output): Steps<CallResult> {
  const { key } = sending;
  const { random } = stage;
  switch (trouble) {
    case 'not-sent':
    case 'permission':
    case 'rate-limited':
    case 'refused':
      yield random.delay(20, 500);
      if (trouble === 'refused' && stage.outside.knows(key)) return yield* kept(stage, attempt, sending, apply());
      return turnedAway(stage, sending, trouble);
    case 'slow':
      stage.outside.onTheWay(key);
      stage.clock.after(random.int(100, ON_THE_WAY_MS), apply);
      if (stage.fault(0.3)) attempt.process.kill();
      yield random.delay(20, ON_THE_WAY_MS);
      return unknown(stage, sending, 'no reply');
    case 'server':
    case 'reply-lost':
      if (trouble === 'reply-lost' || random.chance(0.5)) apply();
      yield* holding(stage, attempt, sending, random.delay(20, 20_000));
      return unknown(stage, sending, trouble);
    case 'aborted': {
      const output = apply();
      yield* holding(stage, attempt, sending, random.delay(500, 20_000));
      if (attempt.aborted) return unknown(stage, sending, 'it was stopped');
      return yield* kept(stage, attempt, sending, output);
    }
  }
}

/** The service says no, and nothing has happened. */
function turnedAway(stage: Stage, sending: Sending, trouble: 'not-sent' | 'permission' | 'rate-limited' | 'refused'): CallResult {
  const { key, fence, tool } = sending;
  if (trouble === 'refused') {
    const fault = failure('business-refusal', 'refused');
    stage.ledger.settle(key, fence, { kind: 'refused', failure: fault });
    return { kind: 'failed', failure: fault, sent: true };
  }
  if (trouble === 'rate-limited' && !tool.honoursKey && !tool.hasLookUp) return unknown(stage, sending, 'rate-limited');
  stage.ledger.release(key, fence);
  if (trouble === 'rate-limited') return { kind: 'failed', failure: { ...failure('rate-limited', '429'), retryAfterMs: stage.random.int(100, 30_000) }, sent: true };
  return { kind: 'failed', failure: failure(trouble === 'permission' ? 'permission' : 'timeout-before-send', trouble), sent: false };
}

/** How an attempt failed that ended by itself; what was stopped or lost has no cause. */
const CAUSES: Readonly<Record<string, Failure['class']>> = { 'no reply': 'network', 'reply-lost': 'network', server: 'server', 'rate-limited': 'rate-limited' };

function unknown(stage: Stage, { key, fence, tool }: Sending, why: string): CallResult {
  if (stage.mutant === 'unknown-is-failed') return { kind: 'failed', failure: failure('network', why), sent: false };
  stage.ledger.markUnknown(key, fence);
  const cls = CAUSES[why];
  return { kind: 'unknown', why: `${tool.name}: ${why}`, ...(cls ? { cause: { class: cls, code: why } } : {}) };
}

/** The effect took place: settle, then answer small. */
function* kept(stage: Stage, attempt: Attempt, { key, fence, tool, later }: Sending, output: Output): Steps<CallResult> {
  yield stage.random.delay(5, 300);
  const summary = `${tool.name} done`;
  const settle = (): void => { if (stage.mutant !== 'settle-ignored') stage.ledger.settle(key, fence, { kind: 'done', output, summary, ...(later ? { pending: later } : {}) }); };
  const late = stage.fault(0.05);
  if (late) attempt.process.after(stage.random.int(1_000, 60_000), settle);
  else settle();
  yield stage.random.delay(5, 300);
  if (later) return { kind: 'pending', output, summary, via: 'sent', settled: !late, terms: later };
  return { kind: 'succeeded', output, summary, via: 'sent', settled: !late, artifacts: [], facts: [] };
}
