// Tool `notify`: appends one line to an outbox that others read (a mail gateway, a chat bridge). Irreversible: a line that is
// read cannot be taken back, and the outbox can neither be asked by key nor drops a repeated line.
import { constants } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { defineTool, ToolError, type ToolCall } from 'longhaul';

const input = z.strictObject({
  subject: z.string().min(1).max(200),
  message: z.string().min(1).max(2_000),
  link: z.string().max(500).optional().describe('Where the report can be read'),
});
type Input = z.infer<typeof input>;

/** Opens the outbox for appending. What fails here fails before anything was written. */
async function openOutbox(call: ToolCall): Promise<FileHandle> {
  const url = call.service('outbox');
  if (!url.startsWith('file:')) throw new ToolError('permission', 'outbox', 'The service "outbox" must be a file: URL.');
  const file = fileURLToPath(url);
  try {
    await mkdir(path.dirname(file), { recursive: true });
    return await open(file, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    throw new ToolError('permission', String((error as { code?: unknown }).code ?? 'outbox'), 'The outbox cannot be opened for writing; check the folder that the service "outbox" names.');
  }
}

interface Notified { line: string; summary: string }

/** The tool `notify`; writes to the service `outbox`, a file: URL. */
export const notify = () => defineTool<Input, Notified>({
  name: 'notify',
  version: '1.0.0',
  description: 'Tells people that a report was published: one line in the local outbox. It cannot be taken back; call it once, after publish.',
  input,
  effect: 'irreversible',
  timeoutMs: 10_000,
  maxAttempts: 1,
  execute: async ({ subject, message, link }, call) => {
    const handle = await openOutbox(call);
    try {
      await handle.write(`${JSON.stringify({ at: new Date().toISOString(), runId: call.runId, callId: call.callId, subject, message, link: link ?? null })}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    return { line: subject, summary: `Notified: ${subject}` };
  },
});
