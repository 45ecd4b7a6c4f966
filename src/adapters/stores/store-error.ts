// The one error that a store throws when it cannot do its work, and the sentences that say what to do about it.
// Owns the translation of SQLite's and the file system's codes; Postgres and S3 have theirs beside them. Refusals are values of the ports and never come this way.
// Crosses from the store thread to the caller as plain data.

/**
 * What to do next, by code:
 * `busy` try again (another process holds the file), `full` free some space, `unwritable` mend the permissions,
 * `newer` run a newer build, `corrupt` restore from a copy, `missing` point at the right folder, `closed` and
 * `defect` mend the program, `io` look at the disk, `unreachable` start the database or the bucket's server, `address` mend the address.
 */
export type StoreErrorCode = 'busy' | 'full' | 'unwritable' | 'newer' | 'corrupt' | 'missing' | 'closed' | 'defect' | 'io' | 'unreachable' | 'address';

export class StoreError extends Error {
  constructor(readonly code: StoreErrorCode, message: string) {
    super(message);
    this.name = 'StoreError';
  }
}

/** True when SQLite says that another connection holds the lock; such a request is tried again. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY') || codeOf(error).startsWith('SQLITE_LOCKED');
}

/** Turns whatever SQLite or the file system threw into a StoreError that names the file or folder. */
export function toStoreError(error: unknown, place: string): StoreError {
  if (error instanceof StoreError) return error;
  const code = codeOf(error);
  const said = error instanceof Error ? error.message : String(error);
  const known = sentence(code, said, place);
  return known ?? new StoreError(code.startsWith('SQLITE_IOERR') ? 'io' : 'defect', `${place}: ${code === '' ? said : `${code}: ${said}`}`);
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}

function sentence(code: string, said: string, place: string): StoreError | null {
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') {
    return new StoreError('full', `The disk is full: ${place} could not be written and nothing of this request was kept. Free some space; the run goes on by itself.`);
  }
  if (code === 'SQLITE_CORRUPT' || code.startsWith('SQLITE_CORRUPT_') || code === 'SQLITE_NOTADB') {
    return new StoreError('corrupt', `${place} is damaged or is not a database (${said}). Stop the workers and restore the file from a copy.`);
  }
  if (['EACCES', 'EPERM', 'EROFS'].includes(code) || code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN') || /Unable to open connection/.test(said)) {
    return new StoreError('unwritable', `${place} cannot be opened for writing (${said}). Check who owns it and its permissions.`);
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return new StoreError('unwritable', `${place} cannot be used as a folder (${said}). Name another folder.`);
  }
  return null;
}
