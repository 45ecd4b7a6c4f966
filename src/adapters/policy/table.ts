// Policy as a table in sight: the first rule that fits a call decides, and the verdict names the rule.
// After the operator's rules come the built-in ones by effect class; what fits none is denied. Reads no clock, no file and
// never the model's words: only the tool, its effect, its arguments' members and the owner of the run.
import { canonical } from '../../core/canonical';
import type { ApproverRule, PolicyVerdict } from '../../core/events';
import type { PolicyPort, PolicyQuestion } from '../../ports/policy';
import { parseTable, type PolicyRule, type PolicyTable } from './table-schema';

/** What stands when no rule of the operator fits: by class, the irreversible asking somebody who is not the owner. */
export const BUILT_IN_RULES: PolicyRule[] = [
  { name: 'readers-free', effect: 'none', decision: 'allow', why: 'A tool without effect changes nothing outside.' },
  { name: 'reversible-free', effect: 'reversible', decision: 'allow', why: 'The tool declares how its effect is taken back.' },
  { name: 'manual-asks', effect: 'manual', decision: 'ask', ownerMay: true, why: 'Only a person could take this effect back.' },
  { name: 'irreversible-asks', effect: 'irreversible', decision: 'ask', ownerMay: false, why: 'This effect cannot be taken back; the requester may not approve it alone.' },
];

/**
 * A policy port over a table (an object, or what was parsed from JSON).
 * @throws TypeError with one sentence when the table is malformed.
 */
export function tablePolicy(table: PolicyTable | unknown): PolicyPort {
  const { name, rules } = parseTable(table);
  return ruled(name, [...rules, ...BUILT_IN_RULES], canonical({ name, rules, then: [...BUILT_IN_RULES, NOTHING_FITS] }));
}

/** The policy whose `describe` gave this text, with the built-in rules of the build that wrote it; null when the text is no table. */
export function policyOf(text: string): PolicyPort | null {
  try {
    const { name, rules, then } = JSON.parse(text) as { name: string; rules: unknown; then: { name: string }[] };
    const builtIn = parseTable({ name, rules: then.filter((rule) => rule.name !== NOTHING_FITS.name) });
    return ruled(name, [...parseTable({ name, rules }).rules, ...builtIn.rules], text);
  } catch {
    return null;
  }
}

const NOTHING_FITS = { name: 'nothing-fits', decision: 'deny' } as const;

function ruled(name: string, all: readonly PolicyRule[], text: string): PolicyPort {
  return {
    describe: () => ({ name, text }),
    decide: async (question) => {
      const rule = all.find((candidate) => fits(candidate, question));
      return rule ? verdictOf(rule, question) : { decision: 'deny', rule: 'nothing-fits', why: `No rule covers ${question.tool} with effect ${question.effect}.` };
    },
  };
}

function fits(rule: PolicyRule, question: PolicyQuestion): boolean {
  const effects = rule.effect === undefined ? undefined : [rule.effect].flat();
  return (rule.tool === undefined || rule.tool === '*' || rule.tool === question.tool)
    && (effects === undefined || effects.includes(question.effect))
    && (rule.agent === undefined || rule.agent === question.agent)
    && Object.entries(rule.args ?? {}).every(([member, value]) => memberOf(question.args, member) === value);
}

function memberOf(args: unknown, member: string): unknown {
  return typeof args === 'object' && args !== null && Object.hasOwn(args, member) ? (args as Record<string, unknown>)[member] : undefined;
}

function verdictOf(rule: PolicyRule, question: PolicyQuestion): PolicyVerdict {
  const verdict: PolicyVerdict = { decision: rule.decision, rule: rule.name, why: rule.why ?? `Rule ${rule.name} of the policy.` };
  if (rule.decision !== 'ask') return verdict;
  const approval: ApproverRule = {
    quorum: rule.quorum ?? 1,
    approvers: rule.approvers ?? [],
    ownerMay: rule.ownerMay ?? question.effect !== 'irreversible',
    rule: rule.name,
    ...(rule.mayGrant === undefined ? {} : { mayGrant: rule.mayGrant }),
  };
  return { ...verdict, approval, ...(rule.expiresInMs && { expiresInMs: rule.expiresInMs }), ...(rule.onDeadline && { onDeadline: rule.onDeadline }) };
}
