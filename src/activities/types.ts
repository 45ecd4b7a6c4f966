// What the conductor asks of the hands and what it hears: the arguments and answers that stand in Temporal's history.
// Types only, and small values only (I11). They change by addition: histories of older builds hold them.
import type { ForkOrder, FreshRun, Migration } from '../core/commands';
import type { RunEvent } from '../core/events';
import type { Checked, May } from '../core/proof';
import type { Output, RunInput } from '../core/run';
import type { State } from '../core/state';
import type { CallNeed, CallResult, CheckpointResult, CollectNeed, CollectResult, GateEvidence, GateNeed, ModelNeed, ModelResult, PrepareNeed, PrepareResult } from '../core/world';
import type { AppendAnswer, AppendRequest } from '../core/append';
import type { Wire } from '../core/wire';

/** What this worker tells the conductor once a generation; the answer is in history, so replay goes the same way. */
export interface WorkerFacts {
  /** True when the server knows our search attributes; an upsert of an unknown one would fail the workflow task for ever. */
  searchAttributes: boolean;
  limits: { softEvents: number; hardEvents: number; hardUpdates: number; waitEvents: number };
}

export type OpenAnswer = { worker: WorkerFacts } & (
  | { kind: 'fresh'; fresh: FreshRun }
  /** `checkpoint` null: fold from the start. `more`: read on after the tail. `migrate`: this build knows a newer law or event schema than the run has. */
  | { kind: 'restored'; checkpoint: State | null; tail: RunEvent[]; more: boolean; migrate?: Migration; /** All events are those of the run that it was forked from: this begins its own. */ fork?: ForkOrder }
  /** A newer epoch owns the run. */
  | { kind: 'superseded'; epoch: number }
  /** This input can never run; one sentence says why. */
  | { kind: 'refused'; why: string }
);

/** Which events of a callback are put together. */
export type CollectRequest = { runId: string } & Pick<CollectNeed, 'callbackId' | 'since' | 'count' | 'expect' | 'child'>;

/** Arguments that a person writes about a call of this tool: in place of its own, or as the bounds of an approval for later calls. */
export type TermsRequest = { runId: string; tool: string; version: string } & ({ args: Output } | { where: Record<string, string> });

/** The activities by their names in history. */
export interface Hands {
  open(input: RunInput): Promise<OpenAnswer>;
  read(request: { runId: string; after: number }): Promise<{ events: RunEvent[]; more: boolean }>;
  append(request: AppendRequest): Promise<AppendAnswer>;
  verify(request: { token: string; use: May }): Promise<Checked>;
  terms(request: TermsRequest): Promise<{ fault: string | null }>;
  model(asked: Wire<ModelNeed>): Promise<ModelResult>;
  prepare(asked: Wire<PrepareNeed>): Promise<PrepareResult>;
  call(asked: Wire<CallNeed>): Promise<CallResult>;
  gate(asked: Wire<GateNeed>): Promise<GateEvidence>;
  checkpoint(request: { runId: string; version: number }): Promise<CheckpointResult>;
  collect(request: CollectRequest): Promise<CollectResult>;
  cancelSelf(): Promise<void>;
}
