// The main path on the real server: a declared plan with readers, effects, an approval, a question and a wait, to its end;
// what Temporal's lists show of it; and that every history of it replays with no store in reach.
import { canonical } from '../../src/core/canonical';
import { workflowIdOf } from '../../src/messages';
import { startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); await rig.worker(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

const plan = {
  goal: 'Do everything once',
  steps: [
    { id: 'look', title: 'Look', action: { type: 'tool', tool: 'look', args: { text: 'hello' } } },
    { id: 'big', title: 'Read a lot', action: { type: 'tool', tool: 'big', args: { text: 'x' } } },
    { id: 'stamp', title: 'Stamp', action: { type: 'tool', tool: 'stamp', args: { text: { $from: 'look.text' } } } },
    { id: 'ask', title: 'Ask', dependsOn: ['stamp'], action: { type: 'question', question: 'Which quarter?' } },
    { id: 'pause', title: 'Pause', dependsOn: ['ask'], action: { type: 'wait', for: '1s' } },
    { id: 'asked', title: 'Publish', dependsOn: ['pause', 'big'], action: { type: 'tool', tool: 'asked', args: { text: { $from: 'ask' } } } },
  ],
};

test('a declared plan runs to its end with each effect once, waiting for its people on the way', async () => {
  const runId = await rig.run({ plan });
  const questionId = await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  expect(await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'Q3' } })).toMatchObject({ kind: 'done' });
  const approvalId = await rig.until(runId, (state) => Object.keys(state.approvals)[0]);
  expect(await rig.send(runId, { kind: 'approve', approvalId })).toMatchObject({ kind: 'granted' });
  const { state, status } = await rig.end(runId);
  expect(status).toBe('COMPLETED');
  expect(state.end).toMatchObject({ status: 'completed', outcome: 'full' });
  expect(rig.effects(runId).map((line) => `${line.tool} ${line.text}`)).toEqual(['stamp hello', 'asked Q3']);
});

test('I10 the live state, asked by query, is the fold of the journal', async () => {
  const runId = await rig.run({ plan: { goal: 'Wait', steps: [{ id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }] } });
  await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  const live = await rig.client.workflow.getHandle(workflowIdOf(runId)).query<{ version: number; sha256: string }>('details');
  const { sha256Hex } = await import('../../src/core/canonical');
  expect(live.sha256).toBe(sha256Hex(canonical(await rig.state(runId))));
});
