// Port: runs that a run starts by a call. What the built-in tool `run_agent` asks of the front door, in the names of a parent and
// its call; which run that is follows from these, so that asking again always means the same run.
// Never tells how a child ended: that is read from its journal by the look of the parent.
import type { Json } from '../core/canonical';
import type { RunRow } from '../core/row';
import type { Budget, ParentLink } from '../core/run';

/** The call that starts a child, and the callback under which it waits. */
export type ParentCall = Omit<ParentLink, 'depth'>;

export interface ChildRequest { parent: ParentCall; agent: string; input: Json; plan: Json | null; budget: Budget }

export type ChildAnswer =
  /** It is accepted and has been started, by this call or an earlier one of the same parent and call. */
  | { kind: 'started'; runId: string }
  | { kind: 'refused'; code: 'depth' | 'request' | 'taken'; why: string };

export interface RunsPort {
  /** Accepts the child durably, then starts it. Again with the same parent and call: the same run, whatever it was asked then. Throws when the stores or Temporal do not answer. */
  start(request: ChildRequest): Promise<ChildAnswer>;
  /** The child of this call, started if it was only accepted; null when none was. */
  find(parent: Pick<ParentCall, 'runId' | 'callId'>): Promise<string | null>;
  /** Tells the child to stop, by a message that counts once. Throws when it is not known whether it was heard. */
  cancel(runId: string, reason: string): Promise<void>;
  /** The row of the run once it is over; null when it is not by `withinMs`, or when `signal` is aborted. */
  ended(runId: string, withinMs: number, signal: AbortSignal): Promise<RunRow | null>;
  /** What the run did to the outside and did not take back, and what nobody knows of. */
  standing(runId: string): Promise<string[]>;
}
