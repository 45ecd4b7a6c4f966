// What verify.js and test.js share: run a command as a stage, count it, and leave nothing running.
// A stage runs in a process group of its own and with a mark in its environment. What still carries the mark
// after the stage has ended was left behind by it: it is named, ended, and counted as a failure.
// Never ends a process without the mark.
const { spawn } = require('node:child_process');
const { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const root = path.join(__dirname, '..');
const bin = (name) => path.join(root, 'node_modules', '.bin', name);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const MARK = 'LONGHAUL_STAGE';
let stages = 0;

/** Kills a process, or with a negative number a process group, that may have ended meanwhile. */
function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH' && !Number.isNaN(pid)) throw error;
  }
}

/** Processes, other than this one, whose environment carries `mark`. Linux only: elsewhere none is seen. */
function marked(mark) {
  if (process.platform !== 'linux') return [];
  const found = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${MARK}=${mark}`)) continue;
      if (/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) continue;
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
      found.push({ pid: Number(pid), words: words || readlinkSync(`/proc/${pid}/exe`) });
    } catch {
      // ended meanwhile, or not ours to read
    }
  }
  return found;
}

/** Waits up to 5 s for what carries `mark` to end, then kills the rest. Returns what had to be killed. */
async function sweep(mark) {
  for (let waited = 0; waited < 5_000 && marked(mark).length > 0; waited += 250) await sleep(250);
  const left = marked(mark);
  for (const { pid } of left) kill(pid);
  return left;
}

/**
 * Runs one command to its end with its output on ours. `done()` may say that the work is finished although the
 * process is not; it then has 20 s to end. Returns {code, late, left}: `late` names a time-out, `left` the
 * processes that the command left behind.
 */
async function run(command, args, { env = {}, limitMs = 600_000, done } = {}) {
  const mark = `${process.pid}.${++stages}.${Date.now()}`;
  const child = spawn(command, args, {
    cwd: root, stdio: ['ignore', 'inherit', 'inherit'], detached: true, env: { ...process.env, ...env, [MARK]: mark },
  });
  const stop = () => kill(-Number(child.pid));
  const interrupted = () => {
    stop();
    for (const { pid } of marked(mark)) kill(pid);
    process.exit(130);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  let late;
  const started = Date.now();
  let finishedAt;
  const watch = setInterval(() => {
    if (finishedAt === undefined && done?.()) finishedAt = Date.now();
    if (finishedAt !== undefined && Date.now() - finishedAt > 20_000) late = 'did not end 20 s after its last test: something holds it open';
    else if (Date.now() - started > limitMs) late = `was still running after ${limitMs / 1000} s`;
    if (late) stop();
  }, 500);
  const code = await new Promise((resolve) => {
    child.on('error', (error) => { console.error(`${command}: ${error.message}`); resolve(1); });
    child.on('exit', (exit, signal) => resolve(signal ? 1 : exit));
  });
  clearInterval(watch);
  const left = await sweep(mark);
  process.removeListener('SIGINT', interrupted).removeListener('SIGTERM', interrupted);
  return { code, late, left };
}

/** Prints the faults of a stage beyond its own output, and returns how many there are. */
function faults(name, { late, left }) {
  if (late) console.log(`FAILED ${name}: it ${late}.`);
  for (const { pid, words } of left) console.log(`FAILED ${name}: it left process ${pid} running (ended now): ${words.slice(0, 200)}`);
  return (late ? 1 : 0) + left.length;
}

/** A check that passes or fails as a whole, such as the compiler. Counts one. */
async function check(name, command, args, fix) {
  console.log(`\n=== ${name}`);
  const started = Date.now();
  const result = await run(command, args);
  const bad = faults(name, result) > 0 || result.code !== 0;
  console.log(bad ? `FAILED ${name}. ${fix}` : `ok ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  return { name, passed: bad ? 0 : 1, failed: bad ? 1 : 0 };
}

/** Jest over some rooms of test/, `workers` files at a time. Counts its tests. A room without tests counts as a failure. */
async function tests(rooms, { workers, limitMs, args = [] }) {
  const name = `tests: ${rooms.join(', ')}`;
  console.log(`\n=== ${name}`);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'longhaul-counts-'));
  const file = path.join(folder, 'counts.json');
  const read = () => { try { return JSON.parse(readFileSync(file, 'utf8')); } catch { return undefined; } };
  const paths = rooms.map((room) => `test/${room}/`);
  const result = await run(process.execPath, [bin('jest'), '--reporters', 'default', '--reporters', path.join(__dirname, 'jest', 'counts.js'),
    '--maxWorkers', String(workers), '--passWithNoTests', ...args, '--testPathPatterns', ...paths],
  { env: { LONGHAUL_COUNTS: file, FORCE_COLOR: process.stdout.isTTY ? '1' : '0' }, limitMs, done: () => read() !== undefined });
  const counts = read() ?? { passed: 0, failed: 0, skipped: 0 };
  rmSync(folder, { recursive: true, force: true });
  let failed = counts.failed + faults(name, result);
  if (counts.skipped > 0) console.log(`FAILED ${name}: ${counts.skipped} tests were skipped; a skipped test is a promise not kept.`);
  if (failed === 0 && (result.code !== 0 || counts.passed === 0)) {
    failed = 1;
    console.log(`FAILED ${name}: ${counts.passed === 0 ? 'no test ran.' : `jest ended with code ${result.code}.`}`);
  }
  return { name, passed: counts.passed, failed };
}

/** Prints the closing line, `N passed, N failed` alone on the last line, and sets the exit code. */
function close(results) {
  const sum = (field) => results.reduce((total, result) => total + result[field], 0);
  const failed = sum('failed') + (sum('passed') + sum('failed') === 0 ? 1 : 0);
  const bad = results.filter((result) => result.failed > 0).map((result) => result.name);
  console.log(bad.length > 0 ? `\nFailed: ${bad.join('; ')}` : '');
  process.exitCode = failed > 0 ? 1 : 0;
  console.log(`${sum('passed')} passed, ${failed} failed`);
}

module.exports = { bin, check, close, root, tests };
