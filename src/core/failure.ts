// Failures as values: the closed table of classes, the shape in which they travel, and the error that a tool throws to say one.
// Owns no retry rule (rules/retries.ts does) and never carries a stack, a cause or a secret.

/** Closed table of failure classes. Tags say what to do next; rules/retries.ts says which are tried again. */
export type ErrorClass =
  | 'rate-limited' | 'network' | 'timeout-before-send' | 'server'
  | 'permission' | 'argument' | 'business-refusal' | 'not-found' | 'policy'
  | 'cancelled' | 'mismatch' | 'tool-missing' | 'model-key' | 'model-output' | 'artifact'
  | 'rejected' | 'expired' | 'unknown';

/** The shape in which every failure travels; `message` is one sentence of at most 1 KiB. */
export interface Failure { class: ErrorClass; code: string; message: string; retryAfterMs?: number }

/** A failure without its words, where these stand beside it. */
export type Cause = Omit<Failure, 'message'>;

/**
 * What a tool throws to say how it failed. Anything else that it throws is class `unknown`.
 * Throw `timeout-before-send` or `network` only when the request certainly did not reach the other side.
 */
export class ToolError extends Error {
  constructor(
    readonly failureClass: ErrorClass,
    readonly code: string,
    message: string,
    readonly retryAfterMs?: number,
  ) {
    super(message);
    this.name = 'ToolError';
  }
}
