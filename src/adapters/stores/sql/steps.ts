// What an operation on a store is made of: statements that it yields one by one, with the answers handed back in. The rules stand
// once, for every database; who runs them (SQLite at once, Postgres over the wire) is none of their business.
// SQL is the common part of both: `?` for values, `{now}` for the database's clock in ms, ON CONFLICT with its columns named, no
// empty IN (). Never binds anything but strings, numbers and null.

export type Bound = string | number | null;

/** `quiet`: its answer is not looked at, so that the next may be sent before it has come. What it throws ends the operation all the same. */
export interface Statement { sql: string; values: Bound[]; quiet?: true }
/** Taken before the first look by what reads, decides and writes: of two that hold one name, the second waits for the first's commit. */
export interface Lock { lock: 'run' | 'key'; name: string }

export type Step = Statement | Lock;
export interface Answer { rows: unknown[]; /** Rows that the statement changed. */ changes: number }
export type Steps<T> = Generator<Step, T, Answer>;

/** All rows of a query. */
export function* all<Row>(sql: string, ...values: Bound[]): Steps<Row[]> {
  return (yield { sql, values: checked(sql, values) }).rows as Row[];
}

/** The first row of a query, or null. */
export function* one<Row>(sql: string, ...values: Bound[]): Steps<Row | null> {
  return (yield* all<Row>(sql, ...values))[0] ?? null;
}

/** Runs a statement and answers how many rows it changed. */
export function* run(sql: string, ...values: Bound[]): Steps<number> {
  return (yield { sql, values: checked(sql, values) }).changes;
}

/** Runs a statement whose answer nobody needs. */
export function* put(sql: string, ...values: Bound[]): Steps<void> {
  yield { sql, values: checked(sql, values), quiet: true };
}

/** Keeps everybody else who locks this name away until the transaction ends. First the run, then the key. */
export function* lock(kind: Lock['lock'], name: string): Steps<void> {
  yield { lock: kind, name };
}

function checked(sql: string, values: Bound[]): Bound[] {
  for (const value of values) {
    if (value !== null && typeof value !== 'string' && !(typeof value === 'number' && Number.isFinite(value))) {
      throw new TypeError(`A value of type ${typeof value} cannot be bound to: ${sql}`);
    }
  }
  return values;
}
