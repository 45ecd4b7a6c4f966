// Builds the conductor with a change put into a copy of its sources, as test/mutants does: what replay must notice.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const root = path.join(__dirname, '..', '..', '..');

export interface Change { file: string; find: string; replace: string }

/** Bundles the workflow code, changed; each change must fit exactly once. */
export async function changedCode(changes: readonly Change[]): Promise<string> {
  const copy = mkdtempSync(path.join(tmpdir(), 'longhaul-changed-'));
  try {
    for (const part of ['src', 'tsconfig.json', 'package.json']) cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
    symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'), 'dir');
    for (const { file, find, replace } of changes) {
      const parts = readFileSync(path.join(copy, file), 'utf8').split(find);
      if (parts.length !== 2) throw new Error(`The change of ${file} fits ${parts.length - 1} times: ${find}`);
      writeFileSync(path.join(copy, file), parts.join(replace));
    }
    const { code } = await bundleWorkflowCode({ workflowsPath: path.join(copy, 'src', 'workflows', 'index.ts'), logger: new DefaultLogger('ERROR') });
    return code;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
