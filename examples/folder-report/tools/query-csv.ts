// Tool `query_csv`: one read-only SELECT over the CSV files of the folder, in a child process that is killed after 8 s.
import { z } from 'zod';
import { runReader } from '../folder/reader';
import type { QueryResult } from '../folder/sql';
import { readerTool, type FolderOptions } from './reader-tool';

/** The tool `query_csv`. */
export const queryCsv = (options: FolderOptions) => readerTool({
  name: 'query_csv',
  description: 'Runs one read-only SQL SELECT (SQLite) over the CSV files; the inventory names tables and columns. Answers at most 50 rows and the files that were read.',
  input: z.strictObject({ sql: z.string().min(1).max(8_000) }),
  read: async (root, { sql }, call) => {
    const [result] = await runReader<QueryResult[]>({ op: 'sql', root, statements: [sql] }, call.signal);
    return { sql, ...(result as QueryResult) };
  },
}, options);
