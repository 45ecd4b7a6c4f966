// Tool `inventory`: what the folder holds, each file with media type, size, lines and checksum; for CSV files also the table
// that `query_csv` offers. The answer is cut to fit a model's input; `version` is a digest over all files, cut or not.
import { z } from 'zod';
import { runReader } from '../folder/reader';
import { notReadShort, survey, type NotRead } from '../folder/survey';
import { Lines, sha256 } from '../folder/text';
import { readerTool, type FolderOptions } from './reader-tool';

interface Entry { file: string; type: string; bytes: number; lines: number; sha256: string; /** Named where it is not UTF-8. */ encoding?: string }
interface TableEntry { name: string; file: string; rows: number; columns: { name: string; type: string; distinct: number }[] }

const MOST_BYTES = { files: 7_000, tables: 3_500 } as const;

/** Reads and measures every file; binary and oversized ones are only counted. */
async function measure(root: string, signal: AbortSignal): Promise<{ entries: Entry[]; notRead: NotRead; version: string }> {
  const entries: Entry[] = [];
  const marks: string[] = [];
  const notRead = await survey(root, (seen) => {
    const { file, bytes, content } = seen;
    marks.push(`${content ? sha256(content) : `size:${bytes}`}  ${file}`);
    if (!('type' in seen)) return;
    const { count, encoding } = new Lines(seen.content);
    entries.push({ file, type: seen.type, bytes: seen.content.length, lines: count, sha256: sha256(seen.content), ...(encoding === 'utf-8' ? {} : { encoding }) });
  }, signal);
  return { entries, notRead, version: sha256(marks.join('\n')) };
}

/** As many items as fit into so many bytes of JSON. */
function fitting<T>(items: T[], most: number): T[] {
  let bytes = 0;
  return items.filter((item) => (bytes += Buffer.byteLength(JSON.stringify(item)) + 1) <= most);
}

/** The tool `inventory`. */
export const inventory = (options: FolderOptions) => readerTool({
  name: 'inventory',
  description: 'Lists the text files of the folder with media type, bytes, lines and sha256, and the CSV files as SQL tables with their columns. Call it first.',
  input: z.strictObject({}),
  read: async (root, _args, call) => {
    const { entries, notRead, version } = await measure(root, call.signal);
    const { binary, tooLarge, unreadable, leftOut } = notRead;
    const tables = entries.some(({ type }) => /csv|tab-separated/.test(type)) ? await runReader<TableEntry[]>({ op: 'tables', root }, call.signal) : [];
    const files = fitting(entries, MOST_BYTES.files);
    const shown = fitting(tables.map((table) => ({ ...table, columns: table.columns.slice(0, 20) })), MOST_BYTES.tables);
    const short = notReadShort(notRead);
    return {
      summary: `${entries.length} text files, ${tables.length} tables${short ? `; ${short}` : ''}`,
      version, files, tables: shown,
      totals: { text: entries.length, binary: binary.length, tooLarge: tooLarge.length, unreadable: unreadable.length, bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0) },
      notShown: { files: entries.length - files.length, tables: tables.length - shown.length },
      leftOut: { ...leftOut },
    };
  },
}, options);
