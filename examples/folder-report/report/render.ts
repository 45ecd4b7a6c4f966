// The report as Markdown: every statement with its places, tables with the query that made them, contradictions side by side,
// open questions, and the checksums of the files cited. Pure; the same report gives the same bytes.
import type { QueryResult } from '../folder/sql';
import type { Evidence, ReportInput, Statement } from './schema';

/** Source text on one line; what would open an HTML tag is shown as it stands. */
const line = (text: string): string => text.replace(/\s+/g, ' ').trim().replace(/</g, '&lt;');
const cell = (value: unknown): string => line(String(value ?? '')).replace(/\|/g, '\\|');

const place = ({ file, first, last }: Evidence): string => (first === last ? `${file}:${first}` : `${file}:${first}-${last}`);

function statementLine({ text, evidence }: Statement): string {
  const quotes = evidence.filter(({ quote }) => line(quote) !== line(text)).map((item) => `  > ${line(item.quote)} — ${place(item)}`);
  return [`- ${line(text)} [${evidence.map(place).join('; ')}]`, ...quotes].join('\n');
}

function tableLines(number: number, title: string, { columns, rows, more, tables }: QueryResult, sql: string): string {
  const head = `| ${columns.map(cell).join(' | ')} |\n|${columns.map(() => ' --- |').join('')}`;
  const body = rows.map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
  const sources = tables.map(({ file, rows: n }) => `${file} (${n} rows)`).join(', ') || 'no file';
  return `### Table ${number}: ${line(title)}\n\n${head}\n${body}${more ? '\n\n(more rows are left out)' : ''}\n\nComputed from ${sources} by \`${line(sql).replace(/`/g, "'")}\``;
}

const ENCODED: Record<string, string> = { 'windows-1252': '; not UTF-8, read as Windows-1252 (Latin 1)', 'damaged-utf-8': '; UTF-8 with damaged bytes, which are not quoted' };

/** Files cited, by name, then those that were read and gave nothing. */
function sourceLines(cited: ReadonlyMap<string, string>, encodings: ReadonlyMap<string, string>, notQuoted: string[]): string[] {
  const sources = [...cited].sort(([a], [b]) => (a < b ? -1 : 1)).map(([file, sha256]) => `- ${line(file)} (sha256 ${sha256}${ENCODED[encodings.get(file) ?? ''] ?? ''})`);
  const others = notQuoted.filter((file) => !cited.has(file));
  return others.length === 0 ? sources : [...sources, '', `Read, and nothing of it quoted: ${others.map(line).join(', ')}`];
}

/** What the tool itself found beside the report: rows of its tables in order, what of the folder was not read, encodings that are not UTF-8 by file. */
export interface Facts { results: QueryResult[]; notRead: string[]; encodings: ReadonlyMap<string, string> }

/** Markdown of a verified report. */
export function renderReport(report: ReportInput, version: number, { results, notRead, encodings }: Facts): string {
  const all = [...report.sections.flatMap(({ statements }) => statements), ...report.contradictions.flatMap(({ claims }) => claims)];
  const files = new Map(all.flatMap(({ evidence }) => evidence).map(({ file, sha256 }) => [file, sha256]));
  for (const { tables } of results) for (const { file, sha256 } of tables) files.set(file, sha256);
  const sections = report.sections.map(({ heading, statements }) => `## ${line(heading)}\n\n${statements.map(statementLine).join('\n') || 'Nothing was found.'}`);
  const tables = results.map((result, at) => tableLines(at + 1, report.tables?.[at]?.title ?? '', result, report.tables?.[at]?.sql ?? ''));
  const contradictions = report.contradictions.map(({ about, claims, table }) => `- ${line(about)}${table ? ` (see table ${table})` : ''}\n${claims.map((claim) => `  ${statementLine(claim).replace(/\n/g, '\n  ')}`).join('\n')}`);
  const parts = [
    `# ${line(report.title)}`,
    `Question: ${line(report.question)}\n\nVersion ${version}${report.author ? `, written by ${line(report.author)}` : ''}`,
    ...sections,
    ...(tables.length ? [`## Tables\n\n${tables.join('\n\n')}`] : []),
    `## Contradictions\n\n${contradictions.join('\n') || 'None was found.'}`,
    `## Open questions\n\n${report.openQuestions.map((question) => `- ${line(question)}`).join('\n') || 'None.'}`,
    `## Not read\n\n${notRead.map((reason) => `- ${line(reason)}`).join('\n') || 'Nothing: every file of the folder was within reach of the search.'}`,
    `## Sources\n\n${sourceLines(files, encodings, report.notQuoted ?? []).join('\n') || 'None.'}`,
  ];
  return `${parts.join('\n\n')}\n`;
}
