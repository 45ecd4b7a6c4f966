// The command line within the test's own process: what it writes, and its exit code.
import { main } from '../../../src/cli/main';

export interface Said { code: number; stdout: string; stderr: string }

/** Runs commands with a state folder of their own. */
export function commandLine(stateDir: string): (...args: string[]) => Promise<Said> {
  return async (...args) => {
    const said = { stdout: '', stderr: '' };
    const streams = (['stdout', 'stderr'] as const).map((name) => jest.spyOn(process[name], 'write').mockImplementation(((text: string | Uint8Array) => { said[name] += String(text); return true; }) as never));
    const listening = [process.stdout, process.stderr].map((stream) => ({ stream, before: stream.listeners('error') }));
    const before = process.env['LONGHAUL_STATE_DIR'];
    process.env['LONGHAUL_STATE_DIR'] = stateDir;
    try {
      const code = await main(['node', 'longhaul', ...args]);
      return { code, ...said };
    } finally {
      if (before === undefined) delete process.env['LONGHAUL_STATE_DIR'];
      else process.env['LONGHAUL_STATE_DIR'] = before;
      for (const stream of streams) stream.mockRestore();
      // Each process has one command line; here many share one.
      for (const { stream, before: kept } of listening) for (const one of stream.listeners('error')) if (!kept.includes(one)) stream.removeListener('error', one as () => void);
    }
  };
}
