// Names that are derived from a position in the run and never from chance or time: idempotency keys, call ids, approval ids.
// The same string stands in the event, in the ledger row and in the header that a tool sends.
import { sha256Hex } from './canonical';

/** Id of a call from its run-wide number: `c7`. */
export const callIdOf = (callSeq: number): string => `c${callSeq}`;

/** The number in the id of a call. */
export const callSeqOf = (callId: string): number => Number(callId.slice(1));

/**
 * Idempotency key of a call with an effect: `k1:` and the hex sha256 of `runId|callSeq|tool|majorVersion`.
 * Holds no attempt, no execution id and no arguments: all attempts at one call share one key, and arguments are compared.
 */
export function callKey(runId: string, callSeq: number, tool: string, majorVersion: number): string {
  return `k1:${sha256Hex(`${runId}|${callSeq}|${tool}|${majorVersion}`)}`;
}

/** Id of something that a person is asked (an approval, a question, a decision): unique over runs, so that it can be named alone. */
export function askId(kind: 'approval' | 'question' | 'decision', runId: string, n: number): string {
  const letter = { approval: 'a', question: 'q', decision: 'd' }[kind];
  return `${letter}-${sha256Hex(`${kind}|${runId}|${n}`).slice(0, 12)}`;
}

/** Id of the grant that a person gives with an approval; unique over runs, since the approval's id is. */
export const grantIdOf = (approvalId: string, actorId: string): string => `g-${sha256Hex(`grant|${approvalId}|${actorId}`).slice(0, 12)}`;

/**
 * Id under which the outside calls back: `what` is the call (`c7`), or the step that waits and how often it was opened (`paid#1`).
 * Known before the request leaves, the same for every attempt, unique over runs.
 */
export const callbackIdOf = (runId: string, what: string): string => `cb-${sha256Hex(`callback|${runId}|${what}`).slice(0, 24)}`;

/** Id of the message that carries one event of a callback: the same event is the same message, through whatever door it comes. */
export const callbackMessageId = (callbackId: string, eventId: string): string => `cb-${sha256Hex(`event|${callbackId}|${eventId}`).slice(0, 32)}`;

/**
 * Id of the run that a call starts: tells its parent to people, and is made of parent and call alone, so that every attempt means the
 * same run. At most 64 characters.
 */
export const childRunIdOf = (runId: string, callId: string): string => `${runId.slice(0, 36)}.${callId.slice(0, 12)}-${sha256Hex(`child|${runId}|${callId}`).slice(0, 12)}`;

/** Deterministic fraction in [0, 1) from a run's seed and a position: the only jitter in the law. */
export function fractionOf(seed: string, position: string): number {
  return parseInt(sha256Hex(`${seed}|${position}`).slice(0, 8), 16) / 0x1_0000_0000;
}

/** A tool by its contract, name and major version: `publish@2`. Two of them stand side by side in one configuration. */
export const contractOf = (name: string, version: string): string => `${name}@${majorOf(version)}`;

/** The integer major of a semver version, e.g. `2` of `2.4.1`. */
export function majorOf(version: string): number {
  return Number.parseInt(version.split('.')[0] ?? '0', 10) || 0;
}
