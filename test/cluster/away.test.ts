// What only the stores for many hosts promise: a server that is killed and comes back, commits that were not answered, copies that were
// put back, schemas made by several at once, and clear words without a password when something is not there.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { openStores } from '../../src/adapters/stores/open-stores';
import { requesting } from '../../src/testing/contracts/requested';
import { batchOf, claimFor, rowFor } from '../../src/testing/contracts/samples';
import { Peer } from '../../src/testing/contracts/peers';
import { cli } from '../e2e/support/cli';
import { startBucketServer, startPostgres, type BucketServer, type PostgresServer } from './support/servers';
import { freshIn } from './support/stores';

let postgres: PostgresServer;
let s3: BucketServer;
let stateDir: string;
beforeAll(async () => {
  [postgres, s3] = await Promise.all([startPostgres(), startBucketServer()]);
  Object.assign(process.env, s3.env);
  await s3.bucket('here');
});
afterAll(() => Promise.all([postgres?.stop(), s3?.stop()]));
beforeEach(() => { stateDir = mkdtempSync(path.join(tmpdir(), 'longhaul-away-')); });
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const sleep = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });

test('R1.5 the database is killed again and again under appends: what was answered is kept, each batch stands once, none is torn', async () => {
  const under = await freshIn(await postgres.fresh());
  const { journal } = under.stores;
  await journal.accept(rowFor('r1'));
  let version = 0;
  let stopped = false;
  let unanswered = 0;
  const appending = (async () => {
    while (!stopped) {
      const answer = await journal.append(batchOf('r1', version, 3)).catch((error: unknown) => {
        expect(error).toMatchObject({ name: 'StoreError', code: 'unreachable' });
        unanswered += 1;
        return null;
      });
      // One writer: what it hears as its own lost answer has exactly the events that it sent.
      if (answer?.kind === 'appended') version = answer.version;
      if (answer?.kind === 'diverged') version += answer.tail.length;
      expect(['appended', 'diverged', undefined]).toContain(answer?.kind);
    }
  })();
  for (let kill = 0; kill < 4; kill++) {
    await sleep(300 + Math.random() * 300);
    await postgres.kill();
    if (kill === 0) await sleep(3_000);
    await postgres.start();
  }
  await sleep(500);
  stopped = true;
  await appending;
  const seqs = (await journal.exportRows('r1', 0, 1_000_000)).map(({ event }) => event.seq);
  expect(seqs).toEqual(Array.from({ length: version }, (_, index) => index + 1));
  expect((await journal.row('r1'))?.version).toBe(version);
  expect([version % 3, unanswered > 0]).toEqual([0, true]);
  await under.close();
}, 180_000);

test('a restart that is over within two seconds is not even heard of', async () => {
  const under = await freshIn(await postgres.fresh());
  await under.stores.journal.accept(rowFor('r1'));
  await postgres.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'longhaul'`);
  expect(await under.stores.journal.append(batchOf('r1', 0, 2))).toEqual({ kind: 'appended', version: 2 });
  await under.close();
});

test('processes that open one empty database at once all find it ready', async () => {
  const database = await postgres.fresh();
  const elsewhere = { module: path.join(__dirname, 'support', 'stores.ts'), argument: JSON.stringify({ stateDir, database }) };
  const peers = await Promise.all([1, 2, 3].map(() => Peer.start({ elsewhere })));
  const incarnations = await Promise.all(peers.map((peer) => peer.call('ledger', 'incarnation')));
  await Promise.all(peers.map((peer) => peer.end()));
  expect(new Set(incarnations).size).toBe(1);
});

test('a schema of a newer build is refused, and a database without runs is not made by who only looks', async () => {
  const database = await postgres.fresh();
  await expect(openStores({ stateDir, database, mustExist: true })).rejects.toMatchObject({ code: 'missing', message: expect.stringMatching(/There are no runs in schema longhaul of PostgreSQL at 127/) });
  await (await openStores({ stateDir, database })).close();
  const name = new URL(database).pathname.slice(1);
  await postgres.query(`INSERT INTO longhaul.schema_step VALUES (99, 'from the future', 0)`, name);
  await expect(openStores({ stateDir, database })).rejects.toMatchObject({ code: 'newer', message: expect.stringMatching(/has schema 99.*Run the newer build/) });
});

test('R4.2 a database put back from an older copy is noticed by what this host has seen, and one that moved by where it is; a second look changes nothing', async () => {
  const database = await postgres.fresh();
  const name = new URL(database).pathname.slice(1);
  const first = await openStores({ stateDir, database });
  await requesting(first).claim(claimFor('k1'));
  const incarnation = await first.ledger.incarnation();
  await first.close();
  // The mark is raised soon after a claim, or at the next opening.
  const again = await openStores({ stateDir, database });
  expect(await again.ledger.incarnation()).toBe(incarnation);
  await again.close();
  await postgres.query(`DELETE FROM longhaul.ledger; UPDATE longhaul.ledger_meta SET claims = 0`, name);
  const second = await openStores({ stateDir, database });
  const renewed = await second.ledger.incarnation();
  expect(renewed).not.toBe(incarnation);
  await second.close();
  const third = await openStores({ stateDir, database });
  expect(await third.ledger.incarnation()).toBe(renewed);
  await third.close();
  await postgres.query(`CREATE DATABASE moved TEMPLATE ${name}`);
  const elsewhere = await openStores({ stateDir: path.join(stateDir, 'other-host'), database: postgres.url('moved') });
  expect(await elsewhere.ledger.incarnation()).not.toBe(renewed);
  await elsewhere.close();
});

test('what holds a run is waited for and then refused as busy, and nothing of the request is kept', async () => {
  const under = await freshIn(await postgres.fresh());
  await under.stores.journal.accept(rowFor('r1'));
  const place = JSON.parse(under.elsewhere.argument) as { stateDir: string; database: string };
  const impatient = await openStores({ ...place, patienceMs: 500 });
  const holder = postgres.query(`SELECT pg_advisory_xact_lock(hashtextextended('longhaul run r1', 0)), pg_sleep(2)`, new URL(place.database).pathname.slice(1));
  await sleep(300);
  await expect(impatient.journal.append(batchOf('r1', 0, 1))).rejects.toMatchObject({ code: 'busy', message: expect.stringMatching(/is busy/) });
  await holder;
  expect(await impatient.journal.append(batchOf('r1', 0, 1))).toEqual({ kind: 'appended', version: 1 });
  await impatient.close();
  await under.close();
});

describe('words of the command line', () => {
  const SECRET = 'hush-hush-4711';
  const cases: [string, Record<string, string>, number, RegExp][] = [
    ['a database that is away', { LONGHAUL_DATABASE_URL: `postgres://ann:${SECRET}@127.0.0.1:1/x` }, 7, /^PostgreSQL at 127\.0\.0\.1:1\/x does not answer \(.*ECONNREFUSED.*\)\. Start it, or mend the address/],
    ['an address that is none', { LONGHAUL_DATABASE_URL: `mysql://ann:${SECRET}@127.0.0.1/x` }, 2, /^The address of the database cannot be read: write it as postgres:/],
    ['a bucket that is away', { LONGHAUL_ARTIFACTS: 's3://here/x', AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1', AWS_MAX_ATTEMPTS: '1', AWS_SECRET_ACCESS_KEY: SECRET }, 7, /^The bucket here at 127\.0\.0\.1:1 does not answer/],
    ['an address of artifacts that is none', { LONGHAUL_ARTIFACTS: `s3://ann:${SECRET}@here` }, 2, /^The address of the artifacts cannot be read/],
  ];
  test.each(cases)('%s: one sentence, its exit code, no password', async (_what, env, code, words) => {
    const here = cli();
    const database = await postgres.fresh();
    await (await openStores({ stateDir, database })).close();
    const end = await here.run(['runs', 'list'], { ...s3.env, LONGHAUL_DATABASE_URL: database, ...env });
    expect([end.code, end.stderr.trim(), end.stdout]).toEqual([code, expect.stringMatching(words), '']);
    expect(end.stderr.trim().split('\n')).toHaveLength(1);
    expect(end.stdout + end.stderr).not.toContain(SECRET);
    await here.stop();
  });

  test('a wrong password, a database and a bucket that are not there', async () => {
    const here = cli();
    const said = async (env: Record<string, string>): Promise<unknown[]> => {
      const end = await here.run(['runs', 'list'], { ...s3.env, ...env });
      expect(end.stderr).not.toContain('only-4-this-test');
      return [end.code, end.stderr.trim()];
    };
    const database = await postgres.fresh();
    await (await openStores({ stateDir, database })).close();
    expect(await said({ LONGHAUL_DATABASE_URL: postgres.url('postgres').replace('only-4-this-test', SECRET) })).toEqual([1, expect.stringMatching(/refuses the user or the password/)]);
    expect(await said({ LONGHAUL_DATABASE_URL: postgres.url('nowhere') })).toEqual([1, expect.stringMatching(/has no such database.*createdb/)]);
    expect(await said({ LONGHAUL_DATABASE_URL: database, LONGHAUL_ARTIFACTS: 's3://not-there/x' })).toEqual([1, expect.stringMatching(/^There is no bucket not-there/)]);
    expect(await said({ LONGHAUL_DATABASE_URL: database, LONGHAUL_ARTIFACTS: 's3://here/x' })).toEqual([0, expect.stringMatching(/^No run here|^$/)]);
    expect(existsSync(path.join(here.stateDir, 'longhaul.db'))).toBe(false);
    await here.stop();
  });
});

beforeAll(() => {
  execFileSync(process.execPath, [path.join(__dirname, '..', '..', 'scripts', 'build.js'), '--if-stale'], { stdio: ['ignore', 'ignore', 'pipe'] });
}, 120_000);
