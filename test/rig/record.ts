// Records a version: real runs on the real server (scenes.ts), and of each its histories as Temporal's own command line writes them,
// its journal as `longhaul runs export` writes it, and checkpoints made by the activity that makes them in a worker. Beside them stands
// where they came from. Called by scripts/record-histories.js; damaged.ts makes the damaged journals from what stands here.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeCheckpoint } from '../../src/activities/checkpoint';
import { exportRun } from '../../src/client/export';
import { workflowIdOf } from '../../src/messages';
import { startChatServer } from '../../src/testing/chat-server';
import { startRig, type Rig } from './rig';
import { SCENES, scripted } from './scenes';

const root = path.join(__dirname, '..', '..');
const versionIn = (file: string): string => (JSON.parse(readFileSync(path.join(root, file), 'utf8')) as { version: string }).version;
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

export interface HistoryEntry { file: string; shows: string; generation: number; workflowId: string; executionId: string; events: number }
export interface JournalEntry { file: string; shows: string; runId: string; events: number; status: string; chain: string }
export interface CheckpointEntry { file: string; journal: string; version: number; sha256: string }
export interface Provenance {
  longhaul: string; commit: string; date: string; temporal: string; sdk: string; node: string; how: string;
  /** When the journals were last folded anew (refold.ts), before the version was released. */
  refolded?: { commit: string; date: string };
  histories: HistoryEntry[]; journals: JournalEntry[]; checkpoints: CheckpointEntry[];
}

/** Where the corpus of the version in package.json stands. Throws when that version has been released: then it is only read. */
export function corpusFolder(): string {
  const version = versionIn('package.json');
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`Version ${version} is released, and its corpus is only read from then on: raise the version in package.json first.`);
  return path.join(root, 'test', 'replay', version);
}

/** Records every scene into an emptied folder. */
export async function record(folder: string): Promise<void> {
  for (const part of ['histories', 'journals', 'checkpoints']) {
    rmSync(path.join(folder, part), { recursive: true, force: true });
    mkdirSync(path.join(folder, part), { recursive: true });
  }
  const model = await startChatServer({ answers: scripted as never });
  const rig = await startRig({ env: { LONGHAUL_MODEL: `openai-compatible:${model.url}#scripted`, LONGHAUL_MODEL_PRICE: '0,0' } });
  try {
    await rig.worker();
    await rig.worker({ taskQueue: 'small', limits: { softEvents: 40, waitEvents: 1_000 } });
    const made: Provenance = { ...await facts(rig), histories: [], journals: [], checkpoints: [] };
    for (const { name, shows, play } of SCENES) {
      process.stderr.write(`${name}\n`);
      const runId = await play(rig);
      await rig.end(runId);
      made.histories.push(...await histories(rig, folder, runId, { name, shows }));
      made.checkpoints.push(...await checkpoints(rig, folder, runId, name));
      made.journals.push(await journal(rig, folder, runId, { name, shows }));
    }
    writeFileSync(path.join(folder, 'provenance.json'), `${JSON.stringify(made, null, 2)}\n`);
  } finally {
    await rig.stop();
    await model.close();
  }
}

/** The commit that records, and whether src differs from it. */
export const commitHere = (): string => `${git('rev-parse', 'HEAD')}${git('status', '--porcelain', '--', 'src') === '' ? '' : ', with changes in src that were not committed'}`;

async function facts(rig: Rig): Promise<Omit<Provenance, 'histories' | 'journals' | 'checkpoints' | 'refolded'>> {
  const { stdout } = await rig.server.temporalCli(['--version']);
  return {
    longhaul: versionIn('package.json'), commit: commitHere(), date: new Date().toISOString(), temporal: stdout.trim(),
    sdk: versionIn('node_modules/@temporalio/workflow/package.json'), node: process.version, how: 'node scripts/record-histories.js',
  };
}

async function histories(rig: Rig, folder: string, runId: string, { name, shows }: { name: string; shows: string }): Promise<HistoryEntry[]> {
  const made: HistoryEntry[] = [];
  for (const [i, { executionId, history }] of (await rig.histories(runId)).entries()) {
    const file = i === 0 ? `${name}.json` : `${name}-${i + 1}.json`;
    const shown = await rig.server.temporalCli(['workflow', 'show', '-w', workflowIdOf(runId), '-r', executionId, '--output', 'json']);
    writeFileSync(path.join(folder, 'histories', file), `${JSON.stringify(JSON.parse(shown.stdout))}\n`);
    made.push({ file, shows, generation: i + 1, workflowId: workflowIdOf(runId), executionId, events: history.events?.length ?? 0 });
  }
  return made;
}

/** Checkpoints in the middle and at the end, saved as a worker saves them, besides those that the run has saved. */
async function checkpoints(rig: Rig, folder: string, runId: string, name: string): Promise<CheckpointEntry[]> {
  const { version } = await rig.state(runId);
  const save = makeCheckpoint({ ...rig.stores, log: () => undefined } as never);
  for (const at of [Math.ceil(version / 2), version]) await save({ runId, epoch: 0, version: at } as never);
  const made: CheckpointEntry[] = [];
  for (const saved of await rig.stores.journal.checkpoints(runId)) {
    const file = `${name}-${saved.version}.json`;
    writeFileSync(path.join(folder, 'checkpoints', file), await rig.stores.artifacts.read(saved.ref.sha256));
    made.push({ file, journal: `${name}.jsonl`, version: saved.version, sha256: saved.ref.sha256 });
  }
  return made;
}

async function journal(rig: Rig, folder: string, runId: string, { name, shows }: { name: string; shows: string }): Promise<JournalEntry> {
  const lines: string[] = [];
  let chain = '';
  let status = '';
  for await (const line of exportRun(rig.stores, runId)) {
    lines.push(`${JSON.stringify(line)}\n`);
    chain = line.chain;
    if (line.kind === 'header') ({ status } = line.row);
  }
  writeFileSync(path.join(folder, 'journals', `${name}.jsonl`), lines.join(''));
  return { file: `${name}.jsonl`, shows, runId, events: lines.length - 2, status, chain };
}
