// One event from outside for a call or a step that waits to be called back. Its message id is made of the event's own id, so that the
// same event counts once through whatever door it comes, and the journal answers for it for ever. Large payloads become artifacts
// before they are sent (I11); values of secrets are taken out, as they are from what tools answer. Decides nothing.
import { canonical, sha256Hex, type Json } from '../core/canonical';
import { callbackMessageId } from '../core/keys';
import type { Message } from '../core/message';
import { DEEPEST_JSON, nestedBeyond } from '../core/rules/binding';
import { LIMITS, type ArtifactRef, type Output } from '../core/run';
import { redactJson, redactText } from '../ports/redaction';
import { recorded, sendMessage, type Sender } from './send';
import { rowOf, runOfWait } from './reads';
import { isOver } from './start';
import type { Delivery, From } from './types';

/** What the outside tells. */
export interface CallbackEvent {
  /** The sender's id for this event, 1 to 200 characters: the same again counts once. */
  eventId: string;
  /** Which item of a batch this is, 1 to 200 characters; left out, the event's id. */
  item?: string;
  payload: Json;
}

/** Sends the event to the run that gave out this id. Throws ClientError `unknown-wait` when none did. */
export async function sendCallback(sender: Sender, callbackId: string, { eventId, item, payload }: CallbackEvent, { actor, receivedAt = Date.now() }: Omit<From, 'messageId'>): Promise<Delivery & { runId: string }> {
  const runId = await runOfWait(sender.stores, callbackId);
  const fault = faultOfPayload(payload);
  if (fault !== null) return { runId, known: true, messageId: callbackMessageId(callbackId, eventId), answer: { kind: 'refused', text: fault } };
  const { output, bytes } = outputOf(redactJson(payload), eventId);
  const message: Message = {
    messageId: callbackMessageId(callbackId, eventId), actor, receivedAt,
    body: { kind: 'callback', callbackId, eventId, ...(item === undefined ? {} : { item }), payload: output },
  };
  // What was counted long ago has left the state of the run; the journal knows it, and whether it was the same.
  const known = await recorded(sender.stores, runId, message);
  if (known) return { runId, ...known };
  if ('ref' in output && bytes && !isOver(await rowOf(sender.stores, runId))) await sender.stores.artifacts.write(bytes, output.ref);
  return { runId, ...await sendMessage(sender, runId, message) };
}

/** One sentence on why a payload cannot be kept, or null: `1e999` is JSON and no number that can be written down again. */
export function faultOfPayload(payload: Json): string | null {
  if (nestedBeyond(payload, DEEPEST_JSON)) return `The payload is nested too deep: JSON of at most ${DEEPEST_JSON} levels is taken.`;
  try {
    canonical(payload);
    return null;
  } catch {
    return 'The payload holds what JSON cannot carry, such as a number that is too large; send it as a text.';
  }
}

/** The payload as it stands in the message, and the bytes of the artifact that it refers to: canonical, so that the same members in another order are the same content. */
function outputOf(payload: Json, eventId: string): { output: Output; bytes?: Uint8Array } {
  const bytes = new TextEncoder().encode(canonical(payload));
  if (bytes.byteLength <= LIMITS.inlineBytes) return { output: { value: payload } };
  const ref: ArtifactRef = { sha256: sha256Hex(bytes), bytes: bytes.byteLength, mediaType: 'application/json', summary: redactText(`payload of event ${eventId}`.slice(0, 80)), name: 'payload.json' };
  return { output: { ref }, bytes };
}
