// Runs that runs start, over the front door: started, found and cancelled in the name of the parent's call. The id of a child follows
// from its parent and the call, so that a worker that dies half-way is followed by one that means the same run.
// A child belongs to the owner of its parent; what it was asked names its parent, which is how it is told from a stranger's run.
import { childRunIdOf } from '../core/keys';
import type { RunRow } from '../core/row';
import { MOST_DEPTH } from '../core/rules/children';
import type { ParentLink } from '../core/run';
import type { ChildAnswer, ChildRequest, ParentCall, RunsPort } from '../ports/runs';
import type { LonghaulClient } from './client';
import { stateOf } from './reads';
import { beginExecution, isOver, readSpec, startRun } from './start';
import type { Temporal } from './temporal';
import type { ClientStores } from './types';

/** ms between two looks at a child that is being cancelled. */
const LOOK_MS = 250;

/** The port of the tool `run_agent`. @param front who tells a child to stop. */
export function childRuns(stores: ClientStores, temporal: () => Promise<Temporal>, front: Pick<LonghaulClient, 'cancel'>): RunsPort {
  return {
    start: (request) => startChild(stores, temporal, request),
    find: async ({ runId, callId }) => {
      const row = await stores.journal.row(childRunIdOf(runId, callId));
      if (!row || !await isChild(stores, row, { runId, callId })) return null;
      // Whoever accepted it may have died before it was started.
      if (!isOver(row)) await beginExecution(await temporal(), row, 'REJECT_DUPLICATE');
      return row.runId;
    },
    cancel: async (runId, reason) => {
      const delivery = await front.cancel(runId, reason, { actor: { id: 'parent', via: 'conductor', assurance: 'claimed' }, messageId: 'cancelled-by-parent' });
      if (!delivery.known && delivery.state !== 'kept') throw new Error(`Run ${runId} was not told to stop: ${delivery.why}`);
    },
    ended: async (runId, withinMs, signal) => {
      for (const until = Date.now() + withinMs; ;) {
        const row = await stores.journal.row(runId);
        if (row && isOver(row)) return row;
        if (signal.aborted || Date.now() > until) return null;
        await new Promise((resolve) => { setTimeout(resolve, LOOK_MS); });
      }
    },
    standing: async (runId) => {
      const { effects, end } = await stateOf(stores, runId);
      return [...effects.filter((done) => done.undone !== 'yes').map((done) => `${done.tool} ${done.callId}`), ...(end?.report?.unknown ?? [])];
    },
  };
}

async function startChild(stores: ClientStores, temporal: () => Promise<Temporal>, { parent, ...asked }: ChildRequest): Promise<ChildAnswer> {
  const runId = childRunIdOf(parent.runId, parent.callId);
  const known = await stores.journal.row(runId);
  if (known) return again(stores, temporal, known, parent);
  const link = await linkOf(stores, parent);
  if ('why' in link) return { kind: 'refused', ...link };
  const answer = await startRun(stores, temporal, { runId, ...asked, owner: link.owner, parent: link.parent });
  if (answer.kind === 'refused') return { kind: 'refused', code: 'request', why: answer.why };
  // Somebody was quicker: another attempt of the same call, given another budget perhaps, or a stranger, whose request may be the same.
  return answer.kind === 'started' ? { kind: 'started', runId } : again(stores, temporal, await rowAt(stores, runId), parent);
}

async function again(stores: ClientStores, temporal: () => Promise<Temporal>, row: RunRow, parent: ParentCall): Promise<ChildAnswer> {
  if (!await isChild(stores, row, parent)) return { kind: 'refused', code: 'taken', why: `A run ${row.runId} exists that ${parent.callId} of ${parent.runId} has not started.` };
  if (!isOver(row)) await beginExecution(await temporal(), row, 'REJECT_DUPLICATE');
  return { kind: 'started', runId: row.runId };
}

async function isChild(stores: ClientStores, row: RunRow, { runId, callId }: Pick<ParentCall, 'runId' | 'callId'>): Promise<boolean> {
  const spec = await readSpec(stores, row);
  if (!spec) throw new Error(`What run ${row.runId} was asked cannot be read.`);
  return spec.parent?.runId === runId && spec.parent.callId === callId;
}

async function rowAt({ journal }: ClientStores, runId: string): Promise<RunRow> {
  const row = await journal.row(runId);
  if (!row) throw new Error(`The journal does not know run ${runId}.`);
  return row;
}

/** Whose the child is, and how deep it stands. */
async function linkOf(stores: ClientStores, parent: ParentCall): Promise<{ owner: RunRow['owner']; parent: ParentLink } | { code: 'depth'; why: string }> {
  const row = await rowAt(stores, parent.runId);
  const spec = await readSpec(stores, row);
  if (!spec) throw new Error(`What run ${row.runId} was asked cannot be read.`);
  const depth = (spec.parent?.depth ?? 0) + 1;
  if (depth > MOST_DEPTH) return { code: 'depth', why: `Run ${parent.runId} stands ${MOST_DEPTH} deep below the run that a person started, and may start none itself; do the work in it.` };
  return { owner: row.owner, parent: { ...parent, depth } };
}
