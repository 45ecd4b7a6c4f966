// A walk through the law by chance: at each step an answer to something that is needed, a message, a step of time, something
// stale or something made up. The same seed walks the same way.
import type { Command } from '../../../src/core/commands';
import type { RunEvent } from '../../../src/core/events';
import type { ErrorClass } from '../../../src/core/failure';
import { initialState } from '../../../src/core/initial';
import type { MessageBody } from '../../../src/core/message';
import { MAY } from '../../../src/core/proof';
import { matterOf, useOf } from '../../../src/core/rules/authority';
import type { State } from '../../../src/core/state';
import { turn } from '../../../src/core/turn';
import type { CallResult, GateEvidence, Need } from '../../../src/core/world';
import { evidence, prepared, returned, said, saw, signed, start, succeeded, toolStep, asks, modelSaid, proposes } from '../../../src/testing/scenario';
import { Random } from '../../../src/testing/random';
import { randomScenario } from '../../../src/testing/simulator-scenarios';

export interface Walk { events: RunEvent[]; states: State[]; commands: { command: Command; before: State; now: number }[]; last: State; now: number }

const CLASSES: ErrorClass[] = ['network', 'rate-limited', 'permission', 'business-refusal', 'cancelled', 'unknown', 'model-key', 'artifact', 'timeout-before-send'];

export function walk(seed: number, steps = 40): Walk {
  const random = new Random(seed);
  const scenario = randomScenario(random);
  const out: Walk = { events: [], states: [initialState('run-1')], commands: [], last: initialState('run-1'), now: 1_700_000_000_000 };
  const begin = start({ ...(scenario.plan ? { steps: scenario.plan.add } : {}), agent: { ...scenario.agent, planner: scenario.plan ? 'declared' : 'model' }, budget: scenario.budget, ...(random.chance(0.3) ? { mode: 'production' as const } : {}) });
  let needs = take(out, begin);
  for (let i = 0; i < steps && !out.last.end; i += 1) {
    if (random.chance(0.3)) out.now += random.int(1, 200_000);
    needs = take(out, chosen(random, out, needs, i));
  }
  return out;
}

function take(out: Walk, command: Command): Need[] {
  out.commands.push({ command, before: out.last, now: out.now });
  const result = turn(out.last, [command], out.now);
  out.events.push(...result.events);
  out.last = result.draft;
  out.states.push(result.draft);
  return result.needs;
}

function chosen(random: Random, out: Walk, needs: Need[], i: number): Command {
  const kind = random.next();
  if (kind < 0.55 && needs.length > 0) return answerTo(random, random.pick(needs));
  if (kind < 0.62 && out.commands.length > 1) return random.pick(out.commands).command;
  if (kind < 0.66) return madeUp(random, i);
  if (kind < 0.68) return { type: 'Cancel', actor: { id: 'temporal', via: 'temporal', assurance: 'claimed' }, reason: 'native' };
  const [who, body] = [random.pick(['ann', 'bob', 'olga']), bodyFor(random, out.last)];
  return random.chance(0.3) ? withToken(random, out.last, out.now, who, body, i) : said(who, body, { id: `w${i}` });
}

/** The same with a token: mostly one that is good, else one that is not for this. */
function withToken(random: Random, state: State, now: number, who: string, body: MessageBody, i: number): Command {
  if (random.chance(0.1)) return { ...said(who, body, { id: `w${i}` }), checked: { kind: 'invalid', why: 'its signature is wrong.' } } as Command;
  const use = useOf(body);
  const { about, binding } = (use && matterOf(state, use.id)) ?? { about: 'a-0', binding: '0' };
  const odd = random.chance(0.2) ? random.pick([{ run: 'run-2' }, { about: 'a-9' }, { binding: '1' }, { exp: now - 1 }, { jti: 'same' }]) : {};
  return signed(who, body, { jti: `j${i}`, run: state.runId, about, binding, may: [...MAY], exp: now + 1_000, ...odd }, { id: `w${i}` });
}

function bodyFor(random: Random, state: State): MessageBody {
  const approval = Object.keys(state.approvals)[0];
  const question = Object.keys(state.questions)[0];
  const decision = Object.values(state.decisions)[0];
  const bodies: MessageBody[] = [
    { kind: 'note', text: { value: 'n' } }, { kind: 'pause', reason: '' }, { kind: 'resume' }, { kind: 'settle', as: random.pick(['retry', 'retry', 'skip', 'partial']) },
    { kind: 'extend', budget: { calls: 5, tokens: 50_000 } },
  ];
  if (state.grants?.[0]) bodies.push({ kind: 'revoke', grantId: state.grants[0].grantId });
  if (approval) bodies.push({ kind: 'edit', approvalId: approval, args: { value: { of: random.int(1, 3) } } }, { kind: 'approve', approvalId: approval, grant: random.chance(0.5) ? {} : { forMs: 10_000 } });
  if (approval) bodies.push({ kind: 'approve', approvalId: approval }, { kind: 'approve', approvalId: approval }, { kind: 'reject', approvalId: approval, reason: 'no' });
  if (question) bodies.push({ kind: 'answer', questionId: question, answer: { value: 1 } }, { kind: 'answer', questionId: question, answer: { value: 1 } });
  if (decision) for (const verdict of ['happened', 'not-happened', 'give-up'] as const) bodies.push({ kind: 'resolve', callId: decision.callId, verdict });
  return random.pick(bodies);
}

export function answerTo(random: Random, need: Need): Command {
  switch (need.kind) {
    case 'timer': return { type: 'TimerFired', name: need.name, dueAt: need.dueAt };
    case 'prepare': return prepared(need.stepId, { of: need.stepId }, { n: need.n, resourceVersion: random.chance(0.5) ? 'v1' : null, ...(random.chance(0.3) ? { policy: asks({ expiresInMs: random.int(1_000, 500_000), onDeadline: { then: random.pick(['ask-again', 'fail-step', 'cancel-run'] as const), ...(random.chance(0.3) ? { remindEveryMs: 5_000 } : {}) } }) } : {}) });
    case 'call': return returned(need.callId, need.attempt, resultBy(random));
    case 'gate': return saw(need.callId, need.n, seenBy(random));
    case 'model': return modelSaid(need.callId, need.attempt, random.chance(0.8)
      ? proposes({ add: [toolStep(`p${need.callSeq}`, random.pick(['read', 'stage', 'pay', 'mail']))], drop: [] }, random.chance(0.2) ? ['bad call'] : undefined)
      : { kind: 'failed', failure: failure(random), usage: { calls: 1, tokens: 0, microUsd: 0, failures: 1 } });
    case 'collect': return { type: 'CollectReturned', callbackId: need.callbackId, result: { output: { value: [] }, summary: 'x' } };
    case 'checkpoint': return { type: 'CheckpointReturned', result: { kind: 'failed', why: 'x' } };
  }
}

const failure = (random: Random): { class: ErrorClass; code: string; message: string } => ({ class: random.pick(CLASSES), code: 'x', message: 'x' });

function resultBy(random: Random): CallResult {
  const kind = random.int(1, 10);
  if (kind <= 5) return succeeded();
  if (kind === 6) return { kind: 'failed', failure: failure(random), sent: random.chance(0.5) };
  if (kind === 7) return { kind: 'unknown', why: 'x' };
  if (kind === 8) return { kind: 'busy', why: 'x', retryAfterMs: random.int(0, 5_000) };
  if (kind === 9) return { kind: 'in-doubt', why: 'x' };
  return { kind: 'not-sent', why: random.pick(['cancelled', 'approval', 'shutdown'] as const) };
}

function seenBy(random: Random): GateEvidence {
  const found: GateEvidence['lookUp'] = { kind: 'found', output: { value: 1 }, summary: 'x', reference: 'x' };
  return evidence({
    incarnation: random.chance(0.9) ? 'ledger-0' : 'ledger-1', honoursKey: random.chance(0.4), now: 1_700_000_000_000 + random.int(0, 100_000),
    ledger: random.pick<GateEvidence['ledger']>([
      { state: 'none' }, { state: 'released' }, { state: 'done', output: { value: 1 }, summary: 'x' }, { state: 'live', leaseUntil: 1_700_000_050_000 },
      { state: 'refused', failure: { class: 'business-refusal', code: 'x', message: 'x' } },
      { state: 'dead', fence: 1, firstClaimedAt: 0, sendWindowUntil: 1_700_000_050_000, ownerGone: random.chance(0.5) },
      { state: 'unknown', fence: 2, firstClaimedAt: 0, sendWindowUntil: 0, ownerGone: false },
    ]),
    lookUp: random.pick<GateEvidence['lookUp']>([found, { kind: 'absent' }, { kind: 'none' }, { kind: 'cannot-say', why: 'x' }]),
    resourceVersion: random.pick([null, 'v1', 'v2', { error: 'x' }]), premises: random.chance(0.1) ? [{ resource: 'r', expected: '1', now: '2', holds: false }] : [],
  });
}

/** Commands with ids that lead nowhere. */
function madeUp(random: Random, i: number): Command {
  const id = random.pick(['c1', 'c99', 'constructor', '__proto__', '']);
  return random.pick<Command>([
    returned(id, random.int(-1, 5), resultBy(random)), saw(id, random.int(0, 3), seenBy(random)), prepared(id, {}, { n: random.int(0, 3) }),
    modelSaid(id, 1, proposes({ add: [], drop: ['x'] })), { type: 'TimerFired', name: id, dueAt: 0 }, { type: 'Restore', epoch: random.int(0, 3), executionId: `x${i}`, why: '' },
    said('ann', { kind: 'approve', approvalId: id }, { id: `made-up-${i}` }), said('ann', { kind: 'resolve', callId: id, verdict: 'happened', reference: 'x' }, { id: `made-up-${i}` }),
    { type: 'Malformed', messageId: `junk-${i % 3}`, why: 'junk', actor: { id: 'x', via: 'temporal', assurance: 'claimed' } },
  ]);
}
