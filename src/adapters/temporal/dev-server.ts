// Starts, watches and stops the development server that temporal-dev.yml declares, with the local binary.
// Owns the child process, its log file and its line in dev.json; never the database's content and never a second server
// on one state folder. The server runs in a process group of its own: Ctrl-C in a terminal reaches the caller, who
// stops the worker first. If the caller dies by SIGKILL the server stays; the next start finds it by pid and start time
// in dev.json and takes it over, so it is never orphaned for good.
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { devCommand } from './dev-file';
import { readDevState, updateDevState } from './dev-state';
import { choosePorts, type Ports } from './ports';
import { identify, isRunning, type ProcessIdentity } from './process-identity';
import { endProcess, spawnLogged, type LoggedChild } from './server-process';
import { waitUntilHealthy } from './server-health';
import { withStartLock } from './start-lock';
import { TemporalUnavailable } from './unavailable';

export interface DevServerOptions {
  /** The project's state folder; the database is `<stateDir>/temporal.db`. */
  stateDir: string;
  /** Path of the Temporal binary (find-binary.ts). */
  binary: string;
  ip?: string;
  /** Where the server's output goes, appended; default `<stateDir>/temporal.log`. */
  logFile?: string;
  /** Ports to try when none are kept; 0 means any free one. Default 7233 and 8233. */
  usualPorts?: { port: number; uiPort: number };
  /** Arguments beside those of temporal-dev.yml, e.g. values of the dynamic configuration. */
  extra?: readonly string[];
  /** How long the server may take until it is healthy, in ms; default 30,000. */
  readyTimeoutMs?: number;
  /** How long a stop may take before SIGKILL, in ms; default 8,000. */
  stopGraceMs?: number;
}

export interface DevServer {
  /** `ip:port` of the gRPC front end. */
  address: string;
  namespace: string;
  /** URL of the Web UI. */
  uiAddress: string;
  pid: number;
  /** True when the database did not exist before this start. */
  freshDb: boolean;
  /**
   * `started`: by this call; `adopted`: left running by a process that is gone, stopped by `stop`;
   * `shared`: it belongs to another living process, and `stop` leaves it running.
   */
  origin: 'started' | 'adopted' | 'shared';
  /** Sentences for the user, e.g. that a kept port was taken. */
  notes: string[];
  /** Resolves when the server process has ended, for whatever reason. */
  ended: Promise<void>;
  /** SIGINT, then SIGKILL after the grace time. Safe to call twice. */
  stop(): Promise<void>;
}

type Settings = Required<DevServerOptions>;

/**
 * Starts the development server, or takes over the one that already runs on this state folder.
 * Throws TemporalUnavailable (`exited` with the log's last lines, or `not-ready`).
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const stateDir = path.resolve(options.stateDir);
  const settings: Settings = {
    ip: '127.0.0.1',
    logFile: path.join(stateDir, 'temporal.log'),
    usualPorts: { port: 7233, uiPort: 8233 },
    extra: [],
    readyTimeoutMs: 30_000,
    stopGraceMs: 8_000,
    ...options,
    stateDir,
  };
  mkdirSync(stateDir, { recursive: true });
  return withStartLock(stateDir, settings.readyTimeoutMs + 10_000, async () => {
    const running = await takeOver(settings);
    return running ?? startNew(settings);
  });
}

async function takeOver(settings: Settings): Promise<DevServer | undefined> {
  const { server, owner, port, uiPort } = readDevState(settings.stateDir);
  if (!server || port === undefined || uiPort === undefined || !isRunning(server)) return undefined;
  const shared = owner !== undefined && isRunning(owner) && owner.pid !== process.pid;
  try {
    await waitUntilHealthy({ address: `${settings.ip}:${port}`, timeoutMs: 5_000, isAlive: () => isRunning(server) });
  } catch (error) {
    if (shared) throw error;
    await endProcess(server, settings.stopGraceMs);
    return undefined;
  }
  if (!shared) updateDevState(settings.stateDir, { owner: identify(process.pid) });
  const origin = shared ? 'shared' : 'adopted';
  return handle(settings, { port, uiPort }, server, { origin, freshDb: false, notes: [] });
}

async function startNew(settings: Settings): Promise<DevServer> {
  const dbFile = path.join(settings.stateDir, 'temporal.db');
  const freshDb = !existsSync(dbFile);
  const notes: string[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const chosen = await choosePorts(settings.stateDir, settings.usualPorts, settings.ip);
    notes.push(...chosen.notes);
    const args = [...devCommand({ ip: settings.ip, ...chosen.ports, dbFile }), ...settings.extra];
    const child = spawnLogged(settings.binary, args, { logFile: settings.logFile, cwd: settings.stateDir });
    try {
      await recordAndWait(settings, chosen.ports.port, child);
      return handle(settings, chosen.ports, child.identity!, { origin: 'started', freshDb, notes, child });
    } catch (error) {
      if (child.identity) await endProcess(child.identity, 0);
      updateDevState(settings.stateDir, { server: undefined, owner: undefined });
      // Between choosing a port and binding it another program may take it; the server's inner ports race likewise.
      if (attempt < 3 && /address already in use|can't set .*port/i.test(child.output())) continue;
      throw error;
    }
  }
}

async function recordAndWait(settings: Settings, port: number, child: LoggedChild): Promise<void> {
  if (!child.identity) {
    await child.gone();
    const why = child.output(5) || child.failure() || 'it ended at once';
    throw new TemporalUnavailable('exited', `The Temporal server could not be started (${settings.binary}): ${why}`);
  }
  updateDevState(settings.stateDir, { server: child.identity, owner: identify(process.pid) });
  const address = `${settings.ip}:${port}`;
  const timeoutMs = settings.readyTimeoutMs;
  await waitUntilHealthy({ address, timeoutMs, isAlive: () => child.isAlive(), lastWords: () => child.output(5), logFile: settings.logFile });
}

function handle(
  settings: Settings,
  ports: Ports,
  server: ProcessIdentity,
  about: Pick<DevServer, 'origin' | 'freshDb' | 'notes'> & { child?: LoggedChild },
): DevServer {
  const { origin, freshDb, notes, child } = about;
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    if (origin === 'shared') return;
    await endProcess(server, settings.stopGraceMs);
    await child?.gone();
    const kept = readDevState(settings.stateDir).server;
    if (kept?.pid === server.pid) updateDevState(settings.stateDir, { server: undefined, owner: undefined });
  };
  return {
    address: `${settings.ip}:${ports.port}`,
    namespace: 'default',
    uiAddress: `http://${settings.ip}:${ports.uiPort}`,
    pid: server.pid,
    freshDb,
    origin,
    notes,
    ended: child?.ended ?? untilGone(server),
    stop: () => (stopping ??= stop()),
  };
}

/** For a process that is not our child there is no exit event: it is looked at once a second, without keeping us alive. */
function untilGone(server: ProcessIdentity): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (isRunning(server)) return;
      clearInterval(timer);
      resolve();
    }, 1_000);
    timer.unref();
  });
}
