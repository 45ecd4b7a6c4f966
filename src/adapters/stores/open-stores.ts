// Opens the embedded stores of one state folder: `longhaul.db` (journal, runs, ledger), `ledger.mark` and `artifacts/`.
// Several processes may have the same folder open at once. Larger stores are other functions with the same answer.
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import type { ArtifactsPort } from '../../ports/artifacts';
import type { JournalPort } from '../../ports/journal';
import type { LedgerPort } from '../../ports/ledger';
import { upcasting } from '../../ports/upcasting';
import { openArtifactsFolder } from './artifacts-folder';
import { portsOf } from './sql/ports';
import { StoreThread } from './sqlite/thread-client';
import { StoreError, toStoreError } from './store-error';

export interface Stores { journal: JournalPort; ledger: LedgerPort; artifacts: ArtifactsPort; close(): Promise<void> }

export interface OpenStores {
  /** Folder of everything that is kept, by default `.longhaul`. Made, for its owner alone, where it is missing. */
  stateDir: string;
  /** Refuse a folder without a database instead of making one: for commands that only look. */
  mustExist?: boolean;
  /** ms that a request waits for another process's lock before it is refused as `busy`; 10 s by default. */
  patienceMs?: number;
}

/**
 * Opens journal, ledger and artifacts. Throws StoreError with a sentence that says what to do: `unwritable` (folder or file),
 * `missing` (with mustExist), `newer` (schema of a newer build), `corrupt`, `full`, `busy`.
 */
export async function openStores({ stateDir, mustExist = false, patienceMs = 10_000 }: OpenStores): Promise<Stores> {
  const folder = path.resolve(stateDir);
  const file = path.join(folder, 'longhaul.db');
  if (mustExist && !existsSync(file)) throw new StoreError('missing', `There are no runs in ${folder}: start one there first, or name the folder that has them.`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    createPrivate(file);
  } catch (error) {
    throw toStoreError(error, folder);
  }
  const artifacts = await openArtifactsFolder(path.join(folder, 'artifacts'));
  const thread = await StoreThread.start({ file, mark: path.join(folder, 'ledger.mark'), patienceMs });
  const { journal, ledger } = portsOf(thread);
  return { journal: upcasting(journal), ledger, artifacts, close: () => thread.close() };
}

/**
 * SQLite would make the file readable for everyone; its side files take over the mode of this one. Only ever a new file is
 * opened here: closing a second descriptor of a database drops the locks that this process holds on it.
 */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
