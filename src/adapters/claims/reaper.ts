// Tells Temporal at once what a dead worker process of this host had under way, instead of waiting until its heartbeats are
// missed: calls with effect go to their gate, readers, models and plumbing are tried again, and the runs that it kept in
// memory are no longer sought at its sticky queue. First of all it kills what the dead worker's tools have started and is still
// there (a process that was stopped would act when it is continued): no gate looks while an orphan may act. Ends nothing else
// that lives: only activities of processes that certainly run no more, by their own tokens. Touches no claim.
import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, type Client } from '@temporalio/client';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { ownerGone } from './owner';
import { groupRuns, killGroup, type ProcessIdentity } from '../temporal/process-identity';
import { readList, readLists, removeList, type RunningList, type RunningNotes, type Underway } from './running';

export interface Reaper {
  /** Resolves when the first look is over. */
  first: Promise<void>;
  stop(): void;
}

export interface ReaperSettings {
  stateDir: string;
  /** This process's own notes, which are shown to be in use. */
  notes: RunningNotes;
  client: Client;
  namespace: string;
  log: (message: string, about: Record<string, unknown>) => void;
}

/** ms between two looks: a worker beside this one may die as well. */
const EVERY_MS = 3_000;
/** Looks at one list after which what the server refuses is let be: its heartbeats are missed by then. */
const PATIENCE = 10;
/** ms that a killed group has to be gone; a look later it is waited for again. */
const DYING_MS = 2_000;
/** Requests to the server at once. */
const AT_ONCE = 8;

/** Looks at once, and again every few seconds. A look that fails is left to the next. */
export function startReaper(settings: ReaperSettings): Reaper {
  const tries = new Map<string, number>();
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    try {
      settings.notes.touch();
      // All are killed before the first is waited for, and before anything is asked of the server.
      const dead = readLists(settings.stateDir).flatMap((list) => deadList(settings, list)).map((list) => ({ list, left: endGroups(list.groups) }));
      for (const { list, left } of dead) {
        const n = (tries.get(list.file) ?? 0) + 1;
        tries.set(list.file, n);
        await left.then((living) => reap(settings, list, living)).catch((error: unknown) => {
          settings.log('what a dead worker had under way could not be reported', { worker: list.owner.worker, error: String(error), again: n < PATIENCE });
          if (n >= PATIENCE) removeList(list);
        });
      }
    } catch (error) {
      settings.log('what dead workers had under way could not be looked at', { error: String(error) });
    } finally {
      looking = false;
    }
  };
  const first = look();
  const timer = setInterval(() => void look(), EVERY_MS);
  timer.unref();
  return { first, stop: () => clearInterval(timer) };
}

/** The list of a worker that is gone, as it was left: read again, since it may have been written to until its end. */
function deadList({ namespace, log }: ReaperSettings, list: RunningList): RunningList[] {
  try {
    const left = list.namespace === namespace && ownerGone(list.owner) ? readList(list.file) : null;
    return left ? [left] : [];
  } catch (error) {
    log('a list of what runs could not be looked at', { file: list.file, error: String(error) });
    return [];
  }
}

/** Kills every group that is still the one noted, at once; answers those that are not gone after a while. Never rejects. */
async function endGroups(groups: readonly ProcessIdentity[]): Promise<ProcessIdentity[]> {
  const until = Date.now() + DYING_MS;
  const runs = ({ pid }: ProcessIdentity): boolean => {
    try {
      return groupRuns(pid);
    } catch {
      return true;
    }
  };
  let left = groups.filter((leader) => {
    try {
      return killGroup(leader);
    } catch {
      return true;
    }
  });
  for (left = left.filter(runs); left.length > 0 && Date.now() < until; left = left.filter(runs)) await sleep(10);
  return left;
}

async function reap(settings: ReaperSettings, list: RunningList, living: readonly ProcessIdentity[]): Promise<void> {
  const { underway, owner } = list;
  if (living.length > 0) throw new Error(`Killed and not gone yet: process group ${living.map(({ pid }) => pid).join(', ')}.`);
  const waiting = new Set(underway.map(({ workflowId }) => workflowId));
  // What waits for an answer first; runs that only rest come after.
  await each([...waiting], (workflowId) => forget(settings, workflowId));
  await each(underway, (activity) => report(settings, list, activity));
  await each(list.runs.filter((workflowId) => !waiting.has(workflowId)).reverse(), (workflowId) => forget(settings, workflowId));
  removeList(list);
  settings.log('a dead worker was reported', { worker: owner.worker, underway: underway.map(({ type, workflowId }) => `${type} of ${workflowId}`), runs: list.runs.length, groups: list.groups.length });
}

/** The dead process was the run's sticky worker: without this its queue is tried first, for two seconds. */
async function forget({ client, namespace }: ReaperSettings, workflowId: string): Promise<void> {
  await known(client.workflowService.resetStickyTaskQueue({ namespace, execution: { workflowId } }));
}

async function report({ client }: ReaperSettings, { owner }: RunningList, { token }: Underway): Promise<void> {
  // Retryable: what runs once is not retried all the same, and plumbing is tried again by Temporal.
  const gone = ApplicationFailure.create({ type: 'WorkerGone', message: `The process of ${owner.worker} is gone.`, nonRetryable: false });
  // A stack names files of this machine, and would stand in history.
  gone.stack = '';
  await known(client.activity.fail(Buffer.from(token, 'base64'), gone));
}

/** Not found means that somebody knows already: the token is stale, or the run is over. */
async function known(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    const { name, code } = error as { name?: string; code?: unknown };
    if (name !== 'ActivityNotFoundError' && code !== NOT_FOUND) throw error;
  }
}

/** gRPC status. */
const NOT_FOUND = 5;

async function each<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  for (let i = 0; i < all.length; i += AT_ONCE) await Promise.all(all.slice(i, i + AT_ONCE).map(act));
}

/** Notes every activity while it runs, and with local ones which runs this process works on. */
export function noting(notes: RunningNotes): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const workflowId = info.workflowExecution?.workflowId;
        if (workflowId === undefined) return next(input);
        notes.saw(workflowId);
        if (info.isLocal) return next(input);
        const ended = notes.begin({ token: info.base64TaskToken, workflowId, type: info.activityType });
        try {
          return await next(input);
        } finally {
          ended();
        }
      },
    },
  });
}
