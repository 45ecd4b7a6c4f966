// The address of a Postgres store: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`, as pg reads it, with one word of our own.
// Owns how a store is named in sentences: host, port and database, never user and password.
import { StoreError } from '../store-error';

export interface DatabaseAddress {
  /** For pg, without our own word. */
  url: string;
  /** Schema of all tables; `longhaul` unless the address names another. */
  schema: string;
  /** How sentences name it. */
  place: string;
}

const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;

/** Throws StoreError `address` for what is no such address; the sentence holds nothing of it. */
export function databaseAddress(text: string): DatabaseAddress {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || url.pathname.length < 2) {
    throw new StoreError('address', 'The address of the database cannot be read: write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password percent-encoded.');
  }
  const schema = url.searchParams.get('schema') ?? 'longhaul';
  if (!SCHEMA.test(schema)) throw new StoreError('address', `The schema ${JSON.stringify(schema)} in the address of the database cannot be used: give it lower-case letters, digits and underscores.`);
  url.searchParams.delete('schema');
  const host = url.searchParams.get('host') ?? (url.hostname || 'localhost');
  return { url: url.toString(), schema, place: `PostgreSQL at ${host}:${url.port || '5432'}${url.pathname}` };
}
