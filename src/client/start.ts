// Starts a run: the request as an artifact, the `runs` row, then the workflow, in this order, so that a run is accepted durably
// before any work and a start that was lost half-way is finished by asking again (R1.2).
// The row, not Temporal, says whether an id is taken: that holds long after Temporal has forgotten the workflow.
import { v7 as uuidv7 } from 'uuid';
import { canonical, type Json } from '../core/canonical';
import type { RunRow } from '../core/row';
import { iso } from '../core/iso';
import { DEEPEST_JSON, nestedBeyond } from '../core/rules/binding';
import { RUN_ID, type ArtifactRef, type RunInput, type RunSpec } from '../core/run';
import { differencesOf, inputDigestOf, type Difference } from '../core/spec';
import { workflowIdOf, WORKFLOW_TYPE } from '../messages';
import type { PurgedRow } from '../ports/journal';
import { secretIn } from '../ports/redaction';
import { tryEncoding } from './payloads';
import { isAlreadyStarted, isNotFound, type Temporal } from './temporal';
import type { ClientStores, StartAnswer, StartRequest } from './types';

export const isOver = (row: RunRow): boolean => row.status === 'completed' || row.status === 'failed' || row.status === 'cancelled';

export async function startRun(stores: ClientStores, temporal: () => Promise<Temporal>, request: StartRequest): Promise<StartAnswer> {
  const runId = request.runId ?? uuidv7();
  const fault = faultOfStart(runId, request);
  if (fault) return { kind: 'refused', why: fault };
  const spec: RunSpec = { v: 1, agent: request.agent, input: request.input ?? null, plan: request.plan ?? null, budget: request.budget ?? {}, owner: request.owner, ...(request.parent ? { parent: request.parent } : {}) };
  // A server that is away, or a key, is told before the run is accepted; a run that is known already needs none to be told.
  let queue: string | null = null;
  if (!(await stores.journal.row(runId))) {
    const purged = await stores.journal.purged(runId);
    if (purged) return { kind: 'refused', why: takenByPurged(purged) };
    const server = await temporal();
    await tryEncoding(server.client);
    queue = server.taskQueue;
    if (request.runId !== undefined && await startedElsewhere(stores, server, runId)) return { kind: 'refused', why: knownElsewhere(runId) };
  }
  const inputRef = await storeSpec(stores, runId, spec);
  const row = { ...acceptedRow(runId, spec, inputRef, request.title ?? titleOf(spec)), ...(queue === null ? {} : { taskQueue: queue }) };
  const answer = await stores.journal.accept(row);
  if (answer.kind === 'other-input') return otherInput(stores, answer.row, spec);
  if (answer.kind === 'purged') return { kind: 'refused', why: takenByPurged(answer.purged) };
  const known = answer.kind === 'known' ? answer.row : row;
  if (!isOver(known)) await beginExecution(await temporal(), known, 'REJECT_DUPLICATE');
  return { kind: answer.kind === 'known' ? 'known' : 'started', runId, row: known };
}

/** The keys of a run's effects follow from its id, so that a second run of that id could not tell its effects from the first one's. */
export const takenByPurged = ({ runId, status, purgedAt }: PurgedRow): string =>
  `A run ${runId} was here, ${status}, and was purged at ${iso(purgedAt)}: its id is not given out again, since the keys of its effects were made of it. Use another id.`;

/** Another start may have accepted the run just now, and then begun it: only a run that is still unknown after Temporal's answer is of somewhere else. */
export async function startedElsewhere({ journal }: ClientStores, { client }: Temporal, runId: string): Promise<boolean> {
  const known = await client.workflow.getHandle(workflowIdOf(runId)).describe().then(() => true, (error: unknown) => {
    if (isNotFound(error)) return false;
    throw error;
  });
  return known && !(await journal.row(runId));
}

export const knownElsewhere = (runId: string): string =>
  `Temporal knows a run ${runId}, but the journal here does not: it was accepted in another state folder, or an older copy of longhaul.db was put back. Use the folder that accepted it, or another --run-id.`;

/** What was asked, stored as an artifact before the run is accepted. */
export function storeSpec({ artifacts }: ClientStores, runId: string, spec: RunSpec): Promise<ArtifactRef> {
  return artifacts.write(new TextEncoder().encode(canonical(spec)), { mediaType: 'application/json', summary: `What run ${runId} was asked to do`, name: 'input.json' });
}

/** One sentence on what is wrong with a request, or null. */
export function faultOfStart(runId: string, request: Pick<StartRequest, 'agent' | 'budget'> & { input?: Json; plan?: Json | null }): string | null {
  if (!RUN_ID.test(runId)) return `The run id ${JSON.stringify(runId).slice(0, 80)} cannot be used: write 1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit.`;
  if (request.agent === '') return 'A run needs the name of an agent.';
  for (const [what, value] of [['input', request.input], ['plan', request.plan]] as const) {
    if (nestedBeyond(value, DEEPEST_JSON)) return `The ${what} is nested too deep: JSON of at most ${DEEPEST_JSON} levels is taken.`;
  }
  const given = faultOfSecrets(request);
  if (given) return given;
  for (const [kind, limit] of Object.entries(request.budget ?? {})) {
    if (!Number.isSafeInteger(limit) || limit < 0) return `The budget ${kind} is ${limit}; write a whole number that is not negative.`;
  }
  return null;
}

/** What is started is stored and shown, so that it may name secrets and never hold one. */
function faultOfSecrets({ input, plan, ...rest }: { input?: Json; plan?: Json | null }): string | null {
  for (const [what, value] of Object.entries({ 'The input': input, 'The plan': plan, 'The request': rest })) {
    const name = secretIn(value);
    if (name !== null) return `${what} holds the value of the secret ${name}: write {"$secret": "${name}"} in its place. Nothing was started.`;
  }
  return null;
}

/** A line for lists from what the run was asked to do. */
function titleOf({ agent, input, plan }: RunSpec): string {
  const text = (value: Json | undefined): string | null => (typeof value === 'string' && value.trim() !== '' ? value.trim() : null);
  const member = (of: Json, name: string): string | null => (typeof of === 'object' && of !== null && !Array.isArray(of) ? text(of[name]) : null);
  return (member(plan, 'goal') ?? member(input, 'question') ?? agent).slice(0, 200);
}

export function acceptedRow(runId: string, spec: RunSpec, inputRef: ArtifactRef, title: string): RunRow {
  const now = Date.now();
  return {
    runId, title, agent: spec.agent, owner: spec.owner, status: 'accepted', outcome: null, detail: 'Accepted; no worker has begun it yet.',
    waits: [], deadline: null, budgetLeft: { ...spec.budget } as Record<string, number>, steps: { done: 0, total: 0 }, epoch: 1, version: 0,
    inputDigest: inputDigestOf(spec), inputRef, createdAt: now, updatedAt: now,
  };
}

/**
 * Starts the workflow of an accepted run; answers its execution id, or null when Temporal has (had) one already.
 * `TERMINATE_EXISTING` is for restores: the old execution is fenced by its epoch before this is called.
 */
export async function beginExecution({ client, taskQueue: usual }: Temporal, row: RunRow, policy: 'REJECT_DUPLICATE' | 'TERMINATE_EXISTING'): Promise<string | null> {
  const { runId, epoch, inputDigest, inputRef } = row;
  const taskQueue = row.taskQueue ?? usual;
  const input: RunInput = { v: 1, runId, epoch, inputDigest, inputRef };
  try {
    const handle = await client.workflow.start(WORKFLOW_TYPE, {
      workflowId: workflowIdOf(runId), taskQueue, args: [input], workflowTaskTimeout: '5s',
      ...(policy === 'REJECT_DUPLICATE'
        ? { workflowIdReusePolicy: 'REJECT_DUPLICATE', workflowIdConflictPolicy: 'FAIL' }
        : { workflowIdReusePolicy: 'ALLOW_DUPLICATE', workflowIdConflictPolicy: 'TERMINATE_EXISTING' }),
      staticSummary: row.title.slice(0, 200), staticDetails: detailsOf(row),
    });
    return handle.firstExecutionRunId;
  } catch (error) {
    if (isAlreadyStarted(error)) return null;
    throw error;
  }
}

const detailsOf = (row: RunRow): string => [
  `Run \`${row.runId}\` of agent **${row.agent}**, asked for by ${row.owner.id}.`, '',
  `- what it does and waits for: \`npx longhaul runs show ${row.runId}\``,
  `- every event: \`npx longhaul runs events ${row.runId}\``,
].join('\n');

export async function otherInput(stores: ClientStores, row: RunRow, now: RunSpec): Promise<Extract<StartAnswer, { kind: 'other-input' }>> {
  const differences = await readSpec(stores, row).then((before) => (before ? differencesOf(before, now) : []));
  const named = differences.length > 0 ? differences.map(sentenceOf).join('; ') : 'the stored request cannot be read, only its digest differs';
  return { kind: 'other-input', runId: row.runId, differences, why: `Run ${row.runId} exists with other input: ${named}. Use another --run-id, or the same input.` };
}

/** What a run was asked to do; null when the stored request cannot be read any more. */
export async function readSpec(stores: ClientStores, row: RunRow): Promise<RunSpec | null> {
  try {
    return JSON.parse(new TextDecoder().decode(await stores.artifacts.read(row.inputRef.sha256))) as RunSpec;
  } catch {
    return null;
  }
}

const sentenceOf = ({ path, before, now }: Difference): string => `${path} was ${short(before)} and is ${short(now)}`;

function short(value: Json): string {
  const text = canonical(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
