// Which server is used: a given address or profile that answers, else the development server of the state folder.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { resolveAddress } from '../../src/adapters/temporal/address';
import { declaredSearchAttributes } from '../../src/adapters/temporal/dev-file';
import { readDevState, updateDevState } from '../../src/adapters/temporal/dev-state';
import { choosePorts } from '../../src/adapters/temporal/ports';
import { addMissingSearchAttributes, checkSearchAttributes } from '../../src/adapters/temporal/search-attributes';
import { Connection } from '@temporalio/client';
import { type RigServer, startRigServer } from '../rig/server';

let rig: RigServer;
let stateDir: string;

beforeAll(async () => {
  rig = await startRigServer();
}, 120_000);
afterAll(() => rig?.stop(), 30_000);
beforeEach(() => {
  stateDir = mkdtempSync(path.join(tmpdir(), 'longhaul-address-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

/** No variable of Temporal's is set but these; the profile file is `profiles` or missing. */
function environment(variables: NodeJS.ProcessEnv = {}, profiles?: string): NodeJS.ProcessEnv {
  const file = path.join(stateDir, 'temporal.toml');
  if (profiles) writeFileSync(file, profiles);
  return { TEMPORAL_CONFIG_FILE: file, ...variables };
}

it('uses a given address that answers, with its namespace', async () => {
  const found = await resolveAddress({ stateDir, env: environment({ TEMPORAL_ADDRESS: rig.address }) });
  expect(found).toMatchObject({ address: rig.address, namespace: 'default', from: 'given', connectionOptions: { address: rig.address } });
});

it('uses the profile that is named', async () => {
  const profiles = `[profile.default]\naddress = "127.0.0.1:1"\n[profile.here]\naddress = "${rig.address}"\n`;
  const found = await resolveAddress({ stateDir, env: environment({ TEMPORAL_PROFILE: 'here' }, profiles) });
  expect(found).toMatchObject({ address: rig.address, from: 'given' });
});

it('refuses a given address that does not answer, although a development server is kept', async () => {
  updateDevState(stateDir, { port: Number(rig.address.split(':')[1]) });
  await expect(resolveAddress({ stateDir, env: environment({ TEMPORAL_ADDRESS: '127.0.0.1:1' }) })).rejects.toMatchObject({
    kind: 'unreachable',
    message: expect.stringMatching(/^No Temporal server answers at 127\.0\.0\.1:1, namespace default \(nothing listens there\): start it, /),
  });
});

it('names the namespace that a given server does not know', async () => {
  const env = environment({ TEMPORAL_ADDRESS: rig.address, TEMPORAL_NAMESPACE: 'elsewhere' });
  await expect(resolveAddress({ stateDir, env })).rejects.toThrow(/namespace elsewhere \(.*not found/i);
});

it('gives up soon on an address that accepts connections and says nothing', async () => {
  const silent = await listenSilently();
  const before = Date.now();
  try {
    const address = `127.0.0.1:${(silent.address() as { port: number }).port}`;
    await expect(resolveAddress({ stateDir, env: environment({ TEMPORAL_ADDRESS: address }), timeoutMs: 500 })).rejects.toMatchObject({ kind: 'unreachable' });
    expect(Date.now() - before).toBeLessThan(5_000);
  } finally {
    silent.close();
  }
});

it('tells a port on which another program answers', async () => {
  const other = createServer((socket) => socket.on('error', () => undefined).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  try {
    const address = `127.0.0.1:${(other.address() as { port: number }).port}`;
    await expect(resolveAddress({ stateDir, env: environment({ TEMPORAL_ADDRESS: address }) })).rejects.toThrow(/\(something else listens there\)/);
  } finally {
    other.close();
  }
});

it('answers nothing when no address is given and no development server of this folder runs', async () => {
  expect(await resolveAddress({ stateDir, env: environment() })).toBeUndefined();
  // Another project's server now has the port that this folder has kept.
  updateDevState(stateDir, { port: Number(rig.address.split(':')[1]) });
  expect(await resolveAddress({ stateDir, env: environment() })).toBeUndefined();
  updateDevState(stateDir, { server: { pid: process.pid, startedAt: 'long ago' } });
  expect(await resolveAddress({ stateDir, env: environment() })).toBeUndefined();
  updateDevState(stateDir, { server: readDevState(rig.folder).server });
  expect(await resolveAddress({ stateDir, env: environment() })).toMatchObject({ address: rig.address, from: 'dev' });
});

it('keeps the ports of several services apart and leaves what others keep in dev.json', async () => {
  updateDevState(stateDir, { publisherPort: 4_711 });
  const { ports } = await choosePorts(stateDir, { port: 0, uiPort: 0 });
  expect(ports.port).not.toBe(ports.uiPort);
  const again = await choosePorts(stateDir, { port: 7_233, uiPort: 8_233, publisherPort: 0 });
  expect(again).toEqual({ ports: { ...ports, publisherPort: 4_711 }, notes: [] });
});

it('registers a search attribute that a running server lacks, and tells one that differs', async () => {
  const connection = await Connection.connect(rig.connectionOptions);
  try {
    const more = [...declaredSearchAttributes(), { name: 'AgentExtra', type: 'Int' }];
    expect((await checkSearchAttributes(connection, 'default', more)).missing).toEqual([{ name: 'AgentExtra', type: 'Int' }]);
    await addMissingSearchAttributes(connection, 'default', more);
    expect(await checkSearchAttributes(connection, 'default', more)).toEqual({ missing: [], differing: [] });
    const other = [{ name: 'AgentStatus', type: 'Int' }];
    expect(await checkSearchAttributes(connection, 'default', other)).toEqual({ missing: [], differing: other });
  } finally {
    await connection.close();
  }
});

function listenSilently(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.on('error', () => undefined).resume());
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}
