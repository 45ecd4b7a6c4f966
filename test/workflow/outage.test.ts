// The store is away while runs are under way: another process holds the database for 20 s. Runs wait without holding a slot
// or growing their history, nothing is lost or done twice, and all go on once it is back.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { drive, EVERYTHING } from '../rig/drive';
import { startRig, type Rig } from '../rig/rig';

const AWAY_MS = 20_000;
const RUNS = 8;
let rig: Rig;
beforeAll(async () => { rig = await startRig(); await rig.worker(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

/** Holds the write lock of the journal's database from another process; resolves when it has it, and again when it lets go. */
async function lockedFor(ms: number): Promise<{ over: Promise<void> }> {
  const script = `const db = new (require('libsql'))(process.argv[1]); db.exec('PRAGMA busy_timeout = 20000'); db.exec('BEGIN EXCLUSIVE');
    process.stdout.write('locked\\n'); setTimeout(() => { db.exec('COMMIT'); db.close(); }, ${ms});`;
  const child = spawn(process.execPath, ['-e', script, path.join(rig.stateDir, 'longhaul.db')], { cwd: path.join(__dirname, '..', '..'), stdio: ['ignore', 'pipe', 'inherit'] });
  const over = new Promise<void>((resolve, reject) => { child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the locking process ended with ${code}`)))); });
  await new Promise<void>((resolve) => { child.stdout.on('data', () => resolve()); });
  return { over };
}

test('R1.5 the store is away for 20 s: runs wait, hold no slot, lose nothing', async () => {
  const ids = await Promise.all(Array.from({ length: RUNS }, () => rig.run({ plan: EVERYTHING })));
  await Promise.all(ids.map((runId) => rig.until(runId, (state) => Object.values(state.calls).length > 0)));
  const { over } = await lockedFor(AWAY_MS);
  await over;
  const back = Date.now();
  await Promise.all(ids.map((runId) => drive(rig, runId, 120_000)));
  const ends = await Promise.all(ids.map((runId) => rig.end(runId)));
  let patient = 0;
  for (const [i, { state, status }] of ends.entries()) {
    const runId = ids[i] ?? '';
    expect([status, state.end?.outcome, rig.effects(runId).map(({ tool }) => tool)]).toEqual(['COMPLETED', 'full', ['stamp', 'asked']]);
    const [{ history }] = await rig.histories(runId) as [Awaited<ReturnType<Rig['histories']>>[number]];
    expect(history.events?.length).toBeLessThan(120);
    patient += (history.events ?? []).filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'append').length;
  }
  // The outage was felt: appends were asked again as regular activities, which hold no slot while they wait.
  expect(patient).toBeGreaterThan(0);
  expect(Date.now() - back).toBeLessThan(45_000);
}, 180_000);
