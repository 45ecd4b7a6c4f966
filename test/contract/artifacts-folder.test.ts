// The folder of artifacts keeps the contract of its port, and clears away what dead writers left.
import { existsSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openArtifactsFolder } from '../../src/adapters/stores/artifacts-folder';
import { artifactsContract } from '../../src/testing/contracts/artifacts';
import { embedded, freshFolder } from './store-open';

artifactsContract('artifacts in a folder', embedded);

test('what a dead writer left half-written is removed after a day, and what a living one writes now is not', async () => {
  const folder = freshFolder();
  try {
    await openArtifactsFolder(folder);
    const [old, young] = ['old', 'young'].map((name) => path.join(folder, 'tmp', name)) as [string, string];
    for (const file of [old, young]) writeFileSync(file, 'half');
    const before = Date.now() / 1000 - 2 * 86_400;
    utimesSync(old, before, before);
    await openArtifactsFolder(folder);
    expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
