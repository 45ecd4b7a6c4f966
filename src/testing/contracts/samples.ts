// Rows, batches and claims of a made-up run, for the contract suites. Real shapes of the law with the least content.
import type { RunEvent } from '../../core/events';
import type { Actor, ArtifactRef } from '../../core/run';
import type { AppendRequest, RunRow, WaitRow } from '../../ports/journal';
import type { ClaimOwner, ClaimRequest, Outcome } from '../../ports/ledger';

export const ann: Actor = { id: 'ann', via: 'cli', assurance: 'local-user' };

export const refOf = (letter: string): ArtifactRef => ({ sha256: letter.repeat(64), bytes: 3, mediaType: 'text/plain', summary: `all ${letter}` });

/** A `runs` row as it is accepted; `change` says what differs. */
export function rowFor(runId: string, change: Partial<RunRow> = {}): RunRow {
  return {
    runId, title: `Run ${runId}`, agent: 'clerk', owner: ann, status: 'accepted', outcome: null, detail: '', waits: [], deadline: null,
    budgetLeft: { calls: 9 }, steps: { done: 0, total: 0 }, epoch: 0, version: 0, inputDigest: `digest of ${runId}`, inputRef: refOf('a'),
    createdAt: 1_000, updatedAt: 1_000, ...change,
  };
}

/** A message event at a position; `text` gives it its size. */
export function messageAt(runId: string, seq: number, text = 'hello', idempotencyKey?: string): RunEvent {
  return {
    runId, seq, v: 1, type: 'UserMessageReceived', at: 1_000 + seq, causationId: `msg:${seq}`, correlationId: 'run',
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }), actor: ann, data: { messageId: `m${seq}`, text: { value: text }, actor: ann },
  };
}

/** `count` messages that follow `expectedVersion`, written by an execution. */
export function batchOf(runId: string, expectedVersion: number, count: number, change: Partial<AppendRequest> & { text?: string } = {}): AppendRequest {
  const { text, ...rest } = change;
  const events = Array.from({ length: count }, (_, index) => messageAt(runId, expectedVersion + 1 + index, text));
  const version = expectedVersion + count;
  return { runId, epoch: 0, executionId: 'x1', expectedVersion, events, row: rowFor(runId, { status: 'running', version, updatedAt: 1_000 + version }), ...rest };
}

export function waitOn(waitId: string, kind: WaitRow['kind'] = 'approval'): WaitRow {
  return { waitId, kind, what: 'May I?', who: [], until: null, then: 'cancel-run', command: `longhaul approvals approve ${waitId}`, since: 1_000 };
}

export const owner: ClaimOwner = { host: 'h', pid: 1, processStart: '100', worker: 'w1' };

/** The request of an attempt, as the event that stands at a position. */
export function requestAt({ runId, callId, attempt, tool, key, argsDigest }: ClaimRequest, seq: number, ledgerIncarnation: string): RunEvent {
  return {
    runId, seq, v: 1, type: 'ToolCallRequested', at: 1_000 + seq, causationId: `call:${callId}`, correlationId: callId, actor: ann,
    data: { callId, callSeq: 1, tool, version: '1.0.0', key, attempt, argsDigest, ledgerIncarnation, reserved: { calls: 1, tokens: 0, microUsd: 0, failures: 0 } },
  };
}

/** Any event about a call, at a position: after it the run waits no more for what it had requested before. */
export function unknownAt(runId: string, callId: string, attempt: number, seq: number): RunEvent {
  return { runId, seq, v: 1, type: 'ToolCallUnknown', at: 1_000 + seq, causationId: `call:${callId}`, correlationId: callId, actor: ann, data: { callId, attempt, why: 'lost' } };
}

/** A claim with a lease of 15 s unless `change` says otherwise. Each key is of a call of its own. */
export function claimFor(key: string, change: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    key, runId: 'r1', epoch: 0, callId: `call-${key}`, attempt: 1, tool: 'publish', argsDigest: 'args', owner, leaseMs: 15_000, sendWindowMs: 60_000, ...change,
  };
}

export const doneWith = (value: string): Outcome => ({ kind: 'done', output: { value }, summary: `did ${value}` });
export const refusedWith = (code: string): Outcome => ({ kind: 'refused', failure: { class: 'business-refusal', code, message: `No: ${code}.` } });
