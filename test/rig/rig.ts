// A whole longhaul for one test file: a real server, real worker processes, the embedded stores in a folder of its own, and
// a client that does what a door does. At the end every history that the tests started is replayed, with no activity
// registered and no store in reach, so that a change of order is found by whichever test met it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection, type HistoryAndWorkflowId } from '@temporalio/client';
import { Runtime, DefaultLogger } from '@temporalio/worker';
import { openEncryption } from '../../src/adapters/codec/encryption';
import { openStores, type Stores } from '../../src/adapters/stores/open-stores';
import { replayHistories, type NamedHistory } from '../../src/adapters/temporal/replay-histories';
import type { HistoryLimits } from '../../src/config';
import { canonical, digestOf, type Json } from '../../src/core/canonical';
import type { RunEvent } from '../../src/core/events';
import { fold } from '../../src/core/evolve';
import { initialState } from '../../src/core/initial';
import type { Actor, Budget, RunInput, RunSpec } from '../../src/core/run';
import type { State } from '../../src/core/state';
import { MESSAGE, workflowIdOf, WORKFLOW_TYPE, type Message, type MessageAnswer, type MessageBody } from '../../src/messages';
import { RIG_AGENT } from './config';
import { startRigServer, type RigServer } from './server';
import { linesOf, type Line } from './tools';
import { startWorkerProcess, superviseWorker, type Supervised, type WorkerProcess } from './worker-process';

const root = path.join(__dirname, '..', '..');
export const ANN: Actor = { id: 'ann', via: 'cli', assurance: 'local-user' };

export interface RunOptions { runId?: string; agent?: string; plan: unknown; input?: Json; budget?: Budget; taskQueue?: string; start?: boolean }

export interface Rig {
  server: RigServer;
  client: Client;
  stores: Stores;
  stateDir: string;
  logFile: string;
  /** Changes the files of the stores while nothing has them open, as somebody who puts a copy back. No worker may run. */
  meanwhile(change: () => void): Promise<void>;
  effectsFile: string;
  /** Effects so far, of one run or of all. */
  effects(runId?: string): Line[];
  /** `stateDir`: a folder of the worker's own, as on another host. */
  worker(options?: { stateDir?: string; taskQueue?: string; env?: Record<string, string>; limits?: HistoryLimits; graceMs?: number }): Promise<WorkerProcess>;
  supervised(options?: { taskQueue?: string; env?: Record<string, string>; limits?: HistoryLimits }): Promise<Supervised>;
  /** Accepts and starts a run; answers its id. */
  run(options: RunOptions): Promise<string>;
  /** Starts a new execution of the run under a raised epoch. */
  restore(runId: string, taskQueue?: string): Promise<void>;
  /** Sends a message as an Update, asking again with the same id until it is answered. */
  send(runId: string, body: MessageBody, about?: { messageId?: string; actor?: Actor; timeoutMs?: number }): Promise<MessageAnswer>;
  events(runId: string): Promise<RunEvent[]>;
  types(runId: string): Promise<string[]>;
  state(runId: string): Promise<State>;
  /** Waits until the journal of the run holds what `seen` looks for; answers that. */
  until<T>(runId: string, seen: (state: State, events: RunEvent[]) => T | undefined | false | null, timeoutMs?: number): Promise<T>;
  /** Waits until the run is over, and until Temporal says so too; answers Temporal's status. */
  end(runId: string, timeoutMs?: number): Promise<{ state: State; status: string }>;
  /** Histories of all executions of a run, oldest first. */
  histories(runId: string): Promise<{ executionId: string; history: Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>> }[]>;
  /** Replays every history on the server; throws for the first that does not. Answers how many there were. */
  replayAll(): Promise<number>;
  /** Replays all histories, then stops everything. */
  stop(): Promise<void>;
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });
let counter = 0;

/**
 * @param given `stateDir`: a folder of the caller's for the stores, e.g. on a small disk; removed at the end. `configFile`: what the
 *   workers run in place of the rig's own configuration. `env`: of every worker, besides its own. `server`: one in place of a real
 *   server of its own, which lists no workflows: the executions of the runs that the rig started are replayed. Stopped at the end.
 *   `stores`: addresses of stores elsewhere. `encrypted`: payloads are, with a key in the state folder; so they are in every rig where LONGHAUL_ENCRYPTION=on.
 */
export async function startRig(given: { stateDir?: string; configFile?: string; env?: Record<string, string>; server?: RigServer; encrypted?: boolean; stores?: { database: string; artifacts: string } } = {}): Promise<Rig> {
  const { configFile } = given;
  const env = { ...given.env, ...(given.stores ? { LONGHAUL_DATABASE_URL: given.stores.database, LONGHAUL_ARTIFACTS: given.stores.artifacts } : {}) };
  execFileSync(process.execPath, [path.join(root, 'scripts', 'build.js'), '--if-stale'], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  const server = given.server ?? await startRigServer();
  const stateDir = given.stateDir ?? mkdtempSync(path.join(tmpdir(), 'longhaul-state-'));
  let stores = await openStores({ stateDir, ...given.stores });
  const connection = await Connection.connect(server.connectionOptions);
  const { dataConverter } = openEncryption({ stateDir, demanded: given.encrypted, make: true });
  const client = new Client({ connection, dataConverter });
  const workers: { stop(): Promise<void> }[] = [];
  const effectsFile = path.join(stateDir, 'effects.jsonl');
  const logFile = path.join(stateDir, 'worker.log');
  const settings = ({ stateDir: own = stateDir, taskQueue = 'rig', limits, graceMs }: { stateDir?: string; taskQueue?: string; limits?: HistoryLimits; graceMs?: number } = {}) =>
    ({ address: server.address, taskQueue, stateDir: own, effects: effectsFile, logFile: path.join(own, 'worker.log'), ...(configFile === undefined ? {} : { configFile }), ...(limits ? { limits } : {}), ...(graceMs === undefined ? {} : { graceMs }) });

  const worker: Rig['worker'] = async (options = {}) => {
    const started = await startWorkerProcess(settings(options), { ...env, ...options.env });
    workers.push({ stop: () => started.kill() });
    return started;
  };
  const supervised: Rig['supervised'] = async (options = {}) => {
    const started = await superviseWorker(settings(options), { ...env, ...options.env });
    workers.push(started);
    return started;
  };
  const begun: { workflowId: string; firstExecutionRunId: string }[] = [];
  const start = async (input: RunInput, taskQueue: string): Promise<void> => {
    begun.push(await client.workflow.start(WORKFLOW_TYPE, {
      taskQueue, workflowId: workflowIdOf(input.runId), args: [input], workflowTaskTimeout: '5s', workflowIdReusePolicy: input.epoch > 0 ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
    }));
  };

  const run: Rig['run'] = async ({ runId = `r${process.pid}-${++counter}`, agent = RIG_AGENT, plan, input = {}, budget = {}, taskQueue = 'rig', start: begin = true }) => {
    const spec: RunSpec = { v: 1, agent, input, plan: plan as Json, budget, owner: ANN };
    const inputRef = await stores.artifacts.write(Buffer.from(canonical(spec)), { mediaType: 'application/json', summary: 'what the run was asked' });
    const inputDigest = digestOf({ agent: spec.agent, input, plan, budget });
    const at = Date.now();
    await stores.journal.accept({ runId, title: '', agent, owner: ANN, status: 'accepted', outcome: null, detail: '', waits: [], deadline: null, budgetLeft: {}, steps: { done: 0, total: 0 }, epoch: 0, version: 0, inputDigest, inputRef, createdAt: at, updatedAt: at });
    if (begin) await start({ v: 1, runId, epoch: 0, inputDigest, inputRef }, taskQueue);
    return runId;
  };
  const restore: Rig['restore'] = async (runId, taskQueue = 'rig') => {
    const row = await stores.journal.row(runId);
    if (!row) throw new Error(`no run ${runId}`);
    const head = await stores.journal.head(runId);
    const { epoch } = await stores.journal.raiseEpoch(runId, head?.epoch ?? 0);
    await client.workflow.getHandle(workflowIdOf(runId)).terminate('restore').catch(() => undefined);
    await start({ v: 1, runId, epoch, inputDigest: row.inputDigest, inputRef: row.inputRef }, taskQueue);
  };
  const send: Rig['send'] = async (runId, body, { messageId = `m-${process.pid}-${++counter}`, actor = ANN, timeoutMs = 30_000 } = {}) => {
    const message: Message = { messageId, actor, body };
    const limit = Date.now() + timeoutMs;
    for (;;) {
      try {
        const handle = client.workflow.getHandle(workflowIdOf(runId));
        const answer = await client.withDeadline(Date.now() + 5_000, () => handle.executeUpdate<MessageAnswer, [Message]>(MESSAGE, { args: [message], updateId: messageId }));
        if (answer.kind !== 'busy') return answer;
      } catch (error) {
        if (Date.now() > limit || /already completed|not ?found/i.test(String(error))) throw error;
      }
      await sleep(100);
    }
  };

  const events: Rig['events'] = async (runId) => {
    const all: RunEvent[] = [];
    for (;;) {
      const page = await stores.journal.read(runId, all.at(-1)?.seq ?? 0);
      all.push(...page.events);
      if (!page.more) return all;
    }
  };
  const state: Rig['state'] = async (runId) => fold(initialState(runId), await events(runId));
  const until: Rig['until'] = async (runId, seen, timeoutMs = 60_000) => {
    const limit = Date.now() + timeoutMs;
    for (;;) {
      const all = await events(runId);
      const found = seen(fold(initialState(runId), all), all);
      if (found) return found;
      if (Date.now() > limit) throw new Error(`Run ${runId} did not get there in ${timeoutMs} ms: ${all.map((event) => event.type).join(' ')}\n${tail(logFile)}`);
      await sleep(100);
    }
  };
  const end: Rig['end'] = async (runId, timeoutMs = 60_000) => {
    const over = await until(runId, (seen) => seen.end && seen, timeoutMs);
    const limit = Date.now() + 30_000;
    for (;;) {
      const { status } = await client.workflow.getHandle(workflowIdOf(runId)).describe();
      if (status.name !== 'RUNNING' && status.name !== 'CONTINUED_AS_NEW') return { state: over, status: status.name };
      if (Date.now() > limit) throw new Error(`Temporal still says ${status.name} for run ${runId}\n${tail(logFile)}`);
      await sleep(100);
    }
  };
  const histories: Rig['histories'] = async (runId) => {
    const found: Awaited<ReturnType<Rig['histories']>> = [];
    const executions = [];
    for await (const info of client.workflow.list({ query: `WorkflowId = "${workflowIdOf(runId)}"` })) executions.push(info);
    executions.sort((a, b) => a.startTime.getTime() - b.startTime.getTime());
    for (const { runId: executionId } of executions) {
      found.push({ executionId, history: await client.workflow.getHandle(workflowIdOf(runId), executionId).fetchHistory() });
    }
    return found;
  };
  const replayAll: Rig['replayAll'] = async () => {
    quietRuntime();
    const workflowBundle = { codePath: path.join(root, 'dist', 'workflow-bundle.js') };
    let count = 0;
    const each = given.server ? executionsOf(client, begun) : client.workflow.list().intoHistories({ concurrency: 4 });
    const named = async function* (): AsyncGenerator<NamedHistory> {
      for await (const { workflowId, history } of each) yield { name: workflowId, workflowId, history: history as unknown as NamedHistory['history'] };
    };
    for await (const { workflowId, fault } of replayHistories({ workflowBundle, dataConverter }, named())) {
      if (fault) throw new Error(`The history of ${workflowId} does not replay: at event ${fault.eventId} ${fault.why}. (${fault.said})`);
      count += 1;
    }
    return count;
  };
  const stop: Rig['stop'] = async () => {
    try {
      await replayAll();
    } finally {
      await Promise.all(workers.map((one) => one.stop()));
      await connection.close();
      await stores.close();
      await server.stop();
      rmSync(stateDir, { recursive: true, force: true });
    }
  };
  return {
    server, client, get stores() { return stores; }, stateDir, logFile, effectsFile, worker, supervised, run, restore, send, events, state, until, end, histories, replayAll, stop,
    effects: (runId) => linesOf(effectsFile).filter((line) => runId === undefined || line.runId === runId),
    meanwhile: async (change) => {
      await stores.close();
      change();
      stores = await openStores({ stateDir, ...given.stores });
    },
    types: async (runId) => (await events(runId)).map((event) => event.type),
  };
}

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;

/** The histories of executions and of those that they continued as, where no list can be asked for. */
async function* executionsOf(client: Client, begun: readonly { workflowId: string; firstExecutionRunId: string }[]): AsyncGenerator<HistoryAndWorkflowId> {
  for (const { workflowId, firstExecutionRunId } of begun) {
    for (let next: string | null | undefined = firstExecutionRunId; next;) {
      const history: History = await client.workflow.getHandle(workflowId, next).fetchHistory();
      yield { workflowId, history };
      next = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    }
  }
}

function tail(file: string): string {
  try {
    return readFileSync(file, 'utf8').split('\n').slice(-30).join('\n');
  } catch {
    return '(no log)';
  }
}

let quiet = false;
/** Once a process, before anything else of the worker's SDK is used in it. */
export function quietRuntime(): void {
  if (quiet) return;
  quiet = true;
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { forward: {}, filter: 'ERROR' } } });
}
