// The shape of a policy table, checked once when it is loaded: a rule that is misspelt must not silently fit nothing.
// Owns no decision.
import { z } from 'zod';
import type { OnDeadline } from '../../core/plan';
import { LEAST_REMINDER_MS } from '../../core/rules/reminders';
import type { Effect } from '../../core/run';

/** One row. A member that is left out fits everything. */
export interface PolicyRule {
  /** Name of the rule; stands in every event that it decides. */
  name: string;
  /** Name of the tool, or `*`. */
  tool?: string;
  effect?: Effect | Effect[];
  /** Name of the agent. */
  agent?: string;
  /** Members of the arguments that must equal these values. */
  args?: Record<string, string | number | boolean | null>;
  decision: 'allow' | 'ask' | 'deny';
  /** One sentence for people: why the rule is there. */
  why?: string;
  /** For `ask`: ids that may decide; empty or left out means anyone who reaches a door. */
  approvers?: string[];
  /** For `ask`: how many distinct people must approve; 1 when left out. */
  quorum?: number;
  /** For `ask`: may the run's owner decide too? When left out: not for an irreversible tool, else yes. */
  ownerMay?: boolean;
  /** For `ask`: may a person approve this kind of call for the rest of a run? When left out: not for an irreversible tool, else yes. */
  mayGrant?: boolean;
  /** For `ask`: ms until the approval expires. */
  expiresInMs?: number;
  /** What happens then; left out, the run is cancelled. An approval has no default that a run could go on with. */
  onDeadline?: Exclude<OnDeadline, { then: 'continue' }>;
}

export interface PolicyTable { name: string; rules: PolicyRule[] }

const effect = z.enum(['none', 'reversible', 'manual', 'irreversible']);

const remindEveryMs = z.number().int().min(LEAST_REMINDER_MS).optional();

const onDeadline = z.union([
  z.strictObject({ then: z.enum(['cancel-run', 'fail-step', 'ask-again']), remindEveryMs }),
  z.strictObject({ then: z.literal('escalate'), escalateTo: z.array(z.string().min(1)).min(1), remindEveryMs }),
], { error: `write { then: 'cancel-run' | 'fail-step' | 'ask-again' } or { then: 'escalate', escalateTo: [who] }, each with remindEveryMs (at least ${LEAST_REMINDER_MS}) where wanted` });

const rule = z.strictObject({
  name: z.string().min(1).max(100),
  tool: z.string().min(1).optional(),
  effect: z.union([effect, z.array(effect).min(1)]).optional(),
  agent: z.string().min(1).optional(),
  args: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
  decision: z.enum(['allow', 'ask', 'deny']),
  why: z.string().max(500).optional(),
  approvers: z.array(z.string().min(1)).optional(),
  quorum: z.number().int().min(1).max(20).optional(),
  ownerMay: z.boolean().optional(),
  mayGrant: z.boolean().optional(),
  expiresInMs: z.number().int().min(1_000).optional(),
  onDeadline: onDeadline.optional(),
});

const table = z.strictObject({ name: z.string().min(1).max(100), rules: z.array(rule).max(1_000) });

/**
 * Parses a policy table.
 * @throws TypeError with one sentence that names the first faulty member.
 */
export function parseTable(value: unknown): PolicyTable {
  const parsed = table.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new TypeError(`The policy table is malformed at ${issue?.path.join('.') || 'its top'}: ${issue?.message ?? 'unknown fault'}. Correct that member.`);
  }
  const fault = parsed.data.rules.map(faultOf).find((sentence) => sentence !== undefined);
  if (fault) throw new TypeError(fault);
  return parsed.data;
}

function faultOf(row: PolicyRule): string | undefined {
  if (row.decision !== 'ask' && (row.approvers || row.quorum || row.ownerMay !== undefined || row.mayGrant !== undefined)) {
    return `Policy rule ${row.name} names approvers but does not ask; set its decision to "ask", or leave them out.`;
  }
  if (row.approvers?.length && new Set(row.approvers).size < (row.quorum ?? 1)) {
    return `Policy rule ${row.name} asks for ${row.quorum} approvals but names fewer people; lower the quorum or name more approvers.`;
  }
  return undefined;
}
