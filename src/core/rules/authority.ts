// Authority: whose word a message is. A token counts for exactly what it was made for, once; without one a name is only claimed as
// far as the run's mode goes. In production nobody decides about a manual or irreversible effect without a token.
// Signatures are checked by a hand before the command comes in; here everything that the signed words say is held against the
// state. Only messages come here: nothing that a model writes is one.
import { digestOf } from '../canonical';
import type { Binding, EventType } from '../events';
import { iso } from '../iso';
import { callOf, entryOf, toolOf } from '../lookups';
import type { Message, MessageAnswer, MessageBody } from '../message';
import type { Checked, Claims, May } from '../proof';
import type { Actor, Effect } from '../run';
import type { CallState, State } from '../state';

/** Tokens that a state remembers as used. Each is bound to one thing that is asked once, so that older ones cannot come back. */
export const MOST_TOKENS = 64;

const SIGNED: ReadonlySet<Effect> = new Set<Effect>(['manual', 'irreversible']);

const isProduction = (state: State): boolean => state.pins.mode === 'production';

/** Must decisions about an effect of this class be signed in this run? */
export const mustBeSigned = (state: State, effect: Effect): boolean => isProduction(state) && SIGNED.has(effect);

/** Digest of the call that an approval is about: another call, other arguments, another version of anything is another digest. */
export const digestOfApproval = (runId: string, approvalId: string, callId: string, { tool, version, argsDigest, resourceVersion, planVersion }: Binding): string =>
  digestOf({ runId, approvalId, callId, tool, version, argsDigest, resourceVersion, planVersion });

/** What is open under an id: what a token for it is bound to, and the effect at stake (`none` for a question). */
export interface Matter { about: string; binding: string; effect: Effect }

export function matterOf(state: State, id: string): Matter | null {
  const { runId } = state;
  const approval = entryOf(state.approvals, id);
  if (approval) return { about: id, binding: digestOfApproval(runId, id, approval.callId, approval.binding), effect: toolOf(state, approval.binding.tool)?.effect ?? 'irreversible' };
  const question = entryOf(state.questions, id);
  if (question) return { about: id, binding: digestOf({ runId, questionId: id, question: question.question }), effect: 'none' };
  const decision = Object.values(state.decisions).find((asked) => asked.decisionId === id || asked.callId === id);
  if (!decision) return null;
  const { decisionId, callId, tool } = decision;
  const call = callOf(state, callId);
  return { about: decisionId, binding: digestOf({ runId, decisionId, callId, key: call?.key ?? '' }), effect: call?.effect ?? toolOf(state, tool)?.effect ?? 'irreversible' };
}

/** Which use of a token a message makes; null for what no token decides. */
export function useOf(body: MessageBody): { use: May; id: string } | null {
  switch (body.kind) {
    case 'approve': return { use: body.grant ? 'grant' : 'approve', id: body.approvalId };
    case 'reject':
    case 'edit': return { use: body.kind, id: body.approvalId };
    case 'answer': return { use: 'answer', id: body.questionId };
    case 'resolve': return { use: 'resolve', id: body.callId };
    default: return null;
  }
}

/** A message whose actor is as sure as the run can be, and why it does not count, if it does not. */
export interface Judged { message: Message; refused?: MessageAnswer }

export function judged(state: State, given: Message, checked: Checked | undefined, now: number): Judged {
  const { messageId, body, receivedAt } = given;
  const claimed = { messageId, body, actor: actorOf(given.actor, 'claimed') };
  const no = (text: string, kind: MessageAnswer['kind'] = 'refused'): Judged => ({ message: claimed, refused: { kind, text: text.slice(0, 1000) } });
  if (checked?.kind === 'invalid') return no(`The token is refused: ${checked.why} Nothing is decided.`);
  if (checked) {
    const { claims, proof } = checked;
    const fault = faultOf(state, claims, given, now);
    if (fault) return no(fault.text, fault.kind);
    const actor = { ...actorOf({ ...given.actor, id: claims.sub }, 'token'), proof };
    return { message: { messageId, body, actor, ...(claims.received === undefined ? {} : { receivedAt: claims.received }) } };
  }
  const use = useOf(body);
  const matter = use && matterOf(state, use.id);
  if (matter && mustBeSigned(state, matter.effect)) {
    return no(`This run is in production mode, and ${matter.about} is about an effect of class ${matter.effect}: a decision must be signed. Ask for a token (\`longhaul approvals token ${matter.about} --for NAME\` where the keys are) and decide with --token.`);
  }
  const sure = given.actor.assurance === 'local-user' && !isProduction(state) ? 'local-user' : 'claimed';
  return { message: { messageId, body, actor: actorOf(given.actor, sure), ...(receivedAt === undefined ? {} : { receivedAt }) } };
}

const DOORS: ReadonlySet<string> = new Set<Actor['via']>(['cli', 'client', 'temporal', 'console']);

/** Who is named, without anything that the sender has put beside it: a proof and the runtime's own names are not for senders. */
const actorOf = ({ id, via }: Pick<Actor, 'id' | 'via'>, assurance: Actor['assurance']): Actor => ({ id, via: DOORS.has(via) ? via : 'client', assurance });

/** Why a genuine token does not count here; null when it does. */
function faultOf(state: State, claims: Claims, { actor, body }: Message, now: number): MessageAnswer | null {
  const no = (text: string): MessageAnswer => ({ kind: 'refused', text });
  const use = useOf(body);
  const name = `Token ${claims.jti}`;
  if (!use) return no(`${name} is refused: a token decides an approval, a question or a call in doubt, and this is a message to ${body.kind}; send it without.`);
  if (claims.run !== state.runId) return no(`${name} is refused: it was made for another run.`);
  if (state.usedTokens?.includes(claims.jti)) {
    const before = state.closed.find(({ id }) => id === claims.about)?.text;
    return { kind: 'already-decided', text: `${name} was used before, and a token decides once. ${before ?? ''}`.trim() };
  }
  const matter = matterOf(state, use.id);
  if (claims.about !== (matter?.about ?? use.id)) return no(`${name} is refused: it was made for ${claims.about}, not for ${use.id}.`);
  if (claims.sub !== actor.id) return no(`${name} is refused: it was made for ${claims.sub}, and the message says ${actor.id}.`);
  if (now > claims.exp) return no(`${name} is refused: it expired at ${iso(claims.exp)}; ask for a new one.`);
  if (!claims.may.includes(use.use)) return no(`${name} is refused: it allows ${claims.may.join(', ')}, not ${use.use}.`);
  if (claims.body !== undefined && claims.body !== digestOf(body)) return no(`${name} is refused: it was given for another decision than this.`);
  if (matter && claims.binding !== matter.binding) return no(`${name} is refused: what it was made for is no longer what is asked; look again and ask for a new one.`);
  return null;
}

/** What a call's approval rests on, for a last look before the call is made; undefined when nobody had to sign. */
export function signaturesOf(state: State, call: CallState): { proofs: NonNullable<CallState['proofs']>; planVersion: number } | undefined {
  if (!call.proofs && !mustBeSigned(state, call.effect)) return undefined;
  return { proofs: call.proofs ?? [], planVersion: call.planVersion };
}

/** The token that stands behind an event, if it has decided something. */
export function tokenOf(event: { type: EventType; actor: Actor }): string | undefined {
  return event.type === 'MessageRejected' ? undefined : event.actor.proof?.jti;
}
