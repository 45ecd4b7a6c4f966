// What a call was prepared for, and what its plan took for granted, changes while the run waits for an approval or while no worker
// lives: nothing is sent blindly. A changed thing, tool or argument is asked for anew; a broken premise fails the step; and a planner
// that hears of people meanwhile changes what waits, never what is done.
import type { Json } from '../../src/core/canonical';
import { startChatServer, type ChatServer } from '../../src/testing/chat-server';
import type { ChatRequest } from '../../src/testing/chat-model';
import { PLANNER } from '../rig/config';
import { changeVersion } from '../rig/tools';
import { ANN, startRig, type Rig } from '../rig/rig';

let rig: Rig;
let chat: ChatServer | undefined;
beforeAll(async () => { rig = await startRig(); }, 120_000);
afterAll(async () => {
  await rig.stop();
  await chat?.close();
}, 60_000);

const plan = (text: string, more: object = {}) => ({ goal: 'Change it', steps: [{ id: 'only', title: 'Only', action: { type: 'tool', tool: 'asked', args: { text } }, ...more }] });
/** The open approval that is not `last`. */
const approval = (runId: string, last = '') => rig.until(runId, (state) => Object.values(state.approvals).find(({ approvalId }) => approvalId !== last));
const approve = (runId: string, approvalId: string, id = 'ann') => rig.send(runId, { kind: 'approve', approvalId }, { actor: { ...ANN, id } });
/** Why approvals of the run became void. */
const voided = async (runId: string) => (await rig.events(runId)).flatMap((event) => (event.type === 'ApprovalVoided' ? [event.data.why] : []));

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

test('R4.4 the tool has another version before the call is made: the approval is void, asked for again with the new version, and made once', async () => {
  const worker = await rig.worker({ taskQueue: 'renewed' });
  const runs = await Promise.all(['open', 'granted'].map((text) => rig.run({ plan: plan(text), taskQueue: 'renewed' })));
  const [open, granted] = runs as [string, string];
  const firsts = await Promise.all(runs.map((runId) => approval(runId)));
  // Approved and held back, so that it is the newer worker that would make the call.
  await rig.send(granted, { kind: 'pause', reason: 'not yet' });
  await approve(granted, firsts[1]?.approvalId ?? '');
  await worker.stop();
  await rig.worker({ taskQueue: 'renewed', env: { LONGHAUL_ASKED_VERSION: '1.1.0' } });
  await Promise.all([approve(open, firsts[0]?.approvalId ?? ''), rig.send(granted, { kind: 'resume' })]);
  const seconds = await Promise.all(runs.map((runId, i) => approval(runId, firsts[i]?.approvalId)));
  expect([firsts, seconds].map((asked) => asked.map(({ binding }) => binding.version))).toEqual([['1.0.0', '1.0.0'], ['1.1.0', '1.1.0']]);
  expect(runs.map((runId) => rig.effects(runId))).toEqual([[], []]);
  await Promise.all(runs.map((runId, i) => approve(runId, seconds[i]?.approvalId ?? '')));
  for (const runId of runs) {
    expect((await rig.end(runId)).state.end?.outcome).toBe('full');
    expect([await voided(runId), rig.effects(runId).length]).toEqual([['asked 1.0.0 was approved, and 1.1.0 would run'], 1]);
  }
});

test('R10.1 arguments that change after one of two people has approved them: the approval is void, both must approve the new ones, and only those are used', async () => {
  const worker = await rig.worker();
  const runId = await rig.run({ plan: plan('two people') });
  const first = await approval(runId);
  await approve(runId, first.approvalId, 'bob');
  await rig.send(runId, { kind: 'edit', approvalId: first.approvalId, args: { value: { text: 'two people', after: 1 } } }, { actor: { ...ANN, id: 'cat' } });
  const second = await rig.until(runId, (state) => Object.values(state.approvals).find(({ approvalId, granted }) => approvalId !== first.approvalId && granted.length === 1));
  expect([second.granted.map(({ id }) => id), second.binding.argsDigest === first.binding.argsDigest]).toEqual([['cat'], false]);
  expect([(await approve(runId, first.approvalId, 'dan')).kind, rig.effects(runId)]).toEqual(['expired', []]);
  await approve(runId, second.approvalId, 'bob');
  await rig.end(runId);
  expect([await voided(runId), rig.effects(runId).map(({ callId }) => callId)]).toEqual([['cat changed the arguments'], ['c2']]);
  await worker.stop();
});

/** A planner that answers its n-th question with the n-th answer, and with words once there are none. */
async function planning(answers: (Json | string)[]): Promise<void> {
  chat = await startChatServer({ answers: ({ messages }: ChatRequest) => {
    const answer = answers[messages.filter(({ role }) => role === 'assistant').length] ?? 'Done.';
    return typeof answer === 'string' ? { text: answer } : { calls: [{ tool: 'propose_plan', args: answer }] };
  } });
}
const planner = () => rig.worker({ taskQueue: 'planned', env: { LONGHAUL_MODEL: `openai-compatible:${chat?.url}#scripted`, LONGHAUL_MODEL_PRICE: '0,0' } });
const said = (text: string) => ({ kind: 'note' as const, text: { value: text } });

test('R4.4 R10.2 a note to a run that waits for an approval is read at once: what the planner drops is void and never sent, what it adds is asked for anew, what hangs on nothing new stays', async () => {
  await planning([
    { steps: [{ id: 'base', tool: 'look', args: { text: 'ground' } }, { id: 'build', tool: 'asked', args: { text: { $from: 'base.text' } } }, { id: 'tell', tool: 'asked', args: { text: 'the board' } }] },
    { drop: ['s1-base'], steps: [] },
    { drop: ['s1-tell'], steps: [{ id: 'tell', tool: 'asked', args: { text: 'the team' } }, { id: 'other', tool: 'look', args: { text: 'x' } }] },
    'It stays as it is.',
  ]);
  let worker = await planner();
  const runId = await rig.run({ agent: PLANNER, plan: null, taskQueue: 'planned' });
  const both = () => rig.until(runId, ({ approvals }) => Object.keys(approvals).length === 2 && Object.fromEntries(Object.values(approvals).map(({ approvalId, stepId }) => [stepId, approvalId])));
  const before = await both();
  await worker.kill();
  worker = await planner();
  await rig.send(runId, said('Tell the team, not the board.'));
  await rig.until(runId, ({ plan }) => plan.version === 2);
  expect((await approve(runId, before['s1-tell'] ?? '')).kind).toBe('expired');
  const open = await both();
  expect([Object.keys(open).length, open['s1-build'], open['s1-tell']]).toEqual([2, before['s1-build'], undefined]);
  await rig.send(runId, said('Good.'));
  await rig.until(runId, (state, events) => Object.keys(state.calls).length === 2 && events.some((event) => event.type === 'ModelCallSucceeded' && event.data.text === 'It stays as it is.'));
  for (const approvalId of Object.values(open)) expect((await approve(runId, approvalId)).kind).toBe('granted');
  const { state } = await rig.end(runId);
  const reasons = (await rig.events(runId)).flatMap((event) => (event.type === 'PlanRejected' ? event.data.reasons : []));
  expect([state.end?.outcome, state.end?.summary, reasons]).toEqual(['full', 'Done.', ['Step s1-base cannot be dropped: it is done.']]);
  expect([await voided(runId), rig.effects(runId).map(({ text }) => text).sort()]).toEqual([['the planner has dropped its step'], ['ground', 'the team']]);
  await worker.stop();
});
