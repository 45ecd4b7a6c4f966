// The command line as a tree of commands. Owns names, help and how usage errors look; every command lives in commands/.
import { Command, CommanderError } from 'commander';
import { addApprovals } from './commands/approvals';
import { addArtifacts } from './commands/artifacts';
import { addCallback } from './commands/callback';
import { addDemo } from './commands/demo';
import { addDev } from './commands/dev';
import { addCodecServer } from './commands/codec-server';
import { addDoctor } from './commands/doctor';
import { addMigrate } from './commands/migrate';
import { addKeys } from './commands/keys';
import { addReplay } from './commands/replay';
import { addReplayCheck } from './commands/replay-check';
import { addRun } from './commands/run';
import { addRunsAct } from './commands/runs-act';
import { addRunsFork } from './commands/runs-fork';
import { addRunsKeep } from './commands/runs-keep';
import { addRunsRestore } from './commands/runs-restore';
import { addRunsRead } from './commands/runs-read';
import { addWorker } from './commands/worker';
import { EXIT, EXIT_HELP, Stop } from './exit';

/** All commands; `version` is the package's. Parsing throws CommanderError instead of ending the process. */
export function programOf(version: string): Command {
  const program = new Command('longhaul');
  program.description('Runs AI agents that take minutes, hours or weeks: every effect happens once, or the run stops and says which one it cannot know about.');
  // `version` before the commands: the settings below are inherited by what is added after them.
  program.version(version, '-V, --version').exitOverride().showSuggestionAfterError().enablePositionalOptions()
    .configureOutput({ outputError: (text, write) => write(withSource(text.replace(/^error: /, ''))) })
    .addHelpText('after', `\nData goes to stdout, messages to stderr; --json prints data as JSON, one value a line.\n\nRuns are kept in the state folder, or for many hosts where these variables say:\n  LONGHAUL_DATABASE_URL=postgres://USER:PASSWORD@HOST/DATABASE   LONGHAUL_ARTIFACTS=s3://BUCKET/PREFIX (and AWS_*)\n\n${EXIT_HELP}`);
  addDemo(program);
  addDev(program);
  addWorker(program);
  addRun(program);
  const runs = program.command('runs').description('list, look at and steer runs');
  addRunsRead(runs);
  addRunsAct(runs);
  addRunsRestore(runs);
  addRunsFork(runs);
  addRunsKeep(runs);
  addApprovals(program);
  addCallback(program);
  addArtifacts(program);
  addReplay(program);
  addMigrate(program);
  addKeys(program);
  addCodecServer(program);
  addReplayCheck(program);
  addDoctor(program);
  return program;
}

/** What to parse: where a word names no command, without the flags that would answer with help as if nothing were wrong. */
export function parsable(program: Command, argv: string[]): string[] {
  let at = program;
  for (const word of argv.slice(2)) {
    const next = at.commands.find((command) => command.name() === word);
    if (!next && (word.startsWith('-') || word === 'help' || at.commands.length === 0)) return argv;
    if (!next) {
      const group = program.commands.find((command) => command !== at && command.commands.some((one) => one.name() === word));
      if (group) throw new Stop(EXIT.usage, `There is no command ${JSON.stringify(word)} here; did you mean npx longhaul ${group.name()} ${word}?`);
      return argv.filter((flag) => flag !== '-h' && flag !== '--help');
    }
    at = next;
  }
  return argv;
}

/** Where the ids of arguments come from. */
const SOURCES: Record<string, string> = {
  id: 'npx longhaul approvals list', question: 'npx longhaul inbox', callback: 'npx longhaul runs list --waiting-for callback', run: 'npx longhaul runs list', 'run-or-file': 'npx longhaul runs list',
  call: 'npx longhaul inbox, or npx longhaul runs show RUN', artifact: 'npx longhaul artifacts list RUN', agent: 'npx longhaul doctor',
};

/** Says of a missing argument where it is found. */
function withSource(text: string): string {
  const source = SOURCES[/missing required argument '([^']+)'/.exec(text)?.[1] ?? ''];
  return source === undefined ? text : `${text.trimEnd()}; find it with: ${source}\n`;
}

/** The exit code for what commander threw: help and version are fine, everything else is wrong usage. */
export function codeOfUsage(error: unknown): number | null {
  if (!(error instanceof CommanderError)) return null;
  return error.exitCode === 0 || ['commander.help', 'commander.helpDisplayed', 'commander.version'].includes(error.code) ? EXIT.done : EXIT.usage;
}
