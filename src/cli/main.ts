// Entry of the `longhaul` command: parses, runs one command, answers its exit code. Owns the process's edges: a closed pipe, the
// version, and errors that no command has caught.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ending } from './act';
import { stopOf } from './exit';
import { say } from './print';
import { codeOfUsage, parsable, programOf } from './program';

/** Runs the command line; `argv` as in `process.argv`. Never throws. */
export async function main(argv: string[]): Promise<number> {
  // `longhaul runs list | head` closes the pipe early: that is no error. A command that has something to stop hears Ctrl-C instead.
  let told = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' || told) return;
    told = true;
    if (!process.emit('SIGINT')) process.exit(0);
  });
  process.stderr.on('error', () => undefined);
  try {
    const program = programOf(versionOf());
    await program.parseAsync(parsable(program, argv));
    return ending.code;
  } catch (error) {
    const usage = codeOfUsage(error);
    if (usage !== null) return usage;
    const stop = stopOf(error);
    say(stop.message);
    return stop.code;
  }
}

function versionOf(): string {
  for (let folder = __dirname; folder !== path.dirname(folder); folder = path.dirname(folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { name?: string; version?: string };
      if (name === 'longhaul' && version) return version;
    } catch {
      continue;
    }
  }
  return 'unknown';
}
