// Given / when / then for the law: a run from its start or from recorded events, commands at chosen moments, the events that
// must follow. Pure: time moves only when a spec says so. Works under any test runner; failures are AssertionErrors.
import { strict as assert } from 'node:assert';
import { canonical, digestOf, type Json } from '../core/canonical';
import type { Answer, Command, FreshRun } from '../core/commands';
import type { EventData, EventType, RunEvent } from '../core/events';
import { fold } from '../core/evolve';
import { initialState } from '../core/initial';
import type { MessageBody } from '../core/message';
import type { PlanPatch, StepOutline } from '../core/plan';
import type { Claims } from '../core/proof';
import { useOf } from '../core/rules/authority';
import type { Actor, AgentManifest, ArtifactRef, Budget, Usage } from '../core/run';
import type { State } from '../core/state';
import { turn } from '../core/turn';
import type { CallResult, GateEvidence, ModelResult, Need, PrepareResult } from '../core/world';
import { BEGINNING } from './simulator-clock';
import { agentManifest } from './simulator-scenarios';

export { agentManifest, toolManifest, toolStep } from './simulator-scenarios';

/** What must follow: a type, or a type with the members that its data must have at least. */
export type Expected = EventType | { [T in EventType]: [T, Partial<EventData[T]>] }[EventType];

const NOWHERE: ArtifactRef = { sha256: '0'.repeat(64), bytes: 2, mediaType: 'application/json', summary: '' };
const OWNER: Actor = { id: 'olga', via: 'cli', assurance: 'local-user' };

export interface RunOptions { steps?: StepOutline[]; agent?: Partial<AgentManifest>; budget?: Budget; owner?: Actor; runId?: string; mode?: 'production' }

/** The Start command of a run: with `steps` a declared plan, without them the agent's planner is asked. */
export function start({ steps, agent, budget = {}, owner = OWNER, runId = 'run-1', mode }: RunOptions = {}): Command {
  const plan: PlanPatch | null = steps ? { goal: 'a goal', add: steps, drop: [] } : null;
  const fresh: FreshRun = {
    agent: agentManifest({ planner: steps ? 'declared' : 'model', ...agent }), plan, budget, owner, seed: 'seed', title: 'a run',
    inputDigest: digestOf('input'), inputRef: NOWHERE, ledgerIncarnation: 'ledger-0',
    pins: { build: 'b', manifest: NOWHERE, prompts: NOWHERE, policy: NOWHERE, model: 'rules@1', eventSchema: 1, ...(mode ? { mode } : {}) },
  };
  return { type: 'Start', runId, epoch: 1, fresh };
}

let messages = 0;

/** A message from a person; `id` left out makes a new one. */
export function said(who: string, body: MessageBody, more: { id?: string; assurance?: Actor['assurance']; receivedAt?: number } = {}): Command {
  messages += 1;
  const { id = `message-${messages}`, assurance = 'local-user', receivedAt } = more;
  return { type: 'Message', message: { messageId: id, actor: { id: who, via: 'cli', assurance }, body, ...(receivedAt === undefined ? {} : { receivedAt }) } };
}

/** The same, with a token that a hand has found genuine; `claims` says what it was made for. */
export function signed(who: string, body: MessageBody, claims: Omit<Claims, 'sub' | 'iss' | 'iat'> & Partial<Claims>, more: { id?: string } = {}): Command {
  const whole: Claims = { sub: who, iss: 'root', iat: BEGINNING, ...claims };
  const { jti, iss, about, binding } = whole;
  const proof = { kid: 'k-1', jti, iss, about, for: useOf(body)?.use ?? 'approve', binding, seal: 'seal' } as const;
  return { ...said(who, body, { ...more, assurance: 'token' }), checked: { kind: 'valid', claims: whole, proof } } as Command;
}

/** A step is prepared: allowed, unless `more.policy` says otherwise. */
export function prepared(stepId: string, args: Json = { of: stepId }, more: Partial<Extract<PrepareResult, { kind: 'prepared' }>> & { n?: number } = {}): Command {
  const { n = 1, ...rest } = more;
  const result: PrepareResult = { kind: 'prepared', argsDigest: digestOf(args), args: { value: args }, resourceVersion: null, policy: { decision: 'allow', rule: 'free', why: 'free' }, ...rest };
  return { type: 'PrepareReturned', stepId, n, result };
}

/** A policy that asks one person who is not the owner, for an hour, unless `more` says otherwise. */
export function asks(more: Partial<Extract<PrepareResult, { kind: 'prepared' }>['policy']> = {}): Extract<PrepareResult, { kind: 'prepared' }>['policy'] {
  return { decision: 'ask', rule: 'rule', why: 'a person decides', approval: { quorum: 1, approvers: [], ownerMay: false, rule: 'rule' }, expiresInMs: 3_600_000, ...more };
}

export const returned = (callId: string, attempt: number, result: CallResult): Command => ({ type: 'CallReturned', callId, attempt, result });
export const modelSaid = (callId: string, attempt: number, result: ModelResult): Command => ({ type: 'ModelReturned', callId, attempt, result });
export const saw = (callId: string, n: number, evidence: GateEvidence): Command => ({ type: 'GateReturned', callId, n, evidence });
export const cancelled = (reason = 'enough'): Command => ({ type: 'Cancel', actor: { id: 'temporal', via: 'temporal', assurance: 'claimed' }, reason });

/** The call was sent and has this result. */
export const succeeded = (value: Json = { ok: true }): CallResult => ({ kind: 'succeeded', output: { value }, summary: 'done', via: 'sent', settled: true, artifacts: [], facts: [] });

export const used = (tokens = 10): Usage => ({ calls: 1, tokens, microUsd: tokens, failures: 0 });

/** The model proposes. */
export const proposes = (patch: PlanPatch, rejected?: string[]): ModelResult => ({ kind: 'succeeded', usage: used(), text: 'a plan', patch, ...(rejected ? { rejected } : {}) });

/** What the gate saw: nothing claimed in the ledger of the run, nothing changed, unless `more` says otherwise. */
export function evidence(more: Partial<GateEvidence> = {}): GateEvidence {
  return { incarnation: 'ledger-0', ledger: { state: 'none' }, now: BEGINNING, lookUp: { kind: 'not-asked' }, resourceVersion: null, premises: [], honoursKey: false, ...more };
}

/** A run at a moment; `when` gives a new one and leaves this one as it is. */
export class GivenRun {
  constructor(
    readonly state: State, readonly now: number, readonly journal: readonly RunEvent[],
    /** What the last `when` wrote, answered and needs. */
    readonly events: readonly RunEvent[] = [], readonly answers: readonly Answer[] = [], readonly needs: readonly Need[] = [],
  ) {}

  /** One pump turn with these commands; without any, the run does what time has made due. */
  when(...commands: Command[]): GivenRun {
    const result = turn(this.state, commands, this.now);
    return new GivenRun(result.draft, this.now, [...this.journal, ...result.events], result.events, result.answers, result.needs);
  }

  /** `ms` later; nothing happens by itself until `when`. */
  after(ms: number): GivenRun {
    return new GivenRun(this.state, this.now + ms, this.journal, this.events, this.answers, this.needs);
  }

  /** Asserts what the last `when` wrote, in order and in full. */
  then(...expected: Expected[]): this {
    assert.deepEqual(this.events.map((event) => event.type), expected.map((one) => (typeof one === 'string' ? one : one[0])));
    expected.forEach((one, i) => {
      if (typeof one === 'string') return;
      const data = this.events[i]?.data as unknown as Record<string, unknown>;
      for (const [name, value] of Object.entries(one[1])) assert.equal(canonical(data[name] ?? null), canonical(value ?? null), `${one[0]}.${name}`);
    });
    return this;
  }

  /** Asserts the kind of the answer to the last command. */
  thenHears(kind: NonNullable<Answer>['kind']): this {
    assert.equal(this.answers[this.answers.length - 1]?.kind, kind);
    return this;
  }

  /** Asserts the ids of what is needed now, in any order. */
  thenNeeds(...ids: string[]): this {
    assert.deepEqual(this.needs.map((need) => need.id).sort(), [...ids].sort());
    return this;
  }
}

/** A run after its start with these options, or a run with exactly these recorded events. */
export function given(from: readonly RunEvent[] | RunOptions = {}): GivenRun {
  if (!Array.isArray(from)) {
    const options = from as RunOptions;
    return new GivenRun(initialState(options.runId ?? 'run-1'), BEGINNING, []).when(start(options));
  }
  const events = from as readonly RunEvent[];
  const state = fold(initialState(events[0]?.runId ?? 'run-1'), events);
  return new GivenRun(state, Math.max(BEGINNING, state.at), events);
}
