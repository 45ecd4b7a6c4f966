// What people and programs may say to a run, and what they hear. Shapes only: messages.ts guards them at the doors,
// rules/ judge them.
import type { Actor, Budget, Output } from './run';

export type MessageBody =
  | { kind: 'approve'; approvalId: string }
  | { kind: 'reject'; approvalId: string; reason: string }
  | { kind: 'answer'; questionId: string; answer: Output }
  | { kind: 'cancel'; reason: string }
  | { kind: 'pause'; reason: string }
  | { kind: 'resume' }
  | { kind: 'note'; text: Output }
  | { kind: 'resolve'; callId: string; verdict: 'happened' | 'not-happened' | 'give-up'; reference?: string }
  | { kind: 'settle'; as: 'partial' | 'retry' | 'skip' | 'fail'; stepId?: string }
  | { kind: 'extend'; budget: Budget };

/** `messageId` is the sender's: the same id with the same content counts once, with other content it is refused. */
export type Message = { messageId: string; actor: Actor; receivedAt?: number } & { body: MessageBody };

/** What the sender of a message hears. Answers are values; `text` is one sentence for people. */
export interface MessageAnswer {
  kind: 'done' | 'granted' | 'counted' | 'rejected' | 'already-decided' | 'expired' | 'unknown' | 'closed' | 'busy' | 'refused';
  text: string;
}
