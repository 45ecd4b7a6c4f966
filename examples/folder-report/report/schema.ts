// The report as data: what `write_report` takes and what `evidence.json` holds. Shapes and caps only.
import { z } from 'zod';

export const SHA256 = /^[0-9a-f]{64}$/;

const sha256 = z.string().regex(SHA256, 'must be a sha256 in lower-case hex');
const line = z.number().int().min(1);

export const evidence = z.strictObject({
  file: z.string().min(1).max(1_024),
  first: line,
  last: line,
  quote: z.string().min(1).max(2_000).describe('A piece of these lines exactly as it stands there'),
  sha256: sha256.describe('Checksum of the file as read_chunk answered it'),
});

export const statement = z.strictObject({
  text: z.string().min(1).max(2_000),
  evidence: z.array(evidence).min(1).max(8),
});

const table = z.strictObject({
  title: z.string().min(1).max(200),
  sql: z.string().min(1).max(8_000).describe('A query as for query_csv; the tool runs it again and prints its rows'),
});

const contradiction = z.strictObject({
  about: z.string().min(1).max(500),
  claims: z.array(statement).min(1).max(6).describe('What the sources say, one statement each'),
  table: z.number().int().min(1).optional().describe('Number of the table, from 1, whose rows do not agree with the claims'),
});

/** Arguments of `write_report`. */
export const reportInput = z.strictObject({
  title: z.string().min(1).max(200),
  question: z.string().min(1).max(2_000),
  author: z.string().min(1).max(200).optional().describe('Who or what wrote it'),
  sections: z.array(z.strictObject({ heading: z.string().min(1).max(200), statements: z.array(statement).max(60) })).max(12),
  tables: z.array(table).max(8).optional(),
  contradictions: z.array(contradiction).max(20),
  openQuestions: z.array(z.string().min(1).max(500)).max(30),
  notQuoted: z.array(z.string().min(1).max(1_024)).max(40).optional().describe('Files that were read and of which nothing is quoted'),
  revises: z.strictObject({ sha256 }).optional().describe('The evidence artifact of the version that this one replaces'),
});

export type Evidence = z.infer<typeof evidence>;
export type Statement = z.infer<typeof statement>;
export type ReportInput = z.infer<typeof reportInput>;

/** A reference to a stored report as a tool answered it; more members than the checksum are let through and not used. */
export const reportRef = z.object({ sha256 }).describe('The `report` that write_report answered');
