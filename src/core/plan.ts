// A plan as data: the shape that people and models write, and the outline that events and state keep of it.
// Reading and checking plans is rules/planning.ts; binding `$from` is rules/binding.ts.
import type { Json } from './canonical';
import type { ArtifactRef, Output } from './run';

/** What happens when nobody answers in time, and how often who is asked is reminded before (rules/reminders.ts). */
export type OnDeadline = { remindEveryMs?: number } & (
  | { then: 'cancel-run' } | { then: 'fail-step' } | { then: 'ask-again' }
  | { then: 'escalate'; escalateTo: string[] } | { then: 'continue'; default: Json });

/** A thing outside whose version must not have changed when the step acts. */
export interface Premise { resource: string; version: Json }

/**
 * A step as events and state keep it. `args` stand inline up to 512 bytes; else `argsRef` points into an artifact,
 * with `at` as the path of member names from its root.
 */
export interface StepOutline {
  id: string;
  title: string;
  dependsOn: string[];
  action:
    | { type: 'tool'; tool: string; args?: Json; argsRef?: ArtifactRef; at?: string[] }
    | { type: 'model'; prompt: string; args?: Json; argsRef?: ArtifactRef; at?: string[] }
    | { type: 'question'; question: string; deadlineMs?: number; onDeadline?: OnDeadline }
    | { type: 'wait'; forMs: number }
    /** Until the outside calls back: `callback` says in words what is awaited. */
    | { type: 'wait'; callback: string; expect?: number; deadlineMs?: number; onDeadline?: OnDeadline };
  premises?: Premise[];
  optional?: boolean;
  /** Steps whose outputs the arguments refer to with `$from`; always part of `dependsOn`. */
  uses: string[];
}

/** How a planner says that there is nothing left to do. */
export interface PlanEnd { outcome: 'full' | 'partial'; summary: string; result?: Output }

/** What a planner proposes: more steps, steps to drop, or the end. */
export interface PlanPatch {
  goal?: string;
  add: StepOutline[];
  drop: string[];
  done?: PlanEnd;
  planRef?: ArtifactRef;
}
