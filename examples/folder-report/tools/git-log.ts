// Tool `git_log`: who changed the folder's files and when, if the folder is a git repository; else an empty list. Runs git
// in a group of its own, without the user's configuration, pager, hooks or network.
import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { runProgram } from 'longhaul';
import { relativeName } from '../folder/folder';
import { Refusal } from '../folder/refusal';
import { readerTool, type FolderOptions } from './reader-tool';

interface Commit { commit: string; at: string; author: string; subject: string }

const input = z.strictObject({
  file: z.string().min(1).max(1_024).optional().describe('Only commits that touch this file'),
  limit: z.number().int().min(1).max(40).optional().describe('Most commits, newest first; 20 when left out'),
});

const ENV = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1' };
/** Options that keep a repository's own configuration from running programs. */
const SAFE = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', '-c', 'log.showSignature=false', '-c', 'protocol.allow=never', '-c', 'safe.directory=*'];

/** What git says; nothing when it fails, is not there, or takes too long. */
async function log(root: string, args: string[], signal: AbortSignal): Promise<string> {
  try {
    const { code, stdout } = await runProgram('git', [...SAFE, '-C', root, '--no-pager', 'log', '--no-ext-diff', '--no-textconv', '--no-color', ...args], { signal, env: ENV, timeoutMs: 15_000, maxOutputBytes: 256 * 1024 });
    return code === 0 ? stdout : '';
  } catch {
    if (signal.aborted) throw new Refusal('cancelled', 'cancelled', 'Reading the history was stopped because the call was cancelled.');
    return '';
  }
}

/** The tool `git_log`. */
export const gitLog = (options: FolderOptions) => readerTool({
  name: 'git_log',
  description: 'Lists commits of the folder, newest first, when it is a git repository; an empty list otherwise.',
  input,
  read: async (root, { file, limit }, call): Promise<{ repository: boolean; commits: Commit[] }> => {
    // A `.git` that is a file or a link leads to a repository outside of the folder.
    const own = await lstat(path.join(root, '.git')).catch(() => undefined);
    if (!own?.isDirectory()) return { repository: false, commits: [] };
    const name = file === undefined ? [] : [relativeName(file)];
    const text = await log(root, [`--max-count=${limit ?? 20}`, '--date=iso-strict', '--format=%h%x1f%cd%x1f%an%x1f%s%x1e', '--', ...name], call.signal);
    const commits = text.split('\x1e').map((line) => line.trim().split('\x1f')).filter((parts) => parts.length === 4)
      .map(([commit = '', at = '', author = '', subject = '']) => ({ commit, at, author: author.slice(0, 80), subject: subject.slice(0, 160) }));
    return { repository: true, commits };
  },
}, options);
