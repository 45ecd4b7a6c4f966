// The main path on the real server: a declared plan with readers, effects, an approval, a question and a wait, to its end;
// what Temporal's lists show of it; and that every history of it replays with no store in reach.
import { canonical, sha256Hex } from '../../src/core/canonical';
import { workflowIdOf } from '../../src/messages';
import { EVERYTHING } from '../rig/drive';
import { startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); await rig.worker(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

test('a declared plan runs to its end with each effect once, waiting for its people on the way', async () => {
  const runId = await rig.run({ plan: EVERYTHING });
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
  expect(live.sha256).toBe(sha256Hex(canonical(await rig.state(runId))));
});

test('R10.7 what a run waits for stands in search attributes, in the summary of its bars and in its current details', async () => {
  const runId = await rig.run({ plan: { goal: 'Approve', steps: [{ id: 'asked', title: 'Publish it', action: { type: 'tool', tool: 'asked', args: { text: 'go' } } }] } });
  const approvalId = await rig.until(runId, (state) => Object.keys(state.approvals)[0]);
  const found = async (query: string): Promise<string[]> => {
    const ids: string[] = [];
    for await (const info of rig.client.workflow.list({ query })) ids.push(info.workflowId);
    return ids;
  };
  for (let i = 0; i < 50 && (await found('AgentWaitingFor = "approval"')).length === 0; i += 1) await new Promise((resolve) => { setTimeout(resolve, 100); });
  expect(await found('AgentWaitingFor = "approval" AND AgentStatus = "waiting" AND AgentOwner = "ann"')).toEqual([workflowIdOf(runId)]);
  const seen = await rig.client.workflow.getHandle(workflowIdOf(runId)).query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  expect(seen.currentDetails).toContain(`longhaul approvals approve ${approvalId}`);
  await rig.send(runId, { kind: 'approve', approvalId });
  await rig.end(runId);
  const described = await rig.server.temporalCli(['workflow', 'show', '-w', workflowIdOf(runId), '--output', 'json']);
  expect(described.stdout).toContain(Buffer.from('"asked: Publish it"').toString('base64'));
});
