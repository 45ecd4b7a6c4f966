// How the contract suites reach the embedded stores: a fresh folder a test, in this process and in others.
import { mkdtempSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStores } from '../../src/adapters/stores/open-stores';
import type { StoresUnderTest, StorePorts } from '../../src/testing/contracts/suite';

/** Opened by the other processes of the suites. */
export const open = (stateDir: string): Promise<StorePorts> => openStores({ stateDir });

/** A new folder under the system's own for temporary files. */
export const freshFolder = (): string => mkdtempSync(path.join(tmpdir(), 'longhaul-stores-'));

/** Fresh embedded stores for one test. */
export async function embedded(): Promise<StoresUnderTest> {
  const stateDir = freshFolder();
  const stores = await open(stateDir);
  const fileOf = (sha256: string): string => path.join(stateDir, 'artifacts', sha256.slice(0, 2), sha256.slice(2));
  return {
    stores,
    again: () => open(stateDir),
    elsewhere: { module: __filename, argument: stateDir },
    async damage(sha256) {
      const bytes = await readFile(fileOf(sha256));
      bytes[Math.floor(bytes.length / 2)]! ^= 1;
      await writeFile(fileOf(sha256), bytes);
    },
    lose: (sha256) => rm(fileOf(sha256)),
    async close() {
      await stores.close();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}
