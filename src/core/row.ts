// The list row of a run: what lists, the inbox and search attributes show. Written with every batch in the same transaction.
// Shapes only; summary.ts makes them from a state.
import type { Actor, ArtifactRef, Effect, ForkOrigin } from './run';

/** One open wait as lists show it. */
export interface WaitRow {
  waitId: string;
  /** `tool`: no worker here has a tool that the run is pinned to; it goes on by itself once one has. */
  kind: 'approval' | 'question' | 'decision' | 'callback' | 'run' | 'time' | 'retry' | 'tool' | 'blocked' | 'budget' | 'paused';
  /** One line: what the run waits for. */
  what: string;
  /** Who may answer; empty means anyone. */
  who: string[];
  /** Who may not, whatever "who" says: the person who asked for the run. */
  not?: string;
  /** How many people must approve, where that is more than one, and who has. */
  quorum?: number;
  granted?: string[];
  /** ms since the epoch, or null when nothing ends the wait. */
  until: number | null;
  /** What happens then, e.g. `cancel-run`. */
  then: string;
  /** Who is asked then, or the default that the run goes on with. */
  next?: string;
  /** The exact command that decides it, without the leading `npx`; words in capitals are to be filled in. */
  command: string;
  /** Other commands that decide it. */
  or?: string[];
  since: number;
  /** What the call does to the outside, where a call is asked about. */
  risk?: Effect;
  /** Its arguments, as one line. */
  args?: string;
  /** One line, where a run before may have made the very call already: this run was forked. */
  doubt?: string;
  /** Reminders so far. */
  reminded?: number;
  /** The run whose end is awaited. What that run waits for is shown below this. */
  run?: string;
}

/** The list row of a run: a pure projection of state (core/summary.ts), written with every batch. */
export interface RunRow {
  runId: string;
  title: string;
  agent: string;
  owner: Actor;
  status: 'accepted' | 'running' | 'waiting' | 'paused' | 'blocked' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  outcome: 'full' | 'partial' | null;
  /** One sentence on the end, or on what is going on. */
  detail: string;
  waits: WaitRow[];
  deadline: number | null;
  budgetLeft: Record<string, number>;
  steps: { done: number; total: number };
  epoch: number;
  version: number;
  inputDigest: string;
  inputRef: ArtifactRef;
  createdAt: number;
  updatedAt: number;
  /** Queue of the workers that it was accepted for. Like the input, it stays as it was accepted. */
  taskQueue?: string;
  /**
   * The ledger beside the journal when the run was accepted; the store writes it, and it stays. What a run did before its first event
   * was lost with an older copy of the database stands in no journal: the ledger that goes on is then another one.
   */
  ledgerIncarnation?: string;
  /** The run and event that it was forked from; stays as it was accepted. */
  forkOf?: ForkOrigin;
}
