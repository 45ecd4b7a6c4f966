// Read-only SQL over tables held in memory. The statement is judged by the bytecode that SQLite itself makes of it
// (EXPLAIN): only functions of the list below, no virtual table, no write. The build of SQLite in use carries `readfile`
// and `writefile`, so a look at the words alone would not do. Runs in a child process only; time is capped by killing it.
import Database from 'libsql';
import { Refusal } from './refusal';
import type { Cell, Table } from './csv';

export interface NamedTable { name: string; file: string; sha256: string; table: Table }

export interface QueryResult {
  columns: string[];
  rows: Cell[][];
  /** More rows followed, or values were cut. */
  more: boolean;
  /** Tables that the statement reads. */
  tables: { name: string; file: string; sha256: string; rows: number }[];
}

const CAPS = { sqlBytes: 8_192, rows: 50, bytes: 8_192, heapBytes: 256 * 1024 * 1024 } as const;

const FUNCTIONS = new Set((
  'abs avg ceil ceiling char coalesce concat concat_ws count cume_dist date datetime dense_rank first_value floor format glob group_concat '
  + 'hex ifnull iif instr julianday lag last_value lead length like ln log log10 log2 lower ltrim max min mod nth_value ntile nullif '
  + 'percent_rank pow power printf rank replace round row_number rtrim sign sqrt strftime string_agg substr substring sum time total '
  + 'trim trunc typeof unicode unixepoch upper').split(' '));

/** Opcodes that begin with V, of virtual tables, except the one of bound parameters. */
const VIRTUAL = /^V(?!ariable$)/;
const WRITES = new Set(['OpenWrite', 'ReopenIdx', 'Destroy', 'Clear', 'ParseSchema', 'CreateBtree', 'SqlExec', 'JournalMode', 'Vacuum', 'Checkpoint', 'IncrVacuum', 'SetCookie', 'Program', 'AutoCommit', 'Savepoint']);

const quoted = (name: string): string => `"${name.replace(/"/g, '""')}"`;

/** An in-memory database with these tables, closed to writes. */
export function databaseOf(tables: NamedTable[]): Database.Database {
  const db = new Database(':memory:');
  db.exec(`PRAGMA hard_heap_limit=${CAPS.heapBytes}`);
  for (const { name, table: { columns, rows } } of tables) {
    if (columns.length === 0) continue;
    const declared = columns.map((column) => `${quoted(column.name)} ${column.type === 'number' ? 'REAL' : 'TEXT'}`);
    db.exec(`CREATE TABLE ${quoted(name)} (${declared.join(', ')})`);
    const insert = db.prepare(`INSERT INTO ${quoted(name)} VALUES (${columns.map(() => '?').join(', ')})`);
    db.transaction(() => rows.forEach((row) => insert.run(...row)))();
  }
  db.exec('PRAGMA trusted_schema=OFF; PRAGMA query_only=ON');
  return db;
}

/**
 * Runs one SELECT (or WITH ... SELECT) and answers at most 50 rows and 8 KiB.
 * @throws Refusal `argument` or `policy` with one sentence that says what is wrong with the statement.
 */
export function query(db: Database.Database, tables: NamedTable[], sql: string): QueryResult {
  const statement = singleSelect(sql);
  const used = judge(db, statement);
  try {
    const prepared = db.prepare(statement).raw(true);
    const columns = prepared.columns().map((column) => column.name);
    const { rows, more } = takeRows(prepared.iterate() as Iterable<unknown[]>);
    return { columns, rows, more, tables: tables.filter(({ name }) => used.has(name)).map(({ name, file, sha256, table }) => ({ name, file, sha256, rows: table.rows.length })) };
  } catch (error) {
    throw sqlError(error);
  }
}

/** The statement alone: one, a query, without comments. */
function singleSelect(sql: string): string {
  const refuse = (why: string): never => { throw new Refusal('argument', 'sql', `${why} Write one SELECT statement over the tables that the inventory names.`); };
  if (Buffer.byteLength(sql) > CAPS.sqlBytes || sql.includes('\0')) refuse('The statement is too long or holds a NUL.');
  const bare = sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]/g, (literal) => 'x'.repeat(literal.length));
  if (/--|\/\*/.test(bare)) refuse('Leave comments out.');
  const end = bare.trimEnd().replace(/;$/, '').length;
  if (bare.slice(0, end).includes(';')) refuse('There is more than one statement.');
  if (!/^\s*(select|with|values)\b/i.test(bare)) refuse('Only queries are allowed.');
  return sql.slice(0, end);
}

interface Opcode { opcode: string; p1: number; p2: number; p3: number; p4: string | null }

/** Refuses what is not a plain query over the tables; answers the names of the tables that are read. */
function judge(db: Database.Database, statement: string): Set<string> {
  let program: Opcode[];
  try {
    program = db.prepare(`EXPLAIN ${statement}`).all() as Opcode[];
  } catch (error) {
    throw sqlError(error);
  }
  for (const { opcode, p4 } of program) {
    if (VIRTUAL.test(opcode) || WRITES.has(opcode)) throw new Refusal('policy', 'sql', 'The statement does more than read the tables; write one plain SELECT.');
    const called = /^(?:Function|PureFunc|Agg\w+)$/.test(opcode) ? /^([^()]+)\(/.exec(p4 ?? '')?.[1] : undefined;
    if (called !== undefined && !FUNCTIONS.has(called.toLowerCase())) throw new Refusal('policy', 'sql', `The function ${called.slice(0, 40)} is not available in queries here.`);
  }
  const roots = new Map((db.prepare('SELECT rootpage, name FROM sqlite_schema').raw(true).all() as [number, string][]));
  return new Set(program.filter(({ opcode }) => opcode === 'OpenRead').map(({ p2 }) => roots.get(p2) ?? 'sqlite_schema'));
}

function takeRows(source: Iterable<unknown[]>): { rows: Cell[][]; more: boolean } {
  const rows: Cell[][] = [];
  let bytes = 0;
  let more = false;
  for (const raw of source) {
    const row = raw.map((value): Cell => {
      if (value === null || typeof value === 'number') return Number.isFinite(value ?? 0) ? value as number | null : String(value);
      const text = Buffer.isBuffer(value) ? `0x${value.subarray(0, 32).toString('hex')}` : String(value);
      more ||= text.length > 500;
      return text.slice(0, 500);
    });
    bytes += Buffer.byteLength(JSON.stringify(row));
    if (rows.length >= CAPS.rows || bytes > CAPS.bytes) return { rows, more: true };
    rows.push(row);
  }
  return { rows, more };
}

function sqlError(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new Refusal('argument', 'sql', `SQLite refused the statement: ${message.slice(0, 300)}.`);
}
