// The disk that holds the stores is full: nothing is sent, the run waits, and goes on when there is room again. Root gets a real small
// disk (tmpfs of 24 MB); where none can be mounted, the worker and the stores are held below a file size (prlimit --fsize) instead,
// which the store meets as a write that fails. Which of the two it was stands in the output.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEffectServer, type EffectServer } from '../../src/testing';
import { effectsOf, prepareOutside } from '../rig/outside-tools';
import { sleep, startRig, type Rig } from '../rig/rig';
import type { WorkerProcess } from '../rig/worker-process';
import { attend } from './support/person';
import { printTally, tally } from './support/tally';

interface Disk { how: string; stateDir: string; fill(worker: WorkerProcess): void; clear(worker: WorkerProcess): void; remove(): void }

/** A disk that can be filled: mounted where that is allowed, else a limit on the size of files. */
function smallDisk(): Disk {
  const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-disk-'));
  const stateDir = path.join(folder, 'state');
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    mkdirSync(stateDir);
    const limit = (worker: WorkerProcess, bytes: string): void => { execFileSync('prlimit', ['--pid', String(worker.pid), `--fsize=${bytes}`]); };
    return {
      how: 'a limit on the size of files', stateDir,
      fill: (worker) => limit(worker, `${statSync(path.join(stateDir, 'longhaul.db-wal')).size}:`),
      clear: (worker) => limit(worker, 'unlimited:'),
      remove: () => rmSync(folder, { recursive: true, force: true }),
    };
  }
  mkdirSync(stateDir);
  const filler = path.join(folder, 'filler');
  return {
    how: 'a tmpfs without room', stateDir, clear: () => rmSync(filler),
    fill: () => {
      const file = openSync(filler, 'w');
      try {
        for (const bytes of [Buffer.alloc(1024 * 1024), Buffer.alloc(4096), Buffer.alloc(1)]) full(file, bytes);
      } finally {
        closeSync(file);
      }
    },
    remove: () => {
      execFileSync('umount', [folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Writes until there is no room for it. */
function full(file: number, bytes: Buffer): void {
  try {
    for (;;) if (writeSync(file, bytes) < bytes.length) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

let disk: Disk;
let folder: string;
let outside: EffectServer;
let rig: Rig;
beforeAll(async () => {
  disk = smallDisk();
  process.stderr.write(`  the full disk is ${disk.how}\n`);
  folder = mkdtempSync(path.join(tmpdir(), 'longhaul-outside-'));
  outside = await startEffectServer({ folder });
  rig = await startRig({ stateDir: disk.stateDir });
}, 120_000);
afterAll(async () => {
  await rig.stop();
  await outside.close();
  disk.remove();
  rmSync(folder, { recursive: true, force: true });
  printTally();
}, 120_000);

const HELD_MS = 6_000;

test('I2 R1.5 a full disk: nothing is sent while its event cannot be written, and the run goes on when there is room again', async () => {
  const worker = await rig.worker({ env: { LONGHAUL_SERVICE_OUTSIDE: outside.url } });
  const tools = ['keyed', 'found', 'mute'] as const;
  const steps = [
    { id: 'ask', title: 'Ask', action: { type: 'wait', for: '4s' } },
    ...tools.map((kind) => ({ id: kind, title: kind, dependsOn: ['ask'], action: { type: 'tool', tool: kind, args: { text: kind } } })),
  ];
  await prepareOutside(outside, 'full');
  const runId = await rig.run({ runId: 'full', plan: { goal: 'Each once', steps } });
  await rig.until(runId, (state) => state.steps[0]?.wakeAt !== undefined);
  disk.fill(worker);
  // The wait is over meanwhile, but nothing of what follows can be written.
  await sleep(HELD_MS);
  const before = { events: await rig.types(runId), effects: outside.effects().length };
  disk.clear(worker);
  // A worker whose log cannot be written either does not end.
  expect(await Promise.race([worker.ended, sleep(0)])).toBeUndefined();
  expect(before).toEqual({ events: expect.not.arrayContaining(['ToolCallRequested']), effects: 0 });
  const unknown = await attend(rig, outside, runId);
  const { state, status } = await rig.end(runId);
  const seen = tools.map((kind) => effectsOf(outside, kind, runId));
  tally({ suite: `a full disk (${disk.how})`, point: 'before the effects', kills: 0, expected: 3, seen: seen.reduce((sum, n) => sum + n, 0), unknown });
  expect([status, state.end?.outcome, seen, unknown]).toEqual(['COMPLETED', 'full', [1, 1, 1], []]);
  await worker.stop();
}, 180_000);

test('B17 a disk that is full after the effect: the result is stored late or looked up, and nothing is sent again', async () => {
  const worker = await rig.worker({ env: { LONGHAUL_SERVICE_OUTSIDE: outside.url } });
  await prepareOutside(outside, 'after');
  await outside.trouble('found~after', { kind: 'slow', afterMs: 2_000 });
  const runId = await rig.run({ runId: 'after', plan: { goal: 'Once', steps: [{ id: 'only', title: 'Only', action: { type: 'tool', tool: 'found', args: { text: 'once' } } }] } });
  while (effectsOf(outside, 'found', runId) === 0) await sleep(20);
  disk.fill(worker);
  await sleep(HELD_MS);
  expect((await rig.types(runId)).filter((type) => type === 'ToolCallSucceeded')).toEqual([]);
  disk.clear(worker);
  const unknown = await attend(rig, outside, runId);
  const { status } = await rig.end(runId);
  const seen = effectsOf(outside, 'found', runId);
  tally({ suite: `a full disk (${disk.how})`, point: 'after the effect', kills: 0, expected: 1, seen, unknown });
  expect([status, seen, unknown]).toEqual(['COMPLETED', 1, []]);
  await worker.stop();
}, 180_000);
