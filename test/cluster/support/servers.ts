// A PostgreSQL server and an S3 server of the test's own, on free ports of 127.0.0.1. Each start makes what it needs in a folder for
// temporary files and takes it away at the end. `npm run test:cluster` installs the programs; here they must be there.
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}

/** The folder of PostgreSQL's own programs, the newest version first. */
function postgresBin(): string {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions.map((version) => `/usr/lib/postgresql/${version}/bin`).find((folder) => existsSync(path.join(folder, 'initdb')));
  if (!found) throw new Error('PostgreSQL is not installed: run `npm run test:cluster`, which installs it.');
  return found;
}

/** PostgreSQL refuses to run as root: there it runs as the user that its package makes. */
function postgresUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })));
  return { uid: uid!, gid: gid! };
}

export interface PostgresServer {
  /** Address of a database, by default a new one; `user` is the owner of everything unless another is named. */
  url(database: string, user?: string): string;
  /** Makes an empty database and answers its address. */
  fresh(): Promise<string>;
  query(sql: string, database?: string): Promise<Record<string, unknown>[]>;
  /** The folder with the server's files. */
  folder: string;
  /** SIGKILL to the server and everything that it started. */
  kill(): Promise<void>;
  /** Starts it again on the same port, after a kill. */
  start(): Promise<void>;
  /** Stops and wakes it up, as a machine that hangs. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  stop(): Promise<void>;
}

const PASSWORD = 'only-4-this-test';

export async function startPostgres(): Promise<PostgresServer> {
  const bin = postgresBin();
  const user = postgresUser();
  const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-postgres-'));
  chmodSync(folder, 0o755);
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid!);
  const data = path.join(folder, 'data');
  const run = { cwd: '/', ...user };
  execFileSync(path.join(bin, 'initdb'), ['-D', data, '-U', 'longhaul', '--auth-host=scram-sha-256', '--auth-local=trust', `--pwfile=${passwordFile(folder, user)}`, '-E', 'UTF8', '--locale=C.UTF-8'], { ...run, stdio: ['ignore', 'ignore', 'pipe'] });
  const port = await freePort();
  let child: ChildProcess;
  const url = (database: string, as = 'longhaul'): string => `postgres://${as}:${PASSWORD}@127.0.0.1:${port}/${database}`;
  const query: PostgresServer['query'] = async (sql, database = 'postgres') => {
    const client = new Client({ connectionString: url(database) });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(sql)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  };
  const start = async (): Promise<void> => {
    child = spawn(path.join(bin, 'postgres'), ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'max_connections=200', '-c', 'shared_buffers=64MB'],
      { ...run, stdio: ['ignore', 'ignore', 'ignore'], detached: true });
    child.unref();
    for (const limit = Date.now() + 30_000; ;) {
      const up = await query('SELECT 1').then(() => true, () => false);
      if (up) return;
      if (Date.now() > limit || child.exitCode !== null) throw new Error(`PostgreSQL did not start in ${data}.`);
      await sleep(50);
    }
  };
  await start();
  const gone = async (): Promise<void> => {
    while (child.exitCode === null && child.signalCode === null) await sleep(20);
  };
  const kill = async (): Promise<void> => {
    for (const pid of [child.pid!, ...childrenOf(child.pid!)]) try { process.kill(pid, 'SIGKILL'); } catch { /* it is gone */ }
    await gone();
  };
  let made = 0;
  return {
    url, query, folder, start, kill,
    async fresh() {
      const name = `test_${process.pid}_${++made}`;
      await query(`CREATE DATABASE ${name}`);
      return url(name);
    },
    signal: (signal) => { for (const pid of [child.pid!, ...childrenOf(child.pid!)]) process.kill(pid, signal); },
    async stop() {
      child.kill('SIGINT');
      await Promise.race([gone(), sleep(5_000)]);
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function passwordFile(folder: string, user: { uid?: number; gid?: number }): string {
  const file = path.join(folder, 'password');
  execFileSync('sh', ['-c', `umask 077; printf %s '${PASSWORD}' > '${file}'`]);
  if (user.uid !== undefined) chownSync(file, user.uid, user.gid!);
  return file;
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

export interface BucketServer {
  /** What a process needs to reach it. */
  env: Record<string, string>;
  endpoint: string;
  /** Makes a bucket of that name. */
  bucket(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** moto's S3 server, which keeps everything in memory. */
export async function startBucketServer(): Promise<BucketServer> {
  const port = await freePort();
  const child = spawn(process.env['LONGHAUL_MOTO'] ?? 'moto_server', ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const failed = new Promise<never>((_, reject) => { child.once('error', () => reject(new Error('moto_server is not installed: run `npm run test:cluster`, which installs it.'))); });
  failed.catch(() => undefined);
  const endpoint = `http://127.0.0.1:${port}`;
  const env = { AWS_ENDPOINT_URL_S3: endpoint, AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test-only-1' };
  const up = (async () => {
    for (const limit = Date.now() + 30_000; Date.now() < limit; await sleep(100)) {
      if (await fetch(`${endpoint}/moto-api/`).then((answer) => answer.ok, () => false)) return;
    }
    throw new Error('moto_server did not start within 30 s.');
  })();
  await Promise.race([up, failed]);
  return {
    env, endpoint,
    async bucket(name) {
      const { S3Client, CreateBucketCommand } = await import('@aws-sdk/client-s3');
      const client = new S3Client({ endpoint, region: env.AWS_REGION, forcePathStyle: true, credentials: { accessKeyId: env.AWS_ACCESS_KEY_ID, secretAccessKey: env.AWS_SECRET_ACCESS_KEY } });
      await client.send(new CreateBucketCommand({ Bucket: name }));
      client.destroy();
    },
    async stop() {
      const gone = new Promise((resolve) => { child.once('exit', resolve); });
      child.kill('SIGTERM');
      await Promise.race([gone, sleep(3_000).then(() => child.kill('SIGKILL'))]);
    },
  };
}
