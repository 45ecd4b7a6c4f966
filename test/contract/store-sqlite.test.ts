// What only the embedded stores promise: waiting for a locked file, clear words when it cannot work, copies put back, files for their owner alone.
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openStores } from '../../src/adapters/stores/open-stores';
import type { Stores } from '../../src/adapters/stores/open-stores';
import { Connection } from '../../src/adapters/stores/sqlite/connection';
import { accept, append } from '../../src/adapters/stores/sql/journal-writes';
import { migrate, migrations } from '../../src/adapters/stores/sqlite/migrations';
import { toStoreError } from '../../src/adapters/stores/store-error';
import { requesting } from '../../src/testing/contracts/requested';
import { batchOf, claimFor, requestAt, rowFor, unknownAt } from '../../src/testing/contracts/samples';
import { Peer } from '../../src/testing/contracts/peers';
import { sleep } from '../../src/testing/contracts/suite';
import { freshFolder } from './store-open';

/** Where other processes find the database driver. */
const root = path.join(__dirname, '../..');

let stateDir: string;
let opened: Stores[];
let holders: ChildProcess[];
const fileOf = (name = 'longhaul.db'): string => path.join(stateDir, name);

async function open(options: { patienceMs?: number; mustExist?: boolean } = {}): Promise<Stores> {
  const stores = await openStores({ stateDir, ...options });
  opened.push(stores);
  return stores;
}

beforeEach(() => {
  stateDir = freshFolder();
  opened = [];
  holders = [];
});

afterEach(async () => {
  for (const holder of holders) holder.kill('SIGKILL');
  await Promise.all(opened.map((stores) => stores.close()));
  rmSync(stateDir, { recursive: true, force: true });
});

/** Another process that holds the write lock of the file until it is told to let go. */
async function locked(file: string): Promise<{ letGo(): Promise<void> }> {
  const child = spawn(process.execPath, ['-e', `
    const Database = require('libsql');
    const db = new Database(${JSON.stringify(file)});
    db.exec('BEGIN IMMEDIATE');
    console.log('locked');
    process.stdin.once('data', () => { db.exec('ROLLBACK'); db.close(); process.exit(0); });
  `], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
  holders.push(child);
  await new Promise((resolve) => { child.stdout.once('data', resolve); });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    letGo: () => {
      child.stdin.write('x');
      return gone;
    },
  };
}

/** The largest delay in ms of a 10-ms timer while `work` runs. */
async function worstDelay(work: Promise<unknown>): Promise<number> {
  let worst = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    worst = Math.max(worst, performance.now() - last - 10);
    last = performance.now();
  }, 10);
  await work;
  clearInterval(timer);
  return worst;
}

describe('a file that another process holds', () => {
  test('R1.5 while the lock is held for 3 s writers wait, readers go on, timers fire, and then everything is kept', async () => {
    const { journal } = await open();
    await journal.accept(rowFor('r1'));
    const holder = await locked(fileOf());
    const started = performance.now();
    const appended = Promise.all(Array.from({ length: 20 }, (_, index) => journal.append(batchOf('r1', index, 1))));
    const reading = async (): Promise<number> => {
      const since = performance.now();
      await journal.row('r1');
      return performance.now() - since;
    };
    const delay = await worstDelay(sleep(3_000).then(async () => {
      expect(await reading()).toBeLessThan(1_500);
      expect((await journal.head('r1'))?.version).toBe(0);
    }));
    await holder.letGo();
    expect((await appended).map(({ kind }) => kind)).toEqual(Array.from({ length: 20 }, () => 'appended'));
    expect(performance.now() - started).toBeGreaterThan(3_000);
    expect(delay).toBeLessThan(1_500);
  });

  test('a lock that outlasts patience is refused in words, keeps nothing, and harms nothing later', async () => {
    const { journal } = await open({ patienceMs: 300 });
    await journal.accept(rowFor('r1'));
    const holder = await locked(fileOf());
    await expect(journal.append(batchOf('r1', 0, 1))).rejects.toMatchObject({ name: 'StoreError', code: 'busy', message: expect.stringMatching(/locked by another process for 0.3 s/) });
    await holder.letGo();
    expect((await journal.head('r1'))?.version).toBe(0);
    expect(await journal.append(batchOf('r1', 0, 1))).toEqual({ kind: 'appended', version: 1 });
  });

  test('processes that open one fresh folder at once all find it ready, 5 times', async () => {
    for (let round = 0; round < 5; round++) {
      const folder = path.join(stateDir, `fresh-${round}`);
      const elsewhere = { module: path.join(__dirname, 'store-open.ts'), argument: folder };
      const peers = await Promise.all([1, 2, 3].map(() => Peer.start({ elsewhere })));
      const incarnations = await Promise.all(peers.map((peer) => peer.call('ledger', 'incarnation')));
      await Promise.all(peers.map((peer) => peer.end()));
      expect(new Set(incarnations).size).toBe(1);
    }
  });

  test('two openings in one process are two callers of one store', async () => {
    const [one, two] = [await open(), await open()];
    await one.journal.accept(rowFor('r1'));
    expect((await two.journal.append(batchOf('r1', 0, 1))).kind).toBe('appended');
    await two.close();
    expect((await one.journal.append(batchOf('r1', 1, 1, {}))).kind).toBe('appended');
  });
});

describe('words when a store cannot work', () => {
  test('a schema of a newer build is refused, and the file stays as it is', async () => {
    await (await open()).close();
    execFileSync(process.execPath, ['-e', `new (require('libsql'))(${JSON.stringify(fileOf())}).exec("INSERT INTO schema_step VALUES (99, 'from the future', 0)")`], { cwd: root });
    const before = readFileSync(fileOf());
    await expect(open()).rejects.toMatchObject({ code: 'newer', message: expect.stringMatching(/has schema 99.*knows schemas up to \d+\. Run the newer build/) });
    expect(readFileSync(fileOf()).equals(before)).toBe(true);
  });

  test('a file that is no database, or a damaged one, is named as such', async () => {
    writeFileSync(fileOf(), 'These are my notes. '.repeat(500));
    await expect(open()).rejects.toMatchObject({ code: 'corrupt', message: expect.stringMatching(/longhaul\.db is damaged or is not a database.*restore the file from a copy/) });
  });

  test('a damaged page is named when it is read', async () => {
    const stores = await open();
    await stores.journal.accept(rowFor('r1'));
    await stores.journal.append(batchOf('r1', 0, 400, { text: 'x'.repeat(500) }));
    await stores.close();
    const bytes = readFileSync(fileOf());
    bytes.fill(0xa5, Math.floor(bytes.length / 2), bytes.length - 40_000);
    writeFileSync(fileOf(), bytes);
    const again = await open();
    await expect(again.journal.exportRows('r1', 0, 1_000)).rejects.toMatchObject({ code: 'corrupt' });
  });

  test('an event that is missing between others, or cannot be read, is named with its run and what to do, and folded over by nobody', async () => {
    const stores = await open();
    for (const id of ['r1', 'r2']) {
      await stores.journal.accept(rowFor(id));
      await stores.journal.append(batchOf(id, 0, 4));
    }
    execFileSync(process.execPath, ['-e', `new (require('libsql'))(${JSON.stringify(fileOf())}).exec("DELETE FROM event WHERE run_id = 'r1' AND seq = 2; UPDATE event SET body = '{cut' WHERE run_id = 'r2' AND seq = 3")`], { cwd: root });
    const named = (words: string) => ({ code: 'corrupt', message: expect.stringMatching(`${words}.*put the database back from a copy, then go on with .npx longhaul runs restore r`) });
    await expect(stores.journal.read('r1', 0)).rejects.toMatchObject(named('Run r1 has no event 2 in the database, and one 3'));
    await expect(stores.journal.read('r2', 0)).rejects.toMatchObject(named('Event 3 of run r2 is damaged'));
    await expect(stores.journal.exportRows('r2', 0, 9)).rejects.toMatchObject(named('Event 3 of run r2 is damaged'));
    expect([(await stores.journal.read('r1', 2)).events.map(({ seq }) => seq), (await stores.journal.read('r2', 3)).events.length]).toEqual([[3, 4], 1]);
  });

  test('a full disk is named, and what was written before it stays', async () => {
    await (await open()).close();
    const db = new Connection(fileOf());
    const pages = db.one<{ page_count: number }>('PRAGMA page_count')!.page_count;
    db.exec(`PRAGMA max_page_count = ${pages + 4}`);
    expect(db.perform(accept(rowFor('r1')))).toEqual({ kind: 'accepted' });
    const thrown = await Promise.resolve().then(() => db.perform(append(batchOf('r1', 0, 9, { text: 'x'.repeat(9_000) })))).catch((error: unknown) => error);
    expect(toStoreError(thrown, fileOf())).toMatchObject({ code: 'full', message: expect.stringMatching(/^The disk is full: .*longhaul\.db could not be written.*Free some space/) });
    db.close();
    expect((await (await open()).journal.row('r1'))?.status).toBe('accepted');
  });

  test('a folder that cannot be one is named', async () => {
    writeFileSync(path.join(stateDir, 'file'), '');
    for (const folder of ['file', 'file/below']) {
      await expect(openStores({ stateDir: path.join(stateDir, folder) })).rejects.toMatchObject({ code: 'unwritable', message: expect.stringContaining(`${folder} cannot be`) });
    }
  });

  test('a command that only looks makes no folder', async () => {
    rmSync(stateDir, { recursive: true });
    await expect(open({ mustExist: true })).rejects.toMatchObject({ code: 'missing', message: expect.stringMatching(/There are no runs in/) });
    expect(existsSync(stateDir)).toBe(false);
    await (await open()).close();
    await open({ mustExist: true });
  });

  test('what was asked before the close is answered, what is asked after it is refused', async () => {
    const stores = await open();
    await stores.journal.accept(rowFor('r1'));
    const asked = Array.from({ length: 200 }, (_, index) => stores.journal.append(batchOf('r1', index, 1)));
    await stores.journal.close();
    await stores.ledger.close();
    await stores.close();
    expect((await Promise.all(asked)).at(-1)).toEqual({ kind: 'appended', version: 200 });
    await expect(stores.ledger.open()).rejects.toMatchObject({ code: 'closed' });
  });
});

test('a file of the first schema is told what its runs wait for', async () => {
  const db = new Connection(fileOf());
  migrate(db, migrations.slice(0, 1));
  const incarnation = db.one<{ incarnation: string }>('SELECT incarnation FROM ledger_meta')!.incarnation;
  const events = [
    ...['a', 'b', 'c'].map((key, index) => requestAt(claimFor(key), index + 1, incarnation)), unknownAt('r1', 'call-b', 1, 4), requestAt(claimFor('c', { attempt: 2 }), 5, incarnation),
  ];
  for (const event of events) db.run('INSERT INTO event VALUES (?, ?, 0, ?, NULL, ?, ?, ?)', 'r1', event.seq, 'x1', event.at, event.type, JSON.stringify(event));
  db.close();
  writeFileSync(fileOf('ledger.mark'), `${incarnation} ${'0'.repeat(16)}\n`);
  const { ledger } = await open();
  const kinds = async (attempt: number): Promise<string[]> => Promise.all(['a', 'b', 'c'].map(async (key) => (await ledger.claim(claimFor(key, { attempt }))).kind));
  expect([await kinds(1), await kinds(2)]).toEqual([['claimed', 'not-awaited', 'not-awaited'], ['not-awaited', 'not-awaited', 'claimed']]);
});

describe('copies and power cuts', () => {
  test('a ledger put back from an older copy gets a new incarnation, once', async () => {
    const first = await open();
    await requesting(first).claim(claimFor('k1'));
    const incarnation = await first.ledger.incarnation();
    await first.close();
    copyFileSync(fileOf(), fileOf('copy'));
    const second = await open();
    expect(await second.ledger.incarnation()).toBe(incarnation);
    await requesting(second).claim(claimFor('k2'));
    await second.close();
    copyFileSync(fileOf('copy'), fileOf());
    const third = await open();
    const other = await third.ledger.incarnation();
    expect(await third.ledger.get('k2')).toBeNull();
    expect(other).not.toBe(incarnation);
    await third.close();
    expect(await (await open()).ledger.incarnation()).toBe(other);
  });

  test('a ledger whose mark is missing although there are events gets a new incarnation; a new one does not', async () => {
    const first = await open();
    const incarnation = await first.ledger.incarnation();
    await first.close();
    rmSync(fileOf('ledger.mark'));
    const second = await open();
    expect(await second.ledger.incarnation()).toBe(incarnation);
    await second.journal.accept(rowFor('r1'));
    await second.journal.append(batchOf('r1', 0, 1));
    await second.close();
    rmSync(fileOf('ledger.mark'));
    expect(await (await open()).ledger.incarnation()).not.toBe(incarnation);
  });

  test('a journal put back from an older copy is noticed by the first append that misses its events', async () => {
    const first = await open();
    await first.journal.accept(rowFor('r1'));
    await first.close();
    copyFileSync(fileOf(), fileOf('copy'));
    const second = await open();
    await second.journal.append(batchOf('r1', 0, 4));
    await second.close();
    copyFileSync(fileOf('copy'), fileOf());
    const third = await open();
    await expect(third.journal.append(batchOf('r1', 4, 1))).rejects.toMatchObject({ code: 'defect', message: expect.stringMatching(/ends at 0, but this batch follows 4.*older copy/) });
  });

  test('a write-ahead log cut off anywhere leaves whole batches in a row, 30 times', async () => {
    const stores = await open();
    await stores.journal.accept(rowFor('r1'));
    for (let version = 0; version < 150; version += 5) await stores.journal.append(batchOf('r1', version, 5, { text: 'x'.repeat(700) }));
    const size = statSync(fileOf('longhaul.db-wal')).size;
    const versions = new Set<number>();
    for (let cut = 0; cut < 30; cut++) {
      const folder = path.join(stateDir, `cut-${cut}`);
      mkdirSync(folder);
      for (const name of ['longhaul.db', 'longhaul.db-wal']) copyFileSync(fileOf(name), path.join(folder, name));
      truncateSync(path.join(folder, 'longhaul.db-wal'), Math.floor((size * cut) / 30) + cut);
      const after = await openStores({ stateDir: folder });
      const seqs = (await after.journal.exportRows('r1', 0, 1_000)).map(({ event }) => event.seq);
      const row = await after.journal.row('r1');
      await after.close();
      expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => index + 1));
      expect(seqs.length % 5).toBe(0);
      expect(row?.version ?? 0).toBe(seqs.length);
      versions.add(seqs.length);
    }
    expect(versions.size).toBeGreaterThan(10);
  });

  test('files are for their owner alone', async () => {
    const stores = await open();
    const { artifacts } = stores;
    await requesting(stores).claim(claimFor('k'));
    const { sha256 } = await artifacts.write(Buffer.from('x'), { mediaType: 'text/plain', summary: 'x' });
    const mode = (name: string): string => (statSync(fileOf(name)).mode & 0o777).toString(8);
    const shelf = `artifacts/${sha256.slice(0, 2)}`;
    expect(['longhaul.db', 'longhaul.db-wal', 'longhaul.db-shm', 'ledger.mark', `${shelf}/${sha256.slice(2)}`].map(mode)).toEqual(['600', '600', '600', '600', '600']);
    expect(['artifacts', shelf].map(mode)).toEqual(['700', '700']);
  });
});
