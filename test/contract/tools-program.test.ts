// Programs that tools run: a group of their own, which ends as a whole on abort, on time-out, at its end, and when the process
// that started it is killed. The judge is the process table.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runProgram, type ProgramOptions } from '../../src/adapters/tools/program';

const src = path.join(__dirname, '../../src/adapters/tools/program.ts');
const signal = (): AbortSignal => new AbortController().signal;
const run = (command: string, args: string[], more: Partial<ProgramOptions> = {}) => runProgram(command, args, { signal: signal(), ...more });
const shell = (text: string, more?: Partial<ProgramOptions>) => run('sh', ['-c', text], more);

/** How many processes carry this text in their command line. */
const running = (mark: string): number => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n').filter((line) => line.startsWith(`sleep ${mark}`)).length;
const gone = async (mark: string, ms: number): Promise<boolean> => {
  for (const until = Date.now() + ms; Date.now() < until;) {
    if (running(mark) === 0) return true;
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
  return false;
};
const begun = async (mark: string): Promise<void> => {
  while (running(mark) < 2) await new Promise((resolve) => { setTimeout(resolve, 20); });
};
let n = 0;
/** A time to sleep that no other test uses. */
const mark = (): string => `6${process.pid}.${++n}`;

test('answers what it said and its exit code, and hands on its input', async () => {
  expect(await run('cat', [], { input: 'hello' })).toEqual({ code: 0, stdout: 'hello', stderr: '' });
  expect(await shell('echo out; echo err >&2; exit 3')).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n' });
  expect(await run('printf', ['%s', '$(id); `id`'])).toMatchObject({ stdout: '$(id); `id`' });
  expect(await shell('exit 127')).toMatchObject({ code: 127 });
});

test('a program that is not there, and a call that was told to stop before, start nothing', async () => {
  await expect(run('no-such-program', ['x'])).rejects.toMatchObject({ failureClass: 'not-found', code: 'no-program' });
  await expect(run('cat', [], { signal: AbortSignal.abort() })).rejects.toMatchObject({ failureClass: 'timeout-before-send' });
  await expect(run('cat', [], { cwd: '/no/such/folder' })).rejects.toMatchObject({ failureClass: 'permission', code: 'not-started' });
});

test.each(['sleep $0 & sleep $0', 'trap "" TERM; sleep $0 & sleep $0'])('B28 on abort the program and its children are gone within two seconds: %s', async (text) => {
  const [controller, time] = [new AbortController(), mark()];
  const work = runProgram('sh', ['-c', text, time], { signal: controller.signal });
  await begun(time);
  controller.abort();
  await expect(work).rejects.toMatchObject({ failureClass: 'unknown', code: 'aborted' });
  expect(await gone(time, 2_000)).toBe(true);
});

test('a program that hears TERM has its time to end in order', async () => {
  const [controller, time, file] = [new AbortController(), mark(), path.join(mkdtempSync(path.join(tmpdir(), 'program-')), 'tidied')];
  const work = runProgram('sh', ['-c', 'trap "sleep 0.2; touch $1; exit 0" TERM; sleep $0 & sleep $0 & wait', time, file], { signal: controller.signal, graceMs: 5_000 });
  await begun(time);
  controller.abort();
  await expect(work).rejects.toMatchObject({ code: 'aborted' });
  expect([existsSync(file), await gone(time, 2_000)]).toEqual([true, true]);
});

test('one that takes too long or says too much is ended, with everything that it has started', async () => {
  const time = mark();
  await expect(run('sh', ['-c', 'sleep $0 & sleep $0', time], { timeoutMs: 300 })).rejects.toMatchObject({ code: 'program-timeout' });
  await expect(run('yes', [], { maxOutputBytes: 10_000 })).rejects.toMatchObject({ code: 'too-much-output' });
  expect(await gone(time, 2_000)).toBe(true);
});

test('what a program leaves behind in its group ends with it', async () => {
  const time = mark();
  expect(await run('sh', ['-c', 'sleep $0 >/dev/null 2>&1 & echo done', time])).toMatchObject({ code: 0, stdout: 'done\n' });
  expect(await gone(time, 2_000)).toBe(true);
});

test('R7.1 when the process that runs a program is killed, the program and its children are killed as well', async () => {
  const time = mark();
  const script = `require('jiti').createJiti(${JSON.stringify(__filename)})(${JSON.stringify(src)}).runProgram('sh', ['-c', 'sleep ${time} & sleep ${time}'], { signal: new AbortController().signal })`;
  const parent = spawn(process.execPath, ['-e', script], { cwd: path.join(__dirname, '../..'), stdio: 'ignore' });
  await begun(time);
  parent.kill('SIGKILL');
  expect(await gone(time, 2_000)).toBe(true);
});
