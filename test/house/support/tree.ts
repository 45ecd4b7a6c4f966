// A small tree of files in a scratch folder, to show that a tool of the house finds what it should.
// The scratch folder sees the installed packages and package.json; it is removed by `remove`.
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';

export const root = path.join(__dirname, '..', '..', '..');

export interface Ran {
  code: number | null;
  /** Both streams, the errors last. */
  output: string;
  /** The last line of standard output. */
  last: string;
}

export interface Tree {
  /** Runs one of the installed tools there. */
  run(tool: string, args: string[]): Ran;
  /** Runs a script of the tree. */
  node(args: string[]): Ran;
  remove(): void;
}

/** Writes `files` (path -> text) and copies `configs`, named from the root of the project. */
export function tree(files: Record<string, string>, configs: string[] = []): Tree {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'longhaul-house-'));
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  for (const config of ['package.json', ...configs]) cpSync(path.join(root, config), path.join(folder, config), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  const node = (args: string[]): Ran => {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: folder, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
    });
    return { code: status, output: `${stdout}${stderr}`, last: stdout.trimEnd().split('\n').at(-1) ?? '' };
  };
  return {
    run: (tool, args) => node([path.join(root, 'node_modules', '.bin', tool), ...args]),
    node,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
