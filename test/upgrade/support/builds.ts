// Later builds of longhaul as they might be written one day: small changes of the real sources, each with what such a change needs to
// leave open runs alone, and one that lacks it. A build is a copy of the tree with its changes in it, compiled and bundled by
// scripts/build.js like every other; nothing in the product knows of it. A change that no longer matches exactly once stops the suite.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const ROOT = path.join(__dirname, '..', '..', '..');
const COPIED = ['src', 'examples', 'scripts', 'bin', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'temporal-dev.yml'];

export interface Change { file: string; find: string; replace: string }

/** Compatible: another order of the conductor's commands, behind a patch with its row in the registry. */
const ANOTHER_ORDER: Change[] = [
  {
    file: 'src/workflows/patches.ts', find: 'export const PATCHES: readonly Patch[] = [\n',
    replace: "export const PATCHES: readonly Patch[] = [\n  { id: 'breathe-first', why: 'A generation waits a moment before it begins, for the test.', since: '9.0.0', until: 'no open run began before 9.0.0' },\n",
  },
  { file: 'src/workflows/agent-run.ts', find: '  begin(input, inbox, opened, pump.state);\n', replace: "  if (goesBy('breathe-first')) await sleep(1);\n  begin(input, inbox, opened, pump.state);\n" },
  { file: 'src/workflows/agent-run.ts', find: 'condition, workflowInfo }', replace: 'condition, sleep, workflowInfo }' },
  { file: 'src/workflows/agent-run.ts', find: "import { tellParent } from './parent';\n", replace: "import { tellParent } from './parent';\nimport { goesBy } from './patches';\n" },
];

/** The same without a patch: what must not be deployed over open histories. */
const ORDER_UNPATCHED: Change[] = [
  { file: 'src/workflows/agent-run.ts', find: '  begin(input, inbox, opened, pump.state);\n', replace: '  await sleep(1);\n  begin(input, inbox, opened, pump.state);\n' },
  { file: 'src/workflows/agent-run.ts', find: 'condition, workflowInfo }', replace: 'condition, sleep, workflowInfo }' },
];

/** A member of an event gets another name: a new schema, and the step from the old one. */
const ANOTHER_SHAPE: Change[] = [
  { file: 'src/core/events.ts', find: 'export const EVENT_SCHEMA = 1;', replace: 'export const EVENT_SCHEMA = 2;' },
  { file: 'src/core/events.ts', find: 'RunPaused: { actor: Actor; reason: string };', replace: 'RunPaused: { actor: Actor; because: string };' },
  { file: 'src/core/folds/run.ts', find: 'paused: { actor: data.actor, reason: data.reason } });', replace: 'paused: { actor: data.actor, reason: data.because } });' },
  { file: 'src/core/rules/people.ts', find: "draft('RunPaused', { actor: message.actor, reason },", replace: "draft('RunPaused', { actor: message.actor, because: reason }," },
  { file: 'src/cli/tell.ts', find: "RunPaused: (d) => `by ${who(d.actor)}${d.reason ? `: ${d.reason}` : ''}`,", replace: "RunPaused: (d) => `by ${who(d.actor)}${d.because ? `: ${d.because}` : ''}`," },
  {
    file: 'src/core/versions/upcasters.ts', find: 'export const UPCASTERS: readonly Upcaster[] = [];',
    replace: `export const UPCASTERS: readonly Upcaster[] = [{
  from: 1, why: 'RunPaused says because where it said reason.', since: '9.0.0', until: 'no journal of schema 1 is kept any more',
  up: (event) => {
    if (event.type !== 'RunPaused') return event;
    const { reason, ...rest } = event.data as { reason: string };
    return { ...event, data: { ...rest, because: reason } };
  },
}];`,
  },
];

/** A rule changes: runs under law 2 end with other words. */
const ANOTHER_LAW: Change[] = [
  { file: 'src/core/versions/laws.ts', find: "under this one' },\n];", replace: "under this one' },\n  { law: 2, why: 'A run ends with words of its own, for the test.', since: '9.0.0', until: 'a law has come after it' },\n];" },
  { file: 'src/core/rules/ending.ts', find: 'summary: `${done.length} of ${state.steps.length} steps done.`', replace: 'summary: state.law >= 2 ? `All ${done.length} steps done, by the second law.` : `${done.length} of ${state.steps.length} steps done.`' },
];

export const BUILDS = {
  second: ANOTHER_ORDER,
  third: [...ANOTHER_ORDER, ...ANOTHER_SHAPE, ...ANOTHER_LAW],
  careless: ORDER_UNPATCHED,
} as const;

/** Makes a build; answers its folder. Takes a minute where the machine is busy. */
export async function makeBuild(name: keyof typeof BUILDS): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), `longhaul-build-${name}-`));
  for (const entry of COPIED) cpSync(path.join(ROOT, entry), path.join(folder, entry), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'), 'dir');
  for (const change of BUILDS[name]) apply(folder, change);
  await run(process.execPath, [path.join(folder, 'scripts', 'build.js')], folder);
  return folder;
}

export const removeBuild = (folder: string): void => rmSync(folder, { recursive: true, force: true });

function apply(folder: string, { file, find, replace }: Change): void {
  const place = path.join(folder, file);
  const parts = readFileSync(place, 'utf8').split(find);
  if (parts.length !== 2) throw new Error(`A change of ${file} matches ${parts.length - 1} times: ${find.slice(0, 80)}; mend test/upgrade/support/builds.ts.`);
  writeFileSync(place, parts.join(replace));
}

function run(command: string, args: string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let words = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => { words = (words + bytes.toString()).slice(-4_000); });
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`The build in ${cwd} ended with ${code}: ${words}`))));
  });
}
