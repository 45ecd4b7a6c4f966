// Replays histories through workflow code: no server, no store, no activity; what the world answered stands in history. Where the code
// asks for something else than history holds, the event is found and said in words. One replay worker for any number of histories.
import { Worker, type ReplayWorkerOptions } from '@temporalio/worker';
import type { History, HistoryEvent } from './history-file';
import { coreOf, eventIdOf, isTaskStart, wordsOf, wrongEvent } from './history-words';

/** The workflow code to replay with: a bundle, or sources that are bundled first. */
export type WorkflowCode = Pick<ReplayWorkerOptions, 'workflowBundle' | 'workflowsPath'>;

export interface NamedHistory { name: string; workflowId: string; executionId?: string | null; history: History }

export interface ReplayVerdict {
  /** Where the history came from: a file, or the execution on a server. */
  name: string;
  workflowId: string;
  executionId: string | null;
  events: number;
  ok: boolean;
  fault?: {
    /** The event that does not fit; null when no event could be told. */
    eventId: number | null;
    /** In plain words. */
    why: string;
    /** What the SDK said. */
    said: string;
  };
}

type Options = WorkflowCode & Pick<ReplayWorkerOptions, 'dataConverter'>;

/** Replays each history and says whether it fits, in their order. */
export async function* replayHistories(options: Options, histories: AsyncIterable<NamedHistory> | Iterable<NamedHistory>): AsyncGenerator<ReplayVerdict> {
  let at: NamedHistory | undefined;
  const pushed = async function* (): AsyncGenerator<{ workflowId: string; history: never }> {
    for await (const one of histories) {
      at = one;
      yield { workflowId: one.workflowId, history: one.history as never };
    }
  };
  for await (const { error } of Worker.runReplayHistories(options, pushed())) {
    const { name, workflowId, executionId = null, history } = at as unknown as NamedHistory;
    const verdict = { name, workflowId, executionId, events: history.events.length };
    yield error ? { ...verdict, ok: false, fault: await faultOf(options, workflowId, history, error.message) } : { ...verdict, ok: true };
  }
}

const NOT_DETERMINISTIC = /TMPRL1100|Fatal error in workflow machines/;

async function faultOf(options: Options, workflowId: string, history: History, text: string): Promise<NonNullable<ReplayVerdict['fault']>> {
  const said = coreOf(text);
  if (!NOT_DETERMINISTIC.test(said)) return { eventId: null, why: 'the workflow code itself fails on it', said };
  const event = wrongEvent(history.events, await firstWrongTask(options, workflowId, history), said);
  return { eventId: event === null ? null : eventIdOf(event), why: wordsOf(event, said), said };
}

/** The events that belong to the first workflow task which does not fit: from its start to the start of the next. */
async function firstWrongTask(options: Options, workflowId: string, { events }: History): Promise<HistoryEvent[]> {
  const starts = events.flatMap((event, i) => (isTaskStart(event) ? [i] : []));
  // A prefix that ends with the start of task n shows whether the commands of the tasks before it fit.
  let [fits, fails] = [0, starts.length];
  let tried = 0;
  const prefixes = function* (): Generator<{ workflowId: string; history: never }> {
    while (fails - fits > 1) {
      tried = Math.floor((fits + fails) / 2);
      yield { workflowId, history: { events: events.slice(0, (starts[tried] ?? 0) + 1) } as never };
    }
  };
  for await (const { error } of Worker.runReplayHistories(options, prefixes())) {
    if (error) fails = tried;
    else fits = tried;
  }
  return events.slice(starts[fits] ?? 0, fails === starts.length ? undefined : (starts[fails] ?? 0) + 1);
}
