// Tools of which nobody said what they may do, on the real server and under the policy that holds by default: called by a run itself
// and by a run that it started, each call asks, nothing is done before, and who asked for the run may not allow what has no class.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Json } from '../../src/core/canonical';
import { childRunIdOf } from '../../src/core/keys';
import { PARENT, RIG_AGENT } from '../rig/config';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';
import { linesOf } from '../rig/tools';

const BOB = { actor: { ...ANN, id: 'bob' } };
const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-unclassed-'));
const file = path.join(folder, 'effects.jsonl');
let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ configFile: path.join(__dirname, '../rig/unclassed.config.ts'), env: { UNCLASSED_FILE: file } });
  await rig.worker();
}, 120_000);
afterAll(async () => {
  await rig.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const step = (id: string, tool: string, args: object) => ({ id, title: id, action: { type: 'tool', tool, args } });
const both = (where: string): object[] => ['classed', 'unclassed'].map((tool) => step(tool, tool, { text: `${tool}, ${where}` }));
const open = (runId: string, count: number) => rig.until(runId, (state) => Object.keys(state.approvals).length === count && Object.values(state.approvals));

test('B05 under the default policy a tool with an effect and one without a class ask, called by a run and by its child; nothing is done before, and each once after', async () => {
  const handed = JSON.stringify({ goal: 'A part of it', steps: both('handed on') });
  const plan = { goal: 'Both ways', steps: [...both('itself'), step('part', 'run_agent', { agent: RIG_AGENT, plan: handed })] } as unknown as Json;
  const runId = await rig.run({ agent: PARENT, plan });
  await rig.until(runId, (state) => Object.values(state.callbacks ?? {}).some(({ child }) => child !== undefined));
  const child = childRunIdOf(runId, Object.values((await rig.state(runId)).steps).find(({ id }) => id === 'part')?.callId ?? '');
  const asked = await Promise.all([runId, child].map(async (id) => (await open(id, 2)).map(({ approvalId, binding }) => ({ id, approvalId, tool: binding.tool }))));
  await sleep(1_000);
  const calls = [runId, child].flatMap((id) => [`${id} classed`, `${id} unclassed`]);
  expect([linesOf(file), asked.flat().map(({ id, tool }) => `${id} ${tool}`).sort()]).toEqual([[], calls.sort()]);
  for (const { id, approvalId, tool } of asked.flat()) {
    if (tool === 'unclassed') expect(await rig.send(id, { kind: 'approve', approvalId })).toMatchObject({ kind: 'refused', text: expect.stringContaining('may not approve its own call') as unknown });
    expect(await rig.send(id, { kind: 'approve', approvalId }, BOB)).toMatchObject({ kind: 'granted' });
  }
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(linesOf(file).map(({ text }) => text).sort()).toEqual(['classed, handed on', 'classed, itself', 'unclassed, handed on', 'unclassed, itself']);
});
