// Runs on PostgreSQL and S3, with encrypted payloads: two workers that share nothing but Temporal, the database and the bucket, one of
// them killed; and the database killed under a run. Each effect happens once.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { drive, EVERYTHING } from '../rig/drive';
import { sleep, startRig, type Rig } from '../rig/rig';
import { startBucketServer, startPostgres, type BucketServer, type PostgresServer } from './support/servers';

let postgres: PostgresServer;
let s3: BucketServer;
let rig: Rig;
const folders: string[] = [];
const folder = (): string => {
  const made = mkdtempSync(path.join(tmpdir(), 'longhaul-host-'));
  folders.push(made);
  return made;
};

beforeAll(async () => {
  [postgres, s3] = await Promise.all([startPostgres(), startBucketServer()]);
  Object.assign(process.env, s3.env);
  await s3.bucket('runs');
  const stateDir = folder();
  rig = await startRig({ stateDir, encrypted: true, env: { ...s3.env, LONGHAUL_ENCRYPTION: 'on', LONGHAUL_PAYLOAD_KEYS_FILE: path.join(stateDir, 'payload-keys.json') }, stores: { database: await postgres.fresh(), artifacts: 's3://runs/all' } });
}, 180_000);
afterAll(async () => {
  await rig?.stop();
  await Promise.all([postgres?.stop(), s3?.stop()]);
  for (const made of folders) rmSync(made, { recursive: true, force: true });
}, 120_000);

const stamps = (count: number, before: number) => ({ goal: 'Stamp', steps: Array.from({ length: count }, (_, i) => ({ id: `s${i}`, title: `Stamp ${i}`, ...(i === 0 ? {} : { dependsOn: [`s${i - 1}`] }), action: { type: 'tool', tool: 'stamp', args: { text: `t${i}`, before } } })) });

test('R6.1 two workers in folders of their own share only Temporal, database and bucket: one is killed in the middle, the other finishes, each effect once', async () => {
  const [left, right] = [folder(), folder()];
  const first = await rig.worker({ stateDir: left });
  const ids = await Promise.all([1, 2, 3, 4].map(() => rig.run({ plan: stamps(4, 700) })));
  await Promise.all(ids.map((runId) => rig.until(runId, () => rig.effects(runId).length > 0)));
  const second = await rig.worker({ stateDir: right });
  await sleep(1_000);
  await first.kill();
  for (const runId of ids) {
    const { status, state } = await rig.end(runId, 150_000);
    expect([status, state.end?.outcome, rig.effects(runId).map(({ text }) => text).sort()]).toEqual(['COMPLETED', 'full', ['t0', 't1', 't2', 't3']]);
  }
  for (const host of [left, right, rig.stateDir]) expect([existsSync(path.join(host, 'longhaul.db')), existsSync(path.join(host, 'artifacts'))]).toEqual([false, false]);
  await second.stop();
}, 240_000);

test('R1.5 the database is killed under runs and started again: they go on, and each effect happens once', async () => {
  await rig.worker({ stateDir: folder() });
  const ids = await Promise.all([1, 2, 3].map(() => rig.run({ plan: EVERYTHING })));
  await Promise.all(ids.map((runId) => rig.until(runId, (state) => Object.values(state.calls).length > 0)));
  const driven = Promise.all(ids.map((runId) => patiently(() => drive(rig, runId, 150_000))));
  for (const away of [500, 6_000]) {
    await postgres.kill();
    await sleep(away);
    await postgres.start();
    await sleep(2_000);
  }
  await driven;
  for (const runId of ids) {
    const { status, state } = await patiently(() => rig.end(runId));
    expect([status, state.end?.outcome, rig.effects(runId).map(({ tool }) => tool)]).toEqual(['COMPLETED', 'full', ['stamp', 'asked']]);
    const seqs = (await rig.events(runId)).map(({ seq }) => seq);
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => index + 1));
  }
}, 240_000);

/** The test reads the same database, which is away for a while. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (const limit = Date.now() + 150_000; ;) {
    try {
      return await ask();
    } catch (error) {
      if ((error as { code?: string }).code !== 'unreachable' || Date.now() > limit) throw error;
      await sleep(250);
    }
  }
}
