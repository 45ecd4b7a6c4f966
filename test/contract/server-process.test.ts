// A child with a log: it keeps no caller alive who has finished, and keeps one alive who waits for its end. Were it otherwise, a command
// that stops its server last would end with 0 whatever it had to say, when the news of the end comes late.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const MODULE = path.join(__dirname, '..', '..', 'src', 'adapters', 'temporal', 'server-process.ts');
let folder: string;
beforeAll(() => { folder = mkdtempSync(path.join(tmpdir(), 'longhaul-child-')); });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a process that starts a child of `ms` and then does `what` with it; answers its exit code. */
function codeOf(ms: number, what: string): Promise<number | null> {
  const script = `const { spawnLogged } = require('jiti').createJiti(${JSON.stringify(__filename)})(${JSON.stringify(MODULE)});
    const child = spawnLogged(process.execPath, ['-e', 'setTimeout(() => undefined, ${ms})'], { logFile: ${JSON.stringify(path.join(folder, 'log'))}, cwd: ${JSON.stringify(folder)} });
    ${what}`;
  return new Promise((resolve) => { spawn(process.execPath, ['-e', script], { cwd: path.join(__dirname, '..', '..'), stdio: 'ignore' }).once('exit', resolve); });
}

test('who waits until a child is gone is alive then, and says so with its exit code', async () => {
  expect(await codeOf(700, 'child.gone().then(() => { process.exitCode = 5; });')).toBe(5);
}, 60_000);

test('a caller who has finished does not wait for its child', async () => {
  expect(await codeOf(1_500, 'child.ended.then(() => { process.exitCode = 5; });')).toBe(0);
}, 60_000);
