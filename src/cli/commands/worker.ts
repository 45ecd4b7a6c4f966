// `longhaul worker`: one worker in this process, against whatever server profile, environment or flags name, until it is told to
// stop; calls in flight then have 20 s to end. With --deployment it is one version of a Worker Deployment: runs stay on the
// version they began with and move when they continue as new. A build that could not go on with an open run never becomes current.
import path from 'node:path';
import type { Command } from 'commander';
import type { RunningWorker } from '../../worker';
import { act } from '../act';
import type { CallbackDoor } from '../callback-door';
import { checkVersion, turnOf, versionOf, type VersionOptions } from '../deployment-turn';
import { EXIT, Stop } from '../exit';
import { portOf, reaching, type CommonOptions } from '../options';
import type { Place } from '../place';
import { say } from '../print';

interface WorkerOptions extends CommonOptions, VersionOptions {
  production?: boolean; callbacks?: string; logFile?: string; logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  metrics?: string;
}

async function worker(place: Place, options: WorkerOptions): Promise<void> {
  checkVersion(options);
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
    .option('--current', 'make this the version on which runs begin, once it polls (the first version of a deployment becomes it by itself where no unversioned worker serves the queue)')
    .option('--force', 'make it current although open runs need a newer build (they wait then), or although it was replaced before')
    .option('--production', 'runs that begin here take signed decisions only about manual and irreversible effects (also: mode in the configuration, LONGHAUL_MODE=production)')
    .option('--callbacks <port>', 'take callbacks over HTTP on this port of 127.0.0.1; 0 for any free one (`dev` does so by itself)')
    .option('--metrics <host:port>', 'serve metrics for Prometheus there, e.g. 127.0.0.1:9464 (also: LONGHAUL_METRICS)')
    .option('--log-file <file>', 'log to a file instead of stderr').option('--log-level <level>', 'debug, info, warn, error or silent', 'info')
    .action(act(worker, ([options]) => options));
}
