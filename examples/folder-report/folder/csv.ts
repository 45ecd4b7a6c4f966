// Tables from CSV files (RFC 4180, with the delimiter found from the header): names and types of columns, rows as values.
// A column is numeric or a date only if every value in it is; anything else stays the text that stands in the file.
// Pure; caps on rows and columns are part of the shape.
import path from 'node:path';

export const TABLE_CAPS = { rows: 200_000, columns: 100 } as const;

export type Cell = string | number | null;
export interface Column { name: string; type: 'number' | 'date' | 'text'; /** Distinct values, counted up to 50. */ distinct: number }
export interface Table { columns: Column[]; rows: Cell[][]; /** Rows beyond the cap. */ cut: number }

/** Parses a CSV text with a header line. A text without one is a table without columns. */
export function parseTable(text: string): Table {
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  const records = recordsOf(body, delimiterOf(body));
  const header = (records[0] ?? []).slice(0, TABLE_CAPS.columns);
  const kept = records.slice(1, TABLE_CAPS.rows + 1);
  const names = uniqueNames(header);
  const columns = names.map((name, at) => columnOf(name, kept.map((record) => record[at] ?? '')));
  const rows = kept.map((record) => columns.map(({ type }, at) => cellOf(record[at] ?? '', type)));
  return { columns, rows, cut: Math.max(0, records.length - 1 - kept.length) };
}

function delimiterOf(text: string): string {
  const header = text.slice(0, Math.max(0, text.search(/[\r\n]|$/)));
  const counted = [',', ';', '\t', '|'].map((mark) => ({ mark, count: header.split(mark).length }));
  return counted.reduce((best, next) => (next.count > best.count ? next : best)).mark;
}

function recordsOf(text: string, delimiter: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  let at = 0;
  while (at < text.length) {
    const field = text[at] === '"' ? quotedField(text, at, delimiter) : plainField(text, at, delimiter);
    record.push(field.value);
    at = field.end;
    if (text[at] === delimiter) {
      at++;
      if (at < text.length) continue;
      record.push('');
    }
    if (text[at] === '\r') at++;
    if (text[at] === '\n') at++;
    if (record.length > 1 || record[0] !== '') records.push(record);
    record = [];
  }
  return records;
}

function plainField(text: string, from: number, delimiter: string): { value: string; end: number } {
  let end = from;
  while (end < text.length && text[end] !== delimiter && text[end] !== '\n' && text[end] !== '\r') end++;
  return { value: text.slice(from, end), end };
}

function quotedField(text: string, from: number, delimiter: string): { value: string; end: number } {
  let value = '';
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return { value: value + text.slice(at), end: text.length };
    value += text.slice(at, quote);
    if (text[quote + 1] !== '"') {
      return { value, end: plainField(text, quote + 1, delimiter).end };
    }
    value += '"';
    at = quote + 2;
  }
}

function uniqueNames(header: string[]): string[] {
  const taken = new Set<string>();
  return header.map((raw, at) => {
    const base = raw.trim().replace(/["\0]/g, '').slice(0, 64) || `column_${at + 1}`;
    let name = base;
    for (let n = 2; taken.has(name.toLowerCase()); n++) name = `${base}_${n}`;
    taken.add(name.toLowerCase());
    return name;
  });
}

const NUMBER = /^[-+]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?$/;
const DATE = /^\d{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ].*)?)?$/;

function columnOf(name: string, values: string[]): Column {
  const filled = values.map((value) => value.trim()).filter((value) => value !== '');
  const distinct = new Set<string>();
  for (const value of filled) if (distinct.size < 50) distinct.add(value);
  const all = (pattern: RegExp): boolean => filled.length > 0 && filled.every((value) => pattern.test(value));
  return { name, type: all(NUMBER) && !filled.every((value) => /^0\d+$/.test(value)) ? 'number' : all(DATE) ? 'date' : 'text', distinct: distinct.size };
}

function cellOf(raw: string, type: Column['type']): Cell {
  const value = raw.trim();
  if (value === '') return null;
  return type === 'number' ? Number(value.replace(/,/g, '')) : type === 'date' ? value : raw;
}

/** A table's name from its file: `2025/Refunds Q3.csv` -> `refunds_q3`; `taken` keeps names apart. */
export function tableName(file: string, taken: Set<string>): string {
  const base = path.basename(file, path.extname(file)).toLowerCase().replace(/[^a-z0-9]+/g, '_').replace(/^_+|_+$/g, '').replace(/^(?=\d|sqlite_)/, 't_') || 'table_1';
  let name = base;
  for (let n = 2; taken.has(name); n++) name = `${base}_${n}`;
  taken.add(name);
  return name;
}
