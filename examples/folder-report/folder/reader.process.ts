// Child process of the readers: takes one request on stdin, answers one JSON line on stdout and ends. What a question or a
// file makes it do (index megabytes, join without end) blocks nobody: the parent kills it, and it ends by itself when the parent is gone. It gets no environment, opens
// files only through folder.ts and writes none.
import { once } from 'node:events';
import { Refusal } from './refusal';
import { Worker } from 'node:worker_threads';
import { parseTable, tableName } from './csv';
import { listFiles, readWithin } from './folder';
import { databaseOf, query, type NamedTable } from './sql';
import { searchIndex, termsOf } from './search-index';
import { notReadShort, survey } from './survey';
import { isTable, Lines, mediaTypeOf, sha256, textOf } from './text';
import type { ReaderRequest } from './reader';

const CAPS = { tables: 30, bytes: 64 * 1024 * 1024 } as const;

/** Every CSV of the folder as a table, in the order of the listing. */
async function tablesOf(root: string): Promise<NamedTable[]> {
  const tables: NamedTable[] = [];
  const taken = new Set<string>();
  let bytes = 0;
  for (const { file } of (await listFiles(root)).files.filter((listed) => /\.(csv|tsv)$/i.test(listed.file))) {
    const content = await readWithin(root, file).catch(() => undefined);
    if (!content || !isTable(mediaTypeOf(file, content))) continue;
    bytes += content.length;
    if (tables.length >= CAPS.tables || bytes > CAPS.bytes) break;
    tables.push({ name: tableName(file, taken), file, sha256: sha256(content), table: parseTable(textOf(content)) });
  }
  return tables;
}

async function sql(root: string, statements: string[]): Promise<unknown> {
  const tables = await tablesOf(root);
  const db = databaseOf(tables);
  return statements.map((statement) => query(db, tables, statement));
}

async function search(root: string, text: string, limit: number): Promise<unknown> {
  const index = searchIndex();
  const terms = termsOf(text);
  let searched = 0;
  const notRead = await survey(root, (seen) => {
    if (!('type' in seen) || seen.beyondSearch) return;
    searched++;
    index.add(seen.file, seen.type, new Lines(seen.content));
  });
  const hits = terms.length ? index.search(terms, limit) : [];
  const leftOut = notRead.binary.length + notRead.tooLarge.length + notRead.unreadable.length + notRead.beyondSearch.length;
  const short = notReadShort(notRead);
  return { summary: `${hits.length} places in ${searched} files searched${short ? `; ${short}` : ''}`, terms, hits, searched, leftOut };
}

async function answer(request: ReaderRequest): Promise<unknown> {
  switch (request.op) {
    case 'sql': return sql(request.root, request.statements);
    case 'search': return search(request.root, request.text, request.limit);
    case 'tables': return (await tablesOf(request.root)).map(({ name, file, table }) => ({ name, file, rows: table.rows.length + table.cut, columns: table.columns }));
  }
}

/** SQLite holds the main thread while it works: a second thread ends the process when its time is over or its parent is gone. */
const WATCH = `const { parent, until } = require('node:worker_threads').workerData;
setInterval(() => { if (process.ppid !== parent || Date.now() > until) process.kill(process.pid, 'SIGKILL'); }, 200);`;

/**
 * The parent says who it is: one that is gone before this thread looks would be missed otherwise. Resolves once the thread
 * runs, which it never would if SQLite held this one first.
 */
async function watch(timeMs: number, parent: number): Promise<void> {
  const thread = new Worker(WATCH, { eval: true, execArgv: [], workerData: { parent, until: Date.now() + timeMs } });
  await once(thread, 'online');
  thread.unref();
}

async function main(): Promise<void> {
  await watch(Number(process.argv[2]) || 30_000, Number(process.argv[3]) || process.ppid);
  const parts: Buffer[] = [];
  for await (const part of process.stdin) parts.push(part as Buffer);
  try {
    process.stdout.write(JSON.stringify({ value: await answer(JSON.parse(Buffer.concat(parts).toString('utf8')) as ReaderRequest) }));
  } catch (error) {
    const { failureClass, code, message } = error instanceof Refusal ? error : new Refusal('unknown', 'reader', error instanceof Error ? error.message : String(error));
    process.stdout.write(JSON.stringify({ error: { failureClass, code, message } }));
  }
}

void main();
