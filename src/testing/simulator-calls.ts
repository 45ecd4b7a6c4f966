// What the judge knows of calls: which key was requested, allowed, done, failed or left to a person, held against what
// happened outside. C1 to C5 of the checker: no effect twice, none unasked, none unreported.
import { canonical } from '../core/canonical';
import type { EventOf, RunEvent } from '../core/events';
import type { Output } from '../core/run';
import type { State } from '../core/state';
import type { OutsideEffect } from './effect-world';
import type { SimulatedScenario } from './simulator-types';

interface Call {
  callId: string;
  key: string;
  tool: string;
  stepId: string;
  undo: boolean;
  argsDigest?: string;
  /** May another request of this key follow? */
  free: boolean;
  attempts: number[];
  /** ms until which a person's final approval holds; 0 without one. */
  approvedUntil: number;
  /** What the run says came of it. */
  verdict: 'open' | 'done' | 'not-done' | 'unknown' | 'person';
  asked: boolean;
  /** Its result comes by callbacks. */
  accepted?: true;
}

/** ms after an approval's end in which a request that was claimed in time may still arrive. */
const ARRIVAL_MS = 25_000;

export class Calls {
  private readonly byKey = new Map<string, Call>();
  private readonly byId = new Map<string, Call>();
  private readonly done: OutsideEffect[] = [];
  private readonly heard = new Set<string>();

  constructor(private readonly scenario: SimulatedScenario, private readonly violated: (what: string) => void) {}

  committed(before: State, event: RunEvent): void {
    switch (event.type) {
      case 'CallPrepared': return this.keep({ ...fresh(event.data.callId, event.data.key, event.data.tool), stepId: event.data.stepId, argsDigest: event.data.argsDigest });
      case 'ToolCallRequested': return this.requested(before, event);
      case 'ApprovalGranted': return this.granted(before, event);
      case 'ToolCallSucceeded': return this.succeeded(before, event);
      case 'ToolCallPending': return this.accepted(event);
      case 'CallbackReceived': return this.toldOnce(event);
      case 'ToolCallFailed': return this.failed(event);
      case 'RetryScheduled': return this.free(event.data.callId);
      case 'ToolCallUnknown': return this.unknown(before, event.data.callId);
      case 'RecoveryChecked': return this.free(event.data.callId);
      case 'HumanDecisionRequested': return this.asked(event.data.callId);
      case 'ApprovalVoided': return this.gone(event.data.callId);
      default:
    }
  }

  callOf(key: string): string | null {
    return this.byKey.get(key)?.callId ?? null;
  }

  private keep(call: Call): void {
    this.byKey.set(call.key, call);
    this.byId.set(call.callId, call);
  }

  private free(callId: string): void {
    const call = this.byId.get(callId);
    if (call) call.free = true;
  }

  private requested(before: State, { seq, data, at }: EventOf<'ToolCallRequested'>): void {
    if (data.key === '') return;
    const known = this.byKey.get(data.key);
    const call = known ?? { ...fresh(data.callId, data.key, data.tool), stepId: data.stepId ?? '', undo: data.undoOf !== undefined };
    if (!known) this.keep(call);
    if (call.callId !== data.callId) this.violated(`I12 key of ${call.callId} is used by ${data.callId} too`);
    if (before.cancel && !call.undo) this.violated(`C5 ${data.tool} ${data.callId} is requested after CancelRequested (event ${seq})`);
    if (!call.free) this.violated(`C1 ${data.callId} is requested again without a look or a failure between (event ${seq})`);
    if (call.attempts.includes(data.attempt)) this.violated(`I12 attempt ${data.attempt} at ${data.callId} is requested twice`);
    if (!call.undo && this.verdictOf(data.tool) === 'ask' && call.approvedUntil <= at) this.violated(`C4 ${data.callId} is requested without a valid approval (event ${seq})`);
    if (!call.undo && data.argsDigest !== call.argsDigest) this.violated(`C3 ${data.callId} is requested with arguments that were not prepared`);
    call.free = false;
    call.attempts.push(data.attempt);
  }

  private verdictOf(tool: string): 'allow' | 'ask' | 'deny' {
    return this.scenario.policy[tool]?.decision ?? 'allow';
  }

  private granted(before: State, { data, seq }: EventOf<'ApprovalGranted'>): void {
    const approval = before.approvals[data.approvalId];
    const call = this.byId.get(data.callId);
    if (!approval || !call) return this.violated(`C4 event ${seq} grants ${data.approvalId}, which is not open`);
    if (!data.final) return;
    const who = new Set([...approval.granted, ...data.actors].map((actor) => actor.id));
    const { quorum, approvers, ownerMay } = approval.rule;
    const wrong = [...who].filter((id) => (!ownerMay && id === before.owner.id) || (approvers.length > 0 && !approvers.includes(id)));
    if (who.size < quorum || wrong.length > 0) this.violated(`C4 event ${seq} counts ${[...who].join(', ')} as a quorum of ${quorum}`);
    if (approval.binding.argsDigest !== call.argsDigest) this.violated(`C4 ${data.approvalId} does not bind what was prepared`);
    call.approvedUntil = data.until ?? approval.expiresAt;
  }

  private succeeded(before: State, { data, seq }: EventOf<'ToolCallSucceeded'>): void {
    const call = this.byId.get(data.callId);
    if (!call) return;
    call.verdict = 'done';
    if (data.via === 'person' || data.via === 'default') return;
    if (data.via === 'callback') return this.told(call, data.output, seq);
    const mine = this.done.filter((effect) => effect.key === call.key);
    if (mine.length === 0) this.violated(`C2 ${data.callId} is recorded as done (event ${seq}, ${data.via}), but nothing happened outside`);
    else if (!mine.some((effect) => canonical(effect.output) === canonical(data.output))) this.violated(`C2 ${data.callId} is recorded with a result that the outside did not give`);
    if (before.calls[data.callId] === undefined) this.violated(`C2 ${data.callId} is recorded as done, but it is not open`);
  }

  /** The outside has accepted it: that is an effect, and it stays one whatever comes of its result. */
  private accepted({ data, seq }: EventOf<'ToolCallPending'>): void {
    const call = this.byId.get(data.callId);
    if (!call) return;
    call.verdict = 'done';
    call.accepted = true;
    if (!this.done.some((effect) => effect.key === call.key)) this.violated(`C2 ${data.callId} is recorded as accepted (event ${seq}, ${data.via}), but nothing happened outside`);
  }

  private toldOnce({ data, seq }: EventOf<'CallbackReceived'>): void {
    for (const one of [`event ${data.eventId}`, ...(data.item === undefined ? [] : [`item ${data.item}`])]) {
      const what = `${data.callbackId} ${one}`;
      if (this.heard.has(what)) this.violated(`I12 ${what} counts twice (event ${seq})`);
      this.heard.add(what);
    }
  }

  /** What is recorded as told was told: all of it, or what had come by the deadline. */
  private told(call: Call, output: Output, seq: number): void {
    const terms = this.scenario.later?.[call.tool];
    const value = 'value' in output ? output.value as { came?: number; items?: unknown[] } | string : null;
    if (!terms || value === null) return this.violated(`C2 ${call.callId} has a result by callback that nobody awaited (event ${seq})`);
    const right = terms.expect === null ? value === 'told 1' : typeof value === 'object' && value.came === value.items?.length && (value.came === terms.expect || terms.onDeadline.then === 'continue');
    if (!right) this.violated(`C2 ${call.callId} is recorded with what was not told: ${canonical(value)}`);
  }

  private failed({ data }: EventOf<'ToolCallFailed'>): void {
    const call = this.byId.get(data.callId);
    if (!call || call.accepted) return;
    call.free = true;
    if (data.final) call.verdict = data.failure.code === 'given-up' ? 'person' : 'not-done';
    if (call.verdict === 'not-done') this.denied(call);
  }

  private unknown(before: State, callId: string): void {
    const call = this.byId.get(callId);
    if (call && before.cancel) call.verdict = 'unknown';
  }

  private asked(callId: string): void {
    const call = this.byId.get(callId);
    if (call) call.asked = true;
  }

  private gone(callId: string): void {
    const call = this.byId.get(callId);
    if (!call) return;
    call.verdict = 'not-done';
    this.denied(call);
  }

  /** The run says that it did not happen. */
  private denied(call: Call): void {
    if (!call.asked && this.done.some((effect) => effect.key === call.key)) this.violated(`C2 the run says that ${call.tool} ${call.callId} was not done, but it was`);
  }

  sends(callId: string, key: string, now: number): void {
    const call = this.byKey.get(key);
    if (!call || call.undo || this.verdictOf(call.tool) !== 'ask') return;
    if (call.approvedUntil <= now) this.violated(`C4 ${callId} is sent after its approval has expired`);
  }

  effect(effect: OutsideEffect, state: State): void {
    this.done.push(effect);
    const call = this.byKey.get(effect.key);
    if (!call || call.attempts.length === 0) return this.violated(`C3 ${effect.tool} has an effect that nobody requested`);
    const { callId } = call;
    if (!call.undo && effect.argsDigest !== call.argsDigest) this.violated(`C3 ${callId} has an effect with other arguments`);
    const verdict = call.undo ? 'allow' : this.verdictOf(effect.tool);
    if (verdict === 'deny') this.violated(`C4 ${callId} has an effect that policy denies`);
    if (verdict === 'ask' && effect.at > call.approvedUntil + ARRIVAL_MS) this.violated(`C4 ${callId} has an effect without a valid approval`);
    const twice = this.done.filter((one) => one.key === effect.key).length > 1;
    if (twice && !call.asked) this.violated(`C1 ${effect.tool} ${callId} has happened twice and nobody was asked`);
    if (call.verdict === 'not-done' && !call.asked) this.violated(`C2 the run says that ${effect.tool} ${callId} was not done, but it happens`);
    if (!call.undo && !twice) this.onceAStep(call, state);
  }

  /** A step that was prepared anew has another key: its effect must still be one, unless a person was asked about the first. */
  private onceAStep(call: Call, state: State): void {
    const others = this.done.map((effect) => this.byKey.get(effect.key)).filter((other) => other && other !== call && !other.undo && other.stepId === call.stepId);
    if (others.some((other) => !other?.asked)) this.violated(`C1 step ${call.stepId} has its effect twice, under ${others.map((other) => other?.callId).join(', ')} and ${call.callId} (version ${state.version})`);
  }

  finish(outside: readonly OutsideEffect[], { end }: State): void {
    if (!end) return;
    const report = end.report ? [...end.report.finished, ...end.report.undone, ...end.report.unknown].join('\n') : '';
    for (const effect of outside) {
      const call = this.byKey.get(effect.key);
      if (!call) continue;
      if (call.verdict === 'open' && !call.asked) this.violated(`C1 the run ended without a word on ${call.tool} ${call.callId}, which happened`);
      const named = new RegExp(`\\b${call.callId}\\b`).test(report);
      if (end.status === 'cancelled' && !call.undo && !call.asked && !named) this.violated(`C1 the report of the cancelled run does not name ${call.tool} ${call.callId}, which happened`);
    }
    for (const line of end.report?.undone ?? []) this.undone(line, outside);
  }

  private undone(line: string, outside: readonly OutsideEffect[]): void {
    const call = this.byId.get(/\bc\d+\b/.exec(line)?.[0] ?? '');
    if (call && !outside.some((effect) => effect.undoes === call.key)) this.violated(`C2 the report says that ${call.callId} was undone, but it was not`);
  }
}

function fresh(callId: string, key: string, tool: string): Call {
  return { callId, key, tool, stepId: '', undo: false, free: true, attempts: [], approvedUntil: 0, verdict: 'open', asked: false };
}
