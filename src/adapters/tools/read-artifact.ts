// `read_artifact`, the built-in tool by which an agent reads a stored result on demand, a range of bytes at a time: results
// over 512 bytes are stored, and a model is shown only as much of them as there is room for.
// Reads nothing that its run does not vouch for, and never cuts a character. What it answers is at most 12 KiB of JSON.
import { z } from 'zod';
import { bytesOf } from '../../core/canonical';
import { ToolError } from '../../core/failure';
import { ArtifactError } from '../../ports/artifacts';
import type { ToolCall } from '../../ports/tool';
import { defineTool } from './define-tool';

/** Bytes of canonical JSON that one answer has at most. */
const ANSWER_BYTES = 12 * 1024;
/** Bytes of text that are read when nothing is said. */
const DEFAULT_BYTES = 8 * 1024;

/** What is answered. `to` is where the range ends; with `more`, the next one begins there. Positions are bytes. */
interface Range { sha256: string; kind: 'text' | 'binary'; from: number; to: number; total: number; more: boolean; text: string; summary: string }

export const readArtifact = defineTool({
  name: 'read_artifact', version: '1.0.0', effect: 'none',
  description: 'Reads a stored result of this run, by its sha256, a range of bytes at a time. Answers the text of the range, the total size, and whether there is more; read on with from set to the answered "to".',
  input: z.strictObject({
    sha256: z.string().regex(/^[0-9a-f]{64}$/, 'give the whole sha256 as a result shows it: 64 hex digits').describe('sha256 of the artifact, as a result shows it'),
    from: z.number().int().min(0).optional().describe('first byte; default 0'),
    bytes: z.number().int().min(1).max(ANSWER_BYTES).optional().describe(`most bytes to read; default ${DEFAULT_BYTES}`),
  }),
  async execute({ sha256, from = 0, bytes = DEFAULT_BYTES }, call): Promise<Range> {
    const content = await contentOf(sha256, call);
    if (from > content.length) throw new ToolError('argument', 'range', `The artifact ${sha256.slice(0, 12)} has ${content.length} bytes; ask for a range from 0 to ${content.length}.`);
    const about = { sha256, total: content.length };
    if (!isText(content)) return { ...about, kind: 'binary', from, to: from, more: false, text: '', summary: `${sha256.slice(0, 12)} is not text: ${content.length} bytes that only a tool can read` };
    return fitting((most) => rangeOf(content, from, most, about), bytes);
  },
});

/** Throws ToolError `not-found` or `artifact`. */
async function contentOf(sha256: string, { artifacts }: Pick<ToolCall, 'artifacts'>): Promise<Uint8Array> {
  if (!(await artifacts.known(sha256))) throw new ToolError('not-found', 'artifact', `No result of this run is the artifact ${sha256}; give the sha256 of one that a result shows.`);
  try {
    return await artifacts.read({ sha256 });
  } catch (error) {
    if (error instanceof ArtifactError) throw new ToolError('artifact', error.code, error.message);
    throw error;
  }
}

/** The longest range that an answer has room for: control characters and quotes take more bytes in JSON than in the artifact. */
function fitting(read: (most: number) => Range, bytes: number): Range {
  for (let most = bytes; ; most = Math.floor(most * 0.8)) {
    const range = read(most);
    if (bytesOf(range) <= ANSWER_BYTES) return range;
  }
}

function rangeOf(content: Uint8Array, wanted: number, most: number, about: Pick<Range, 'sha256' | 'total'>): Range {
  const from = boundary(content, wanted);
  const before = boundaryBefore(content, from + most);
  // A character is never cut: where not even one fits, one is read all the same.
  const to = before > from ? before : boundary(content, Math.min(from + 1, content.length));
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(content.subarray(from, to));
  const { sha256, total } = about;
  return { ...about, kind: 'text', from, to, more: to < total, text, summary: `bytes ${from} to ${to} of ${total} of ${sha256.slice(0, 12)}` };
}

/** Is it UTF-8 without the zero bytes that text does not have? */
function isText(content: Uint8Array): boolean {
  if (content.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(content);
    return true;
  } catch {
    return false;
  }
}

/** Continuation bytes of UTF-8 (10xxxxxx) belong to the character before them. */
const inside = (content: Uint8Array, at: number): boolean => at < content.length && ((content[at] ?? 0) & 0b1100_0000) === 0b1000_0000;

function boundary(content: Uint8Array, at: number): number {
  let found = at;
  while (inside(content, found)) found += 1;
  return found;
}

function boundaryBefore(content: Uint8Array, at: number): number {
  let found = Math.min(at, content.length);
  while (inside(content, found)) found -= 1;
  return found;
}
