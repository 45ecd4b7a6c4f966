// Names that an event carries and the store indexes: artifacts it refers to, and what it opens for others to answer.
// Pure; knows the shape of a reference and a few event types, nothing else of the law.
import type { RunEvent } from '../../../core/events';
import { callbackIdOf } from '../../../core/keys';
import type { WaitRow } from '../../../ports/journal';

const SHA256 = /^[0-9a-f]{64}$/;

/** Ids of all artifacts that a value refers to, as `{sha256: …}` at any depth. */
export function namesIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found;
  for (const [name, member] of Object.entries(value)) {
    if (name === 'sha256' && typeof member === 'string' && SHA256.test(member)) found.add(member);
    else namesIn(member, found);
  }
  return found;
}

/** What a person is asked by this event, or may end later (a grant). Kept also when the answer comes in the same batch, so that the id resolves for ever. */
export function waitsOpenedBy(event: RunEvent): { waitId: string; kind: WaitRow['kind'] }[] {
  switch (event.type) {
    case 'ApprovalRequested': return [{ waitId: event.data.approvalId, kind: 'approval' }];
    case 'GrantGiven': return [{ waitId: event.data.grantId, kind: 'approval' }];
    case 'QuestionOpened': return [{ waitId: event.data.questionId, kind: 'question' }];
    // From before the request leaves: the outside may be faster than the answer of the call.
    case 'ToolCallRequested': return event.data.undoOf === undefined ? [{ waitId: callbackIdOf(event.runId, event.data.callId), kind: 'callback' }] : [];
    case 'CallbackAwaited': return [{ waitId: event.data.callbackId, kind: 'callback' }];
    case 'HumanDecisionRequested': return [{ waitId: event.data.decisionId, kind: 'decision' }];
    default: return [];
  }
}
