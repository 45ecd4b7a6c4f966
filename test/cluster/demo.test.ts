// The demo with a crash, as a user starts it, on PostgreSQL and S3 with encrypted payloads: it ends by itself, publishes once, and leaves
// neither a database nor artifacts in its folder. Who looks needs the same addresses and nothing else.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { cli, type Cli } from '../e2e/support/cli';
import { startBucketServer, startPostgres, type BucketServer, type PostgresServer } from './support/servers';

let postgres: PostgresServer;
let s3: BucketServer;
let here: Cli;
let env: Record<string, string>;
beforeAll(async () => {
  execFileSync(process.execPath, [path.join(__dirname, '..', '..', 'scripts', 'build.js'), '--if-stale'], { stdio: ['ignore', 'ignore', 'pipe'] });
  [postgres, s3] = await Promise.all([startPostgres(), startBucketServer()]);
  await s3.bucket('demo');
  env = { ...s3.env, LONGHAUL_DATABASE_URL: await postgres.fresh(), LONGHAUL_ARTIFACTS: 's3://demo/artifacts', LONGHAUL_ENCRYPTION: 'on' };
  here = cli();
}, 180_000);
afterAll(async () => {
  await here?.stop();
  await Promise.all([postgres?.stop(), s3?.stop()]);
}, 60_000);

test('the demo with --crash ends on PostgreSQL and S3 with encryption on, publishes once, and keeps nothing of it in its folder', async () => {
  const end = await here.demo(['--crash', '--yes', '--run-id', 'crashed'], env);
  expect([end.code, end.stderr.slice(-800)]).toEqual([0, expect.anything()]);
  expect(end.stderr).toContain('The worker was killed (SIGKILL)');
  expect(end.stderr).toMatch(/RecoveryChecked c\d+ looked up: found outside; recorded, not sent again$/m);
  expect(here.publications()).toHaveLength(1);
  expect([existsSync(path.join(here.stateDir, 'longhaul.db')), existsSync(path.join(here.stateDir, 'artifacts')), existsSync(path.join(here.stateDir, 'payload-keys.json'))]).toEqual([false, false, true]);
  expect(await here.run(['runs', 'show', 'crashed', '--json'], env)).toMatchObject({ code: 0, stdout: expect.stringContaining('"completed"') });
  expect((await here.run(['artifacts', 'verify', 'crashed'], env)).code).toBe(0);
  expect(await here.run(['replay', 'crashed', '--json'], env)).toMatchObject({ code: 0, stdout: expect.stringContaining('"ok":true') });
  expect(await here.run(['runs', 'list'])).toMatchObject({ code: 1, stderr: expect.stringContaining('There are no runs in') });
}, 240_000);
