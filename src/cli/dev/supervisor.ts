// Brings up everything that a run needs on one machine: the Temporal development server (or the one that was named), the services
// of the configuration, and the worker, each a process of its own. Stops them in the reverse order; all state stays in the folder,
// so the next start goes on. Never runs a workflow or an activity itself.
import path from 'node:path';
import { resolveAddress, givenAddress } from '../../adapters/temporal/address';
import { readDevState } from '../../adapters/temporal/dev-state';
import { startDevServer, type DevServer } from '../../adapters/temporal/dev-server';
import { findTemporal } from '../../adapters/temporal/find-binary';
import { modelFromEnv } from '../../adapters/models/from-env';
import { choosePorts } from '../../adapters/temporal/ports';
import { openCallbackDoor, type CallbackDoor } from '../callback-door';
import { EXAMPLE, type Place } from '../place';
import { pollingWorkers } from '../workers';
import { startServices, type RunningServices } from './services';
import { claimFolder, endLeftOvers, leaveFolder } from './state';
import { startWorkerProcess, type RunningWorkerProcess } from './worker-process';

export interface Wishes {
  mode: 'dev' | 'demo';
  /** Ports to try when none are kept yet; 0 means any free one. */
  usualPorts?: { port: number; uiPort: number };
  workerEnv?: (start: number) => Record<string, string>;
  lost?: (how: string) => void;
  say: (line: string) => void;
}

export interface Supervised {
  address: string;
  namespace: string;
  /** Null when the server was named by the user: its Web UI is theirs to know. */
  uiAddress: string | null;
  /** True when the server's database was made by this start: runs of the journal that are open then have no execution. */
  freshDb: boolean;
  services: RunningServices;
  worker: RunningWorkerProcess;
  stop(): Promise<void>;
}

/** Starts all, or throws with one sentence and leaves nothing running. */
export async function supervise(place: Place, wishes: Wishes): Promise<Supervised> {
  const { stateDir } = place;
  const loaded = await place.config();
  const { on, keys } = await place.encryption({ make: true });
  if (on) wishes.say(`Payloads in Temporal are encrypted with key ${keys.newest()?.kid} (${keys.source}); the Web UI shows them with \`npx longhaul codec-server\`.`);
  await claimFolder(stateDir, { mode: wishes.mode, configFile: loaded.file, taskQueue: place.taskQueue });
  const stops: (() => Promise<void>)[] = [async () => leaveFolder(stateDir)];
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= (async () => {
    for (const one of stops.splice(0).reverse()) await one();
  })());
  try {
    const left = await endLeftOvers(stateDir);
    if (left.length > 0) wishes.say(`Ended what a killed process had left running: ${left.join(', ')}.`);
    const door = wishes.mode === 'dev' ? await doorOf(place, wishes.say) : null;
    if (door) stops.push(() => door.close());
    const [server, services] = await both(serverOf(place, wishes), startServices(stateDir, loaded, wishes.say, door ? { callbacks: door.url } : {}), stops);
    const args = ['--state-dir', stateDir, '--config', loaded.file, '--address', server.address, '--namespace', server.namespace, '--task-queue', place.taskQueue];
    if (server.uiAddress === null) await tellOthers(place, wishes.say);
    const model = modelFor(loaded.file, wishes.say);
    const env = (start: number): Record<string, string> => ({ LONGHAUL_STATE_DIR: stateDir, ...model, ...wishes.workerEnv?.(start) });
    const worker = await startWorkerProcess({ stateDir, args, env, say: wishes.say, lost: wishes.lost });
    stops.push(() => worker.stop());
    return { ...server, services, worker, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Where programs on this machine call back: a service like others to the tools, on a port that is kept. */
async function doorOf(place: Place, say: (line: string) => void): Promise<CallbackDoor> {
  const { ports, notes } = await choosePorts(place.stateDir, { callbacks: 0 });
  notes.forEach(say);
  return openCallbackDoor(() => place.client({ mustExist: false }), ports.callbacks);
}

/** A server that was named may have workers of other folders: they would take this folder's work and not know its runs. */
async function tellOthers(place: Place, say: (line: string) => void): Promise<void> {
  const others = await pollingWorkers(place).catch(() => []);
  if (others.length > 0) say(`Other workers poll "${place.taskQueue}" there (${others.join(', ')}): they must work on this same state folder. If they do not, stop this and give --task-queue another name.`);
}

/** The bundled example works without a key: by rules, and it says so. A model that was chosen is never replaced. */
function modelFor(configFile: string, say: (line: string) => void): Record<string, string> {
  const chosen = process.env.LONGHAUL_MODEL?.trim() || 'id' in modelFromEnv(process.env);
  if (chosen || !configFile.startsWith(EXAMPLE)) return {};
  say('No model key is set (OPENAI_API_KEY, ANTHROPIC_API_KEY or LONGHAUL_MODEL): the planner is rules@1, which quotes and counts and is no model.');
  return { LONGHAUL_MODEL: 'rules@1' };
}

interface Server { address: string; namespace: string; uiAddress: string | null; freshDb: boolean; stop(): Promise<void> }

/** Waits for both, and notes how to stop whichever came up, before a failure of the other is told. */
async function both(first: Promise<Server>, second: Promise<RunningServices>, stops: (() => Promise<void>)[]): Promise<[Server, RunningServices]> {
  const [server, services] = await Promise.allSettled([first, second]);
  if (server.status === 'fulfilled') stops.push(() => server.value.stop());
  if (services.status === 'fulfilled') stops.push(() => services.value.stop());
  if (server.status === 'rejected') throw server.reason;
  if (services.status === 'rejected') throw services.reason;
  return [server.value, services.value];
}

async function serverOf(place: Place, wishes: Wishes): Promise<Server> {
  const { stateDir, options } = place;
  const env = { ...process.env, ...(options.address ? { TEMPORAL_ADDRESS: options.address } : {}), ...(options.namespace ? { TEMPORAL_NAMESPACE: options.namespace } : {}) };
  if (givenAddress(env)) {
    const given = await resolveAddress({ stateDir, env });
    if (given) return { address: given.address, namespace: given.namespace, uiAddress: null, freshDb: false, stop: async () => undefined };
  }
  const binary = await findTemporal({ stateDir, env: process.env, log: wishes.say });
  const begin = (): Promise<DevServer> => startDevServer({ stateDir, binary: binary.path, ...(wishes.usualPorts ? { usualPorts: wishes.usualPorts } : {}) });
  const keptBefore = readDevState(stateDir).port;
  let server = await begin();
  server.notes.forEach(wishes.say);
  const wanted = wishes.usualPorts?.port;
  if (keptBefore === undefined && wanted && !server.address.endsWith(`:${wanted}`)) wishes.say(`Port ${wanted} is taken by another program; ${server.address} is used, and kept for this folder.`);
  let stopping = false;
  const watch = async (): Promise<void> => {
    while (!stopping) {
      await server.ended;
      if (stopping) return;
      wishes.say(`The Temporal server has ended; it is started again (log: ${path.join(stateDir, 'temporal.log')}).`);
      server = await begin();
    }
  };
  watch().catch((error: unknown) => wishes.say(error instanceof Error ? error.message : String(error)));
  const stop = async (): Promise<void> => {
    stopping = true;
    await server.stop();
  };
  return { address: server.address, namespace: server.namespace, uiAddress: server.uiAddress, freshDb: server.freshDb, stop };
}
