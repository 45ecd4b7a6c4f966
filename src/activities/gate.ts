// Gathers the evidence for the recovery gate (DESIGN 4): what the ledger says on its own clock, whether the claim's owner is
// gone, what the outside knows of the key, and whether resource version and premises still hold. Only looks; the law judges.
// Throws when ledger or journal cannot be read, so that Temporal looks again; a tool's own trouble is evidence.
import { canonical, type Json } from '../core/canonical';
import type { Failure } from '../core/failure';
import { pendingOf } from '../core/pending';
import { LIMITS, type ArtifactRef } from '../core/run';
import type { Asked } from '../core/wire';
import type { GateEvidence, GateNeed } from '../core/world';
import type { LedgerRow } from '../ports/ledger';
import { redactJson, redactText } from '../ports/redaction';
import type { ToolCall, ToolDefinition } from '../ports/tool';
import { boundArgs, parsedArgs } from './arguments';
import type { HandsDeps } from './deps';
import { failureOf, oneLine } from './failures';
import { watched } from './heartbeat';
import { storeOutput, summaryOf } from './outputs';
import { answerInTime, premisesNow } from './premises';
import { inputRefOf, toolCallOf, toolOf } from './tool-call';

interface Question { asked: Asked<GateNeed>; tool: ToolDefinition; args: unknown; call: ToolCall }

export function makeGate(deps: HandsDeps): (asked: Asked<GateNeed>) => Promise<GateEvidence> {
  return (asked) => watched(async ({ signal }) => {
    const row = await deps.ledger.get(asked.need.key);
    const inputRef = await inputRefOf(deps, asked.runId);
    const incarnation = await deps.ledger.incarnation();
    const ledger = ledgerEvidence(deps, row);
    const question = await questionOf(deps, asked, inputRef, signal).catch((error: unknown) => ({ error: failureOf(error) }));
    const settled = ledger.state === 'done' || ledger.state === 'refused' || ledger.state === 'live';
    const neverSent = (ledger.state === 'none' || ledger.state === 'released') && incarnation === asked.need.ledgerIncarnation;
    return {
      incarnation, ledger, now: row?.now ?? Date.now(),
      lookUp: settled || neverSent ? { kind: 'not-asked' } : await lookUp(deps, question, row),
      resourceVersion: settled ? asked.need.resourceVersion : await resourceVersion(question, asked.need),
      premises: settled ? [] : await premisesNow(deps, asked.need, 'tool' in question ? question.call : null),
      honoursKey: 'tool' in question && question.tool.honoursKey === true,
      ...('tool' in question && question.tool.version !== asked.need.version ? { version: question.tool.version } : {}),
    };
  });
}

function ledgerEvidence(deps: HandsDeps, row: LedgerRow | null): GateEvidence['ledger'] {
  if (!row) return { state: 'none' };
  if (row.outcome?.kind === 'done') return { state: 'done', output: row.outcome.output, summary: row.outcome.summary, ...(row.outcome.pending ? { pending: row.outcome.pending } : {}) };
  if (row.outcome?.kind === 'refused') return { state: 'refused', failure: row.outcome.failure };
  if (row.state === 'released') return { state: 'released' };
  const ownerGone = deps.ownerGone(row.owner);
  if (row.state === 'claimed' && row.now < row.leaseUntil && !ownerGone) return { state: 'live', leaseUntil: row.leaseUntil };
  const { fence, firstClaimedAt, sendWindowUntil } = row;
  // An attempt that is marked unknown has ended by its own word; one that only lost its lease may wake up.
  const stray = row.state === 'claimed' && deps.ownerLives(row.owner) ? { ownerLives: true as const } : {};
  return { state: row.state === 'unknown' ? 'unknown' : 'dead', fence, firstClaimedAt, sendWindowUntil, ownerGone, ...stray };
}

async function questionOf(deps: HandsDeps, asked: Asked<GateNeed>, inputRef: ArtifactRef, signal: AbortSignal): Promise<Question> {
  const { need, runId } = asked;
  const tool = toolOf(deps, need.tool, need.version);
  const bound = await boundArgs(deps.artifacts, need.call, true);
  const args = await parsedArgs(deps.artifacts, tool, bound.args, deps.secret);
  const call = await toolCallOf(deps, { runId, inputRef, callId: need.callId, attempt: need.n, key: need.key, resourceVersion: need.resourceVersion, signal });
  return { asked, tool, args, call };
}

type Asking = Question | { error: Failure };

async function lookUp(deps: HandsDeps, question: Asking, row: LedgerRow | null): Promise<GateEvidence['lookUp']> {
  if ('error' in question) return { kind: question.error.class === 'tool-missing' ? 'no-tool' : 'cannot-say', why: question.error.message };
  const { tool, args, call, asked } = question;
  // An undo changes other things than the call does, and no tool says yet whether an undo took place.
  if (!tool.lookUp || asked.need.undo) return { kind: 'none' };
  try {
    const answer = await answerInTime(tool.lookUp({ key: asked.need.key, args, since: row?.firstClaimedAt ?? 0 }, call));
    if (answer.found === false) return { kind: 'absent' };
    if (answer.found === 'cannot-say') return { kind: 'cannot-say', why: oneLine(answer.why, LIMITS.errorBytes) };
    const later = pendingOf(answer.output);
    const value = redactJson(JSON.parse(canonical(later ? later.receipt : answer.output)) as Json);
    const summary = summaryOf(tool.name, value);
    const output = await storeOutput(deps.artifacts, value, { name: `${asked.need.callId}-${tool.name}.json`, summary });
    return { kind: 'found', output, summary, reference: oneLine(answer.reference ?? asked.need.key, LIMITS.summaryBytes), ...(later ? { pending: later.terms } : {}) };
  } catch (error) {
    return { kind: 'cannot-say', why: failureOf(error).message };
  }
}

async function resourceVersion(question: Asking, need: Asked<GateNeed>['need']): Promise<GateEvidence['resourceVersion']> {
  if (need.resourceVersion === null) return null;
  if ('error' in question) return { error: question.error.message };
  if (!question.tool.resourceVersion) return null;
  try {
    return redactText(await answerInTime(question.tool.resourceVersion(question.args, question.call)));
  } catch (error) {
    return { error: failureOf(error).message };
  }
}
