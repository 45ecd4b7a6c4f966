// Opens the stores: those of a state folder (`longhaul.db` with journal, runs and ledger, `ledger.mark` and `artifacts/`), or a Postgres
// database and a bucket where an address names them. Several processes may have the same stores open at once, also on many hosts.
// Where an address comes from (variables before the configuration) is `storesAt`'s alone. Vendors' packages are loaded when used.
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import type { ArtifactsPort } from '../../ports/artifacts';
import type { JournalPort } from '../../ports/journal';
import type { LedgerPort } from '../../ports/ledger';
import { upcasting } from '../../ports/upcasting';
import { openArtifactsFolder } from './artifacts-folder';
import { artifactsAddress } from './bucket-address';
import type { BucketAddress } from './bucket-address';
import { databaseAddress } from './postgres/address';
import type { Asker } from './sql/operations';
import { portsOf } from './sql/ports';
import { StoreThread } from './sqlite/thread-client';
import { StoreError, toStoreError } from './store-error';

const PATIENCE_MS = 10_000;

export interface Stores { journal: JournalPort; ledger: LedgerPort; artifacts: ArtifactsPort; close(): Promise<void> }

export interface OpenStores {
  /** Folder of everything that is kept here, by default `.longhaul`. Made, for its owner alone, where it is missing. */
  stateDir: string;
  /** Address of the database for journal and ledger, `postgres://...`; default: a file in the state folder. */
  database?: string;
  /** Address of the artifacts, `s3://BUCKET/PREFIX` or a folder; default: a folder in the state folder. */
  artifacts?: string;
  /** Refuse a folder without a database instead of making one: for commands that only look. */
  mustExist?: boolean;
  /** ms that a request waits for another process's lock, or for a database that starts, before it is refused as `busy`; 10 s by default. */
  patienceMs?: number;
}

/** Where the stores are: LONGHAUL_DATABASE_URL and LONGHAUL_ARTIFACTS, else what the configuration says. */
export function storesAt(config: { database?: string; artifacts?: string } | undefined, env: NodeJS.ProcessEnv): Pick<OpenStores, 'database' | 'artifacts'> {
  const [database, artifacts] = [env['LONGHAUL_DATABASE_URL']?.trim() || config?.database, env['LONGHAUL_ARTIFACTS']?.trim() || config?.artifacts];
  return { ...(database ? { database } : {}), ...(artifacts ? { artifacts } : {}) };
}

/**
 * Opens journal, ledger and artifacts. Throws StoreError with a sentence that says what to do: `unwritable` (folder, file, rights),
 * `missing` (with mustExist; a database or bucket that is not there), `newer` (schema of a newer build), `corrupt`, `full`, `busy`,
 * `unreachable`, `address`.
 */
export async function openStores(options: OpenStores): Promise<Stores> {
  const { artifacts: where } = options;
  const folder = path.resolve(options.stateDir);
  const found = where === undefined ? { folder: path.join(folder, 'artifacts') } : artifactsAddress(where, process.env);
  const database = await (options.database === undefined ? openFile(folder, options) : openDatabase(folder, options.database, options));
  try {
    const bucket = 'folder' in found ? null : await openBucket(found);
    const artifacts = 'folder' in found ? await openArtifactsFolder(found.folder) : bucket!.artifacts;
    const { journal, ledger } = portsOf(database);
    return {
      journal: upcasting(journal), ledger, artifacts,
      async close() {
        await database.close();
        bucket?.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function openFile(folder: string, { mustExist = false, patienceMs = PATIENCE_MS }: OpenStores): Promise<Asker> {
  const file = path.join(folder, 'longhaul.db');
  if (mustExist && !existsSync(file)) throw new StoreError('missing', `There are no runs in ${folder}: start one there first, or name the folder that has them.`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    createPrivate(file);
  } catch (error) {
    throw toStoreError(error, folder);
  }
  return StoreThread.start({ file, mark: path.join(folder, 'ledger.mark'), patienceMs });
}

async function openDatabase(folder: string, database: string, { mustExist = false, patienceMs = PATIENCE_MS }: OpenStores): Promise<Asker> {
  const address = databaseAddress(database);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw toStoreError(error, folder);
  }
  const { PostgresStore } = await import('./postgres/store');
  return PostgresStore.start({ address, mark: path.join(folder, 'ledger-postgres.mark'), mustExist, patienceMs });
}

async function openBucket(address: BucketAddress): Promise<{ artifacts: ArtifactsPort; close(): void }> {
  const { openArtifactsBucket } = await import('./artifacts-s3');
  return openArtifactsBucket(address);
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
