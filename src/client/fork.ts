// Forks a run (R10.2): a new run whose journal begins as a copy of another's up to an event, and goes on from there under an id, keys
// and an epoch of its own. Judges the place and the plan before anything is accepted; the law writes RunForked when the run opens.
// The parent is read and never changed.
import { v7 as uuidv7 } from 'uuid';
import type { Json } from '../core/canonical';
import type { RunEvent } from '../core/events';
import { evolve } from '../core/evolve';
import { initialState } from '../core/initial';
import type { StepOutline } from '../core/plan';
import { batchAround, doubtsOf, endOf, faultOfFork, planOfFork } from '../core/rules/forking';
import { parsePlan } from '../core/rules/planning';
import { memberAt } from '../core/rules/binding';
import type { ForkDoubt, RunSpec } from '../core/run';
import type { RunRow } from '../core/row';
import { budgetLeft } from '../core/rules/budgets';
import type { State } from '../core/state';
import { tryEncoding } from './payloads';
import { eventsOf, rowOf } from './reads';
import { acceptedRow, beginExecution, faultOfStart, isOver, knownElsewhere, otherInput, readSpec, startedElsewhere, storeSpec, takenByPurged } from './start';
import type { Temporal } from './temporal';
import type { ClientStores, ForkAnswer, ForkRequest } from './types';

/** Starts a run that begins with the first `at` events of another. Throws ClientError `unknown-run`. */
export async function forkRun(stores: ClientStores, temporal: () => Promise<Temporal>, runId: string, request: ForkRequest): Promise<ForkAnswer> {
  const parent = await rowOf(stores, runId);
  const id = request.runId ?? uuidv7();
  const before = await readSpec(stores, parent);
  if (!before) return refused(`What run ${runId} was asked cannot be read any more, so that it cannot be forked: see \`npx longhaul artifacts verify ${parent.inputRef.sha256}\`.`);
  if (id === runId) return refused(`A fork is a run of its own beside ${runId}: give it another --run-id.`);
  const fault = faultOfStart(id, { ...request, agent: before.agent });
  if (fault) return refused(fault);
  const maker = await makerOf(stores, parent, request.at);
  const found = await placeOf(stores, parent, request.at, maker);
  if ('why' in found) return refused(found.why);
  const { state, later, doubts } = found;
  const stands = request.plan === undefined ? [] : await standsIn(stores, state, request.plan);
  if ('why' in stands) return refused(stands.why);

  const server = await temporal();
  await tryEncoding(server.client);
  const purged = await stores.journal.purged(id);
  if (purged) return refused(takenByPurged(purged));
  if (request.runId !== undefined && await startedElsewhere(stores, server, id)) return refused(knownElsewhere(id));
  const spec: RunSpec = { v: 1, agent: before.agent, input: before.input, plan: request.plan ?? null, budget: request.budget ?? {}, owner: request.owner, fork: { runId, at: request.at } };
  const inputRef = await storeSpec(stores, id, spec);
  const row = {
    ...acceptedRow(id, spec, inputRef, request.title ?? parent.title), agent: parent.agent, epoch: state.epoch, version: request.at, forkOf: { runId, at: request.at, ...(maker === runId ? {} : { of: maker }) }, taskQueue: parent.taskQueue ?? server.taskQueue,
    detail: `Forked from ${runId} after event ${request.at}; no worker has begun it yet.`, budgetLeft: budgetLeft(state),
  };
  const answer = await stores.journal.fork(row, { runId, at: request.at });
  if (answer.kind === 'no-such-event') return refused(`Run ${runId} has only ${answer.version} events in the journal.`);
  if (answer.kind === 'purged') return refused(takenByPurged(answer.purged));
  if (answer.kind === 'other-input') return otherInput(stores, answer.row, spec);
  const known = answer.kind === 'known' ? answer.row : row;
  if (!isOver(known)) await beginExecution(server, known, 'REJECT_DUPLICATE');
  return { kind: answer.kind === 'known' ? 'known' : 'forked', runId: id, row: known, stands, effects: state.effects.map(nameOf), doubts, later };
}

const refused = (why: string): { kind: 'refused'; why: string } => ({ kind: 'refused', why });

const nameOf = ({ tool, callId, stepId }: Pick<ForkDoubt, 'tool' | 'callId' | 'stepId'>): string => `${tool} ${callId}${stepId === '' ? '' : ` (${stepId})`}`;

const keyOf = ({ runId, callId }: ForkDoubt): string => `${runId} ${callId}`;

/** The run that made the calls before event `at`: a fork has its first events of another as a copy, which may be gone. */
async function makerOf(stores: ClientStores, { runId, forkOf }: Pick<RunRow, 'runId' | 'forkOf'>, at: number): Promise<string> {
  if (!forkOf || at > forkOf.at) return runId;
  const before = await stores.journal.row(forkOf.runId) ?? await stores.journal.purged(forkOf.runId);
  // One that was purged by an older build has left no word of what it was forked from; the fork knows who made its last event.
  if (before && (before.forkOf || !forkOf.of)) return makerOf(stores, before, at);
  const maker = forkOf.of ? await stores.journal.row(forkOf.of) : null;
  return maker ? makerOf(stores, maker, at) : forkOf.of ?? forkOf.runId;
}

/** The state of the parent after event `at`, and what it has done to the outside since or has under way; or why no fork can begin there. */
async function placeOf(stores: ClientStores, { runId, version }: RunRow, at: number, maker: string): Promise<Pick<Extract<ForkAnswer, { stands: string[] }>, 'later' | 'doubts'> & { state: State } | { why: string }> {
  if (!Number.isSafeInteger(at) || at < 1 || at > version) return { why: version === 0 ? `Run ${runId} has not begun, so that there is no event to fork it after.` : `Run ${runId} has the events 1 to ${version}: --at takes one of these numbers (npx longhaul runs events ${runId}).` };
  const events: RunEvent[] = [];
  for await (const event of eventsOf(stores, runId)) events.push(event);
  const { to } = batchAround(events, at);
  const { before, fault, state } = placesAround(initialState(runId), events, to);
  const earlier = before > 0 ? `use --at ${before}` : 'no event before that will do';
  if (to !== at && fault) return { why: `Event ${at} stands within what one turn has written, which is taken whole, and no fork can begin after its last, ${to}: ${fault}; ${earlier}.` };
  if (to !== at) return { why: `Event ${at} stands within what one turn has written, which is taken whole: use --at ${to}${before > 0 ? ` or --at ${before}` : ''}.` };
  if (fault) return { why: `No fork can begin after event ${at}: ${fault}; ${earlier} (npx longhaul runs events ${runId} shows them).` };
  const known = new Set(state.effects.map(({ callId }) => callId));
  const now = events.slice(at).reduce(evolve, state);
  const doubted = new Set(doubtsOf(state, maker).map(keyOf));
  const open = doubtsOf(now, runId).filter((doubt) => !doubted.has(keyOf(doubt)));
  const doubts = doubtsOf(state, maker).map((doubt) => {
    const since = doubt.runId === runId ? endOf(events.slice(at), doubt.callId) : undefined;
    // It is told once, as what was under way and has ended.
    if (since) known.add(doubt.callId);
    return { ...doubt, ...(since ? { since } : {}) };
  });
  return { state, doubts, later: [...now.effects.filter(({ callId }) => !known.has(callId)).map(nameOf), ...open.map((doubt) => `${nameOf(doubt)}, ${doubt.why}`)] };
}

/**
 * What a fork after event `to`, the last of a turn, would begin with, or why it may not; and the newest place before it after which
 * one may begin, 0 when there is none.
 */
function placesAround(start: State, events: readonly RunEvent[], to: number): { before: number; fault: string | null; state: State } {
  let [state, before] = [start, 0];
  for (const [i, event] of events.slice(0, to).entries()) {
    state = evolve(state, event);
    if (i + 1 < to && events[i + 1]?.at !== event.at && faultOfFork(state) === null) before = i + 1;
  }
  return { before, fault: faultOfFork(state), state };
}

/** Ids of the steps of a given plan that are done and stand in; or why it does not fit. */
async function standsIn({ artifacts }: ClientStores, state: State, plan: Json): Promise<string[] | { why: string }> {
  const parsed = parsePlan(plan, state.agent.tools, { model: state.agent.model !== null });
  const read = async (step: StepOutline): Promise<StepOutline> => {
    const { action } = step;
    if (!('argsRef' in action) || !action.argsRef) return step;
    const { argsRef, at = [], ...rest } = action;
    const args = memberAt(JSON.parse(new TextDecoder().decode(await artifacts.read(argsRef.sha256))) as Json, at);
    return { ...step, action: { ...rest, ...(args === undefined ? {} : { args }) } };
  };
  const steps = await Promise.all(state.steps.map(async (step) => ({ ...step, ...await read(step) })));
  const chosen = 'reasons' in parsed ? parsed : planOfFork({ ...state, steps }, parsed.patch);
  return 'reasons' in chosen ? { why: `The plan is refused, nothing was forked:\n${chosen.reasons.map((reason) => `  ${reason}`).join('\n')}` } : chosen.stands;
}
