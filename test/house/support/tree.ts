// A small tree of files in a scratch folder, to show that a tool of the house finds what it should.
// The scratch folder sees the installed packages and package.json; it is removed by `remove`.
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';

export const root = path.join(__dirname, '..', '..', '..');

export interface Tree {
  /** Runs one of the installed tools there; answers its exit code and all that it printed. */
  run(tool: string, args: string[]): { code: number | null; output: string };
  remove(): void;
}

/** Writes `files` (path -> text) and copies `configs`, named from the root of the project. */
export function tree(files: Record<string, string>, configs: string[] = []): Tree {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'longhaul-house-'));
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  for (const config of ['package.json', ...configs]) cpSync(path.join(root, config), path.join(folder, config));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return {
    run(tool, args) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(root, 'node_modules', '.bin', tool), ...args], {
        cwd: folder, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
      });
      return { code: status, output: `${stdout}${stderr}` };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
