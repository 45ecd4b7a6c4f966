// One SQLite connection with cached statements: WAL, synchronous FULL, busy time-out 0 (waiting is done outside SQLite,
// so that the thread goes on answering reads). Lives in the store thread only: every call blocks.
// Binds nothing but strings, numbers and null: the driver aborts the process on a boolean.
import Database from 'libsql';
import type { Answer, Bound, Step, Steps } from '../sql/steps';

const NOW = `CAST(round(unixepoch('subsec') * 1000) AS INTEGER)`;
const NOTHING: Answer = { rows: [], changes: 0 };

type Statement = ReturnType<InstanceType<typeof Database>['prepare']>;

export class Connection {
  private readonly db: InstanceType<typeof Database>;
  private readonly statements = new Map<string, Statement>();

  constructor(readonly file: string) {
    this.db = new Database(file, { timeout: 0 });
  }

  /** All rows of a query. */
  all<Row>(sql: string, ...values: Bound[]): Row[] {
    return this.prepared(sql).all(checked(sql, values)) as Row[];
  }

  /** The first row of a query, or null. */
  one<Row>(sql: string, ...values: Bound[]): Row | null {
    return this.all<Row>(sql, ...values)[0] ?? null;
  }

  /** Runs a statement and answers how many rows it changed. */
  run(sql: string, ...values: Bound[]): number {
    return this.prepared(sql).run(checked(sql, values)).changes;
  }

  /** Runs an operation to its end. Its locks are the write lock that the transaction has already. */
  perform<T>(steps: Steps<T>): T {
    for (let next = steps.next(); ; next = steps.next(this.answer(next.value))) {
      if (next.done) return next.value;
    }
  }

  exec(sql: string): void {
    this.db.exec(sql);
  }

  get inTransaction(): boolean {
    return this.db.inTransaction;
  }

  /** Undoes what is open; SQLite itself may have done so already after an I/O error or on a full disk. */
  rollBack(): void {
    if (this.db.inTransaction) this.db.exec('ROLLBACK');
  }

  close(): void {
    this.statements.clear();
    this.db.close();
  }

  private answer(step: Step): Answer {
    if ('lock' in step) return NOTHING;
    const statement = this.prepared(step.sql);
    if (statement.reader) return { rows: statement.all(step.values), changes: 0 };
    return { rows: [], changes: statement.run(step.values).changes };
  }

  private prepared(sql: string): Statement {
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql.replaceAll('{now}', NOW));
      this.statements.set(sql, statement);
    }
    return statement;
  }
}

function checked(sql: string, values: Bound[]): Bound[] {
  for (const value of values) {
    if (value !== null && typeof value !== 'string' && !(typeof value === 'number' && Number.isFinite(value))) {
      throw new TypeError(`A value of type ${typeof value} cannot be bound to: ${sql}`);
    }
  }
  return values;
}
