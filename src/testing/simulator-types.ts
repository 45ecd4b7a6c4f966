// What a simulation is asked to play: a scenario, and a deliberate bug for those who want to see that the checks bite.
// Types, and the names of what can go wrong.
import type { Json } from '../core/canonical';
import type { PolicyVerdict } from '../core/events';
import type { PendingTerms } from '../core/pending';
import type { PlanPatch } from '../core/plan';
import type { Actor, AgentManifest, Budget } from '../core/run';

/** A run as a simulation plays it: the pinned agent, its plan or its planner's proposals, and the operator's policy. */
export interface SimulatedScenario {
  name: string;
  agent: AgentManifest;
  /** A declared plan; null when the planner proposes. */
  plan: PlanPatch | null;
  /** What a planner by model proposes, one by one; after the last it ends the run. */
  proposals: PlanPatch[];
  /** Verdict by tool name; a tool without one is allowed. */
  policy: Record<string, PolicyVerdict>;
  budget: Budget;
  owner: Actor;
  /** Ids of people who may be asked. */
  people: string[];
  /** Does every worker run on one host, so that a dead one is known to be dead? */
  oneHost: boolean;
  /** What tools answer, by name, for plans whose steps refer to it; left out, something is made up. */
  outputs?: Readonly<Record<string, Json>>;
  /** Tools whose outside accepts at once and calls back, by name, with the terms under which they wait. */
  later?: Readonly<Record<string, PendingTerms>>;
}

/** What can go wrong at one boundary of an otherwise calm run. */
export const STRIKES = [
  'task lost before its append', 'task lost while its append sleeps', 'task lost after its append', 'reply of an append lost',
  'run continued as new', 'run restored, the old execution alive', 'run reset to an older state',
  'worker killed', 'worker stalled for 40 s', 'reply lost with its worker', 'reply late', 'reply doubled',
] as const;
export type Strike = (typeof STRIKES)[number];

/**
 * Deliberate bugs, to prove that the simulation notices. Each is one that a real part of the system could have:
 * the conductor, the stores, the hands.
 */
export type Mutant =
  | 'ignore-diverged' | 'start-before-append' | 'answer-before-append'
  | 'journal-unfenced' | 'claims-unfenced' | 'deals-dead-claims'
  | 'claim-skipped' | 'settle-ignored' | 'gate-skipped' | 'key-by-attempt' | 'unknown-is-failed' | 'approval-unchecked' | 'held-is-busy' | 'not-withdrawn' | 'standing-is-nothing';
