// Holds every piece of evidence against the folder as it is now: the file's checksum, and the quote byte for byte within the
// lines that it names. The first one that does not hold stops the report. Reads through folder.ts only.
import { readWithin } from '../folder/folder';
import { Refusal } from '../folder/refusal';
import { Lines, sha256 } from '../folder/text';
import type { Evidence, ReportInput, Statement } from './schema';

/** All statements of a report with where they stand, for messages. */
export function statementsOf(report: ReportInput): { place: string; statement: Statement }[] {
  return [
    ...report.sections.flatMap(({ heading, statements }) => statements.map((statement, at) => ({ place: `section "${heading}", statement ${at + 1}`, statement }))),
    ...report.contradictions.flatMap(({ about, claims }) => claims.map((statement, at) => ({ place: `contradiction "${about.slice(0, 80)}", claim ${at + 1}`, statement }))),
  ];
}

/**
 * Answers the files cited whose encoding is not UTF-8, with its name.
 * @throws Refusal `argument` that names the first evidence that does not hold.
 */
export async function verifyEvidence(root: string, report: ReportInput, signal: AbortSignal): Promise<Map<string, string>> {
  const files = new Map<string, { lines: Lines; sha256: string }>();
  for (const { place, statement } of statementsOf(report)) {
    for (const [at, evidence] of statement.evidence.entries()) {
      signal.throwIfAborted();
      const fault = await faultOf(root, evidence, files);
      if (fault) throw new Refusal('argument', 'evidence', `${place}, evidence ${at + 1} (${evidence.file}:${evidence.first}-${evidence.last}): ${fault}`.slice(0, 900));
    }
  }
  for (const { about, claims, table } of report.contradictions) {
    if (claims.length < 2 && table === undefined) throw new Refusal('argument', 'contradiction', `The contradiction "${about.slice(0, 80)}" has one side only; give two claims, or a claim and a table.`);
    if (table !== undefined && table > (report.tables?.length ?? 0)) throw new Refusal('argument', 'contradiction', `The contradiction "${about.slice(0, 80)}" names table ${table}, which the report does not have.`);
  }
  return new Map([...files].filter(([, { lines }]) => lines.encoding !== 'utf-8').map(([file, { lines }]) => [file, lines.encoding]));
}

async function faultOf(root: string, evidence: Evidence, files: Map<string, { lines: Lines; sha256: string }>): Promise<string | undefined> {
  let known = files.get(evidence.file);
  if (!known) {
    try {
      const content = await readWithin(root, evidence.file);
      known = { lines: new Lines(content), sha256: sha256(content) };
    } catch (error) {
      if (error instanceof Refusal) return error.message;
      throw error;
    }
    files.set(evidence.file, known);
  }
  if (known.sha256 !== evidence.sha256) return `the file is not the one that was read (its sha256 is now ${known.sha256}); read it again.`;
  if (evidence.last < evidence.first || evidence.last > known.lines.count) return `the file has ${known.lines.count} lines; name lines within them.`;
  if (!known.lines.holds(evidence.quote, evidence.first, evidence.last)) return 'the quote does not stand in these lines as written; copy it exactly from read_chunk.';
  return undefined;
}
