// Where fetched Temporal binaries are kept, and how one is put there so that a reader never sees half a file.
// Two places are read: `<stateDir>/bin` (for a project that carries its own copy) and the user-wide cache, which
// new copies go to, so that a fresh clone does not download 45 MB again. LONGHAUL_CACHE moves the user-wide cache.
// Placing is a rename within one folder: of two processes that fetch at once, both end with a whole file.
import { accessSync, chmodSync, constants, copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

/** The programs that can be found or fetched; the names are those of the files. */
export type BinaryName = 'temporal' | 'temporal-test-server';

const suffix = process.platform === 'win32' ? '.exe' : '';

/** The user-wide folder of fetched binaries: `$LONGHAUL_CACHE/bin`, else `$XDG_CACHE_HOME/longhaul/bin`, else `~/.cache/longhaul/bin`. */
export function userCacheBin(env: NodeJS.ProcessEnv = process.env): string {
  if (env.LONGHAUL_CACHE) return path.resolve(env.LONGHAUL_CACHE, 'bin');
  return path.join(env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'longhaul', 'bin');
}

/** The path of a cached, executable copy, or undefined. `folders` are tried in order. */
export function cachedBinary(name: BinaryName, folders: readonly string[]): string | undefined {
  return folders.map((folder) => path.join(folder, name + suffix)).find(isExecutable);
}

/** True when `file` is a regular file that this process may execute. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * The first of `folders` in which a file can be made (it is created when missing), with a new empty folder inside it
 * for the download. The download lies next to its destination so that placing it is a rename.
 * Returns undefined when none is writable.
 */
export function stagingFolder(folders: readonly string[]): { bin: string; staging: string } | undefined {
  for (const bin of folders) {
    try {
      mkdirSync(bin, { recursive: true });
      return { bin, staging: mkdtempSync(path.join(bin, '.fetch-')) };
    } catch {
      continue;
    }
  }
  return undefined;
}

/** Makes `file` (anywhere under `staging`) the cached copy of `name` in `bin`; returns its path. */
export function placeBinary(name: BinaryName, file: string, bin: string): string {
  const target = path.join(bin, name + suffix);
  chmodSync(file, 0o755);
  try {
    renameSync(file, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    const near = `${target}.${process.pid}`;
    copyFileSync(file, near);
    renameSync(near, target);
  }
  return target;
}

/** Removes a staging folder; a left-over one is harmless, so a failure is not reported. */
export function dropStaging(staging: string): void {
  try {
    rmSync(staging, { recursive: true, force: true });
  } catch {
    // Nothing reads it.
  }
}
