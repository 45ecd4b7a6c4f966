// Notices a ledger that went back: a database put back from an older copy, or a standby that took over without the last commits.
// Looks at every new connection, for a server may come back as another one. Two signs: the server is not the one that the ledger
// was last seen on (system, timeline, database, table), or it counts fewer claims than this folder has seen. Then the ledger gets a
// new incarnation: from there on "no claim" proves nothing about calls of the old one.
import { closeSync, constants, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';

const IDENTITY = `SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
  || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' || 'ledger'::regclass::oid AS server`;
/** ms after a claim until the mark is raised: it may lag behind the ledger, never lead it. */
const LAG_MS = 250;

interface Meta { origin: string; claims: number; server: string | null }

export class LedgerGuard {
  /** How often the ledger was found to be another one. */
  changes = 0;
  private readonly fd: number;
  private seen: { origin: string; claims: number } | null;
  private raising: NodeJS.Timeout | null = null;

  constructor(file: string) {
    this.fd = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.seen = this.read();
  }

  /** Compares server and claims with what was known. Throws what Postgres throws. */
  async check(client: ClientBase): Promise<void> {
    const server = await client.query<{ server: string }>(IDENTITY).then(({ rows }) => rows[0]!.server, notTold);
    let meta = await metaOf(client);
    if (this.doubtful(meta, server)) {
      await this.renew(client, server);
      meta = await metaOf(client);
    }
    this.note(meta);
  }

  /** Reads the number of claims some moments after one was made. */
  claimed(pool: Pool): void {
    this.raising ??= setTimeout(() => {
      this.raising = null;
      pool.connect().then(async (client) => {
        const meta = await metaOf(client).catch(() => null);
        client.release(meta === null);
        if (meta) this.note(meta);
      }).catch(() => undefined);
    }, LAG_MS).unref();
  }

  close(): void {
    if (this.raising) clearTimeout(this.raising);
    closeSync(this.fd);
  }

  private doubtful({ origin, claims, server: known }: Meta, server: string): boolean {
    return known !== server || (this.seen !== null && this.seen.origin === origin && claims < this.seen.claims);
  }

  /** Once for all processes that notice: whoever comes second finds the ledger as it should be. */
  private async renew(client: ClientBase, server: string): Promise<void> {
    await client.query('BEGIN');
    try {
      const { rows: [meta] } = await client.query<Meta>('SELECT origin, claims, server FROM ledger_meta FOR UPDATE');
      // A ledger that has never been seen on a server is new.
      if (meta!.server === null) await client.query('UPDATE ledger_meta SET server = $1', [server]);
      else if (this.doubtful(meta!, server)) {
        this.changes += 1;
        const claims = this.seen?.origin === meta!.origin ? this.seen.claims : 0;
        await client.query('UPDATE ledger_meta SET incarnation = $1, server = $2, claims = greatest(claims, $3)', [randomBytes(16).toString('hex'), server, claims]);
      }
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  private read(): { origin: string; claims: number } | null {
    const bytes = Buffer.alloc(128);
    const [origin, claims] = bytes.toString('utf8', 0, readSync(this.fd, bytes, 0, bytes.length, 0)).trim().split(' ');
    return origin && /^\d+$/.test(claims ?? '') ? { origin, claims: Number(claims) } : null;
  }

  /** Fixed width and one write, so that processes that write at once leave one whole mark. */
  private note({ origin, claims }: Meta): void {
    const before = this.read();
    this.seen = { origin, claims: this.seen?.origin === origin ? Math.max(this.seen.claims, claims) : claims };
    if (before?.origin === origin && before.claims >= claims) return;
    try {
      writeSync(this.fd, `${origin} ${String(claims).padStart(16, '0')}\n`, 0);
      fdatasyncSync(this.fd);
    } catch {
      // A mark that cannot be written lags; the next claim writes it again.
    }
  }
}

/** A hosted database may not say who it is: there the number of claims alone tells. */
function notTold(error: unknown): string {
  const code = (error as { code?: string } | null)?.code ?? '';
  if (['42501', '0A000', '42883', '55000'].includes(code)) return 'not told';
  throw error;
}

async function metaOf(client: ClientBase): Promise<Meta> {
  return (await client.query<Meta>('SELECT origin, claims, server FROM ledger_meta')).rows[0]!;
}
