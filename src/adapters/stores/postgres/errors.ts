// What Postgres and the wire say, as the errors of a store. Decides nothing but the name of an error: whether it is tried again is
// the caller's. Codes are SQLSTATEs (PostgreSQL, Appendix A) and those of Node's sockets. No sentence holds a user or a password.
import { StoreError } from '../store-error';
import type { StoreErrorCode } from '../store-error';

const SOCKET = new Set(['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN']);
/** What pg says without a code when a connection ends or does not begin. */
const ENDED = /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|Connection ended)/;
/** Deadlock, serialization: undone as a whole, and to be tried again at once. */
const REPEAT = new Set(['40001', '40P01']);

export function sqlState(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}

const said = (error: unknown): string => (error instanceof AggregateError ? error.errors.map((one) => said(one)).join('; ') : error instanceof Error ? error.message : String(error));

/** The server is away, or has ended this connection. */
export function isAway(error: unknown): boolean {
  const code = sqlState(error);
  return SOCKET.has(code) || code.startsWith('08') || ['57P01', '57P02', '57P03', '57P05', '25P03'].includes(code) || (error instanceof Error && ENDED.test(error.message));
}

/** The server is up, but not ready: it starts, or recovers. */
export const isStarting = (error: unknown): boolean => sqlState(error) === '57P03';

export const isRepeatable = (error: unknown): boolean => REPEAT.has(sqlState(error));

/** Turns whatever pg threw into a StoreError that names the database. */
export function toPostgresError(error: unknown, place: string): StoreError {
  if (error instanceof StoreError) return error;
  if (error instanceof TypeError) return new StoreError('defect', error.message);
  if (isAway(error)) return new StoreError('unreachable', `${place} does not answer (${said(error)}). Start it, or mend the address; what waits for it goes on by itself.`);
  if (said(error).startsWith('timeout exceeded when trying to connect')) return new StoreError('busy', `${place} was asked for more at once than the connections of this process can carry. Nothing of this request was kept; try again.`);
  const code = sqlState(error);
  const [kind, sentence] = known(code, said(error), place) ?? ['defect' as const, `${place}: ${code === '' ? '' : `${code}: `}${said(error)}`];
  return new StoreError(kind, sentence);
}

function known(code: string, words: string, place: string): [StoreErrorCode, string] | null {
  if (code === '53100') return ['full', `The disk of ${place} is full: nothing of this request was kept. Free some space; the run goes on by itself.`];
  if (['55P03', '57014', '53300', '53200'].includes(code) || isRepeatable({ code })) {
    return ['busy', `${place} is busy (${words}). Nothing of this request was kept; try again, and look for what holds its locks or connections.`];
  }
  if (code === '28P01' || code === '28000') return ['unwritable', `${place} refuses the user or the password. Mend LONGHAUL_DATABASE_URL, PGUSER or PGPASSWORD, or what pg_hba.conf allows.`];
  if (code === '42501') return ['unwritable', `${place} refuses what the user may not do (${words}). Let the user own the schema, or grant what is missing.`];
  if (code === '25006') return ['unwritable', `${place} takes no writes (${words}): it is a standby or read-only. Name the primary.`];
  if (code === '3D000') return ['missing', `${place} has no such database (${words}). Make it with createdb, or mend the address.`];
  if (code.startsWith('XX00')) return ['corrupt', `${place} is damaged (${words}). Stop the workers and restore the database from a copy.`];
  if (code === '58030') return ['io', `${place} could not read or write its disk (${words}). Look at the disk.`];
  return null;
}
