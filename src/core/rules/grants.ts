// Grants: an approval for a kind of call (tool and major version, certain arguments if wanted) for the rest of a run or a time.
// A grant is never more than its giver's approval, given beforehand: each use asks the fresh approver rule whether that person may
// decide, counts as one of the quorum, and writes ApprovalGranted with its name. Not for irreversible calls unless policy allows.
import { type Decision, answer, draft, refuse } from '../draft';
import type { Json } from '../canonical';
import type { ApproverRule, Draft } from '../events';
import { iso } from '../iso';
import { grantIdOf, majorOf } from '../keys';
import { callsOf, toolOf } from '../lookups';
import type { GrantTerms, Message } from '../message';
import { samePerson } from '../person';
import type { Actor, Effect, ToolManifest } from '../run';
import type { ApprovalState, GrantState, State } from '../state';
import { memberAt } from './binding';

/** Grants in force at once. */
export const MOST_GRANTS = 32;

/** Why this actor may not decide under the rule, or null. */
export function mayNot(state: State, { approvers, ownerMay, rule }: ApproverRule, actor: Actor): string | null {
  if (!ownerMay && samePerson(actor.id, state.owner.id)) return `${actor.id} asked for this run and may not approve its own call (rule ${rule}).`;
  if (approvers.length > 0 && !approvers.includes(actor.id)) return `${actor.id} may not decide this; rule ${rule} names ${approvers.join(', ')}.`;
  return null;
}

const mayGrant = (rule: ApproverRule, effect: Effect): boolean => rule.mayGrant ?? effect !== 'irreversible';

const effectOf = (state: State, tool: string): Effect => toolOf(state, tool)?.effect ?? 'irreversible';

/** Why no grant can be given with this approval, or null. */
export function noGrant(state: State, { binding, rule }: ApprovalState): string | null {
  const effect = effectOf(state, binding.tool);
  if (!mayGrant(rule, effect)) return `${binding.tool} is ${effect}, and rule ${rule.rule} lets nobody approve it for the rest of the run: approve this one call.`;
  if ((state.grants ?? []).length >= MOST_GRANTS) return `This run has ${MOST_GRANTS} grants in force, which is the most: revoke one first.`;
  return null;
}

/** The event that gives a grant with an approval. */
export function given({ approvalId, callId, binding }: ApprovalState, by: Actor, { forMs, where }: GrantTerms, now: number): Draft {
  const grantId = grantIdOf(approvalId, by.id);
  return draft('GrantGiven', {
    grantId, approvalId, callId, tool: binding.tool, major: majorOf(binding.version), by, until: forMs === undefined ? null : now + forMs,
    ...(where ? { where } : {}),
  }, grantId, by);
}

const covers = (state: State, tool: Pick<ToolManifest, 'name' | 'version'>, now: number): GrantState[] =>
  (state.grants ?? []).filter((grant) => grant.tool === tool.name && grant.major === majorOf(tool.version) && (grant.until === null || now < grant.until));

/** Grants whose terms the hands must hold against the arguments; undefined when there are none. */
export function termsFor(state: State, tool: Pick<ToolManifest, 'name' | 'version'>, now: number): { grantId: string; where: Record<string, string> }[] | undefined {
  const found = covers(state, tool, now).flatMap(({ grantId, where }) => (where ? [{ grantId, where }] : []));
  return found.length > 0 ? found : undefined;
}

/** Grants that stand in for a person's decision on a call that was prepared just now; at most one a person. */
export function standIns(state: State, tool: Pick<ToolManifest, 'name' | 'version' | 'effect'>, rule: ApproverRule, fits: readonly string[], now: number): GrantState[] {
  if (!mayGrant(rule, tool.effect)) return [];
  const able = covers(state, tool, now).filter((grant) => (!grant.where || fits.includes(grant.grantId)) && mayNot(state, rule, grant.by) === null);
  return able.filter((grant, i) => able.findIndex((other) => samePerson(other.by.id, grant.by.id)) === i);
}

/** Do arguments fit the terms? A member that is missing, or is no text, number or truth value, never does; nor does a path that climbs. */
export function fitsTerms(args: Json, where: Readonly<Record<string, string>>): boolean {
  return Object.entries(where).every(([path, wanted]) => {
    const value = memberAt(args, path.split('.'));
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return false;
    const text = String(value);
    if (!wanted.endsWith('*')) return text === wanted;
    return text.startsWith(wanted.slice(0, -1)) && !text.split(/[/\\]/).includes('..');
  });
}

/** A grant ends; what it has allowed or helped to allow, and what was not requested yet, is asked for anew. */
export function revoke(state: State, { messageId, actor }: Message, grantId: string): Decision {
  const grant = (state.grants ?? []).find((one) => one.grantId === grantId);
  if (!grant) return refuse(messageId, actor, 'unknown', `This run has no grant ${grantId} in force.`);
  const open = Object.values(state.approvals).flatMap(({ callId, byGrant }) => (byGrant?.some((vote) => vote.grantId === grantId) ? [callId] : []));
  const unsent = callsOf(state).filter((call) => (call.grantIds?.includes(grantId) && call.phase === 'ready' && !call.unsure) || (call.phase === 'asking' && open.includes(call.callId)));
  const events = [
    draft('GrantRevoked', { grantId, actor }, grantId, actor),
    ...unsent.map((call) => draft('ApprovalVoided', { approvalId: call.approvalId ?? null, callId: call.callId, why: `${actor.id} revoked grant ${grantId}` }, call.approvalId)),
  ];
  return { events, answer: answer('done', `Revoked: calls of ${grant.tool} are asked for again${unsent.length > 0 ? `, ${unsent.length} at once` : ''}.`) };
}

/** What a grant covers, in words. */
export function wordsOfGrant({ tool, major, where, until }: Pick<GrantState, 'tool' | 'major' | 'where' | 'until'>): string {
  const terms = Object.entries(where ?? {}).map(([path, wanted]) => `${path}=${wanted}`);
  return `${tool}@${major}${terms.length > 0 ? ` where ${terms.join(', ')}` : ''} until ${until === null ? 'the run ends' : iso(until)}`;
}
