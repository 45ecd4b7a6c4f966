// Records the corpus of the version in package.json on a real server: test/replay/VERSION with histories, journals and checkpoints, and
// the damaged journals of test/replay/damaged, which are made from them. Until that version is tagged this follows a wanted change of
// the conductor or the law; from then on it is part of a release, after the version was raised, and what stands there stays.
// `--refold` follows a wanted change of `evolve` alone, in a second and without a server: only digests of states and checkpoints change.
const path = require('node:path');
const { createJiti } = require('jiti');

const rig = (name) => createJiti(__filename)(path.join(__dirname, '..', 'test', 'rig', name));

async function main() {
  const { commitHere, corpusFolder, record } = rig('record.ts');
  const folder = corpusFolder();
  if (process.argv.includes('--refold')) rig('refold.ts').refold(folder, commitHere());
  else await record(folder);
  rig('damaged.ts').damage(path.join(folder, 'journals'), path.join(folder, '..', 'damaged'));
  process.stdout.write(`recorded ${path.relative(process.cwd(), folder)}\n`);
}

main().catch((error) => { console.error(error); process.exitCode = 1; });
