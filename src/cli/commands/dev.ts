// `longhaul dev`: server, services and worker as separate processes until Ctrl-C; all state stays, the next start goes on.
// `longhaul temporal`: Temporal's own command line on this server.
import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { isOver } from '../../client/start';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { portOf, reaching, type CommonOptions } from '../options';
import { onLauncherGone } from '../launcher';
import { firstRuns } from '../next';
import type { Place } from '../place';
import { command, json, say } from '../print';
import type { Supervised } from '../dev/supervisor';

/** Signals that ask this process to stop. */
const STOPS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface DevOptions extends CommonOptions { port: string; uiPort: string; metrics?: string; production?: boolean }

async function dev(place: Place, options: DevOptions): Promise<number> {
  const usualPorts = { port: portOf('--port', options.port), uiPort: portOf('--ui-port', options.uiPort) };
  place.writable();
  const { config, file } = await place.config();
  say(`Starting for ${place.stateDir} with ${file} ...`);
  // Heard from here on: a Ctrl-C while things start must not leave them running.
  const enough = interrupted();
  const { supervise } = await import('../dev/supervisor');
  const workerEnv = { ...(options.metrics === undefined ? {} : { LONGHAUL_METRICS: options.metrics }), ...(options.production ? { LONGHAUL_MODE: 'production' } : {}) };
  const all = await supervise(place, { mode: 'dev', usualPorts, say, workerEnv: () => workerEnv });
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
  if (open.length > 1) say(`  ${command('longhaul runs restore --all')}`);
  for (const row of open.slice(0, 20)) say(`  ${command(`longhaul runs restore ${row.runId}`)}`);
  if (open.length > 20) say(`  ... and ${open.length - 20} more`);
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of STOPS) process.once(signal, () => resolve());
    onLauncherGone(resolve);
  });
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

/** Adds `dev` and `temporal`. */
export function addDev(program: Command): void {
  reaching(program.command('dev').description('start server, services and worker for this folder; Ctrl-C stops them, state stays'))
    .option('--port <n>', 'port of the server where none is kept yet; 0 for any free one', '7233')
    .option('--ui-port <n>', 'port of the Web UI where none is kept yet; 0 for any free one', '8233')
    .option('--metrics <host:port>', 'the worker serves metrics for Prometheus there, e.g. 127.0.0.1:9464 (also: LONGHAUL_METRICS)')
    .option('--production', 'runs that begin here take signed decisions only, as with `longhaul worker --production`')
    .action(act(dev, ([options]) => options));
  // Everything after `temporal` is for Temporal's own program, options too.
  program.command('temporal').argument('[args...]').description("Temporal's own command line, pointed at the server of this folder")
    .option('--state-dir <dir>', 'folder whose server is meant; stands before the arguments')
    .helpOption(false).allowUnknownOption().passThroughOptions()
    .action(act(temporal, ([, options]) => options));
}
