// `longhaul worker`: one worker in this process, against whatever server profile, environment or flags name, until it is told to
// stop; calls in flight then have 20 s to end. With --deployment it is one version of a Worker Deployment: runs stay on the
// version they began with and move when they continue as new. A build that could not go on with an open run never becomes current.
import path from 'node:path';
import type { Command } from 'commander';
import type { DeploymentVersion } from '../../adapters/temporal/deployment';
import type { RunningWorker } from '../../worker';
import { act } from '../act';
import type { CallbackDoor } from '../callback-door';
import { EXIT, Stop } from '../exit';
import { portOf, reaching, type CommonOptions } from '../options';
import type { Place } from '../place';
import { say } from '../print';

interface WorkerOptions extends CommonOptions {
  production?: boolean; callbacks?: string; logFile?: string; logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  deployment?: string; buildId?: string; current?: boolean; force?: boolean; metrics?: string;
}

async function worker(place: Place, options: WorkerOptions): Promise<void> {
  place.writable();
  // Configurations may keep files beside the stores.
  process.env.LONGHAUL_STATE_DIR = place.stateDir;
  const { config, file } = await place.config();
  const { guardStreams } = await import('../../adapters/secrets/streams');
  guardStreams();
  const at = await place.server();
  const { buildName, startWorker } = await import('../../worker');
  const version = versionOf(options, buildName);
  const turn = version && await turnOf(place, version, options);
  const door = options.callbacks === undefined ? null : await callbackDoor(place, portOf('--callbacks', options.callbacks));
  const { apiKey, address = at.address, ...rest } = at.connectionOptions;
  const connection = { ...rest, address, ...(apiKey === undefined ? {} : { apiKey: typeof apiKey === 'function' ? apiKey() : apiKey }) };
  const running = await startWorker({
    config, configFile: file, stateDir: place.stateDir, folder: path.dirname(file), connection, namespace: at.namespace, taskQueue: place.taskQueue, logFile: options.logFile, logLevel: options.logLevel, production: options.production, metrics: options.metrics,
    ...(version ? { deployment: version } : {}),
  }).catch(async (error: unknown) => {
    await door?.close();
    throw error;
  });
  const stated = version ? `, ${version.name} ${version.buildId}` : '';
  const ready = (): void => {
    process.send?.({ ready: true });
    say(`Worker ${process.pid}${stated} polls "${place.taskQueue}" at ${at.address}, agents: ${config.agents.map((agent) => agent.name).join(', ')}${running.mode === 'production' ? '; production: decisions are signed' : ''}. Ctrl-C stops it; runs wait.`);
    if (door) say(`Callbacks ${door.url}`);
  };
  await untilStopped(running, turn ? async () => { say(await turn()); ready(); } : async () => ready(), async () => door?.close());
}

/** Polls, says so, and comes back once the worker has stopped; also when the process that supervises it is gone. */
async function untilStopped(running: RunningWorker, ready: () => Promise<void>, close: () => Promise<unknown>): Promise<void> {
  const orphaned = (): void => running.shutdown();
  process.once('disconnect', orphaned);
  const ended = running.run();
  try {
    await Promise.all([ended, ready().catch((error: unknown) => {
      running.shutdown();
      throw error;
    })]);
  } finally {
    await ended.catch(() => undefined);
    await close();
    // The open channel would keep this process alive.
    process.removeListener('disconnect', orphaned);
    if (process.connected) process.disconnect();
  }
}

function versionOf({ deployment, buildId, current }: WorkerOptions, buildName: () => string): DeploymentVersion | null {
  if (deployment !== undefined) return { name: deployment, buildId: buildId ?? buildName() };
  const lonely = buildId !== undefined ? '--build-id' : current ? '--current' : null;
  if (lonely) throw new Stop(EXIT.usage, `${lonely} belongs to a deployment: name it with --deployment NAME, or leave ${lonely} out.`);
  return null;
}

/**
 * What this version is to the deployment, found out before it polls: whether it has to become current once it does. Answers how that
 * is done, with the sentence that says so. Throws Stop when it may not become current.
 */
async function turnOf(place: Place, version: DeploymentVersion, { current, force }: WorkerOptions): Promise<() => Promise<string>> {
  const { currentBuild, makeCurrent, wasReplaced } = await import('../../adapters/temporal/deployment');
  const { connection, at } = await place.connection();
  const now = await currentBuild(connection, at.namespace, version.name);
  const { name, buildId } = version;
  if (now === buildId) return async () => `${name} ${buildId} is the current version.`;
  if (now !== null && !current) return async () => `Runs begin on ${name} ${now}, the current version; this one takes none before it is made current: start it with --current, or npx longhaul temporal worker deployment set-current-version --deployment-name ${name} --build-id ${buildId}`;
  // A worker of the version before that is started again must not take the deployment back.
  if (now !== null && !force && await wasReplaced(connection, at.namespace, version)) return async () => `${name} ${buildId} was current before ${now} took its place, and keeps the runs that are pinned to it; to go back to it, start it with --current --force.`;
  if (!force) await refuseIfBehind(place, version);
  return async () => {
    await makeCurrent(connection, at.namespace, version);
    return now === null ? `${name} had no current version, so that no run could begin; it is ${buildId} now.` : `${name} ${buildId} is the current version now, after ${now}: runs begin on it, and older ones move to it when they continue as new.`;
  };
}

/** A build that does not know what open runs were written with is refused while they are still untouched. */
async function refuseIfBehind(place: Place, { name, buildId }: DeploymentVersion): Promise<void> {
  const { outlooks } = await import('../outlook');
  const refused = (await outlooks(place)).filter(({ verdict }) => verdict === 'refused');
  const [first] = refused;
  if (!first) return;
  const more = refused.length > 1 ? ` (and ${refused.length - 1} more open runs)` : '';
  throw new Stop(EXIT.error, `${name} ${buildId} does not become current, and nothing was touched: run ${first.runId}${more}: ${first.why} See npx longhaul migrate --dry-run.`);
}

/** Where programs on this machine call back; tools of this worker find it as the service `callbacks`. */
async function callbackDoor(place: Place, port: number): Promise<CallbackDoor> {
  const { openCallbackDoor } = await import('../callback-door');
  const door = await openCallbackDoor(() => place.client(), port).catch((error: unknown) => { throw new Stop(EXIT.error, `Port ${port} of 127.0.0.1 cannot be opened for callbacks (${(error as NodeJS.ErrnoException).code ?? String(error)}); give --callbacks another, or 0 for any free one.`); });
  process.env.LONGHAUL_SERVICE_CALLBACKS ??= door.url;
  return door;
}


/** Adds `worker`. */
export function addWorker(program: Command): void {
  reaching(program.command('worker').description('run one worker in this process; with --deployment as one version of a Worker Deployment'))
    .option('--deployment <name>', 'Worker Deployment that this build is a version of: runs stay on the version they began with, and move when they continue as new')
    .option('--build-id <id>', 'id of the version (default: the version of longhaul with the digest of its sources)')
    .option('--current', 'make this the version on which runs begin, once it polls (the first version of a deployment always is)')
    .option('--force', 'make it current although open runs need a newer build (they wait then), or although it was replaced before')
    .option('--production', 'runs that begin here take signed decisions only about manual and irreversible effects (also: mode in the configuration, LONGHAUL_MODE=production)')
    .option('--callbacks <port>', 'take callbacks over HTTP on this port of 127.0.0.1; 0 for any free one (`dev` does so by itself)')
    .option('--metrics <host:port>', 'serve metrics for Prometheus there, e.g. 127.0.0.1:9464 (also: LONGHAUL_METRICS)')
    .option('--log-file <file>', 'log to a file instead of stderr').option('--log-level <level>', 'debug, info, warn, error or silent', 'info')
    .action(act(worker, ([options]) => options));
}
