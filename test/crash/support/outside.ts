// A whole longhaul and an effect server for one file of the kill suites: opened before its tests, closed after them, and what was
// killed and seen is printed at the end.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEffectServer, type EffectServer } from '../../../src/testing';
import { startRig, type Rig } from '../../rig/rig';
import { printTally } from './tally';

/** Hands both to the file before its first test. */
export function withOutside(opened: (rig: Rig, outside: EffectServer) => void): void {
  let close = async (): Promise<void> => undefined;
  beforeAll(async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-outside-'));
    const outside = await startEffectServer({ folder });
    const rig = await startRig();
    opened(rig, outside);
    close = async () => {
      await rig.stop();
      await outside.close();
      rmSync(folder, { recursive: true, force: true });
      printTally();
    };
  }, 120_000);
  afterAll(() => close(), 120_000);
}
