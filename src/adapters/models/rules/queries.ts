// Queries that a question suggests over the tables of an inventory: sums and counts by quarter or month, and by the column that
// may explain them. Every query names only tables and columns that the inventory lists. Pure.
import { isData, type Data } from './conversation';
import type { Question } from './question';
import { stem, wordsOf } from './words';

export interface Column { name: string; type: string; distinct: number }
export interface TableInfo { name: string; file: string; rows: number; columns: Column[] }

const MOST_TABLES = 2;
/** Columns whose numbers are names or dates, not measures. */
const NOT_A_MEASURE = /(^|[_\s.-])(id|no|nr|num|number|code|zip|year|month|week|day|lat|lon|phone|index)$/i;
/** Measures of which a mean says more than a sum. */
const MEAN = /hours|minutes|seconds|days|rate|percent|pct|ratio|score|price|age|temperature|average|avg|mean/i;
const EXPLAINS = /reason|cause|topic|categor|type|kind|status|class/i;

const id = (name: string): string => `"${name.replace(/"/g, '""')}"`;

/** Tables of an inventory's result. */
export function tablesOf(inventory: Data | undefined): TableInfo[] {
  const tables = Array.isArray(inventory?.['tables']) ? inventory['tables'] : [];
  return tables.filter((table): table is Data => isData(table) && typeof table['name'] === 'string' && Array.isArray(table['columns'])).map((table) => table as unknown as TableInfo);
}

/** At most two queries for each of the two tables that share most words with the question. */
export function queriesFor(question: Question, tables: TableInfo[]): string[] {
  const scored = tables.map((table, at) => ({ table, at, score: scoreOf(question, table) })).filter(({ score }) => score > 0);
  return scored.sort((a, b) => b.score - a.score || a.at - b.at).slice(0, MOST_TABLES).flatMap(({ table }) => queriesOf(question, table));
}

function scoreOf({ stems }: Question, { file, name, columns, rows }: TableInfo): number {
  if (rows === 0 || columns.length === 0) return 0;
  const inName = new Set([...wordsOf(file), ...name.split('_')].map(stem));
  const inColumns = new Set(columns.flatMap((column) => wordsOf(column.name.replace(/_/g, ' '))).map(stem));
  return [...stems].reduce((sum, word) => sum + (inName.has(word) ? 3 : 0) + (inColumns.has(word) ? 1 : 0), 0);
}

function queriesOf({ text }: Question, { name, columns }: TableInfo): string[] {
  const date = columns.find(({ type }) => type === 'date');
  const measures = columns.filter((column) => column.type === 'number' && column.distinct > 1 && !NOT_A_MEASURE.test(column.name)).slice(0, 3);
  const groups = columns.filter(({ type, distinct }) => type === 'text' && distinct >= 2 && distinct <= 12);
  const group = groups.find((column) => EXPLAINS.test(column.name)) ?? groups[0];
  const measured = ['COUNT(*) AS "rows"', ...measures.map((column) => (MEAN.test(column.name) ? `ROUND(AVG(${id(column.name)}), 2) AS ${id(`mean ${column.name}`)}` : `ROUND(SUM(${id(column.name)}), 2) AS ${id(`sum ${column.name}`)}`))].join(', ');
  const from = `FROM ${id(name)}`;
  if (date === undefined) return [group === undefined ? `SELECT ${measured} ${from}` : `SELECT ${id(group.name)}, ${measured} ${from} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20`];
  const period = /\bQ[1-4]\b|quarter/i.test(text) ? quarterOf(id(date.name)) : `SUBSTR(${id(date.name)}, 1, 7)`;
  const byPeriod = `SELECT ${period} AS "period", ${measured} ${from} GROUP BY 1 ORDER BY 1 LIMIT 40`;
  return group === undefined ? [byPeriod] : [byPeriod, `SELECT ${period} AS "period", ${id(group.name)}, ${measured} ${from} GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2 LIMIT 40`];
}

/** What a query of `queriesFor` shows, for a heading: the table and what its rows are grouped by. */
export function titleOf(sql: string, result: Data): string {
  const table = (/FROM "((?:[^"]|"")+)"/.exec(sql)?.[1] ?? 'table').replace(/""/g, '"');
  const columns = (result['columns'] as unknown[]).map(String);
  const by = columns.slice(0, columns.indexOf('rows')).map((column) => (column !== 'period' ? column : sql.includes("'-Q'") ? 'quarter' : 'month'));
  return by.length > 0 ? `${table} by ${by.join(' and ')}` : `${table} as a whole`;
}

const quarterOf = (column: string): string => `SUBSTR(${column}, 1, 4) || '-Q' || ((CAST(SUBSTR(${column}, 6, 2) AS INTEGER) + 2) / 3)`;
