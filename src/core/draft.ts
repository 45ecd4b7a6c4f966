// Small constructors that every rule uses: typed drafts of events and answers to senders. No rule stands here.
// Pure; a draft has no number and no time yet, the turn stamps them.
import type { Draft, EventData, EventType } from './events';
import type { MessageAnswer } from './message';
import type { Actor } from './run';

/** A typed draft; `about` is the thread it belongs to (a call, a step, an approval) when that is not the run. */
export function draft<T extends EventType>(type: T, data: EventData[T], about?: string, actor?: Actor): Draft {
  return { type, data, ...(about ? { correlationId: about } : {}), ...(actor ? { actor } : {}) } as Draft;
}

/** What a rule decides on one command. */
export interface Decision { events: Draft[]; answer: MessageAnswer | null }

export const nothing: Decision = { events: [], answer: null };

export function only(events: Draft[]): Decision {
  return { events, answer: null };
}

export function answer(kind: MessageAnswer['kind'], text: string): MessageAnswer {
  return { kind, text };
}

/** The message is refused and the refusal is written down, so that nobody wonders where it went. */
export function refuse(messageId: string, actor: Actor, kind: MessageAnswer['kind'], text: string): Decision {
  return { events: [draft('MessageRejected', { messageId, why: text, actor }, undefined, actor)], answer: { kind, text } };
}
