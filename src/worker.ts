// The composition root of a worker: stores, tools, policy and models become hands, and hands become a Temporal Worker.
// Workflows are given by path or as the prebuilt bundle, never imported. Owns the process's crash points and its logging.
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { makeHands, type HandsDeps, type WorkerFacts } from './activities';
import { Admission } from './activities/admission';
import { admitted } from './activities/admitted-model';
import { makeModel } from './activities/model';
import { childRuns } from './client/children';
import { createClient, type LonghaulClient } from './client/client';
import { heldUpByKeys } from './client/key-uses';
import { temporalOf } from './client/temporal';
import type { Config, HistoryLimits } from './config';
import { ownerGone, ownerHere, ownerLives } from './adapters/claims/owner';
import { noting, startReaper } from './adapters/claims/reaper';
import { keepNotes } from './adapters/claims/running';
import { openEncryption, selfTest, type Encryption } from './adapters/codec/encryption';
import { resolveAgents, serviceResolver, toolsByContract } from './adapters/config/resolve';
import { openKeyring } from './adapters/keys/keyring';
import { installCrashPointFromEnv } from './adapters/crash/kill-at';
import { dropIdleRuntime, installLogger, type Log } from './adapters/logging/logger';
import { metricsAddress, startGauges } from './adapters/logging/metrics';
import { modelById, modelIdFromEnv, modelNotes, modelPrice } from './adapters/models/from-env';
import { policyOf, tablePolicy } from './adapters/policy/table';
import { openSecrets, type Secrets } from './adapters/secrets/sources';
import { openStores, storesAt, type Stores } from './adapters/stores/open-stores';
import { checkSearchAttributes } from './adapters/temporal/search-attributes';
import { inputSchema, modelToolSpec, toolConcurrency } from './adapters/tools/define-tool';
import { installGroupNote } from './adapters/tools/groups';
import { isolatedEnv, withIsolation } from './adapters/tools/isolated';
import { TASK_QUEUE } from './messages';
import type { ClaimOwner } from './ports/ledger';
import type { ModelPort } from './ports/model';
import { installRedactor } from './ports/redaction';
import type { ToolDefinition } from './ports/tool';

export interface WorkerSettings {
  config: Config;
  /** Absolute path of the module that exports `config`; needed when a tool has `isolation: 'process'`. */
  configFile?: string;
  stateDir: string;
  /** Where relative paths of the configuration start; default the working folder. */
  folder?: string;
  /** An open connection, or where to connect. */
  connection: NativeConnection | { address: string; apiKey?: string };
  namespace?: string;
  taskQueue?: string;
  /** Shown in Temporal and in claims; default `longhaul <pid>@<host>`. */
  identity?: string;
  /** Makes this a versioned worker: runs stay on the build they began with until they continue as new. */
  deployment?: { name: string; buildId: string };
  /** ms that calls in flight have to end after `shutdown`; default 20 s. */
  graceMs?: number;
  /** Stores that are open already; they are then not closed here. */
  stores?: Stores;
  /** Whatever the configuration says: runs that begin here take signed decisions only, where it matters. */
  production?: boolean;
  /** File for the log; default stderr. */
  logFile?: string;
  logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `host:port` for Prometheus; default: LONGHAUL_METRICS, else no metrics. One a process. */
  metrics?: string;
}

export interface RunningWorker {
  worker: Worker;
  /** What runs that begin here are pinned to. */
  mode: 'dev' | 'production';
  /** Polls until `shutdown`, then closes what was opened here. Rejects when the worker fails. */
  run(): Promise<void>;
  /** Stops polling; calls in flight have the grace time to end. */
  shutdown(): void;
}

const MODEL_CONCURRENCY = 16;
const HISTORY: Required<HistoryLimits> = { softEvents: 2_000, hardEvents: 10_000, hardUpdates: 1_500, waitEvents: 200 };

/** Makes a worker that is ready to run. Throws what the file of secrets, the stores, the connection and the bundle throw. */
export async function startWorker(settings: WorkerSettings): Promise<RunningWorker> {
  const { secrets, log, metrics, encryption } = await prepared(settings);
  const opened: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const one of opened.splice(0).reverse()) await one();
  };
  try {
    const stores = settings.stores ?? await openStores({ stateDir: settings.stateDir, ...storesAt(settings.config.stores, process.env) });
    if (!settings.stores) opened.push(() => stores.close());
    const connection = 'address' in settings.connection ? await NativeConnection.connect(settings.connection) : settings.connection as NativeConnection;
    if (connection !== settings.connection) opened.push(() => connection.close());
    const namespace = settings.namespace ?? 'default';
    const notes = keepNotes(settings.stateDir, ownerOf(settings), namespace, (error) => log.warn('what runs here is not noted; after a crash it waits for its heartbeats', { error: String(error) }), encryption.on);
    const unnoted = installGroupNote((child) => notes.group(child));
    opened.push(() => notes.close(), unnoted);
    const gauges = metrics === undefined ? null : startGauges(stores, Runtime.instance().metricMeter);
    opened.push(() => gauges?.stop());
    const reaper = startReaper({ stateDir: settings.stateDir, notes, client: new Client({ connection, namespace, dataConverter: encryption.dataConverter }), namespace, log: (message, about) => log.info(message, about) });
    opened.push(() => reaper.stop());
    const hands = makeHands(await depsOf(settings, secrets, stores, connection, encryption, log));
    const worker = await Worker.create({ ...options(settings, encryption), connection, activities: hands, interceptors: { activity: [noting(notes)] } });
    // What a dead worker left is told before this one is up, so that nothing is sought at the dead one's queue any more.
    await Promise.race([reaper.first, sleep(REAP_MS, undefined, { ref: false })]);
    void tellMissingKeys(stores, createClient({ stores, connection, encryption, namespace }), log);
    return { worker, mode: modeOf(settings), run: () => polling(worker, close), shutdown: () => worker.shutdown() };
  } catch (error) {
    await close();
    await dropIdleRuntime();
    throw error;
  }
}

interface Prepared { secrets: Secrets; log: Log; metrics?: string; encryption: Encryption }

/** What is of the process rather than of one worker, and what has to be well before anything is opened. */
async function prepared({ config, folder, stateDir, metrics, logFile, logLevel }: WorkerSettings): Promise<Prepared> {
  const secrets = openSecrets({ config, folder: folder ?? process.cwd(), env: process.env });
  // Before anything else is said or opened. It stays: calls may end after their worker has.
  installRedactor(secrets.known);
  const encryption = openEncryption({ stateDir, demanded: config.encryption });
  await selfTest(encryption);
  const wanted = metrics ?? process.env['LONGHAUL_METRICS']?.trim();
  const address = wanted ? await metricsAddress(wanted) : undefined;
  const log = installLogger({ file: logFile, level: logLevel ?? 'info', metrics: address });
  for (const note of secrets.notes) log.warn(note);
  installCrashPointFromEnv();
  return { secrets, log, metrics: address, encryption };
}

/** Says once of open runs that they need payload keys which are not here. Such runs wait; nothing else does, this start neither. */
async function tellMissingKeys({ journal }: Stores, client: LonghaulClient, log: Log): Promise<void> {
  const held = await heldUpByKeys(journal, (runId) => client.execution(runId)).catch(() => new Map<string, string[]>());
  for (const [kid, runs] of held) log.warn(`the payload key ${kid} is missing: open runs wait for it; put it back with longhaul keys import COPY`, { runs: runs.slice(0, 20), count: runs.length });
}

/** ms that a start waits for the first look at what dead workers left. */
const REAP_MS = 2_000;

async function polling(worker: Worker, close: () => Promise<void>): Promise<void> {
  try {
    await worker.run();
  } finally {
    await close();
  }
}

const ownerOf = ({ identity }: WorkerSettings): ClaimOwner => ownerHere(identity ?? identityOf());

function options({ namespace, taskQueue, identity, deployment, graceMs }: WorkerSettings, { on, dataConverter }: Encryption): Omit<WorkerOptions, 'activities' | 'connection'> {
  return {
    ...workflowCode(on), dataConverter, namespace: namespace ?? 'default', taskQueue: taskQueue ?? TASK_QUEUE, identity: identity ?? identityOf(),
    stickyQueueScheduleToStartTimeout: '2s', maxHeartbeatThrottleInterval: '1s', defaultHeartbeatThrottleInterval: '1s',
    shutdownGraceTime: graceMs ?? 20_000, maxCachedWorkflows: 200, maxEagerActivityReservationsPerWorkflowTask: 8,
    // Without a name of ours the SDK sends its own, of 88 characters, with three events of every call.
    ...(deployment ? {} : { buildId: buildName() }),
    ...(deployment ? { workerDeploymentOptions: { version: { deploymentName: deployment.name, buildId: deployment.buildId }, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' as const } } : {}),
  };
}

const identityOf = (): string => `longhaul ${process.pid}@${os.hostname()}`;

/** The conductor of this build. Built code brings its bundles; sources are bundled when the worker starts. The sandbox makes failures itself, so it has its own for encryption. */
export function workflowCode(encrypted: boolean): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const bundle = path.join(__dirname, '..', encrypted ? 'workflow-bundle-encrypted.js' : 'workflow-bundle.js');
  if (__filename.endsWith('.js') && existsSync(bundle)) return { workflowBundle: { codePath: bundle } };
  return { workflowsPath: path.join(__dirname, 'workflows') };
}

async function depsOf(settings: WorkerSettings, secrets: Secrets, stores: Stores, connection: NativeConnection, encryption: Encryption, log: Log): Promise<HandsDeps> {
  const { config, stateDir } = settings;
  const [keys, mode] = [openKeyring(stateDir), modeOf(settings)];
  if (mode === 'production' && keys.ensure()) log.info('the decision keys were made', { file: stateDir });
  const client = temporalOf({ stores, connection, encryption, namespace: settings.namespace ?? 'default', taskQueue: settings.taskQueue ?? TASK_QUEUE });
  const front = createClient({ stores, connection, encryption, namespace: settings.namespace ?? 'default' });
  const admission = new Admission((message, about) => log.warn(message, about));
  const agents = resolveAgents(config, modelIdFromEnv(process.env), (model) => modelPrice(model, process.env));
  const tools = toolsByContract(config, { runs: childRuns(stores, client, front), agents });
  for (const note of modelNotes([...agents.values()].map(({ manifest }) => manifest.model), process.env)) log.warn(note);
  return {
    ...stores, keys, mode,
    policy: config.policy ?? tablePolicy({ name: 'built-in', rules: [] }), policyOf,
    agents, tools: withIsolation(tools, { file: settings.configFile, env: isolatedEnv(process.env, config.secrets) }),
    admission, concurrencyOf: toolConcurrency, inputSchema,
    service: serviceResolver(config, stateDir),
    secret: secrets.value,
    resources: config.resources ?? {},
    model: modelOf(stores, log, tools, (port) => admitted(port, admission, config.modelConcurrency ?? MODEL_CONCURRENCY)),
    owner: ownerOf(settings),
    ownerGone,
    ownerLives,
    build: settings.deployment?.buildId ?? buildName(),
    worker: await factsOf(settings, connection, log),
    log: (message, about) => log.info(message, about),
  };
}

/** Anything that says production is heard; nothing takes it back. Throws an Error for a LONGHAUL_MODE that is neither. */
export function modeOf({ config, production }: Pick<WorkerSettings, 'config' | 'production'>): 'dev' | 'production' {
  const said = process.env['LONGHAUL_MODE'] ?? '';
  if (!['', 'dev', 'production'].includes(said)) throw new Error(`LONGHAUL_MODE is ${JSON.stringify(said)}: set it to production or dev.`);
  return production || config.mode === 'production' || said === 'production' ? 'production' : 'dev';
}

async function factsOf({ config, namespace }: WorkerSettings, connection: NativeConnection, log: Log): Promise<WorkerFacts> {
  const { missing, differing } = await checkSearchAttributes(connection as never, namespace ?? 'default');
  const wrong = [...missing, ...differing].map(({ name }) => name);
  if (wrong.length > 0) log.warn(`search attributes are not shown: the server lacks ${wrong.join(', ')}; run longhaul doctor --fix`, {});
  return { searchAttributes: wrong.length === 0, limits: { ...HISTORY, ...config.limits } };
}

function modelOf({ journal, artifacts }: Stores, log: Log, tools: ReadonlyMap<string, ToolDefinition>, guard: (port: ModelPort) => ModelPort): HandsDeps['model'] {
  const open = new Map<string, ModelPort>();
  const models = (id: string): ModelPort | { missing: string } => {
    const found = open.get(id) ?? modelById(id, process.env);
    if ('missing' in found) return found;
    const port = 'port' in found ? guard(found.port) : found;
    open.set(id, port);
    return port;
  };
  return makeModel({ journal, artifacts, log: (message, about) => log.info(message, about), models, tools: (contract) => tools.get(contract), spec: modelToolSpec });
}

/** Version and, for built code, the digest of what it was built from: pinned in every run that this worker creates. */
export function buildName(): string {
  const up = (name: string): string => path.join(__dirname, '..', name);
  const root = __filename.endsWith('.js') ? up('..') : up('.');
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
  const stamp = up('.stamp');
  return existsSync(stamp) ? `${version}+${readFileSync(stamp, 'utf8').slice(0, 12)}` : `${version}+source`;
}

