// The files of the project as git knows them: tracked, or new and not ignored. Text of each on demand.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './tree';

/** Paths from the root of the project, with forward slashes, sorted. */
export function tracked(pattern: RegExp = /./): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  return [...new Set(listed.split('\0'))].filter((file) => file !== '' && pattern.test(file) && existsSync(path.join(root, file))).sort();
}

export const text = (file: string): string => readFileSync(path.join(root, file), 'utf8');
