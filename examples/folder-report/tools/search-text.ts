// Tool `search_text`: full-text search over the text files of the folder, in a child process. Answers places (file, first and
// last line) with a snippet; what stands there is read with `read_chunk`.
import { z } from 'zod';
import { runReader } from '../folder/reader';
import type { Hit } from '../folder/search-index';
import { readerTool, type FolderOptions } from './reader-tool';

interface Found { summary: string; terms: string[]; hits: Hit[]; searched: number; leftOut: number }

const input = z.strictObject({
  query: z.string().min(1).max(400).describe('Words to look for; stems match, e.g. refund finds refunds'),
  limit: z.number().int().min(1).max(20).optional().describe('Most places to answer, 12 when left out'),
});

/** The tool `search_text`. */
export const searchText = (options: FolderOptions) => readerTool({
  name: 'search_text',
  description: 'Full-text search over the md, txt, html, csv, json and other text files of the folder. Answers file, first and last line, a snippet and a score, best first.',
  input,
  read: (root, { query, limit }, call) => runReader<Found>({ op: 'search', root, text: query, limit: limit ?? 12 }, call.signal),
}, options);
