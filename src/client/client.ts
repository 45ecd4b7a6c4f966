// The front door of runs: start, message, cancel, inspect, watch, export, restore. Joins the parts of this folder; holds no rule.
// Reading needs the stores alone; starting, sending and restoring also need a connection to Temporal.
import { v7 as uuidv7 } from 'uuid';
import type { RunEvent } from '../core/events';
import type { Message, MessageBody } from '../core/message';
import type { RunRow, WaitRow } from '../core/row';
import type { Claims } from '../core/proof';
import type { State } from '../core/state';
import { KeysError, type DecisionKeys } from '../ports/decision-keys';
import type { ListQuery } from '../ports/journal';
import { atDoor, makeToken, type TokenRequest } from './authority';
import { addressee, waitsBelow } from './below';
import { sendCallback, type CallbackEvent } from './callback';
import { executionOf, missingKeysOf, taskFailureOf, type ExecutionView } from './execution';
import { exportRun, type ExportLine } from './export';
import { forkRun } from './fork';
import { eventsOf, inboxOf, listRuns, resultOf, rowOf, runOfWait, stateOf, watchRun, type WatchOptions } from './reads';
import { usesOfKeys, type KeyUse } from './key-uses';
import { sleepsOver } from './asleep';
import { restoreAll, restoreRun } from './restore';
import { sendMessage, Turnstile } from './send';
import { startRun } from './start';
import { temporalOf, type Temporal } from './temporal';
import type { ClientOptions, Delivery, ForkAnswer, ForkRequest, From, RestoreAnswer, RestoreOptions, StartAnswer, StartRequest } from './types';

export type { From } from './types';

export interface LonghaulClient {
  /** Accepts a run durably, then starts it. The same id with the same request answers the same run. */
  start(request: StartRequest): Promise<StartAnswer>;
  /**
   * Sends a message and answers what became of it. A decision about what a run below this one has asked goes to that run.
   * Throws ClientError `unknown-run`, or `secret` when it holds the value of one; KeysError
   * when it has to be signed at this door and the keys cannot be read.
   */
  message(runId: string, body: MessageBody, from: From): Promise<Delivery>;
  /** A token with which somebody decides once, from elsewhere. Throws ClientError `unknown-wait`, KeysError without keys. */
  token(runId: string, request: TokenRequest): Promise<{ token: string; claims: Claims }>;
  /**
   * Tells a run what the outside says of a request that it had accepted, or of a step that waits for it. Same event id, same event.
   * Throws ClientError `unknown-wait` when no run gave out this id.
   */
  callback(callbackId: string, event: CallbackEvent, from: Omit<From, 'messageId'>): Promise<Delivery & { runId: string }>;
  cancel(runId: string, reason: string, from: From): Promise<Delivery>;
  list(query?: Partial<ListQuery>): Promise<RunRow[]>;
  /** Everything that people are asked for, soonest end first. */
  inbox(): Promise<{ run: RunRow; wait: WaitRow }[]>;
  /** The list row, the folded state, and what the runs below it wait for. Throws ClientError `unknown-run`. */
  show(runId: string): Promise<{ row: RunRow; state: State; below: { run: RunRow; wait: WaitRow }[] }>;
  /** What Temporal says of the run's execution: whether anything runs it. */
  execution(runId: string): Promise<ExecutionView>;
  /** Why Temporal tries the run's present workflow task again; null when nothing failed. */
  taskFailure(runId: string): Promise<string | null>;
  /** Ids of the payload keys that the run's present execution needs and that are not here; reads its whole history. */
  missingKeys(runId: string): Promise<string[]>;
  /** Which payload keys Temporal's histories need, and by which runs; reads them all. */
  keyUses(): Promise<Map<string, KeyUse>>;
  events(runId: string, after?: number): AsyncGenerator<RunEvent>;
  watch(runId: string, options?: WatchOptions): AsyncGenerator<RunEvent>;
  /** Waits for the end of a run; answers its row. */
  result(runId: string, signal?: AbortSignal): Promise<RunRow>;
  /** The run that has or had this approval, question or decision. Throws ClientError `unknown-wait`. */
  runOf(waitId: string): Promise<string>;
  /** Goes on in a new execution; refused while one runs under the present epoch, unless forced. */
  restore(runId: string, options?: RestoreOptions): Promise<RestoreAnswer>;
  /** Every open run that nothing runs, after a disaster; tells what came of each that needed something. Safe to ask again. */
  restoreAll(options?: { taskQueue?: string }): AsyncGenerator<{ row: RunRow; answer: RestoreAnswer }>;
  /** What a run sleeps over that Temporal says is running; null when it does not sleep. `restore` wakes it. */
  sleeps(row: RunRow, view: ExecutionView): Promise<string | null>;
  /** A new run that begins with the first events of this one. Throws ClientError `unknown-run`. */
  fork(runId: string, request: ForkRequest): Promise<ForkAnswer>;
  export(runId: string): AsyncGenerator<ExportLine>;
}

export function createClient(options: ClientOptions): LonghaulClient {
  const { stores } = options;
  const temporal = temporalOf(options);
  const sender = { stores, temporal, turnstile: new Turnstile() };
  const message: LonghaulClient['message'] = async (runId, body, { actor, messageId = uuidv7(), receivedAt = Date.now(), token }) => {
    await options.secrets?.();
    const message: Message = { messageId, actor, receivedAt, body, ...(token === undefined ? {} : { token }) };
    const to = await addressee(stores, runId, body);
    return sendMessage(sender, to, options.keys ? await atDoor(stores, options.keys, to, message, options.door) : message);
  };
  return {
    start: async (request) => {
      await options.secrets?.();
      return startRun(stores, temporal, request);
    },
    message,
    token: (runId, request) => makeToken(stores, keysOf(options), runId, request),
    callback: async (callbackId, event, from) => {
      await options.secrets?.();
      return sendCallback(sender, callbackId, event, from);
    },
    cancel: (runId, reason, from) => message(runId, { kind: 'cancel', reason }, from),
    list: (query = {}) => listRuns(stores, query),
    inbox: () => inboxOf(stores),
    show: (runId) => shown(stores, runId),
    ...seenInTemporal(temporal),
    events: (runId, after) => eventsOf(stores, runId, after),
    watch: (runId, watching) => watchRun(stores, runId, watching),
    result: (runId, signal) => resultOf(stores, runId, signal),
    runOf: (waitId) => runOfWait(stores, waitId),
    ...goingOn(options, temporal),
    export: (runId) => exportRun(stores, runId),
  };
}

/** What makes a run go on elsewhere. */
function goingOn({ stores, secrets }: ClientOptions, temporal: () => Promise<Temporal>): Pick<LonghaulClient, 'restore' | 'restoreAll' | 'sleeps' | 'fork'> {
  return {
    restore: (runId, restoring) => restoreRun(stores, temporal, runId, restoring),
    restoreAll: (restoring) => restoreAll(stores, temporal, restoring),
    sleeps: (row, view) => sleepsOver(stores, row, view),
    fork: async (runId, request) => {
      await secrets?.();
      return forkRun(stores, temporal, runId, request);
    },
  };
}

async function shown(stores: ClientOptions['stores'], runId: string): ReturnType<LonghaulClient['show']> {
  const row = await rowOf(stores, runId);
  return { row, state: await stateOf(stores, runId), below: await waitsBelow(stores, row) };
}

/** What only Temporal can tell. */
function seenInTemporal(temporal: () => Promise<Temporal>): Pick<LonghaulClient, 'execution' | 'taskFailure' | 'keyUses' | 'missingKeys'> {
  return {
    execution: async (runId) => executionOf(await temporal(), runId),
    taskFailure: async (runId) => taskFailureOf(await temporal(), runId),
    keyUses: async () => usesOfKeys(await temporal()),
    missingKeys: async (runId) => missingKeysOf(await temporal(), runId),
  };
}

function keysOf({ keys }: ClientOptions): DecisionKeys {
  if (!keys) throw new KeysError('This client was made without decision keys: it can make no token.');
  return keys;
}
