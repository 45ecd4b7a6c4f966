// What a call was prepared for, and what its plan took for granted, changes while the run waits for an approval or while no worker
// lives: nothing is sent blindly. A changed thing is asked for anew with its new version; a broken premise fails the step.
import { changeVersion } from '../rig/tools';
import { startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

const plan = (text: string, more: object = {}) => ({ goal: 'Change it', steps: [{ id: 'only', title: 'Only', action: { type: 'tool', tool: 'asked', args: { text } }, ...more }] });
/** The open approval that is not `last`. */
const approval = (runId: string, last = '') => rig.until(runId, (state) => Object.values(state.approvals).find(({ approvalId }) => approvalId !== last));
const approve = (runId: string, approvalId: string) => rig.send(runId, { kind: 'approve', approvalId });

test('R4.4 a thing that changed while its approval was waited for is not touched: it is asked for anew, with its new version', async () => {
  const worker = await rig.worker();
  const runId = await rig.run({ plan: plan('waits') });
  const first = await approval(runId);
  changeVersion(rig.effectsFile, 'waits', 'v2');
  await approve(runId, first.approvalId);
  const second = await approval(runId, first.approvalId);
  expect([first.binding.resourceVersion, second.binding.resourceVersion, rig.effects(runId)]).toEqual(['v1', 'v2', []]);
  await approve(runId, second.approvalId);
  const { state } = await rig.end(runId);
  expect([state.end?.outcome, rig.effects(runId).length, (await rig.types(runId)).filter((type) => type === 'ApprovalVoided').length]).toEqual(['full', 1, 1]);
  await worker.stop();
});

test('R4.4 a premise that broke while an approval was waited for fails the step, and nothing is sent', async () => {
  const worker = await rig.worker();
  const [kept, broken] = await Promise.all(['kept', 'broken'].map((text) => rig.run({ plan: plan(text, { premises: [{ resource: `thing:${text}-base`, version: 'v1' }] }) }))) as [string, string];
  const open = await Promise.all([kept, broken].map((runId) => approval(runId)));
  changeVersion(rig.effectsFile, 'broken-base', 'v2');
  await Promise.all([approve(kept, open[0]?.approvalId ?? ''), approve(broken, open[1]?.approvalId ?? '')]);
  expect((await rig.end(kept)).state.end?.outcome).toBe('full');
  const { blocked } = await rig.until(broken, (state) => state.blocked && state);
  expect(blocked).toMatchObject({ steps: ['only'], failure: { class: 'policy', code: 'premise-changed', message: 'thing:broken-base was v1 and is v2' } });
  await rig.send(broken, { kind: 'settle', as: 'fail' });
  await rig.end(broken);
  expect([rig.effects(kept).length, rig.effects(broken).length]).toEqual([1, 0]);
  await worker.stop();
});

test('R4.1 R4.4 a thing that changed while no worker lived is found by the third question of the gate: asked for anew, sent once', async () => {
  const dying = await rig.worker({ taskQueue: 'dying', env: { LONGHAUL_CRASH_AT: 'call:claimed:asked' } });
  const runId = await rig.run({ plan: plan('dies'), taskQueue: 'dying' });
  const first = await approval(runId);
  await approve(runId, first.approvalId).catch(() => undefined);
  await dying.ended;
  changeVersion(rig.effectsFile, 'dies', 'v2');
  await rig.worker({ taskQueue: 'dying' });
  const second = await approval(runId, first.approvalId);
  const looks = (await rig.events(runId)).flatMap((event) => (event.type === 'RecoveryChecked' ? [event.data] : []));
  expect([looks.at(-1)?.decision, looks.at(-1)?.findings.map(({ question }) => question), second.binding.resourceVersion, rig.effects(runId)]).toEqual(['ask-again', [1, 2, 3, 4, 5], 'v2', []]);
  await approve(runId, second.approvalId);
  const { state } = await rig.end(runId);
  expect([state.end?.outcome, rig.effects(runId).length]).toEqual(['full', 1]);
});
