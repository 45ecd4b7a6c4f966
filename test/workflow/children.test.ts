// Runs that a run starts, on the real server: parent and child wait without a worker, a decision on the parent's page reaches the
// child, a start that was cut short is the same run, and a cancel of the parent ends both. Every effect is counted in a file.
import path from 'node:path';
import { pageOfRun } from '../../src/cli/page';
import { createClient, type LonghaulClient } from '../../src/client/client';
import type { Json } from '../../src/core/canonical';
import type { EventOf } from '../../src/core/events';
import { childRunIdOf } from '../../src/core/keys';
import { workflowIdOf } from '../../src/messages';
import { PARENT, RIG_AGENT } from '../rig/config';
import { ANN, startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); }, 120_000);
afterAll(() => rig.stop(), 120_000);

const step = (id: string, tool: string, dependsOn: string[] = [], args: object = { text: id }) => ({ id, title: `Do ${id}`, dependsOn, action: { type: 'tool', tool, args } });
const plan = (...steps: object[]): Json => ({ goal: 'A part of it', steps }) as unknown as Json;
/** A step that hands a plan to an agent. */
const hand = (given: Json, more: object = {}) => step('part', 'run_agent', [], { agent: RIG_AGENT, plan: JSON.stringify(given), ...more });
const client = (): LonghaulClient => createClient({ stores: rig.stores, connection: rig.client.connection });
const texts = (runId: string): string[] => rig.effects(runId).map((line) => line.text);
const handed = (taskQueue: string, steps: object[], more: { budget?: object } = {}) => rig.run({ taskQueue, agent: PARENT, plan: plan(...steps), ...more });
const awaiting = (runId: string) => rig.until(runId, (state) => Object.values(state.callbacks ?? {}).find((entry) => entry.child !== undefined)?.child);
const approvalOf = (runId: string) => rig.until(runId, (state) => Object.keys(state.approvals)[0]);
const outcomeOf = async (runId: string) => (await rig.events(runId)).find((event): event is EventOf<'ToolCallSucceeded'> => event.type === 'ToolCallSucceeded' && event.data.via === 'callback')?.data;

test('R10.4 the worker is killed while parent and child wait: the approval given on the page of the parent reaches the call of the child, and nothing finished is repeated', async () => {
  const worker = await rig.worker({ taskQueue: 'waits' });
  const runId = await handed('waits', [hand(plan(step('first', 'stamp'), step('go', 'asked', ['first'])), { budget: { calls: 20 } }), step('after', 'stamp', ['part'])], { budget: { calls: 30 } });
  const child = await awaiting(runId);
  const approvalId = await approvalOf(child);
  await worker.kill();
  const { row, state, below } = await client().show(runId);
  expect(below).toMatchObject([{ run: { runId: child, owner: ANN }, wait: { waitId: approvalId, kind: 'approval' } }]);
  const page = pageOfRun(row, state, { below });
  expect(page).toContain(`below it, run ${child} (${RIG_AGENT}@1.0.0)`);
  expect(page).toContain(`approvals approve ${approvalId}`);
  expect((await client().inbox()).map(({ run, wait }) => [run.runId, wait.waitId])).toContainEqual([child, approvalId]);
  expect([state.reserved.calls, row.budgetLeft.calls]).toEqual([20, 9]);
  const told = await client().message(runId, { kind: 'approve', approvalId }, { actor: ANN });
  expect(told).toMatchObject({ known: false, state: 'kept' });
  const next = await rig.worker({ taskQueue: 'waits' });
  const over = await rig.end(runId);
  expect([over.status, (await rig.end(child)).status]).toEqual(['COMPLETED', 'COMPLETED']);
  expect([texts(child), texts(runId)]).toEqual([['first', 'go'], ['after']]);
  expect(await outcomeOf(runId)).toMatchObject({ callId: 'c1', usage: { calls: 2 }, output: { value: { runId: child, status: 'completed', outcome: 'full', result: { text: 'go' } } } });
  expect([over.state.reserved.calls, over.state.spent.calls]).toEqual([0, 4]);
  await next.kill();
}, 120_000);

test('R7.1 a cancel of the parent cancels its child, takes back what can be, and both end as cancelled', async () => {
  const worker = await rig.worker({ taskQueue: 'cancels' });
  const runId = await handed('cancels', [hand(plan(step('back', 'undoable'), step('go', 'asked', ['back'])))]);
  const child = await awaiting(runId);
  const approvalId = await approvalOf(child);
  await rig.client.workflow.getHandle(workflowIdOf(runId)).cancel();
  const { state, status } = await rig.end(runId);
  expect([status, (await rig.end(child)).status]).toEqual(['CANCELLED', 'CANCELLED']);
  expect(state.end?.report).toEqual({ finished: [], undone: ['run_agent c1 (part)'], unknown: [], needsPerson: [] });
  expect(rig.effects(child).map(({ tool, text }) => `${tool} ${text}`)).toEqual(['undoable back', 'undo back']);
  expect(await client().message(runId, { kind: 'approve', approvalId }, { actor: ANN })).toMatchObject({ known: true, answer: { kind: 'closed' } });
  await worker.kill();
}, 120_000);

test('R7.4 what a cancelled child has done for good is named in the report of its parent', async () => {
  const worker = await rig.worker({ taskQueue: 'stands' });
  const runId = await handed('stands', [hand(plan(step('good', 'stamp'), step('go', 'asked', ['good'])))]);
  await approvalOf(await awaiting(runId));
  await rig.send(runId, { kind: 'cancel', reason: 'enough' });
  const { state } = await rig.end(runId);
  expect(state.end?.report).toMatchObject({ finished: ['run_agent c1 (part)'], undone: [], needsPerson: ['run_agent c1 (part): could not be undone'] });
  expect(JSON.stringify(await rig.events(runId))).toContain('this of it stands: stamp c1');
  await worker.kill();
}, 120_000);

test.each(['call:claimed', 'call:sent', 'call:settled'])('R10.4 a worker that dies at %s of the start leaves one child, which is found again', async (at) => {
  const taskQueue = at.replace(':', '-');
  const worker = await rig.supervised({ taskQueue, env: { LONGHAUL_CRASH_AT: `${at}:run_agent:1`, LONGHAUL_CRASH_ONCE: path.join(rig.stateDir, `marker-${taskQueue}`) } });
  const runId = await handed(taskQueue, [hand(plan(step('only', 'stamp')))]);
  const { status } = await rig.end(runId, 90_000);
  expect([status, worker.deaths()]).toEqual(['COMPLETED', 1]);
  expect(texts(childRunIdOf(runId, 'c1'))).toEqual(['only']);
  expect((await client().list({ limit: 500 })).filter((row) => row.runId.startsWith(`${runId}.`)).map((row) => row.status)).toEqual(['completed']);
  await worker.stop();
}, 120_000);

test('R10.4 a child that ended while nothing ran its parent is seen when the parent is restored', async () => {
  const worker = await rig.worker({ taskQueue: 'lost' });
  const runId = await handed('lost', [hand(plan(step('go', 'asked')))]);
  const child = await awaiting(runId);
  const approvalId = await approvalOf(child);
  await rig.client.workflow.getHandle(workflowIdOf(runId)).terminate('lost');
  await rig.send(child, { kind: 'approve', approvalId });
  expect((await rig.end(child)).status).toBe('COMPLETED');
  await rig.restore(runId, 'lost');
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(texts(child)).toEqual(['go']);
  await worker.kill();
}, 120_000);

test('B29 R10.4 a child that somebody cancels is a failed call with its class, and so is one that may not be started', async () => {
  const worker = await rig.worker({ taskQueue: 'fails' });
  const runId = await handed('fails', [hand(plan(step('go', 'asked')))]);
  const child = await awaiting(runId);
  await approvalOf(child);
  await rig.send(child, { kind: 'cancel', reason: 'not this' });
  const blocked = await rig.until(runId, (state) => state.blocked);
  expect(blocked.failure).toMatchObject({ class: 'cancelled', code: 'child-cancelled', message: `Run ${child} was cancelled: not this` });
  const nested = (depth: number): Json => plan(depth === 0 ? step('deep', 'stamp') : hand(nested(depth - 1), { agent: PARENT }));
  const deep = await handed('fails', [hand(nested(3), { agent: PARENT })]);
  let bottom = deep;
  for (let i = 0; i < 3; i += 1) bottom = childRunIdOf(bottom, 'c1');
  expect((await rig.until(bottom, (state) => state.blocked)).failure).toMatchObject({ class: 'policy', code: 'depth' });
  await rig.send(bottom, { kind: 'settle', as: 'fail' });
  const above = await rig.until(childRunIdOf(childRunIdOf(deep, 'c1'), 'c1'), (state) => state.blocked);
  expect(above.failure).toMatchObject({ class: 'policy', code: 'child-failed' });
  await worker.kill();
}, 120_000);

test('R7.4 a worker that dies while it takes a child back leaves it told once, and the report says what became of it', async () => {
  const worker = await rig.supervised({ taskQueue: 'dies-undoing', env: { LONGHAUL_CRASH_AT: 'call:sent:run_agent:2', LONGHAUL_CRASH_ONCE: path.join(rig.stateDir, 'marker-dies-undoing') } });
  const runId = await handed('dies-undoing', [hand(plan(step('back', 'undoable'), step('go', 'asked', ['back'])))]);
  const child = await awaiting(runId);
  await approvalOf(child);
  await rig.send(runId, { kind: 'cancel', reason: 'enough' });
  const { state, status } = await rig.end(runId, 90_000);
  expect([status, worker.deaths(), (await rig.end(child)).status]).toEqual(['CANCELLED', 1, 'CANCELLED']);
  expect(state.end?.report).toEqual({ finished: [], undone: ['run_agent c1 (part)'], unknown: [], needsPerson: [] });
  expect(rig.effects(child).map(({ tool, text }) => `${tool} ${text}`)).toEqual(['undoable back', 'undo back']);
  expect((await rig.types(child)).filter((type) => type === 'CancelRequested')).toHaveLength(1);
  await worker.stop();
}, 150_000);
