// R10.8: `query_csv` reads the folder's tables and nothing else: no write, no other database, no file, no endless query.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseTable, tableName } from '../../examples/folder-report/folder/csv';
import { runReader } from '../../examples/folder-report/folder/reader';
import { databaseOf, query, type NamedTable } from '../../examples/folder-report/folder/sql';
import { queryCsv } from '../../examples/folder-report/tools/query-csv';
import { toolCall } from '../rig/tool-call';

const tables: NamedTable[] = [{ name: 'refunds', file: 'refunds.csv', sha256: 'f'.repeat(64), table: parseTable('month,amount,reason\n2025-07,10.5,late\n2025-08,20,"broken, twice"\n2025-08,,late\n') }];
const db = databaseOf(tables);
const ask = (sql: string) => query(db, tables, sql);
const refused = (sql: string): unknown => {
  try {
    return { answered: ask(sql) };
  } catch (error) {
    return error;
  }
};

/** Does a process run, other than as a body that nobody has collected yet? */
const runs = (pid: number): boolean => existsSync(`/proc/${pid}/stat`) && !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

test('one SELECT answers columns, rows and the files that it read', () => {
  expect(ask('SELECT reason, COUNT(*) AS n, ROUND(SUM(amount), 2) AS total FROM refunds GROUP BY 1 ORDER BY 1;')).toEqual({
    columns: ['reason', 'n', 'total'], rows: [['broken, twice', 1, 20], ['late', 2, 10.5]], more: false,
    tables: [{ name: 'refunds', file: 'refunds.csv', sha256: 'f'.repeat(64), rows: 3 }],
  });
  expect(ask('WITH m(x) AS (SELECT MAX(amount) FROM refunds) SELECT x, UPPER(\'a;b--c\') FROM m').rows).toEqual([[20, 'A;B--C']]);
  expect(ask('SELECT month, SUM(amount) OVER (ORDER BY month, reason ROWS UNBOUNDED PRECEDING) s FROM refunds').rows).toHaveLength(3);
  expect(ask('VALUES (1), (2)')).toMatchObject({ rows: [[1], [2]], tables: [] });
});

test.each([
  ["SELECT readfile('/etc/passwd')", 'policy'], ["SELECT \"readfile\"('/etc/passwd')", 'policy'], ["SELECT [readfile]('/etc/passwd')", 'policy'],
  ["SELECT * FROM refunds WHERE amount > (SELECT length(readfile('/etc/passwd')))", 'policy'],
  ["SELECT amount FROM refunds ORDER BY writefile('/tmp/longhaul-attack', reason)", 'policy'],
  ["SELECT count(*) FILTER (WHERE writefile('/tmp/longhaul-attack', 'x')) FROM refunds", 'policy'],
  ["SELECT * FROM fsdir('/')", 'policy'], ["SELECT * FROM fsdir WHERE path = '/'", 'policy'], ["SELECT * FROM 'fsdir' WHERE path = '/'", 'policy'],
  ["SELECT load_extension('/tmp/x.so')", 'policy'], ["SELECT * FROM pragma_database_list", 'policy'], ["SELECT * FROM json_each('[1]')", 'policy'],
  ["SELECT zeroblob(1000000000)", 'policy'], ["SELECT randomblob(1000000000)", 'policy'], ["SELECT fts3_tokenizer('simple')", 'policy'], ["SELECT regexp('(a+)+$', reason) FROM refunds", 'policy'],
  ['WITH x AS (SELECT 1) DELETE FROM refunds', 'policy'], ['WITH x AS (SELECT 1) INSERT INTO refunds SELECT 1, 2, 3 RETURNING *', 'policy'], ["WITH x AS (SELECT 1) UPDATE refunds SET amount = 0", 'policy'],
  ["ATTACH '/tmp/longhaul-attack' AS other", 'argument'], ['PRAGMA query_only = OFF', 'argument'], ["INSERT INTO refunds VALUES ('x', 1, 'y')", 'argument'], ['DELETE FROM refunds', 'argument'],
  ['DROP TABLE refunds', 'argument'], ["VACUUM INTO '/tmp/longhaul-attack'", 'argument'], ['EXPLAIN SELECT 1', 'argument'], ['BEGIN', 'argument'],
  ['SELECT 1; DROP TABLE refunds', 'argument'], ["SELECT 1;\nATTACH ':memory:' AS m", 'argument'], ['SELECT 1 /* ; */', 'argument'], ['SELECT 1 -- x', 'argument'], ['/* x */ DELETE FROM refunds', 'argument'],
  ['', 'argument'], ['SELECT', 'argument'], ['SELECT * FROM nothing', 'argument'], ['SELECT nofunction(1)', 'argument'], ['SELECT 1\0; DROP TABLE refunds', 'argument'], [`SELECT '${'x'.repeat(9_000)}'`, 'argument'],
])('R10.8 %j is refused', (sql, failureClass) => {
  expect(refused(sql)).toMatchObject({ name: 'Refusal', failureClass, message: expect.stringMatching(/\.$/) });
  expect(existsSync('/tmp/longhaul-attack')).toBe(false);
  expect(ask('SELECT COUNT(*) FROM refunds').rows).toEqual([[3]]);
});

test('rows and bytes are capped, and the cut is said', () => {
  const many = ask('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000) SELECT x FROM c');
  expect([many.rows.length, many.more]).toEqual([50, true]);
  const wide = ask("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 40) SELECT PRINTF('%0400d', x) FROM c");
  expect([JSON.stringify(wide.rows).length < 9 * 1024, wide.more]).toEqual([true, true]);
  expect(ask("SELECT PRINTF('%0900d', 1)")).toMatchObject({ more: true });
});

describe('in its own process', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'sql-'));
    writeFileSync(path.join(folder, 'Refunds Q3.csv'), 'month,amount\n2025-07,10.5\n2025-08,20\n');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const tool = queryCsv({});
  const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c';

  test('a query reads the folder of the run and changes no file', async () => {
    const before = readFileSync(path.join(folder, 'Refunds Q3.csv'), 'utf8');
    const result = await tool.execute({ sql: 'SELECT SUM(amount) AS s FROM refunds_q3' }, toolCall({ input: { folder } }));
    expect(result).toMatchObject({ columns: ['s'], rows: [[30.5]], tables: [{ name: 'refunds_q3', file: 'Refunds Q3.csv', rows: 2 }] });
    expect(readFileSync(path.join(folder, 'Refunds Q3.csv'), 'utf8')).toBe(before);
  });

  test('R10.8 an endless query is killed by time while the event loop goes on', async () => {
    let ticks = 0;
    const timer = setInterval(() => { ticks++; }, 20);
    await expect(runReader({ op: 'sql', root: folder, statements: [ENDLESS] }, new AbortController().signal, 2_000)).rejects.toMatchObject({ failureClass: 'argument', code: 'too-slow' });
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(50);
  });

  test('R10.8 a query whose worker was killed ends by itself', async () => {
    const reader = path.join(__dirname, '../../examples/folder-report/folder/reader.process.ts');
    const code = `const child = require('node:child_process').spawn(process.execPath, ['--import', 'jiti/register', ${JSON.stringify(reader)}, '60000', String(process.pid)], { stdio: ['pipe', 'ignore', 'ignore'] });
      child.stdin.end(${JSON.stringify(JSON.stringify({ op: 'sql', root: folder, statements: [ENDLESS] }))}); console.log(child.pid);`;
    const worker = spawn(process.execPath, ['-e', code], { cwd: path.dirname(reader), stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = Number(await new Promise<Buffer>((resolve) => { worker.stdout.once('data', resolve); }));
    await new Promise((resolve) => { setTimeout(resolve, 1_500); });
    expect(runs(pid)).toBe(true);
    worker.kill('SIGKILL');
    const from = Date.now();
    while (runs(pid) && Date.now() - from < 10_000) await new Promise((resolve) => { setTimeout(resolve, 50); });
    expect(Date.now() - from).toBeLessThan(3_000);
  });

  test('R7.1 a cancel kills a running query within a second', async () => {
    const cancel = new AbortController();
    const asked = tool.execute({ sql: ENDLESS }, toolCall({ input: { folder } }, { signal: cancel.signal }));
    await new Promise((resolve) => { setTimeout(resolve, 1_000); });
    const from = Date.now();
    cancel.abort();
    await expect(asked).rejects.toMatchObject({ failureClass: 'cancelled' });
    expect(Date.now() - from).toBeLessThan(1_000);
  });
});

test.each<[string, string, unknown[][], string[]]>([
  ['commas', 'a,b\n1,x\n', [[1, 'x']], ['number', 'text']],
  ['semicolons, CRLF and a byte order mark', '\ufeffa;b\r\n1;x\r\n2;y', [[1, 'x'], [2, 'y']], ['number', 'text']],
  ['quotes with delimiters, line ends and quotes in them', 'a,b\n"x, ""y""\nz",2\n', [['x, "y"\nz', 2]], ['text', 'number']],
  ['thousands separators', 'a\n"1,200.50"\n"-3"\n', [[1200.5], [-3]], ['number']],
  ['leading zeros, which are names', 'zip\n0123\n0456\n', [['0123'], ['0456']], ['text']],
  ['one value that is no number', 'a\n1\nn/a\n', [['1'], ['n/a']], ['text']],
  ['missing and surplus values', 'a,b\n1\n2,3,4\n', [[1, null], [2, 3]], ['number', 'number']],
  ['dates', 'd\n2025-01-31\n2025-02\n', [['2025-01-31'], ['2025-02']], ['date']],
  ['a quote that never ends', 'a,b\n"x,1\n', [['x,1\n', null]], ['text', 'text']],
])('a table is read from CSV with %s', (_, text, rows, types) => {
  const table = parseTable(text);
  expect([table.rows, table.columns.map(({ type }) => type)]).toEqual([rows, types]);
});

test('columns and tables get names that keep them apart', () => {
  expect(parseTable('a,A,,a\n').columns.map(({ name }) => name)).toEqual(['a', 'A_2', 'column_3', 'a_3']);
  const taken = new Set<string>();
  expect(['x/Sales 2025.csv', 'y/sales-2025.csv', '2025.csv', '…​.csv', 'sqlite_master.csv'].map((file) => tableName(file, taken))).toEqual(['sales_2025', 'sales_2025_2', 't_2025', 'table_1', 't_sqlite_master']);
});
