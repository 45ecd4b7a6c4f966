// The people around a simulated run. They look at what the run shows and answer what it asks; a person who is asked whether an
// effect happened looks outside first. In the time of faults they also do what people do: twice, too late, the wrong thing.
import type { Answer } from '../core/commands';
import { callbackMessageId } from '../core/keys';
import type { GrantTerms, Message, MessageBody } from '../core/message';
import type { Actor } from '../core/run';
import { statusOf } from '../core/summary';
import type { ApprovalState, State } from '../core/state';
import type { Stage } from './simulator-stage';

/** Takes a message to an execution that is open; false when there is none at the moment. */
export type Carry = (message: Message, hear: (answer: Answer) => void) => boolean;

export class People {
  private sent = 0;
  private settled = 0;
  private readonly messages: Message[] = [];
  /** Answers that are on their way, so that nobody is bored into a thousand messages. */
  private readonly pending = new Set<string>();

  constructor(private readonly stage: Stage, private readonly carry: Carry, private readonly eager: () => boolean) {
    this.lookLater();
  }

  private lookLater(): void {
    this.stage.clock.after(this.stage.random.int(2_000, 40_000), () => {
      const state = this.stage.judge.reference;
      if (state.end) return;
      this.look(state);
      this.lookLater();
    });
  }

  private actor(id: string): Actor {
    return { id, via: 'cli', assurance: this.stage.random.chance(0.8) || !this.stage.whims ? 'local-user' : 'claimed' };
  }

  /** One look at the run: answers about what is open, most of the time. */
  private look(state: State): void {
    const { random } = this.stage;
    const willing = (): boolean => this.eager() || random.chance(0.6);
    for (const approval of Object.values(state.approvals)) if (willing()) this.decideApproval(state, approval.approvalId);
    for (const question of Object.values(state.questions)) if (willing()) this.say(question.who?.[0] ?? 'ann', { kind: 'answer', questionId: question.questionId, answer: { value: 'yes' } }, question.questionId);
    for (const decision of Object.values(state.decisions)) if (willing()) this.resolve(state, decision.callId, decision.askedAt);
    if (state.paused && willing()) this.say('ann', { kind: 'resume' }, 'resume');
    if (state.blocked && willing()) this.settle(state);
    if (state.exhausted.length > 0 && willing()) this.say('ann', { kind: 'extend', budget: { calls: 20, tokens: 200_000, failures: 10, wallMs: 3_600_000, microUsd: 1_000_000 } }, 'extend');
  }

  private decideApproval(state: State, approvalId: string): void {
    const { random, scenario } = this.stage;
    const approval = state.approvals[approvalId];
    if (!approval) return;
    const able = (approval.rule.approvers.length > 0 ? approval.rule.approvers : scenario.people)
      .filter((id) => (approval.rule.ownerMay || id !== state.owner.id) && !approval.granted.some((actor) => actor.id === id));
    const who = able.length > 0 ? random.pick(able) : 'nobody';
    if (random.chance(0.12) && this.stage.whims) this.say(who, { kind: 'reject', approvalId, reason: 'not today' }, approvalId);
    else if (random.chance(0.1) && this.stage.whims) this.say(who, { kind: 'edit', approvalId, args: { value: { of: approval.stepId, better: random.int(1, 9) } } }, `${approvalId} ${who}`);
    else this.say(who, { kind: 'approve', approvalId, ...(this.stage.whims ? this.terms(approval) : {}) }, `${approvalId} ${who}`);
  }

  /** Now and then for the rest of the run, where policy lets them. */
  private terms({ binding, rule, stepId }: ApprovalState): { grant?: GrantTerms } {
    const { random, scenario } = this.stage;
    const effect = scenario.agent.tools.find((tool) => tool.name === binding.tool)?.effect ?? 'irreversible';
    if (!(rule.mayGrant ?? effect !== 'irreversible') || !random.chance(0.3)) return {};
    return { grant: { ...(random.chance(0.3) ? { forMs: random.int(1_000, 200_000) } : {}), ...(random.chance(0.3) ? { where: { of: random.chance(0.5) ? stepId : 's*' } } : {}) } };
  }

  /** A careful person waits until nothing can be on its way any more, looks outside, and says what is there. */
  private resolve(state: State, callId: string, askedAt: number): void {
    const call = state.calls[callId];
    const { clock, outside, random, whims } = this.stage;
    if (!call || clock.now < askedAt + 60_000) return;
    const effect = outside.of(call.key)[0];
    if (random.chance(0.15) && whims) this.say('ann', { kind: 'resolve', callId, verdict: 'give-up' }, callId);
    else if (effect) this.say('ann', { kind: 'resolve', callId, verdict: 'happened', reference: 'seen' }, callId);
    else this.say('ann', { kind: 'resolve', callId, verdict: 'not-happened' }, callId);
  }

  private settle(state: State): void {
    const { random } = this.stage;
    const step = state.blocked?.steps[0];
    const as = !this.stage.whims ? this.steadily() : random.pick(step ? ['retry', 'retry', 'skip', 'partial', 'fail'] as const : ['retry', 'retry', 'partial', 'fail'] as const);
    this.say('ann', { kind: 'settle', as, ...(as === 'skip' && step ? { stepId: step } : {}) }, 'settle');
  }

  /** People without whims try a few times, then take what there is. */
  private steadily(): 'retry' | 'partial' {
    this.settled += 1;
    return this.settled <= 3 ? 'retry' : 'partial';
  }

  /** Says something that nobody asked for, or says it wrongly. */
  misbehave(): void {
    const { random, judge: { reference: state } } = this.stage;
    const approvals = Object.keys(state.approvals);
    const someone = random.pick([...this.stage.scenario.people, state.owner.id, 'mallory']);
    const id = approvals.length > 0 && random.chance(0.7) ? random.pick(approvals) : random.pick(['a-none', 'constructor', '__proto__', 'toString']);
    const bodies: MessageBody[] = [
      { kind: 'approve', approvalId: id }, { kind: 'reject', approvalId: id, reason: '' }, { kind: 'pause', reason: 'lunch' }, { kind: 'resume' },
      { kind: 'note', text: { value: 'please hurry' } }, { kind: 'answer', questionId: id, answer: { value: 1 } }, { kind: 'settle', as: 'retry' },
      { kind: 'extend', budget: { calls: 1 } }, { kind: 'edit', approvalId: id, args: { value: { of: 'elsewhere' } } },
      { kind: 'revoke', grantId: random.pick([...(state.grants ?? []).map((grant) => grant.grantId), 'g-none']) }, { kind: 'approve', approvalId: id, grant: {} }, { kind: 'resolve', callId: random.pick(['c1', 'c2', 'nothing']), verdict: 'give-up' },
    ];
    const old = this.messages.length > 0 && random.chance(0.4) ? random.pick(this.messages) : null;
    if (old && random.chance(0.3)) this.post({ ...old, body: random.pick(bodies) });
    else if (old) this.post(old);
    else if (statusOf(state) !== 'accepted') this.say(someone, random.pick(bodies.filter((body) => body.kind !== 'resolve')));
  }

  /** The outside of an accepted request tells what came of it: every item once, some twice, late or never, in any order. */
  callBack(callbackId: string, expect: number | null): void {
    const { clock, random } = this.stage;
    for (let i = 1; i <= (expect ?? 1); i += 1) {
      // What never comes leaves the deadline to decide.
      if (this.stage.fault(0.1)) continue;
      const item = expect === null ? {} : { item: `item-${i}` };
      const tell = (eventId: string): void => this.post({ messageId: callbackMessageId(callbackId, eventId), actor: { id: 'outside', via: 'client', assurance: 'claimed' }, receivedAt: clock.now, body: { kind: 'callback', callbackId, eventId, ...item, payload: { value: `told ${i}` } } });
      clock.after(random.delay(1, random.chance(0.2) ? 200_000 : 5_000), () => tell(`event-${i}`));
      if (random.chance(0.3)) clock.after(random.delay(1, 100_000), () => tell(`event-${i}`));
      if (random.chance(0.1)) clock.after(random.delay(1, 100_000), () => tell(`again-${i}`));
    }
  }

  note(): void {
    this.say('ann', { kind: 'note', text: { value: 'are you there?' } });
  }

  cancel(): void {
    this.say('ann', { kind: 'cancel', reason: 'changed my mind' });
  }

  private say(who: string, body: MessageBody, about?: string): void {
    if (about !== undefined) {
      if (this.pending.has(about)) return;
      this.pending.add(about);
      this.stage.clock.after(60_000, () => this.pending.delete(about));
    }
    this.sent += 1;
    const message: Message = { messageId: `m${this.sent}`, actor: this.actor(who), receivedAt: this.stage.clock.now, body };
    this.messages.push(message);
    this.stage.trace(() => `${who} says ${message.messageId} ${JSON.stringify(body)}`);
    this.post(message);
    if (this.stage.fault(0.15)) this.post(message);
  }

  /** Sends until there is an answer: an answer that does not come means "not known", and the same is sent again. */
  private post(message: Message, tries = 0): void {
    const { clock, random, judge } = this.stage;
    if (tries > 30) return;
    clock.after(random.delay(10, 3_000), () => {
      let heard = false;
      const taken = this.carry(message, (answer) => {
        judge.answered(message, answer);
        if (heard || answer?.kind !== 'busy') heard = true;
        else { heard = true; clock.after(1_000, () => this.post(message, tries + 1)); }
      });
      clock.after(taken ? 60_000 : 1_000, () => { if (!heard) this.post(message, tries + 1); });
    });
  }
}
