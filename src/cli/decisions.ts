// Decisions as they are sent: each has an id made of what it says and who says it, so that the same decision again is the same
// message; it counts once and hears the same answer, also after the run has closed. One that met an earlier one: the same again is
// fine, another was not taken, and its sender must hear so. The journal alone says what was decided.
import type { LonghaulClient } from '../client/client';
import type { Delivery } from '../client/types';
import { canonical, digestOf, type Json } from '../core/canonical';
import type { RunEvent } from '../core/events';
import type { MessageBody } from '../core/message';
import type { Actor, Output } from '../core/run';
import { tellDelivery } from './act';
import { actorOf, textOf, type DeciderOptions } from './options';
import type { Place } from './place';

/** Sends a decision under the id that belongs to it; `about` stands before what is said of it. */
export async function decide(place: Place, runId: string, body: MessageBody, options: DeciderOptions, about?: string): Promise<number> {
  const { token, actor } = await senderOf(options);
  const own = `cli-${digestOf({ body: body as unknown as Json, by: actor.id, ...(token === undefined ? {} : { token: digestOf(token) }) }).slice(0, 32)}`;
  const messageId = options.messageId ?? await unspent(place, runId, own, body);
  const client = await place.client();
  const delivery = await client.message(runId, body, { actor, messageId, ...(token === undefined ? {} : { token }) });
  return tellDelivery(runId, delivery, options, await notTaken(client, runId, body, delivery), about);
}

/**
 * An id under which the decision was not refused before: what stood in its way may be gone (a secret that was not set, keys that were
 * not there), and a refusal that the run remembers would be heard for ever. What was taken keeps its id and counts once.
 */
async function unspent(place: Place, runId: string, own: string, body: MessageBody): Promise<string> {
  const { journal } = await place.stores();
  for (let n = 0; ; n += 1) {
    const id = n === 0 ? own : `${own}-${n}`;
    const before = (await journal.byKey(runId, `msg:${id}`))?.message;
    if (!before || (before.answer.kind !== 'refused' && before.digest === digestOf(body))) return id;
  }
}

/** Who sends: with a token, the person whom it names, unless another name is given; then the run will say that they differ. */
async function senderOf(options: DeciderOptions): Promise<{ actor: Actor; token?: string }> {
  const actor = actorOf(options);
  if (options.token === undefined) return { actor };
  const token = textOf('--token', `@${options.token}`).trim();
  // Loaded where a token is: every command line would pay for the schema library.
  const { readToken } = await import('../adapters/keys/token');
  const named = options.as !== undefined || options.by !== undefined;
  const sub = named ? actor.id : readToken(token)?.claims.sub ?? actor.id;
  return { token, actor: { ...actor, id: sub, assurance: 'token' } };
}

const WORD: Partial<Record<MessageBody['kind'], string>> = { answer: 'answer' };

/** The beginning of the sentence for a decision that was not taken, or undefined when it was, or what stands is the same. */
export async function notTaken(client: LonghaulClient, runId: string, body: MessageBody, delivery: Delivery): Promise<string | undefined> {
  if (!delivery.known) return undefined;
  const { kind } = delivery.answer;
  const taken = kind === 'done' || kind === 'granted' || kind === 'counted' || kind === 'rejected';
  if (taken || (kind === 'already-decided' && await stands(client, runId, body))) return undefined;
  return `your ${WORD[body.kind] ?? 'decision'} was not taken; `;
}

/** Does the journal hold this same decision, whoever made it? */
async function stands(client: LonghaulClient, runId: string, body: MessageBody): Promise<boolean> {
  let same = false;
  for await (const event of client.events(runId)) same = saysAsMuch(event, body) ?? same;
  return same;
}

/** Whether the event decides what the body is about, and as it does; undefined when it is about something else. */
function saysAsMuch({ type, data }: RunEvent, body: MessageBody): boolean | undefined {
  switch (body.kind) {
    case 'approve':
      // Who also wanted later calls allowed has not got that by an approval of this one.
      if (body.grant && type === 'GrantGiven' && data.approvalId === body.approvalId) return canonical(data.where ?? {}) === canonical(body.grant.where ?? {});
      if (body.grant && type === 'ApprovalGranted' && data.approvalId === body.approvalId) return false;
      return (type === 'ApprovalGranted' || type === 'ApprovalRejected') && data.approvalId === body.approvalId ? type === 'ApprovalGranted' : undefined;
    case 'reject': return (type === 'ApprovalGranted' || type === 'ApprovalRejected') && data.approvalId === body.approvalId ? type === 'ApprovalRejected' : undefined;
    // A call that was decided as it was is not the changed one that was meant.
    case 'edit': return (type === 'ApprovalGranted' || type === 'ApprovalRejected') && data.approvalId === body.approvalId ? false : undefined;
    case 'answer': return type === 'QuestionAnswered' && data.questionId === body.questionId ? contentOf(data.answer) === contentOf(body.answer) : undefined;
    case 'resolve': return type === 'HumanDecided' && (data.callId === body.callId || data.decisionId === body.callId) ? data.verdict === body.verdict : undefined;
    default: return true;
  }
}

const contentOf = (output: Output): string => ('ref' in output ? output.ref.sha256 : canonical(output.value));
