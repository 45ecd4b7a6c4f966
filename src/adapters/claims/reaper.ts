// Tells Temporal at once what a dead worker process of this host had under way, instead of waiting until its heartbeats are
// missed: calls with effect go to their gate, readers, models and plumbing are tried again, and the runs that it kept in
// memory are no longer sought at its sticky queue. Ends nothing that lives: only activities of processes that certainly run
// no more, by their own tokens. Touches no claim: the gate decides about those.
import { ApplicationFailure, type Client } from '@temporalio/client';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { ownerGone } from './owner';
import { readLists, removeList, type RunningList, type RunningNotes, type Underway } from './running';

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
      for (const list of readLists(settings.stateDir)) {
        if (list.namespace !== settings.namespace || !ownerGone(list.owner)) continue;
        const n = (tries.get(list.file) ?? 0) + 1;
        tries.set(list.file, n);
        await reap(settings, list).catch((error: unknown) => {
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

async function reap(settings: ReaperSettings, list: RunningList): Promise<void> {
  const { underway, owner } = list;
  const waiting = new Set(underway.map(({ workflowId }) => workflowId));
  // What waits for an answer first; runs that only rest come after.
  await each([...waiting], (workflowId) => forget(settings, workflowId));
  await each(underway, (activity) => report(settings, list, activity));
  await each(list.runs.filter((workflowId) => !waiting.has(workflowId)).reverse(), (workflowId) => forget(settings, workflowId));
  removeList(list);
  settings.log('a dead worker was reported', { worker: owner.worker, underway: underway.map(({ type, workflowId }) => `${type} of ${workflowId}`), runs: list.runs.length });
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
