// Tool `write_report`: verifies every quote, runs every table's query again, and stores the report as Markdown with its
// evidence as JSON, both as artifacts and as files of the run under the service `reports`. Reversible: `undo` takes the
// files back (artifacts stay, as the record of what was written). A receipt by key makes a repeated call answer the same.
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineTool, ToolError, type ArtifactRef, type Json, type ToolCall } from 'longhaul';
import { folderOf } from '../folder/folder';
import { runReader } from '../folder/reader';
import type { QueryResult } from '../folder/sql';
import { notReadLines, notReadShort, survey } from '../folder/survey';
import { renderReport } from '../report/render';
import { reportInput, type ReportInput } from '../report/schema';
import { statementsOf, verifyEvidence } from '../report/verify';
import { withToolErrors, type FolderOptions } from './reader-tool';

interface Written { title: string; version: number; sha256: string; report: ArtifactRef; evidence: ArtifactRef; statements: number; path: string; summary: string }

/** Folder of one run's reports: under the service `reports`, which is a file: URL. */
function reportsFolder(call: ToolCall): string {
  const url = call.service('reports');
  if (!url.startsWith('file:')) throw new ToolError('permission', 'reports', 'The service "reports" must be a file: URL of a folder.');
  return path.join(fileURLToPath(url), call.runId);
}

const receiptName = (key: string): string => `.${key.replace(/[^A-Za-z0-9-]/g, '-')}.json`;

async function receiptOf(folder: string, key: string): Promise<Written | undefined> {
  const text = await readFile(path.join(folder, receiptName(key)), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text) as Written;
}

/** Writes a file whole or not at all. */
async function keepFile(file: string, bytes: string): Promise<void> {
  const draft = `${file}.${process.pid}.tmp`;
  const handle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}

async function versionAfter(revises: ReportInput['revises'], call: ToolCall): Promise<number> {
  if (!revises) return 1;
  const before = JSON.parse(Buffer.from(await call.artifacts.read(revises)).toString('utf8')) as { version?: unknown };
  if (!Number.isInteger(before.version)) throw new ToolError('argument', 'revises', 'The artifact that `revises` names is not the evidence of a report; give the `evidence` that write_report answered.');
  return (before.version as number) + 1;
}

async function write(root: string, input: ReportInput, call: ToolCall): Promise<Written> {
  const folder = reportsFolder(call);
  const done = await receiptOf(folder, call.key);
  if (done) return done;
  const encodings = await verifyEvidence(root, input, call.signal);
  const tables = input.tables ?? [];
  const results = tables.length ? await runReader<QueryResult[]>({ op: 'sql', root, statements: tables.map(({ sql }) => sql) }, call.signal) : [];
  const version = await versionAfter(input.revises, call);
  const unread = await survey(root, () => undefined, call.signal);
  const count = statementsOf(input).length;
  const [short, notRead] = [notReadShort(unread), notReadLines(unread)];
  const summary = `${input.title.slice(0, 120)}, version ${version}: ${count} statements, ${input.contradictions.length} contradictions, ${input.openQuestions.length} open questions${short ? `; ${short}` : ''}`.slice(0, 290);
  const markdown = renderReport(input, version, { results, notRead, encodings });
  const report = await call.artifacts.write(markdown, { mediaType: 'text/markdown; charset=utf-8', summary, name: 'report.md' });
  const proof = `${JSON.stringify({ v: 1, version, report: report.sha256, ...input, notRead, encodings: Object.fromEntries(encodings), tables: tables.map((table, at) => ({ ...table, ...results[at] })) }, null, 1)}\n`;
  const evidence = await call.artifacts.write(proof, { mediaType: 'application/json', summary: `Evidence of ${summary}`.slice(0, 290), name: 'evidence.json' });
  const file = path.join(folder, `report-v${version}.md`);
  const written: Written = { title: input.title, version, sha256: report.sha256, report, evidence, statements: count, path: file, summary };
  await mkdir(folder, { recursive: true });
  await keepFile(file, markdown);
  await keepFile(path.join(folder, `evidence-v${version}.json`), proof);
  await keepFile(path.join(folder, receiptName(call.key)), JSON.stringify(written));
  return written;
}

/** The tool `write_report`. */
export const writeReport = (options: FolderOptions) => defineTool<ReportInput, Written>({
  name: 'write_report',
  version: '1.0.0',
  description: 'Writes the report. Each statement needs evidence: file, first and last line, a verbatim quote from these lines and the file\'s sha256, all as read_chunk answered them; one wrong quote refuses the whole report. Answers `report` (for publish) and `evidence`.',
  input: reportInput,
  effect: 'reversible',
  honoursKey: true,
  timeoutMs: 60_000,
  execute: (input, call) => withToolErrors(async () => write(await folderOf(call.input, options.allowedRoots), input, call)),
  lookUp: async ({ key }, call) => {
    const done = await receiptOf(reportsFolder(call), key);
    return done ? { found: true, output: done as unknown as Json, reference: done.path } : { found: false };
  },
  undo: async ({ output, key }, call) => {
    const { version } = output as unknown as Written;
    const folder = reportsFolder(call);
    for (const name of [`report-v${version}.md`, `evidence-v${version}.json`, receiptName(key)]) await rm(path.join(folder, name), { force: true });
    return { withdrawn: `report-v${version}.md` };
  },
});
