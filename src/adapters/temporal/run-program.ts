// Runs one short-lived program and gathers what it printed. Owns the time limit: a program that hangs is killed.
// Never throws for a program that fails or does not exist; the answer says what happened.
import { execFile } from 'node:child_process';

export interface ProgramResult {
  /** Exit code; null when the program could not be started, was killed, or ran out of time. */
  code: number | null;
  stdout: string;
  stderr: string;
  /** Set when the program could not be started or was killed: why, in a few words. */
  failure?: string;
}

/**
 * Runs `file` with `args` and waits for its end, at most `timeoutMs` milliseconds.
 * stdin is closed, so that a program which asks a question ends instead of waiting.
 */
export function runProgram(
  file: string,
  args: readonly string[],
  options: { timeoutMs: number; env?: NodeJS.ProcessEnv; cwd?: string },
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const settings = {
      timeout: options.timeoutMs,
      killSignal: 'SIGKILL' as const,
      maxBuffer: 64 * 1024 * 1024,
      windowsHide: true,
      ...(options.env ? { env: options.env } : {}),
      ...(options.cwd ? { cwd: options.cwd } : {}),
    };
    const child = execFile(file, [...args], settings, (error, stdout, stderr) => {
      if (!error) return resolve({ code: 0, stdout, stderr });
      if (typeof error.code === 'number') return resolve({ code: error.code, stdout, stderr });
      const failure = error.killed ? `no end after ${options.timeoutMs / 1000} s` : (error.code ?? error.message);
      resolve({ code: null, stdout, stderr, failure });
    });
    child.stdin?.end();
  });
}
