// What people and programs may say to a run, and what they hear. Shapes only: messages.ts guards them at the doors,
// rules/ judge them.
import type { Actor, Budget, Output } from './run';

export type MessageBody =
  | { kind: 'approve'; approvalId: string; grant?: GrantTerms }
  | { kind: 'reject'; approvalId: string; reason: string }
  | { kind: 'edit'; approvalId: string; args: Output }
  | { kind: 'revoke'; grantId: string }
  | { kind: 'answer'; questionId: string; answer: Output }
  /** One event from outside. `item`: which one of a batch; the event's own id where it is left out. */
  | { kind: 'callback'; callbackId: string; eventId: string; item?: string; payload: Output }
  | { kind: 'cancel'; reason: string }
  | { kind: 'pause'; reason: string }
  | { kind: 'resume' }
  | { kind: 'note'; text: Output }
  | { kind: 'resolve'; callId: string; verdict: 'happened' | 'not-happened' | 'give-up'; reference?: string }
  | { kind: 'settle'; as: 'partial' | 'retry' | 'skip' | 'fail'; stepId?: string }
  | { kind: 'extend'; budget: Budget };

/**
 * An approval for this kind of call for the rest of the run, or for `forMs`. `where`: members of the arguments by their path
 * of names, each with the text that it must have; a text that ends in `*` stands for all that begin so.
 */
export interface GrantTerms { forMs?: number; where?: Record<string, string> }

/** `messageId` is the sender's: the same id with the same content counts once, with other content it is refused. */
export type Message = { messageId: string; actor: Actor; receivedAt?: number; /** Signed words of who sends it; a hand looks at them. */ token?: string } & { body: MessageBody };

/** What the sender of a message hears. Answers are values; `text` is one sentence for people. */
export interface MessageAnswer {
  kind: 'done' | 'granted' | 'counted' | 'rejected' | 'already-decided' | 'expired' | 'unknown' | 'closed' | 'busy' | 'refused';
  text: string;
}
