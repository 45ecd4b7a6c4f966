// Where a command works: the state folder, the configuration and the Temporal server, each looked for when it is first needed, so
// that commands which only read start no server and load no configuration. Closes what it opened.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Connection } from '@temporalio/client';
import type { Encryption } from '../adapters/codec/encryption';
import type { LoadedConfig } from '../adapters/config/load';
import type { Keyring } from '../adapters/keys/keyring';
import type { Secrets } from '../adapters/secrets/sources';
import type { Stores } from '../adapters/stores/open-stores';
import type { ResolvedAddress } from '../adapters/temporal/address';
import { readDevState } from '../adapters/temporal/dev-state';
import { createClient, type LonghaulClient } from '../client/client';
import { ClientError } from '../client/types';
import { TASK_QUEUE } from '../messages';
import { EXIT, Stop } from './exit';
import { userName, type CommonOptions } from './options';

/** Folder of the bundled example; the same from sources and from dist. */
export const EXAMPLE = path.join(__dirname, '..', '..', 'examples', 'folder-report');

const NAMES = ['ts', 'js', 'cjs', 'json'].map((ending) => `longhaul.config.${ending}`);

/** Makes a folder and those above it; answers the first that was made. Node's own way never ends where a folder refuses all names, as /proc does. */
function makeFolder(folder: string): string | undefined {
  if (existsSync(folder)) return undefined;
  const above = path.dirname(folder) === folder ? undefined : makeFolder(path.dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
    return above ?? folder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return above;
    throw error;
  }
}

export class Place {
  private closing: (() => Promise<unknown>)[] = [];
  private opened?: Promise<Stores>;
  private connected?: Promise<{ connection: Connection; at: ResolvedAddress }>;
  private loaded?: Promise<LoadedConfig>;
  private known?: Promise<Secrets>;
  private sealed?: Promise<Encryption>;

  private constructor(readonly options: CommonOptions, readonly stateDir: string) {}

  /**
   * Finds the state folder: --state-dir, LONGHAUL_STATE_DIR, the configuration's, else `.longhaul` here. With `anyConfig` a
   * configuration that cannot be read is told when it is asked for, and the state folder is `.longhaul` here.
   */
  static async at(options: CommonOptions, { anyConfig = false }: { anyConfig?: boolean } = {}): Promise<Place> {
    const given = options.stateDir ?? process.env.LONGHAUL_STATE_DIR;
    if (given) return new Place(options, path.resolve(given));
    const here = NAMES.some((name) => existsSync(name));
    if (!options.config && !here) return new Place(options, path.resolve('.longhaul'));
    const { loadConfig } = await import('../adapters/config/load');
    const loaded = await loadConfig(options.config).catch((error: unknown) => {
      if (!anyConfig) throw error;
      return null;
    });
    if (!loaded) return new Place(options, path.resolve('.longhaul'));
    const place = new Place(options, loaded.stateDir);
    place.loaded = Promise.resolve(loaded);
    return place;
  }

  /** The configuration: --config, the file here, the one that the running `dev` uses, else the bundled example. */
  config(): Promise<LoadedConfig> {
    this.loaded ??= (async () => {
      const { loadConfig } = await import('../adapters/config/load');
      const kept = readDevState(this.stateDir).configFile;
      const file = this.options.config ?? (NAMES.some((name) => existsSync(name)) ? undefined : typeof kept === 'string' && existsSync(kept) ? kept : EXAMPLE);
      return { ...await loadConfig(file), stateDir: this.stateDir };
    })();
    return this.loaded;
  }

  /** Does this place work with the example that comes with the package? */
  async isExample(): Promise<boolean> {
    return (await this.config()).file.startsWith(EXAMPLE);
  }

  /** Makes the state folder if it is missing and answers the first folder made; throws Stop with one sentence where nothing can be written. */
  writable(): string | undefined {
    try {
      const made = makeFolder(this.stateDir);
      const probe = path.join(this.stateDir, `.probe-${process.pid}`);
      writeFileSync(probe, '');
      rmSync(probe);
      return made;
    } catch (error) {
      throw new Stop(EXIT.error, `The state folder ${this.stateDir} cannot be written (${(error as NodeJS.ErrnoException).code ?? String(error)}): mend its permissions, or name another with --state-dir.`);
    }
  }

  /** The queue of this folder's workers: --task-queue, what the last `dev` here was given, else `longhaul`. */
  get taskQueue(): string {
    const kept = readDevState(this.stateDir).taskQueue;
    return this.options.taskQueue ?? (typeof kept === 'string' ? kept : TASK_QUEUE);
  }

  /** Works with the bundled example, whatever configuration is here. */
  useExample(): void {
    this.loaded = (async () => {
      const { loadConfig } = await import('../adapters/config/load');
      return { ...await loadConfig(EXAMPLE), stateDir: this.stateDir };
    })();
  }

  /** Where the stores are, when they are not in the state folder: the variables say, else the configuration, if there is one. */
  async storesAt(): Promise<{ database?: string; artifacts?: string }> {
    const { storesAt } = await import('../adapters/stores/open-stores');
    const said = storesAt(undefined, process.env);
    if (said.database !== undefined) return said;
    const named = this.loaded !== undefined || this.options.config !== undefined || NAMES.some((name) => existsSync(name)) || typeof readDevState(this.stateDir).configFile === 'string';
    // What has a file here is read from it, whatever is wrong with the configuration.
    const loaded = named ? await this.config().catch((error: unknown) => {
      if (existsSync(path.join(this.stateDir, 'longhaul.db'))) return null;
      throw error;
    }) : null;
    return storesAt(loaded?.config.stores, process.env);
  }

  /** Are there stores to look into? A database elsewhere is asked itself. */
  async hasStores(): Promise<boolean> {
    return existsSync(path.join(this.stateDir, 'longhaul.db')) || (await this.storesAt()).database !== undefined;
  }

  /** The stores. A command that only looks asks for `mustExist`. */
  stores(how: { mustExist?: boolean } = { mustExist: true }): Promise<Stores> {
    this.opened ??= (async () => {
      if (!how.mustExist) this.writable();
      const { openStores } = await import('../adapters/stores/open-stores');
      const stores = await openStores({ stateDir: this.stateDir, ...await this.storesAt(), ...how });
      this.closing.push(() => stores.close());
      return stores;
    })();
    return this.opened;
  }

  /** The server in use, checked to answer. Throws Stop (7) with the next command when there is none. */
  async server(): Promise<ResolvedAddress> {
    const { resolveAddress } = await import('../adapters/temporal/address');
    const env = { ...process.env, ...(this.options.address ? { TEMPORAL_ADDRESS: this.options.address } : {}), ...(this.options.namespace ? { TEMPORAL_NAMESPACE: this.options.namespace } : {}) };
    const at = await resolveAddress({ stateDir: this.stateDir, env });
    if (!at) throw new Stop(EXIT.unreachable, `No Temporal server runs for ${this.stateDir}: start one with \`npx longhaul dev\`, or name one with --address.`);
    return this.options.namespace ? { ...at, namespace: this.options.namespace } : at;
  }

  /** A connection to the server in use. */
  connection(): Promise<{ connection: Connection; at: ResolvedAddress }> {
    this.connected ??= (async () => {
      const at = await this.server();
      const { Connection: Open } = await import('@temporalio/client');
      const connection = await Open.connect({ ...at.connectionOptions, connectTimeout: '5s' }).catch((error: unknown) => {
        throw new ClientError('unreachable', `The Temporal server at ${at.address} does not answer (${error instanceof Error ? error.message : String(error)}): start it, or name another with --address.`);
      });
      this.closing.push(() => connection.close());
      return { connection, at };
    })().catch((error: unknown) => {
      // A process that stays asks again.
      this.connected = undefined;
      throw error;
    });
    return this.connected;
  }

  /** The secrets of this environment, of the configuration and of the file; from now on they are known to every door and printer. */
  secrets(): Promise<Secrets> {
    this.known ??= (async () => {
      const [{ openSecrets }, { installRedactor }] = [await import('../adapters/secrets/sources'), await import('../ports/redaction')];
      const loaded = await this.config().catch(() => null);
      const secrets = openSecrets({ config: loaded?.config ?? null, folder: loaded ? path.dirname(loaded.file) : process.cwd(), env: process.env });
      const uninstall = installRedactor(secrets.known);
      this.closing.push(async () => uninstall());
      return secrets;
    })();
    return this.known;
  }

  /** The keys of the state folder, with which decisions are signed. Read when they are used. */
  async keyring(): Promise<Keyring> {
    const { openKeyring } = await import('../adapters/keys/keyring');
    return openKeyring(this.stateDir);
  }

  /** How payloads are encrypted here; `make`: with a first key where the configuration demands encryption and there is none. */
  encryption({ make = false }: { make?: boolean } = {}): Promise<Encryption> {
    this.sealed ??= (async () => {
      const { openEncryption } = await import('../adapters/codec/encryption');
      // A configuration that was not needed so far is not read for this: where it demands encryption, its workers have made the keys.
      const loaded = await this.loaded?.catch(() => null);
      return openEncryption({ stateDir: this.stateDir, demanded: loaded?.config.encryption, make });
    })();
    return this.sealed;
  }

  /** The client; it connects to Temporal only when it has to. */
  async client(how?: { mustExist?: boolean }): Promise<LonghaulClient> {
    const stores = await this.stores(how);
    return createClient({ stores, taskQueue: this.taskQueue, keys: await this.keyring(), door: userName(), secrets: () => this.secrets(), encryption: () => this.encryption(), connection: async () => (await this.connection()).connection, namespace: async () => (await this.connection()).at.namespace });
  }

  async close(): Promise<void> {
    for (const close of this.closing.splice(0).reverse()) await close().catch(() => undefined);
  }
}
