// `longhaul dev`: server, services and worker as separate processes until Ctrl-C; all state stays, the next start goes on.
// `longhaul worker`: the worker alone, in this process. `longhaul temporal`: Temporal's own command line on this server.
import { spawn } from 'node:child_process';
import path from 'node:path';
import type { Command } from 'commander';
import { isOver } from '../../client/start';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { portOf, reaching, type CommonOptions } from '../options';
import { onLauncherGone } from '../launcher';
import { firstRuns } from '../next';
import type { Place } from '../place';
import { command, json, say } from '../print';
import type { CallbackDoor } from '../callback-door';
import type { Supervised } from '../dev/supervisor';

/** Signals that ask this process to stop. */
const STOPS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface DevOptions extends CommonOptions { port: string; uiPort: string }

async function dev(place: Place, options: DevOptions): Promise<number> {
  const usualPorts = { port: portOf('--port', options.port), uiPort: portOf('--ui-port', options.uiPort) };
  place.writable();
  const { config, file } = await place.config();
  say(`Starting for ${place.stateDir} with ${file} ...`);
  // Heard from here on: a Ctrl-C while things start must not leave them running.
  const enough = interrupted();
  const { supervise } = await import('../dev/supervisor');
  const all = await supervise(place, { mode: 'dev', usualPorts, say });
  if (options.json) json({ pid: process.pid, address: all.address, namespace: all.namespace, uiAddress: all.uiAddress, services: all.services.urls, worker: all.worker.pid(), stateDir: place.stateDir });
  introduce(all, config.agents.map((agent) => agent.name), await firstRuns(place));
  if (all.freshDb) await tellLost(place);
  await enough;
  say('Stopping; state stays, the next start goes on. (Ctrl-C again ends everything at once.)');
  for (const signal of STOPS) process.once(signal, () => process.exit(130));
  await all.stop();
  return EXIT.done;
}

function introduce(all: Supervised, agents: string[], next: string[]): void {
  say(`Process   ${process.pid}; Ctrl-C, or a TERM to it, stops everything in order`);
  if (all.uiAddress) say(`Web UI    ${all.uiAddress}`);
  say(`Temporal  ${all.address}, namespace ${all.namespace}`);
  for (const [name, url] of Object.entries(all.services.urls)) say(`${name.padEnd(9)} ${url}`);
  say(`Worker    process ${all.worker.pid()}, agents: ${agents.join(', ')}`);
  next.forEach((words, i) => say(`${i === 0 ? 'Next      ' : '      or  '}${command(words)}${i === 0 ? ' in another terminal' : ''}`));
}

/** A new database knows no run: those that the journal has open are named, each with the command that goes on with it. */
async function tellLost(place: Place): Promise<void> {
  const open = (await (await place.client({ mustExist: false })).list({ limit: 1_000 })).filter((row) => !isOver(row));
  if (open.length === 0) return;
  say(`Temporal's database is new, and the journal has ${open.length} open run${open.length === 1 ? '' : 's'} that it does not know. To go on with them:`);
  for (const row of open.slice(0, 20)) say(`  ${command(`longhaul runs restore ${row.runId}`)}`);
  if (open.length > 20) say(`  ... and ${open.length - 20} more: ${command('longhaul doctor')} names them`);
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of STOPS) process.once(signal, () => resolve());
    onLauncherGone(resolve);
  });
}

interface WorkerOptions extends CommonOptions { production?: boolean; callbacks?: string; logFile?: string; logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent' }

async function worker(place: Place, options: WorkerOptions): Promise<void> {
  place.writable();
  // Configurations may keep files beside the stores.
  process.env.LONGHAUL_STATE_DIR = place.stateDir;
  const { config, file } = await place.config();
  const { guardStreams } = await import('../../adapters/secrets/streams');
  guardStreams();
  const at = await place.server();
  const { startWorker } = await import('../../worker');
  const door = options.callbacks === undefined ? null : await callbackDoor(place, portOf('--callbacks', options.callbacks));
  const { apiKey, address = at.address, ...rest } = at.connectionOptions;
  const connection = { ...rest, address, ...(apiKey === undefined ? {} : { apiKey: typeof apiKey === 'function' ? apiKey() : apiKey }) };
  const running = await startWorker({
    config, configFile: file, stateDir: place.stateDir, folder: path.dirname(file), connection, namespace: at.namespace, taskQueue: place.taskQueue, logFile: options.logFile, logLevel: options.logLevel, production: options.production,
  }).catch(async (error: unknown) => {
    await door?.close();
    throw error;
  });
  // The supervisor is gone: so is this worker.
  const orphaned = (): void => running.shutdown();
  process.once('disconnect', orphaned);
  const ended = running.run();
  process.send?.({ ready: true });
  say(`Worker ${process.pid} polls "${place.taskQueue}" at ${at.address}, agents: ${config.agents.map((agent) => agent.name).join(', ')}${running.mode === 'production' ? '; production: decisions are signed' : ''}. Ctrl-C stops it; runs wait.`);
  if (door) say(`Callbacks ${door.url}`);
  try {
    await ended;
  } finally {
    await door?.close();
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

/** Runs Temporal's own binary; its exit code is ours. */
async function temporal(place: Place, args: string[], _options: CommonOptions): Promise<number> {
  const [{ devAddress, givenAddress }, { findTemporal }] = [await import('../../adapters/temporal/address'), await import('../../adapters/temporal/find-binary')];
  const binary = await findTemporal({ stateDir: place.stateDir, log: say });
  const given = givenAddress() !== undefined;
  const at = given ? undefined : devAddress(place.stateDir);
  if (!given && !at) say(`No Temporal server runs for ${place.stateDir} (start it with ${command('longhaul dev')}); Temporal's own defaults hold.`);
  const env = { ...process.env, ...(at ? { TEMPORAL_ADDRESS: at.address, TEMPORAL_NAMESPACE: process.env.TEMPORAL_NAMESPACE ?? at.namespace } : {}) };
  const child = spawn(binary.path, args, { stdio: 'inherit', env });
  // A Ctrl-C at a terminal reaches the program by itself; every other signal is meant for it as well.
  for (const signal of STOPS) process.on(signal, () => { if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal); });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Stop(EXIT.error, `${binary.path} could not be run: ${error.message}`)));
    child.once('exit', (code) => resolve(code ?? EXIT.error));
  });
}

/** Adds `dev`, `worker` and `temporal`. */
export function addDev(program: Command): void {
  reaching(program.command('dev').description('start server, services and worker for this folder; Ctrl-C stops them, state stays'))
    .option('--port <n>', 'port of the server where none is kept yet; 0 for any free one', '7233')
    .option('--ui-port <n>', 'port of the Web UI where none is kept yet; 0 for any free one', '8233')
    .action(act(dev, ([options]) => options));
  reaching(program.command('worker').description('run one worker in this process'))
    .option('--production', 'runs that begin here take signed decisions only about manual and irreversible effects (also: mode in the configuration, LONGHAUL_MODE=production)')
    .option('--callbacks <port>', 'take callbacks over HTTP on this port of 127.0.0.1; 0 for any free one (`dev` does so by itself)')
    .option('--log-file <file>', 'log to a file instead of stderr').option('--log-level <level>', 'debug, info, warn, error or silent', 'info')
    .action(act(worker, ([options]) => options));
  // Everything after `temporal` is for Temporal's own program, options too.
  program.command('temporal').argument('[args...]').description("Temporal's own command line, pointed at the server of this folder")
    .option('--state-dir <dir>', 'folder whose server is meant; stands before the arguments')
    .helpOption(false).allowUnknownOption().passThroughOptions()
    .action(act(temporal, ([, options]) => options));
}
