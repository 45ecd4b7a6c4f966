// The high-water mark of claims, in a small file beside the database, so that a ledger put back from an older copy is noticed.
// It may lag behind the database by the last few claims, never lead it: written after a commit, flushed to disk once a second.
// A ledger behind its mark, or one without a mark beside a journal with events, gets a new incarnation: from then on "no claim"
// proves nothing about calls of the old one.
import { closeSync, constants, fdatasync, fchmodSync, openSync, readSync, writeSync } from 'node:fs';
import type { Connection } from './connection';
import { renewIncarnation } from '../sql/ledger-rows';

interface Mark { incarnation: string; claims: number }

export class LedgerMark {
  private readonly fd: number;
  private flush: NodeJS.Timeout | null = null;

  constructor(file: string) {
    this.fd = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
    fchmodSync(this.fd, 0o600);
  }

  /** Compares database and mark once at open. Runs in a transaction of its own; SQLITE_BUSY is the caller's to repeat. */
  check(db: Connection): void {
    db.exec('BEGIN IMMEDIATE');
    try {
      const mark = this.read();
      const meta = metaOf(db);
      const doubtful = mark === null ? db.one('SELECT 1 AS yes FROM event LIMIT 1') !== null : mark.incarnation !== meta.incarnation || meta.claims < mark.claims;
      if (doubtful) db.perform(renewIncarnation());
      db.exec('COMMIT');
    } catch (error) {
      db.rollBack();
      throw error;
    }
    this.write(metaOf(db), true);
  }

  /** Raises the mark to the database's counter; called after a commit that held claims. A mark that cannot be written lags. */
  raise(db: Connection): void {
    try {
      this.write(metaOf(db), false);
    } catch {
      // The claims are committed and answered; the next one writes the mark again.
    }
  }

  close(): void {
    if (this.flush !== null) clearTimeout(this.flush);
    closeSync(this.fd);
  }

  private read(): Mark | null {
    const bytes = Buffer.alloc(128);
    const text = bytes.toString('utf8', 0, readSync(this.fd, bytes, 0, bytes.length, 0));
    const [incarnation, claims] = text.trim().split(' ');
    return incarnation !== undefined && /^\d+$/.test(claims ?? '') ? { incarnation, claims: Number(claims) } : null;
  }

  /** Fixed width and one write, so that processes that write at once leave one whole mark. */
  private write(meta: Mark, always: boolean): void {
    const present = this.read();
    if (!always && present !== null && present.incarnation === meta.incarnation && present.claims >= meta.claims) return;
    writeSync(this.fd, `${meta.incarnation} ${String(meta.claims).padStart(16, '0')}\n`, 0);
    this.flush ??= setTimeout(() => {
      this.flush = null;
      fdatasync(this.fd, () => undefined);
    }, 1_000).unref();
  }
}

function metaOf(db: Connection): Mark {
  return db.one<Mark>('SELECT incarnation, claims FROM ledger_meta')!;
}
