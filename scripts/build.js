// Compiles the TypeScript sources into dist/ and bundles the workflow code once, so that a worker starts without webpack.
// `--if-stale` does nothing where dist/.stamp says that the same sources have been built already.
// Builds beside dist and swaps at the end: a build that fails leaves the last good one in place.
const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const dist = path.join(root, 'dist');
const fresh = path.join(root, `dist-${process.pid}`);

/** A digest of everything that goes into dist: sources, compiler options, locked packages, this script. */
function stamp() {
  const hash = createHash('sha256');
  const sources = ['src', 'examples'].filter((folder) => existsSync(path.join(root, folder)))
    .flatMap((folder) => readdirSync(path.join(root, folder), { recursive: true }).map((file) => path.join(folder, String(file))))
    .filter((file) => file.endsWith('.ts'));
  for (const file of [...sources.sort(), 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json', 'scripts/build.js']) {
    hash.update(file).update('\0').update(readFileSync(path.join(root, file))).update('\0');
  }
  return hash.digest('hex');
}

async function bundle() {
  const workflows = path.join(fresh, 'src/workflows/index.js');
  if (!existsSync(workflows)) return;
  const { bundleWorkflowCode } = require('@temporalio/worker');
  const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error: console.error };
  const write = async (name, more) => {
    const workflowInterceptorModules = [path.join(fresh, 'src/workflows/interceptors.js')];
    const { code } = await bundleWorkflowCode({ workflowsPath: workflows, workflowInterceptorModules, logger: quiet, ...more });
    writeFileSync(path.join(fresh, name), code.replaceAll(fresh, dist));
  };
  await write('workflow-bundle.js', {});
  // The same code with another converter of failures, which the sandbox cannot be given later.
  await write('workflow-bundle-encrypted.js', { failureConverterPath: path.join(fresh, 'src/adapters/codec/failure-converter.js') });
}

async function main() {
  const now = stamp();
  const mark = path.join(dist, '.stamp');
  if (process.argv.includes('--if-stale') && existsSync(mark) && readFileSync(mark, 'utf8') === now) return;
  try {
    const tsc = path.join(path.dirname(require.resolve('typescript/package.json')), 'bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', fresh], { cwd: root, stdio: 'inherit' });
    await bundle();
    writeFileSync(path.join(fresh, '.stamp'), now);
    rmSync(dist, { recursive: true, force: true });
    renameSync(fresh, dist);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(error.status === undefined ? error : 'The build stopped: tsc names the errors above.');
  process.exitCode = 1;
});
