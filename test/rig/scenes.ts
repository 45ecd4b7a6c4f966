// The runs that a release is recorded by: on the real server, between them they meet every answer of the journal, every kind of need
// and every way in which people, deadlines and the outside enter. Each scene answers its run's id; record.ts writes what came of it.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createClient } from '../../src/client/client';
import type { Json } from '../../src/core/canonical';
import { callbackIdOf } from '../../src/core/keys';
import { workflowIdOf } from '../../src/messages';
import { PARENT, PLANNER, RIG_AGENT } from './config';
import { drive, EVERYTHING } from './drive';
import { ANN, sleep, type Rig } from './rig';
import { changeVersion } from './tools';

const root = path.join(__dirname, '..', '..');
const one = (tool: string, args: object, more: object[] = []) => ({ goal: 'One', steps: [{ id: 'only', title: 'Only', action: { type: 'tool', tool, args } }, ...more] });
const ASK = { id: 'ask', title: 'Ask', dependsOn: [] as string[], action: { type: 'question', question: 'Well?' } };

const STEERED = 'Whom shall I tell?';

/** Name, what it shows, and how it comes about; answers the run's id. */
export interface Scene { name: string; shows: string; play: (rig: Rig) => Promise<string> }

const toolStep = (id: string, tool: string, args: { [key: string]: Json }, dependsOn: string[] = []) => ({ id, title: `Do ${id}`, dependsOn, action: { type: 'tool', tool, args } });
const approvalOf = (rig: Rig, runId: string, not: string[] = []) => rig.until(runId, (state) => Object.keys(state.approvals).find((id) => !not.includes(id)));
const BOB = { actor: { ...ANN, id: 'bob' } };

/** What a model of the scenes says: a plan that is refused, then two calls, then the end; or a call that people have it take back. */
export function scripted({ messages }: { messages: { role: string; content?: unknown }[] }): { text: string } | { calls: { tool: string; args: object }[] } {
  if (JSON.stringify(messages[1]).includes(STEERED)) return [{ calls: [{ tool: 'asked', args: { text: 'the board' } }] }, { calls: [{ tool: 'propose_plan', args: { drop: ['s1'], steps: [{ id: 'team', tool: 'asked', args: { text: 'the team' } }] } }] }][messages.filter(({ role }) => role === 'assistant').length] ?? { text: 'As you like.' };
  if (messages.at(-1)?.role !== 'tool') return { calls: [{ tool: 'no_such_tool', args: {} }, { tool: 'look', args: { text: 'first' } }] };
  return JSON.stringify(messages).includes('"second') ? { text: 'Both were read.' } : { calls: [{ tool: 'stamp', args: { text: 'second' } }] };
}

/** A worker that is killed once at a point, for one run. */
async function dying<T>(rig: Rig, point: string, play: (taskQueue: string) => Promise<T>): Promise<T> {
  const taskQueue = `record-${point}`;
  const worker = await rig.supervised({ taskQueue, env: { LONGHAUL_CRASH_AT: point, LONGHAUL_CRASH_ONCE: path.join(rig.stateDir, `record-${point.replaceAll(':', '-')}`) } });
  try {
    return await play(taskQueue);
  } finally {
    await worker.stop();
  }
}

export const SCENES: Scene[] = [
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
  { name: 'edited', shows: 'arguments that a person edits, badly and well; a note; paused and resumed; a quorum of two', play: async (rig) => {
    const runId = await rig.run({ plan: { goal: 'Edit', steps: [toolStep('go', 'asked', { text: 'go' }), toolStep('two', 'asked', { text: 'two people' }, ['go'])] } });
    const first = await approvalOf(rig, runId);
    await rig.send(runId, { kind: 'note', text: { value: 'mind the step' } });
    await rig.send(runId, { kind: 'pause', reason: 'look again' });
    await rig.send(runId, { kind: 'resume' });
    await rig.send(runId, { kind: 'edit', approvalId: first, args: { value: { text: 5 } } });
    await rig.send(runId, { kind: 'edit', approvalId: first, args: { value: { text: 'go slowly' } } });
    // Who edits approves what it becomes, so the next approval is the one of two people.
    const second = await rig.until(runId, (state) => Object.entries(state.approvals).find(([, { callId }]) => state.calls[callId]?.stepId === 'two')?.[0]);
    await rig.send(runId, { kind: 'approve', approvalId: second });
    await rig.send(runId, { kind: 'approve', approvalId: second }, BOB);
    return runId;
  } },
  { name: 'granted', shows: 'an approval for the rest of the run, used and revoked', play: async (rig) => {
    const steps = [toolStep('a', 'asked', { text: 'one' }), toolStep('b', 'asked', { text: 'two' }, ['a']), { ...ASK, dependsOn: ['b'] }, toolStep('c', 'asked', { text: 'three' }, ['ask'])];
    const runId = await rig.run({ plan: { goal: 'Grant', steps } });
    const first = await approvalOf(rig, runId);
    await rig.send(runId, { kind: 'approve', approvalId: first, grant: { where: { text: 't*' } } });
    const { questionId, grantId } = await rig.until(runId, (state) => { const id = Object.keys(state.questions)[0]; return id !== undefined && { questionId: id, grantId: state.grants?.[0]?.grantId ?? '' }; });
    await rig.send(runId, { kind: 'revoke', grantId }, BOB);
    await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'yes' } });
    await rig.send(runId, { kind: 'approve', approvalId: await approvalOf(rig, runId, [first]) });
    return runId;
  } },
  { name: 'overdue', shows: 'reminders, a question and an approval whose time ends', play: async (rig) => rig.run({ plan: { goal: 'Wait in vain', steps: [
    { ...ASK, action: { ...ASK.action, deadline: '1s', onDeadline: { then: 'continue', default: 'nothing' } } }, toolStep('late', 'asked', { text: 'soon: cancel-run' }, ['ask']),
  ] } }) },
  { name: 'changed', shows: 'a thing that changes while its approval is waited for: voided and asked anew', play: async (rig) => {
    const runId = await rig.run({ plan: one('asked', { text: 'moving' }) });
    const first = await approvalOf(rig, runId);
    changeVersion(rig.effectsFile, 'moving', 'v2');
    await rig.send(runId, { kind: 'approve', approvalId: first });
    await rig.send(runId, { kind: 'approve', approvalId: await approvalOf(rig, runId, [first]) });
    return runId;
  } },
  { name: 'called-back', shows: 'a batch that is told later, one item twice; another that is not told in time', play: async (rig) => {
    const runId = await rig.run({ plan: { goal: 'Order', steps: [toolStep('books', 'order', { text: 'books', expect: 2 }), toolStep('pens', 'order', { text: 'pens', deadline: '1s', goOn: true }, ['books'])] } });
    const callbackId = callbackIdOf(runId, 'c1');
    const client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
    await rig.until(runId, (state) => state.callbacks?.[callbackId]?.open);
    for (const [eventId, item] of [['e2', 'b'], ['e2', 'b'], ['e1', 'a']] as const) await client.callback(callbackId, { eventId, item, payload: eventId }, BOB);
    return runId;
  } },
  { name: 'handed', shows: 'a part handed to a run of another agent, approved there', play: async (rig) => {
    const part = { goal: 'A part', steps: [toolStep('go', 'asked', { text: 'go' })] };
    const runId = await rig.run({ agent: PARENT, plan: { goal: 'Hand over', steps: [toolStep('part', 'run_agent', { agent: RIG_AGENT, plan: JSON.stringify(part) })] } });
    const child = await rig.until(runId, (state) => Object.values(state.callbacks ?? {}).find((entry) => entry.child !== undefined)?.child);
    await rig.send(child, { kind: 'approve', approvalId: await approvalOf(rig, child) });
    await rig.end(child);
    return runId;
  } },
  { name: 'unknown', shows: 'killed in a call that nobody can look up: a person says what happened', play: (rig) => dying(rig, 'call:sent:blind', async (taskQueue) => {
    const runId = await rig.run({ taskQueue, plan: one('blind', { text: 'once' }) });
    const decision = await rig.until(runId, (state) => Object.values(state.decisions)[0]);
    await rig.send(runId, { kind: 'resolve', callId: decision.callId, verdict: 'happened', reference: 'seen in the file' });
    await rig.end(runId);
    return runId;
  }) },
  { name: 'exhausted', shows: 'a budget that is used up and extended', play: async (rig) => {
    const runId = await rig.run({ budget: { calls: 1 }, plan: { goal: 'Spend', steps: [toolStep('a', 'look', { text: 'a' }), toolStep('b', 'look', { text: 'b' }, ['a'])] } });
    await rig.until(runId, (state) => state.exhausted.length > 0);
    await rig.send(runId, { kind: 'extend', budget: { calls: 1 } });
    return runId;
  } },
  { name: 'forked', shows: 'begun from the middle of another run, with a plan of its own: what was done there stands, one call of it is in doubt', play: async (rig) => {
    const steps = [toolStep('done', 'stamp', { text: 'done' }), toolStep('open', 'stamp', { text: 'open', before: 3_000, deaf: true }, ['done'])];
    const parent = await rig.run({ plan: { goal: 'Fork', steps } });
    const at = await rig.until(parent, (state) => Object.values(state.calls).some(({ stepId, phase }) => stepId === 'open' && phase === 'sent') && state.version);
    const client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
    const runId = `${parent}-fork`;
    await client.fork(parent, { owner: ANN, at, runId, plan: { goal: 'Otherwise', steps: [...steps, toolStep('more', 'look', { text: 'more' }, ['done'])] } });
    await rig.send(runId, { kind: 'reject', approvalId: await approvalOf(rig, runId), reason: 'the other run does it' });
    return runId;
  } },
  { name: 'planned', shows: 'a model that names a tool which is not there, then plans', play: async (rig) => rig.run({ agent: PLANNER, plan: null, input: { question: 'What is there?' } }) },
  { name: 'steered', shows: 'a note to a run that waits for an approval: the planner takes the call back and makes another; a second note changes nothing', play: async (rig) => {
    const runId = await rig.run({ agent: PLANNER, plan: null, input: { question: STEERED } });
    const first = await approvalOf(rig, runId);
    await rig.send(runId, { kind: 'note', text: { value: 'Not the board.' } });
    const second = await approvalOf(rig, runId, [first]);
    await rig.send(runId, { kind: 'note', text: { value: 'Good.' } });
    await rig.until(runId, (_, events) => events.some((event) => event.type === 'ModelCallSucceeded' && event.data.text === 'As you like.'));
    await rig.send(runId, { kind: 'approve', approvalId: second });
    return runId;
  } },
];

const killed = (rig: Rig, point: string): Promise<string> => dying(rig, point, async (taskQueue) => {
  const runId = await rig.run({ plan: EVERYTHING, taskQueue });
  await drive(rig, runId);
  await rig.end(runId);
  return runId;
});

function locked(rig: Rig, ms: number): Promise<void> {
  const script = `const db = new (require('libsql'))(process.argv[1]); db.exec('PRAGMA busy_timeout = 20000'); db.exec('BEGIN EXCLUSIVE'); setTimeout(() => { db.exec('COMMIT'); db.close(); }, ${ms});`;
  const child = spawn(process.execPath, ['-e', script, path.join(rig.stateDir, 'longhaul.db')], { cwd: root, stdio: 'inherit' });
  return new Promise((resolve, reject) => { child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the locking process ended with ${code}`)))); });
}
