// Many and large values at once, on the real server: a plan of hundreds of calls that wait for nothing, with large arguments, and a result of
// 30 MB. All of it travels by reference: no event of Temporal's is large, no history grows with it, and every byte is found again.
import type { RunEvent } from '../../src/core/events';
import { workflowIdOf } from '../../src/messages';
import { startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); await rig.worker(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

/** Calls, and the bytes of each one's arguments: together far more than a plan from a file can hold. */
const CALLS = 300;
const BYTES = 50_000;
const textOf = (n: number): string => `${n} `.repeat(BYTES).slice(0, BYTES);
const MOST = { event: 1024 * 1024, history: 5 * 1024 * 1024 };

/** Most calls that were under way at once; an agent that says nothing of it has four. */
function mostUnderWay(events: RunEvent[]): number {
  let [now, most] = [0, 0];
  for (const { type } of events) {
    if (type === 'ToolCallRequested') most = Math.max(most, now += 1);
    if (type === 'ToolCallSucceeded' || type === 'ToolCallFailed') now -= 1;
  }
  return most;
}

/** The workflow task with whose end an event came: what one task says is one message to the server. */
const taskOf = (event: object): string | undefined => Object.values(event).flatMap((part: unknown) =>
  (typeof part === 'object' && part !== null && 'workflowTaskCompletedEventId' in part && part.workflowTaskCompletedEventId ? [String(part.workflowTaskCompletedEventId)] : []))[0];

test('B40 hundreds of calls at once with large arguments, and a result of 30 MB: in batches, by reference, and no task or history is large', async () => {
  const steps = Array.from({ length: CALLS }, (_, n) => ({ id: `s${n}`, title: `s${n}`, action: { type: 'tool', tool: 'look', args: { text: textOf(n) } } }));
  const runId = await rig.run({ plan: { goal: 'Wide', steps: [...steps, { id: 'huge', title: 'Huge', action: { type: 'tool', tool: 'big', args: { text: 'abc'.repeat(1_000) } } }] } });
  const { state, status } = await rig.end(runId, 400_000);
  expect([status, state.end?.outcome]).toEqual(['COMPLETED', 'full']);
  const outputs = new Map(state.steps.map(({ id, output }) => [id, output]));
  for (const n of [0, 100, CALLS - 1]) {
    const output = outputs.get(`s${n}`);
    const bytes = output && 'ref' in output ? await rig.stores.artifacts.read(output.ref.sha256) : new Uint8Array();
    expect([n, JSON.parse(new TextDecoder().decode(bytes))]).toEqual([n, { text: textOf(n), size: BYTES }]);
  }
  const huge = outputs.get('huge');
  expect(huge && 'ref' in huge ? huge.ref.bytes : 0).toBeGreaterThan(30_000_000);
  expect(mostUnderWay(await rig.events(runId))).toBe(4);
  let most = 0;
  const tasks = new Map<string, number>();
  for (const { history, executionId } of await rig.histories(runId)) {
    for (const event of history.events ?? []) {
      most = Math.max(most, Buffer.byteLength(JSON.stringify(event)));
      const task = taskOf(event);
      if (task) tasks.set(`${executionId} ${task}`, (tasks.get(`${executionId} ${task}`) ?? 0) + Buffer.byteLength(JSON.stringify(event)));
    }
    const { raw } = await rig.client.workflow.getHandle(workflowIdOf(runId), executionId).describe();
    expect(Number(raw.workflowExecutionInfo?.historySizeBytes)).toBeLessThan(MOST.history);
  }
  expect([most < MOST.event, tasks.size > CALLS / 4, Math.max(...tasks.values()) < MOST.event]).toEqual([true, true, true]);
  for (const event of await rig.events(runId)) expect([event.type, Buffer.byteLength(JSON.stringify(event)) < MOST.event]).toEqual([event.type, true]);
}, 450_000);
