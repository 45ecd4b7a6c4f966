// What the client is made from and what it answers. Types and the one error class; no behaviour.
// The client reads stores through ports and reaches runs through Temporal; it never queries a workflow for status (DESIGN 10).
import type { ConnectionLike } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { Json } from '../core/canonical';
import type { MessageAnswer } from '../core/message';
import type { RunRow } from '../core/row';
import type { Actor, Budget, ForkDoubt, ParentLink } from '../core/run';
import type { Difference } from '../core/spec';
import type { ArtifactsPort } from '../ports/artifacts';
import type { DecisionKeys } from '../ports/decision-keys';
import type { JournalPort } from '../ports/journal';

export interface ClientStores { journal: JournalPort; artifacts: ArtifactsPort }

export interface ClientOptions {
  stores: ClientStores;
  /** An open connection, or how to open one when it is first needed. Left out, the client can only read. */
  connection?: ConnectionLike | (() => Promise<ConnectionLike>);
  /** Default `default`; a function is asked together with the connection. */
  namespace?: string | (() => Promise<string>);
  /** Default `longhaul`. */
  taskQueue?: string;
  /**
   * Makes the secrets of this process known, awaited before anything is started or sent: what holds the value of one is refused.
   * Left out, those count that are known already, e.g. by `installRedactor(openSecrets({ config, folder, env }).known)`.
   */
  secrets?: () => Promise<unknown>;
  /**
   * Makes this client a door that authenticates: it signs what people whom it knows decide, and looks at the tokens of others. Only for
   * a program that has the keyring and knows its people. Left out, tokens are passed on to the run, which looks at them.
   */
  keys?: DecisionKeys;
  /** How payloads are encrypted, from `openEncryption`; left out, they go in plain, and encrypted runs cannot be read. */
  encryption?: PayloadEncryption | (() => Promise<PayloadEncryption>);
  /** Who works at this door, kept with each decision that it signs; default: who decides. */
  door?: string;
}

/** What the client needs of the encryption of payloads. */
export interface PayloadEncryption {
  dataConverter: DataConverter;
  /** Is the key of this id here? */
  holds(kid: string): boolean;
}

export interface StartRequest {
  /** Default: a uuid v7. */
  runId?: string;
  agent: string;
  input?: Json;
  /** A declared plan as parsed from its file; null or left out when the agent plans. */
  plan?: Json | null;
  budget?: Budget;
  owner: Actor;
  /** One line for lists; default: the plan's goal, `input.question`, or the agent's name. */
  title?: string;
  /** The call of a run that starts this one; set by the tool `run_agent` alone. */
  parent?: ParentLink;
}

export type StartAnswer =
  /** `started` by this call, or `known`: accepted before with the same input, whatever became of it since. */
  | { kind: 'started' | 'known'; runId: string; row: RunRow }
  /** The id is bound to another input. */
  | { kind: 'other-input'; runId: string; why: string; differences: Difference[] }
  /** The request has a wrong shape. */
  | { kind: 'refused'; why: string };

export interface ForkRequest {
  /** The event after which the fork begins: the last of a turn. */
  at: number;
  /** Id of the new run; default: a uuid v7. */
  runId?: string;
  /** What is done from there on, as parsed from a plan file; steps that are done by then stand in. Left out: what was planned. */
  plan?: Json;
  /** What may be used from there on, by kind; of the kinds left out, what was left. */
  budget?: Budget;
  owner: Actor;
  title?: string;
}

export type ForkAnswer =
  /** `forked` by this call, or `known`: forked before with the same request. */
  | {
    kind: 'forked' | 'known'; runId: string; row: RunRow;
    /** Steps of the given plan that are done. */
    stands: string[];
    /** What the parent had done to the outside by then; what it, or a run that it was forked from, may have done by then; and what it has done since, or has under way now. */
    effects: string[]; /** `since`: how the call has ended in the parent after that place. */ doubts: (ForkDoubt & { since?: { seq: number; how: 'done' | 'failed' } })[]; later: string[];
  }
  | Extract<StartAnswer, { kind: 'other-input' | 'refused' }>;

/** What a sender says of a message beside its body. `messageId` defaults to a new one; `receivedAt` (ms) to now; `token` as it was given. */
export interface From { actor: Actor; messageId?: string; receivedAt?: number; token?: string }

/** What became of a message. What is not known may be asked again with the same message id; it counts once. */
export type Delivery =
  | { known: true; messageId: string; answer: MessageAnswer }
  | {
    known: false; messageId: string; why: string;
    /** `kept`: Temporal holds it until a worker runs. `no-execution`: the run needs a restore. `unreachable`: nothing was sent. */
    state: 'kept' | 'no-execution' | 'unreachable';
  };

export interface RestoreOptions {
  /** Also when Temporal says that its execution runs: that one is ended and fenced. */
  force?: boolean;
  /** Queue of the workers that go on with it; default: its own. */
  taskQueue?: string;
}

export type RestoreAnswer =
  | { kind: 'restored'; runId: string; epoch: number; executionId: string; taskQueue: string }
  /** Its execution runs and had fallen behind its journal: it was told to read on. `over`: what it slept over. */
  | { kind: 'woken'; runId: string; over: string }
  /** `runs`: there is nothing to do; `over`: the run has ended; `overtaken`: somebody else restores it. */
  | { kind: 'refused'; code: 'runs' | 'over' | 'overtaken' | 'missing-key'; why: string };

/** Something that the client was asked for cannot be had. `code` says what to do about it. */
export class ClientError extends Error {
  constructor(readonly code: 'unknown-run' | 'unknown-wait' | 'no-connection' | 'unreachable' | 'bad-input' | 'secret', message: string) {
    super(message);
    this.name = 'ClientError';
  }
}
