// Names and shapes of what people and programs send to a run, and what they hear. Shared by client and conductor; imports no SDK.
// One message travels as an Update and as a Signal twin. A guard checks shape and size only; the law judges the rest.
import { canonical, type Json } from './core/canonical';
import { callbackMessageId } from './core/keys';
import { MAX_DEPTH, nestedBeyond } from './core/rules/binding';
import { isWritten } from './core/person';
import { LIMITS, type Actor } from './core/run';
import type { Message, MessageBody } from './core/message';

export type { Message, MessageAnswer, MessageBody } from './core/message';

export const WORKFLOW_TYPE = 'agentRun';
export const TASK_QUEUE = 'longhaul';
export const MESSAGE = 'message';
/** Plain signals for people at Temporal's own command line or Web UI; they become messages with assurance `claimed`. */
export const PLAIN_SIGNALS = ['approve', 'reject', 'answer', 'cancel'] as const;
/** A signal that says nothing: a run that sleeps behind its own journal reads on. Harmless at any time, and no event. */
export const WAKE = 'wake';
export const workflowIdOf = (runId: string): string => `run/${runId}`;
export const runIdOf = (workflowId: string): string => workflowId.replace(/^run\//, '');

type Guard = (body: Record<string, unknown>) => boolean;
const text = (v: unknown, max = 4096): v is string => typeof v === 'string' && v.length > 0 && v.length <= max;
/** One of these words. The list `["retry"]` reads like the text `retry`, and what the law branches on must be the text. */
const word = (v: unknown, words: readonly string[]): boolean => typeof v === 'string' && words.includes(v);
const isRef = (v: unknown): boolean => {
  const { sha256, bytes } = (v ?? {}) as { sha256?: unknown; bytes?: unknown };
  return typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256) && Number.isSafeInteger(bytes) && (bytes as number) >= 0;
};
/** A value stands in state and events, so that a larger one has to come as an artifact's reference. */
const isOutput = (v: unknown): boolean => typeof v === 'object' && v !== null
  && ('ref' in v ? isRef(v.ref) : 'value' in v && v.value !== undefined && JSON.stringify(v.value).length <= LIMITS.artifactBytes);

const BODIES: Record<MessageBody['kind'], Guard> = {
  approve: (b) => text(b.approvalId, 100) && (b.grant === undefined || isTerms(b.grant)),
  edit: (b) => text(b.approvalId, 100) && isOutput(b.args),
  revoke: (b) => text(b.grantId, 100),
  reject: (b) => text(b.approvalId, 100) && typeof b.reason === 'string' && b.reason.length <= 4096,
  answer: (b) => text(b.questionId, 100) && isOutput(b.answer),
  callback: (b) => text(b.callbackId, 100) && text(b.eventId, 200) && (b.item === undefined || text(b.item, 200)) && isOutput(b.payload),
  cancel: (b) => typeof b.reason === 'string' && b.reason.length <= 4096,
  pause: (b) => typeof b.reason === 'string' && b.reason.length <= 4096,
  resume: () => true,
  note: (b) => isOutput(b.text),
  resolve: (b) => text(b.callId, 100) && word(b.verdict, ['happened', 'not-happened', 'give-up'])
    && (b.reference === undefined || text(b.reference)) && (b.verdict !== 'happened' || text(b.reference)),
  settle: (b) => word(b.as, ['partial', 'retry', 'skip', 'fail']) && (b.as !== 'skip' || text(b.stepId, 100)),
  extend: (b) => isBudget(b.budget),
};

/** At most eight members, each a short text. */
function isTerms(v: unknown): boolean {
  if (typeof v !== 'object' || v === null) return false;
  const { forMs, where, ...rest } = v as Record<string, unknown>;
  const texts = where === undefined || (typeof where === 'object' && where !== null && !Array.isArray(where)
    && Object.keys(where).length > 0 && Object.keys(where).length <= 8 && Object.entries(where).every(([name, wanted]) => text(name, 200) && text(wanted, 500)));
  return Object.keys(rest).length === 0 && texts && (forMs === undefined || (Number.isSafeInteger(forMs) && (forMs as number) > 0));
}

function isBudget(v: unknown): boolean {
  if (typeof v !== 'object' || v === null) return false;
  const entries = Object.entries(v);
  return entries.length > 0 && entries.every(([k, n]) =>
    ['calls', 'tokens', 'microUsd', 'failures', 'wallMs'].includes(k) && Number.isSafeInteger(n) && (n as number) >= 0);
}

function isActor(v: unknown): v is Actor {
  const a = v as Partial<Actor> | null;
  return typeof a === 'object' && a !== null && text(a.id, 200) && typeof a.via === 'string'
    && word(a.assurance, ['claimed', 'local-user', 'token']);
}

/** The event of a callback is known again by its own id, so that no door can count it twice. */
const CALLBACK_ID = 'The messageId of a callback must be the one that belongs to its callbackId and eventId; send it with `client.callback` or `longhaul callback`.';

/** One sentence on what is wrong with a message, or null when its shape is right. Never throws, whatever it is given. */
export function faultOfMessage(value: unknown): string | null {
  try {
    if (typeof value !== 'object' || value === null) return 'A message must be an object {messageId, body, actor}.';
    if (JSON.stringify(value).length > LIMITS.messageBytes) return `A message may be at most ${LIMITS.messageBytes} bytes; send a reference instead.`;
    if (nestedBeyond(value, MAX_DEPTH)) return `A message may be nested at most ${MAX_DEPTH} deep.`;
    // What has no canonical form, such as a number that JSON cannot carry, can neither be compared nor kept.
    canonical(value);
    const m = value as Partial<Message>;
    if (!text(m.messageId, 128)) return 'A message needs a messageId of 1 to 128 characters.';
    if (!isActor(m.actor)) return 'A message needs an actor {id, via, assurance}.';
    if (!isWritten(m.actor.id)) return 'The id of an actor must be a name as people write it: composed (Unicode NFC), no blanks around it, nothing in it that is not seen.';
    if (m.token !== undefined && !text(m.token)) return 'A token is a text of at most 4,096 characters.';
    if (m.receivedAt !== undefined && !Number.isFinite(m.receivedAt)) return 'receivedAt must be a time in ms.';
    const body = m.body as unknown as Record<string, unknown> | null | undefined;
    if (typeof body !== 'object' || body === null) return 'A message needs a body with a kind.';
    const guard = word(body.kind, Object.keys(BODIES)) ? BODIES[body.kind as MessageBody['kind']] : undefined;
    if (!guard) return `Unknown message kind ${JSON.stringify(body.kind ?? null)}; known are ${Object.keys(BODIES).join(', ')}.`;
    if (!guard(body)) return `The body of a message of kind ${String(body.kind)} lacks a member or has one of a wrong type.`;
    return body.kind === 'callback' && m.messageId !== callbackMessageId(String(body.callbackId), String(body.eventId)) ? CALLBACK_ID : null;
  } catch {
    return 'A message must be plain JSON.';
  }
}

/** A message made from a plain signal of Temporal's own tools. The signal's payload stands in for the body. */
export function messageFromSignal(name: (typeof PLAIN_SIGNALS)[number], payload: unknown, messageId: string): Message {
  const given = (typeof payload === 'object' && payload !== null ? payload : {}) as Record<string, Json>;
  const { token, ...rest } = given;
  const base: Record<string, unknown> = { ...rest, kind: name };
  if (name === 'reject' || name === 'cancel') base.reason = typeof given.reason === 'string' ? given.reason : '';
  if (name === 'answer' && !isOutput(given.answer)) base.answer = { value: given.answer ?? null };
  const actor = { id: typeof given.actor === 'string' ? given.actor : 'temporal', via: 'temporal', assurance: 'claimed' } as const;
  return { messageId, actor, body: base as MessageBody, ...(typeof token === 'string' ? { token } : {}) };
}
