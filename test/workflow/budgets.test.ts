// Budgets on the real server: a run stops before the call that does not fit, asks, and goes on when it is given more; what was
// counted survives the death of its worker. Money is used up by a model over real HTTP whose price is set.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { budgetLeft } from '../../src/core/rules/budgets';
import { startChatServer, type ChatServer } from '../../src/testing/chat-server';
import { startRig, type Rig } from '../rig/rig';

const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-budgets-'));
let rig: Rig;
let model: ChatServer;
beforeAll(async () => {
  model = await startChatServer();
  rig = await startRig({ configFile: path.join(__dirname, '../rig/bench.config.ts'), env: {
    ISOLATED_FILE: path.join(folder, 'lines.jsonl'), LONGHAUL_MODEL: `openai-compatible:${model.url}#tiny`, LONGHAUL_MODEL_PRICE: '1,1',
  } });
}, 120_000);
afterAll(async () => {
  await rig.stop();
  await model.close();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

test('R8.4 a budget of 5 calls on a plan of 8: it stops after 5 and asks; counters survive a killed worker; extended, it completes', async () => {
  const taskQueue = 'counted';
  const first = await rig.worker({ taskQueue });
  const ask = { id: 's3', title: 'Ask', dependsOn: ['s2'], action: { type: 'question', question: 'Go on?' } };
  const steps: object[] = [1, 2, 4, 5, 6, 7, 8, 9].map((n) => ({ id: `s${n}`, title: `Step ${n}`, dependsOn: n === 1 ? [] : [`s${n - 1}`], action: { type: 'tool', tool: 'plain', args: { how: 'answers:nothing' } } }));
  const runId = await rig.run({ taskQueue, budget: { calls: 5, failures: 9 }, plan: { goal: 'Eight calls', steps: [...steps.slice(0, 2), ask, ...steps.slice(2)] } });
  const questionId = await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  expect((await rig.state(runId)).spent.calls).toBe(2);
  await first.kill();
  const second = await rig.worker({ taskQueue });
  await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'yes' } });
  const stopped = await rig.until(runId, (state) => state.exhausted.length > 0 && state);
  expect([stopped.exhausted, stopped.spent, stopped.reserved.calls, budgetLeft(stopped)]).toEqual([['calls'], { calls: 5, tokens: 0, microUsd: 0, failures: 0 }, 0, { calls: 0, failures: 9 }]);
  // The sixth is prepared, which costs nothing; it is not requested.
  expect(stopped.steps.map(({ status }) => status)).toEqual([...Array<string>(6).fill('done'), 'active', 'pending', 'pending']);
  expect((await rig.types(runId)).filter((type) => type === 'ToolCallRequested')).toHaveLength(5);
  expect(await rig.stores.journal.row(runId)).toMatchObject({ status: 'blocked', waits: [{ kind: 'budget', command: expect.stringContaining(`longhaul runs extend ${runId}`) }], budgetLeft: { calls: 0 } });
  await second.kill();
  await rig.worker({ taskQueue });
  expect(await rig.send(runId, { kind: 'extend', budget: { calls: 2 } })).toMatchObject({ kind: 'done' });
  const again = await rig.until(runId, (state) => state.spent.calls === 7 && state.exhausted.length > 0 && state);
  expect(again.budget).toEqual({ calls: 7, failures: 9 });
  await rig.send(runId, { kind: 'extend', budget: { calls: 1 } });
  const { state } = await rig.end(runId);
  expect([state.end, state.spent.calls, budgetLeft(state)]).toMatchObject([{ status: 'completed', outcome: 'full' }, 8, { calls: 0 }]);
});

test('R8.4 a budget of money is set aside by the pinned price before each call of the model, used up, and extended', async () => {
  await rig.worker();
  const most = 32_768 + 4_096;
  model.push(
    { calls: [{ tool: 'reader', args: { how: 'answers:nothing' } }], usage: { input: 1_000, output: 500 } },
    { text: 'Nothing was found.', usage: { input: 900, output: 100 } },
  );
  const runId = await rig.run({ agent: 'planner', plan: null, input: { question: 'What is there?' }, budget: { microUsd: most + 1_000 } });
  const stopped = await rig.until(runId, (state) => state.exhausted.length > 0 && state);
  expect([stopped.agent.price, stopped.exhausted, stopped.spent.microUsd, stopped.spent.tokens]).toEqual([{ input: 1_000_000, output: 1_000_000 }, ['microUsd'], 1_500, 1_500]);
  expect(model.requests).toHaveLength(1);
  expect((await rig.events(runId)).flatMap((event) => (event.type === 'ModelCallRequested' ? [event.data.reserved.microUsd] : []))).toEqual([most]);
  await rig.send(runId, { kind: 'extend', budget: { microUsd: 500 } });
  const { state } = await rig.end(runId);
  expect([state.end?.status, state.spent.microUsd, budgetLeft(state)]).toEqual(['completed', 2_500, { microUsd: most - 1_000 }]);
});
