// Records the golden histories: runs on the real server that between them meet every answer of the journal and every kind of
// need. Called by scripts/record-histories.js; writes one file a history and their provenance.
import { spawn } from 'node:child_process';
import { readFileSync, rmSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { workflowIdOf } from '../../src/messages';
import { drive, EVERYTHING } from './drive';
import { sleep, startRig, type Rig } from './rig';

const root = path.join(__dirname, '..', '..');
const one = (tool: string, args: object, more: object[] = []) => ({ goal: 'One', steps: [{ id: 'only', title: 'Only', action: { type: 'tool', tool, args } }, ...more] });
const ASK = { id: 'ask', title: 'Ask', dependsOn: [] as string[], action: { type: 'question', question: 'Well?' } };

/** Name, what it shows, and how it comes about; answers the run's id. */
const SCENES: { name: string; shows: string; play: (rig: Rig) => Promise<string> }[] = [
  { name: 'everything', shows: 'readers in parallel, an effect, a question, a wait, an approved effect; signals and Updates', play: async (rig) => {
    const runId = await rig.run({ plan: EVERYTHING });
    await drive(rig, runId);
    return runId;
  } },
  { name: 'diverged', shows: 'killed after an append; the same commands are decided again from the tail', play: (rig) => killed(rig, 'append:after:ToolCallRequested:2') },
  { name: 'gate', shows: 'killed after the send; the gate looks the key up', play: (rig) => killed(rig, 'call:sent:asked') },
  { name: 'rejected', shows: 'malformed signals, a plain signal, a rejected approval', play: async (rig) => {
    const runId = await rig.run({ plan: one('asked', { text: 'no' }) });
    const approvalId = await rig.until(runId, (state) => Object.keys(state.approvals)[0]);
    await rig.client.workflow.getHandle(workflowIdOf(runId)).signal('message', null);
    await rig.client.workflow.getHandle(workflowIdOf(runId)).signal('reject', { approvalId, reason: 'not this' });
    return runId;
  } },
  { name: 'cancelled', shows: 'cancelled by message with an effect to take back; ends through its own native cancel', play: async (rig) => {
    const runId = await rig.run({ plan: one('undoable', { text: 'x' }, [{ ...ASK, dependsOn: ['only'] }]) });
    await rig.until(runId, (state) => Object.keys(state.questions)[0]);
    await rig.send(runId, { kind: 'cancel', reason: 'enough' });
    return runId;
  } },
  { name: 'cancelled-running', shows: 'native cancel while a reader runs', play: async (rig) => {
    const runId = await rig.run({ plan: one('look', { text: 'x', before: 30_000 }) });
    await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
    await sleep(1_000);
    await rig.client.workflow.getHandle(workflowIdOf(runId)).cancel();
    return runId;
  } },
  { name: 'retried', shows: 'a reader that fails once and is tried again', play: async (rig) => rig.run({ plan: one('look', { text: 'x', fail: 'server' }) }) },
  { name: 'failed', shows: 'a reader that is not allowed; blocked, then failed by a person', play: async (rig) => {
    const runId = await rig.run({ plan: one('look', { text: 'x', fail: 'permission' }, [{ ...ASK, dependsOn: ['only'] }]) });
    if (await rig.until(runId, (state) => (state.blocked ? 'blocked' : state.end && 'over')) === 'blocked') await rig.send(runId, { kind: 'settle', as: 'fail' });
    return runId;
  } },
  { name: 'restored', shows: 'terminated, restored under a new epoch', play: async (rig) => {
    const runId = await rig.run({ plan: { goal: 'Restore', steps: [ASK] } });
    const questionId = await rig.until(runId, (state) => Object.keys(state.questions)[0]);
    await rig.restore(runId);
    await rig.until(runId, (state) => state.epoch === 1);
    await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'yes' } });
    return runId;
  } },
  { name: 'reset', shows: 'reset to the last workflow task: behind, then continued as new', play: async (rig) => {
    const runId = await rig.run({ plan: { goal: 'Reset', steps: [ASK] } });
    const questionId = await rig.until(runId, (state) => Object.keys(state.questions)[0]);
    await rig.send(runId, { kind: 'note', text: { value: 'before the reset' } });
    await rig.server.temporalCli(['workflow', 'reset', '-w', workflowIdOf(runId), '--type', 'LastWorkflowTask', '--reason', 'record']);
    await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'yes' } });
    return runId;
  } },
  { name: 'rolled', shows: 'continue-as-new between calls, with a checkpoint', play: async (rig) => rig.run({
    taskQueue: 'small', plan: { goal: 'Roll', steps: Array.from({ length: 8 }, (_, i) => ({ id: `s${i}`, title: `Step ${i}`, dependsOn: i > 0 ? [`s${i - 1}`] : [], action: { type: 'tool', tool: 'look', args: { text: `t${i}` } } })) },
  }) },
  { name: 'outage', shows: 'the store is away: appends as regular activities', play: async (rig) => {
    const runId = await rig.run({ plan: { goal: 'Outage', steps: [ASK] } });
    const questionId = await rig.until(runId, (state) => Object.keys(state.questions)[0]);
    const away = locked(rig, 6_000);
    await sleep(1_000);
    await rig.client.workflow.getHandle(workflowIdOf(runId)).signal('answer', { questionId, answer: 'yes' });
    await away;
    return runId;
  } },
];

async function killed(rig: Rig, point: string): Promise<string> {
  const taskQueue = `record-${point}`;
  const worker = await rig.supervised({ taskQueue, env: { LONGHAUL_CRASH_AT: point, LONGHAUL_CRASH_ONCE: path.join(rig.stateDir, `record-${point.replaceAll(':', '-')}`) } });
  const runId = await rig.run({ plan: EVERYTHING, taskQueue });
  await drive(rig, runId);
  await rig.end(runId);
  await worker.stop();
  return runId;
}

function locked(rig: Rig, ms: number): Promise<void> {
  const script = `const db = new (require('libsql'))(process.argv[1]); db.exec('PRAGMA busy_timeout = 20000'); db.exec('BEGIN EXCLUSIVE'); setTimeout(() => { db.exec('COMMIT'); db.close(); }, ${ms});`;
  const child = spawn(process.execPath, ['-e', script, path.join(rig.stateDir, 'longhaul.db')], { cwd: root, stdio: 'inherit' });
  return new Promise((resolve, reject) => { child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the locking process ended with ${code}`)))); });
}

export async function record(folder: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
  const sdk = (JSON.parse(readFileSync(path.join(root, 'node_modules/@temporalio/workflow/package.json'), 'utf8')) as { version: string }).version;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const rig = await startRig();
  try {
    await rig.worker();
    await rig.worker({ taskQueue: 'small', limits: { softEvents: 40, waitEvents: 1_000 } });
    const provenance: object[] = [];
    for (const { name, shows, play } of SCENES) {
      const runId = await play(rig);
      await rig.end(runId);
      for (const [i, { executionId, history }] of (await rig.histories(runId)).entries()) {
        const file = i === 0 ? `${name}.json` : `${name}-${i + 1}.json`;
        const shown = await rig.server.temporalCli(['workflow', 'show', '-w', workflowIdOf(runId), '-r', executionId, '--output', 'json']);
        writeFileSync(path.join(folder, file), `${JSON.stringify(JSON.parse(shown.stdout))}\n`);
        provenance.push({ file, shows, generation: i + 1, longhaul: version, sdk, workflowId: workflowIdOf(runId), executionId, events: history.events?.length ?? 0 });
      }
    }
    writeFileSync(path.join(folder, 'provenance.json'), `${JSON.stringify(provenance, null, 2)}\n`);
  } finally {
    await rig.stop();
  }
}
