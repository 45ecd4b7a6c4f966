// `npm run test:mutants [-- ID ...]`: puts each deliberate bug of test/mutants/table.js into a copy of the tree and runs the one test
// that is named for it. The test must pass without the bug and fail with it; anything else is an error, also a patch that does not
// match exactly once. Never touches the tree itself. Prints a table; closes with `N passed, N failed`.
const { spawn } = require('node:child_process');
const { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const table = require('../test/mutants/table.js');
const { close, root } = require('./stages.js');

const COPIED = ['src', 'test', 'examples', 'scripts', 'bin', 'bench', 'docs', 'dist', 'jest.config.js', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'tsconfig.core.json', 'temporal-dev.yml', 'README.md', 'AGENTS.md', 'ARCHITECTURE.md'];

/** The source with the bug. Throws when the patch does not match exactly once. */
function patched(source, { id, file, find, replace }) {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`The patch of ${id} matches ${parts.length - 1} times in ${file}; mend test/mutants/table.js.`);
  return parts.join(replace);
}

function copyOfTree() {
  const copy = mkdtempSync(path.join(os.tmpdir(), 'longhaul-mutants-'));
  for (const entry of COPIED) if (existsSync(path.join(root, entry))) cpSync(path.join(root, entry), path.join(copy, entry), { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'), 'dir');
  return copy;
}

/** Runs jest in the copy for tests of one file by name. Answers, by name, how many passed and failed, and the end of its words. */
function runTests(copy, file, names) {
  const json = path.join(copy, 'result.json');
  rmSync(json, { force: true });
  const pattern = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const args = [path.join(root, 'node_modules', 'jest', 'bin', 'jest.js'), '--rootDir', copy, '--json', '--outputFile', json, '--runInBand', '--testTimeout', '120000', '-t', pattern, file];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] });
    let words = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => { words = (words + bytes).slice(-6_000); });
    const limit = setTimeout(() => child.kill('SIGKILL'), 300_000);
    child.on('exit', () => {
      clearTimeout(limit);
      const results = existsSync(json) ? JSON.parse(readFileSync(json, 'utf8')).testResults.flatMap((one) => one.assertionResults) : [];
      const count = (name, status) => results.filter((one) => one.fullName.includes(name) && one.status === status).length;
      resolve((name) => ({ passed: count(name, 'passed'), failed: count(name, 'failed'), words }));
    });
  });
}

/** With the bug in the copy: caught, survived, or what else went wrong. `clean` is what the test did without it. */
async function judged(copy, mutant, clean) {
  const file = path.join(copy, mutant.file);
  const source = readFileSync(file, 'utf8');
  if (clean.passed === 0 || clean.failed > 0) return { verdict: `BROKEN: without the bug ${clean.passed} passed, ${clean.failed} failed`, words: clean.words };
  try {
    writeFileSync(file, patched(source, mutant));
    const { passed, failed, words } = (await runTests(copy, mutant.test.file, [mutant.test.name]))(mutant.test.name);
    if (failed > 0) return { verdict: 'caught' };
    return { verdict: passed > 0 ? 'SURVIVED' : 'BROKEN: with the bug the test did not run', words };
  } finally {
    writeFileSync(file, source);
  }
}

async function main(wanted) {
  const unknown = wanted.filter((id) => !table.some((mutant) => mutant.id === id));
  if (unknown.length > 0) throw new Error(`No mutant is called ${unknown.join(', ')}; they are ${table.map(({ id }) => id).join(', ')}.`);
  const chosen = table.filter(({ id }) => wanted.length === 0 || wanted.includes(id));
  for (const mutant of chosen) patched(readFileSync(path.join(root, mutant.file), 'utf8'), mutant);
  const copy = copyOfTree();
  const rows = [];
  try {
    const clean = new Map();
    for (const mutant of chosen) {
      const began = Date.now();
      const { file, name } = mutant.test;
      if (!clean.has(file)) clean.set(file, await runTests(copy, file, chosen.filter(({ test }) => test.file === file).map(({ test }) => test.name)));
      const { verdict, words } = await judged(copy, mutant, clean.get(file)(name));
      rows.push({ mutant, verdict });
      console.log(`${verdict.padEnd(8)} ${mutant.id} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
      if (words) console.log(words.split('\n').slice(-40).join('\n'));
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  const width = Math.max(...rows.map(({ mutant }) => mutant.what.length));
  console.log(`\n${'deliberate bug'.padEnd(width)}  verdict   caught by`);
  for (const { mutant, verdict } of rows) console.log(`${mutant.what.padEnd(width)}  ${verdict.padEnd(8)}  ${mutant.test.file}: ${mutant.test.name}`);
  const caught = rows.filter(({ verdict }) => verdict === 'caught').length;
  console.log(`\n${caught} of ${rows.length} deliberate bugs caught.`);
  close([{ name: 'mutants', passed: caught, failed: rows.length - caught }]);
}

module.exports = { patched };
if (require.main === module) main(process.argv.slice(2)).catch((error) => { console.error(error.message); process.exitCode = 2; });
