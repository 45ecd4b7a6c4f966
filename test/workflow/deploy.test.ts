// A worker that is told to stop (SIGTERM, as a deploy does) takes no new work, lets the call under way end, and ends itself;
// the next worker goes on where it stopped.
import { sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

const step = (id: string, args: object, dependsOn: string[] = []) => ({ id, title: id, dependsOn, action: { type: 'tool', tool: 'stamp', args } });

test('R1.1 a deploy in the middle of a call: the call ends, its result is kept, and the next worker goes on', async () => {
  const old = await rig.worker();
  const runId = await rig.run({ plan: { goal: 'Deploy', steps: [step('first', { text: 'x', before: 3_000 }), step('second', { text: 'y' }, ['first'])] } });
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
  await sleep(500);
  await old.stop();
  expect(await old.ended).toBe('0');
  expect(rig.effects(runId).map(({ text }) => text)).toEqual(['x']);
  await rig.worker();
  const { state, status } = await rig.end(runId);
  expect([status, state.spent.failures, rig.effects(runId).map(({ text }) => text)]).toEqual(['COMPLETED', 0, ['x', 'y']]);
  expect(await rig.types(runId)).not.toContain('RecoveryChecked');
});

test('R1.1 a call that outlasts the grace time gives its claim back unsent, and no failure is counted', async () => {
  const old = await rig.worker({ taskQueue: 'grace', graceMs: 1_000 });
  const runId = await rig.run({ taskQueue: 'grace', plan: { goal: 'Deploy', steps: [step('long', { text: 'long', before: 5_000 })] } });
  await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent');
  await sleep(500);
  await old.stop();
  expect((await rig.stores.ledger.byRun(runId)).map(({ state }) => state)).toEqual(['released']);
  await rig.worker({ taskQueue: 'grace' });
  const { state } = await rig.end(runId);
  expect([state.end?.status, state.spent.failures, rig.effects(runId).length]).toEqual(['completed', 0, 1]);
});
