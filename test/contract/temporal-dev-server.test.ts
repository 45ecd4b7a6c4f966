// The development server with the real binary: what temporal-dev.yml promises, and what survives a kill.
import { createServer, type Server } from 'node:net';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { resolveAddress } from '../../src/adapters/temporal/address';
import { declaredSearchAttributes } from '../../src/adapters/temporal/dev-file';
import { type DevServer, startDevServer } from '../../src/adapters/temporal/dev-server';
import { readDevState, updateDevState } from '../../src/adapters/temporal/dev-state';
import { identify } from '../../src/adapters/temporal/process-identity';
import { checkSearchAttributes } from '../../src/adapters/temporal/search-attributes';
import { rigBinary, type RigServer, startRigServer } from '../rig/server';

const noneGiven = { ...process.env, TEMPORAL_ADDRESS: undefined, TEMPORAL_CONFIG_FILE: path.join(tmpdir(), 'no-such-profile.toml') };

describe('a development server', () => {
  let rig: RigServer;
  let connection: Connection;

  beforeAll(async () => {
    rig = await startRigServer();
    connection = await Connection.connect(rig.connectionOptions);
  }, 120_000);

  afterAll(async () => {
    await connection?.close();
    await rig?.stop();
  }, 30_000);

  it('knows every declared search attribute with its declared type once it counts as started', async () => {
    expect(declaredSearchAttributes().length).toBeGreaterThanOrEqual(5);
    expect(await checkSearchAttributes(connection, rig.namespace)).toEqual({ missing: [], differing: [] });
  });

  it('accepts the flags of dynamic configuration that temporal-dev.yml sets', async () => {
    const { stdout, code } = await rig.temporalCli(['operator', 'cluster', 'health']);
    expect([stdout.trim(), code]).toEqual(['SERVING', 0]);
  });

  it('keeps a run, its search attribute and its port through kill -9', async () => {
    const client = new Client({ connection });
    const workflowId = 'run/survivor';
    await client.workflow.start('agentRun', { workflowId, taskQueue: 'nobody', searchAttributes: { AgentStatus: ['waiting'] } });
    const before = rig.pid();
    await rig.restart();
    expect(rig.pid()).not.toBe(before);
    const described = await client.workflow.getHandle(workflowId).describe();
    expect(described.status.name).toBe('RUNNING');
    expect(described.searchAttributes.AgentStatus).toEqual(['waiting']);
    const { stdout } = await rig.temporalCli(['workflow', 'list', '--query', 'AgentStatus = "waiting"', '--output', 'json']);
    expect(stdout).toContain(workflowId);
  }, 60_000);

  it('is the address that its state folder resolves to when none is given', async () => {
    const found = await resolveAddress({ stateDir: rig.folder, env: noneGiven });
    expect(found).toMatchObject({ address: rig.address, namespace: 'default', from: 'dev' });
  });
});

describe('starting on a state folder', () => {
  let folder: string;
  let binary: string;
  const started: DevServer[] = [];
  const start = async (more: { binary?: string; usualPorts?: { port: number; uiPort: number } } = {}) => {
    const server = await startDevServer({ stateDir: folder, binary, usualPorts: { port: 0, uiPort: 0 }, ...more });
    started.push(server);
    return server;
  };

  beforeAll(async () => {
    binary = await rigBinary();
  }, 120_000);
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'longhaul-start-'));
  });
  afterEach(async () => {
    for (const server of started.splice(0)) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  it('says once that the database is new, and keeps the ports for the next start', async () => {
    const first = await start();
    expect([first.freshDb, first.origin, first.notes]).toEqual([true, 'started', []]);
    await first.stop();
    expect(identify(first.pid)).toBeUndefined();
    const second = await start();
    expect([second.freshDb, second.address, second.uiAddress]).toEqual([false, first.address, first.uiAddress]);
  }, 60_000);

  it('takes other ports when the kept ones are taken, says so, and finds its database there', async () => {
    const first = await start();
    const before = await Connection.connect({ address: first.address });
    await new Client({ connection: before }).workflow.start('agentRun', { workflowId: 'run/moved', taskQueue: 'nobody' });
    await before.close();
    await first.stop();
    const intruder = await listenOn(Number(first.address.split(':')[1]));
    try {
      const second = await start();
      expect(second.address).not.toBe(first.address);
      expect(second.notes).toEqual([expect.stringMatching(/^Port \d+ is taken by another program; \d+ is used from now on\.$/)]);
      const connection = await Connection.connect({ address: second.address });
      expect((await new Client({ connection }).workflow.getHandle('run/moved').describe()).status.name).toBe('RUNNING');
      await connection.close();
    } finally {
      intruder.close();
    }
  }, 60_000);

  it('takes over the server that a killed process left behind, and stops it', async () => {
    const first = await start();
    updateDevState(folder, { owner: await deadProcess() });
    const second = await start();
    expect([second.origin, second.pid, second.freshDb]).toEqual(['adopted', first.pid, false]);
    await second.stop();
    expect(identify(first.pid)).toBeUndefined();
  }, 60_000);

  it('shares the server of a living process and leaves it running', async () => {
    const first = await start();
    const other = spawn('sleep', ['60'], { stdio: 'ignore' });
    try {
      updateDevState(folder, { owner: identify(other.pid!) });
      const second = await start();
      expect([second.origin, second.pid]).toEqual(['shared', first.pid]);
      await second.stop();
      expect(identify(first.pid)).toBeDefined();
    } finally {
      other.kill('SIGKILL');
      updateDevState(folder, { owner: identify(process.pid) });
    }
  }, 60_000);

  it('starts one server when two starts race', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(one!.pid).toBe(two!.pid);
  }, 60_000);

  it('tells a server that ends at once in one sentence with its last words', async () => {
    writeFileSync(path.join(folder, 'temporal.db'), 'this is no database, it is a text of more than a hundred bytes '.repeat(100));
    await expect(start()).rejects.toMatchObject({
      name: 'TemporalUnavailable',
      kind: 'exited',
      message: expect.stringMatching(/^The Temporal server ended while it was starting: .*(database|SQL)/i),
    });
    expect(readDevState(folder).server).toBeUndefined();
  }, 60_000);

  it('tells a binary that cannot be run in one sentence', async () => {
    await expect(start({ binary: path.join(folder, 'nothing-here') })).rejects.toMatchObject({
      kind: 'exited',
      message: expect.stringContaining('could not be started'),
    });
  }, 60_000);
});

function listenOn(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

async function deadProcess() {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  const identity = identify(child.pid!);
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
  return identity;
}
