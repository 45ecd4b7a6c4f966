// A real development server for one test file: free ports, its own database in a temporary folder, stopped for certain.
// Uses the product's own finding and starting (src/adapters/temporal), so every test on it tests that too.
// A server left behind by a test process that was killed is ended by the next one that starts a rig server.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type DevServer, startDevServer } from '../../src/adapters/temporal/dev-server';
import { readDevState } from '../../src/adapters/temporal/dev-state';
import { findTemporal, findTestServer } from '../../src/adapters/temporal/find-binary';
import { isRunning } from '../../src/adapters/temporal/process-identity';
import { type ProgramResult, runProgram } from '../../src/adapters/temporal/run-program';
import { endProcess } from '../../src/adapters/temporal/server-process';

const prefix = 'longhaul-rig-';

export interface RigServer {
  /** `127.0.0.1:port`; the same after a restart. */
  address: string;
  namespace: string;
  uiAddress: string;
  /** For `Connection.connect` and `NativeConnection.connect`. */
  connectionOptions: { address: string };
  temporalBinary: string;
  /** The temporary folder: database, log, dev.json. */
  folder: string;
  /** Process id of the server that runs now. */
  pid(): number;
  /** Ends the server with SIGKILL and waits until it is gone. */
  kill(): Promise<void>;
  /** SIGKILL (unless it is dead already), then a new server on the same database and ports. */
  restart(): Promise<void>;
  /** Runs the Temporal binary against this server; never throws for a failing command. */
  temporalCli(args: readonly string[]): Promise<ProgramResult>;
  /** Ends the server and removes the folder. Safe to call twice. */
  stop(): Promise<void>;
}

const stateDir = path.join(tmpdir(), 'longhaul-rig-state');
let binary: Promise<string> | undefined;
let testServer: Promise<string> | undefined;

/** The Temporal binary that the tests use; found (and fetched, if need be) once per process. */
export function rigBinary(): Promise<string> {
  binary ??= findTemporal({ stateDir }).then((found) => found.path);
  return binary;
}

/** The time-skipping test server, for `TestWorkflowEnvironment.createTimeSkipping` with `existing-path`. */
export function rigTestServer(): Promise<string> {
  testServer ??= findTestServer({ stateDir }).then((found) => found.path);
  return testServer;
}

/** Starts a server for the calling test file. Give `beforeAll` at least 60 s: the binary may have to be fetched once. */
export async function startRigServer(): Promise<RigServer> {
  await endLeftOvers();
  const temporalBinary = await rigBinary();
  const folder = mkdtempSync(path.join(tmpdir(), prefix));
  const start = () => startDevServer({ stateDir: folder, binary: temporalBinary, usualPorts: { port: 0, uiPort: 0 } });
  let server: DevServer = await start();
  const { address, namespace, uiAddress } = server;
  const kill = async () => {
    const { server: identity } = readDevState(folder);
    if (identity) await endProcess(identity, 0);
  };
  const restart = async () => {
    await kill();
    server = await start();
    if (server.address !== address) throw new Error(`the rig server moved from ${address} to ${server.address}`);
  };
  const temporalCli = (args: readonly string[]) =>
    runProgram(temporalBinary, args, {
      timeoutMs: 30_000,
      env: { ...process.env, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace },
    });
  const stop = async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const where = { address, namespace, uiAddress, connectionOptions: { address }, temporalBinary, folder };
  return { ...where, pid: () => server.pid, kill, restart, temporalCli, stop };
}

async function endLeftOvers(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const folder = path.join(tmpdir(), name);
    const { server, owner } = readDevState(folder);
    // Without an owner the folder is just being made by another test process: it is left alone.
    if (!owner || isRunning(owner)) continue;
    if (server) await endProcess(server, 0);
    rmSync(folder, { recursive: true, force: true });
  }
}
