// Cancelling a run in the middle of every kind of tool that waits for something outside: an address that never answers, a program with
// children, a tool's own code, and one that was approved before. Each hears the signal within seconds and lets go of what it held;
// what is not known of it is said.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Json } from '../../src/core/canonical';
import { workflowIdOf } from '../../src/messages';
import { sleep, startRig, type Rig } from '../rig/rig';
import { groupRuns, groupsOf } from '../rig/stop-tools';

/** ms within which a cancel has reached every tool. */
const SOON_MS = 3_000;

let rig: Rig;
let silent: Server;
/** For each connection to the address that never answers: what was asked, and when it was closed. */
const asked: { url: string; closedAt: number | null }[] = [];
beforeAll(async () => {
  silent = createServer((request) => {
    const one: (typeof asked)[number] = { url: decodeURIComponent(request.url ?? ''), closedAt: null };
    asked.push(one);
    request.socket.once('close', () => { one.closedAt = Date.now(); });
  });
  await new Promise<void>((resolve) => { silent.listen(0, '127.0.0.1', resolve); });
  rig = await startRig();
  await rig.worker({ env: { LONGHAUL_SERVICE_OUTSIDE: `http://127.0.0.1:${(silent.address() as AddressInfo).port}` } });
}, 120_000);
afterAll(async () => {
  await rig.stop();
  silent.closeAllConnections();
  silent.close();
}, 60_000);

const run = (runId: string, tool: string, args: Json) => rig.run({ runId, plan: { goal: 'Stop me', steps: [{ id: 'only', title: 'Only', action: { type: 'tool', tool, args } }] } });
const sent = (runId: string) => rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
const seen = async (there: () => boolean): Promise<void> => { for (let i = 0; i < 300 && !there(); i += 1) await sleep(50); };

test('R7.1 B28 an address that never answers, a program with children, code that waits and an approved call are all stopped within 3 s, with a class each', async () => {
  await Promise.all([run('http', 'keyed', { text: 'x' }), run('shell', 'sleeper', { text: 'x' }), run('own', 'look', { text: 'x', before: 60_000 }), run('approved', 'asked', { text: 'x', before: 60_000 })]);
  const approvalId = await rig.until('approved', (state) => Object.keys(state.approvals)[0]);
  await rig.send('approved', { kind: 'approve', approvalId });
  const ids = ['http', 'shell', 'own', 'approved'];
  await Promise.all(ids.map(sent));
  const groups = (): number[] => groupsOf(path.join(rig.stateDir, 'effects.jsonl'));
  await seen(() => asked.length > 0 && groups().length > 0);
  await sleep(1_000);
  expect([asked, groups().map(groupRuns)]).toEqual([[{ url: '/things/keyed~http', closedAt: null }], [true]]);

  const from = Date.now();
  await Promise.all(ids.map((runId) => rig.client.workflow.getHandle(workflowIdOf(runId)).cancel()));
  await seen(() => asked[0]?.closedAt !== null && !groups().some(groupRuns));
  expect((asked[0]?.closedAt ?? Infinity) - from).toBeLessThan(SOON_MS);
  expect([groups().map(groupRuns), Date.now() - from < SOON_MS]).toEqual([[false], true]);

  for (const runId of ids) {
    const { state, status } = await rig.end(runId);
    const events = await rig.events(runId);
    const at = (type: string): number => events.find((event) => event.type === type)?.at ?? Infinity;
    const ended = events.flatMap((event) => (event.type === 'ToolCallFailed' ? [event.data.failure.class] : event.type === 'ToolCallUnknown' ? ['unknown'] : []));
    const unknown = runId === 'http' ? ['keyed c1'] : [];
    expect([runId, status, [...new Set(ended)], state.end?.report?.unknown]).toEqual([runId, 'CANCELLED', [runId === 'http' ? 'unknown' : 'cancelled'], unknown]);
    expect(at(runId === 'http' ? 'ToolCallUnknown' : 'ToolCallFailed') - at('CancelRequested')).toBeLessThan(SOON_MS);
    expect(events.filter(({ type }) => type === 'ToolCallRequested')).toHaveLength(1);
  }
  expect([asked.length, rig.effects()]).toEqual([1, []]);
}, 90_000);
