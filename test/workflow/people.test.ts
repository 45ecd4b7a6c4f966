// People and their decisions on the real server: edits, grants, quorums, deadlines, reminders, many at once. The worker is killed
// where that matters; each decision counts once and reaches its own call.
import { createClient } from '../../src/client/client';
import { canonical, type Json } from '../../src/core/canonical';
import type { EventOf, EventType, RunEvent } from '../../src/core/events';
import type { Actor } from '../../src/core/run';
import { MESSAGE, workflowIdOf, type Message, type MessageAnswer, type MessageBody } from '../../src/messages';
import { AFTER_A_WHILE, policyAsked } from '../rig/rules';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); await rig.worker(); }, 120_000);
afterAll(() => rig.stop(), 120_000);

const person = (id: string): { actor: Actor } => ({ actor: { ...ANN, id } });
const step = (id: string, text: string, more: object = {}): object => ({ id, title: `Do ${id}`, action: { type: 'tool', tool: 'asked', args: { text } }, ...more });
const plan = (...steps: object[]): object => ({ goal: 'Ask people', steps });
const approvalOf = (runId: string, not: string[] = []) => rig.until(runId, (state) => Object.keys(state.approvals).find((id) => !not.includes(id)));
const texts = (runId: string): string[] => rig.effects(runId).map((line) => line.text);
const of = <T extends EventType>(events: RunEvent[], type: T): EventOf<T>['data'][] => events.flatMap((event) => (event.type === type ? [event.data as EventOf<T>['data']] : []));
const done = async (runId: string): Promise<RunEvent[]> => {
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  return rig.events(runId);
};

test('R10.1 edited arguments are checked by the worker, have a key of their own, and go out once; bad ones change nothing', async () => {
  const runId = await rig.run({ plan: plan(step('asked', 'go')) });
  const first = await approvalOf(runId);
  const bad: [Json, string][] = [[{ text: 5 }, 'text: '], [{}, 'text: '], [{ text: 'go', texd: 'x' }, 'knows no texd'], [{ text: { $from: 'look.text' } }, '$from'], [{ text: { $secret: 'nobody-set-it' } }, 'nobody-set-it'], [['go'], 'object']];
  for (const [value, why] of bad) {
    const answer = await rig.send(runId, { kind: 'edit', approvalId: first, args: { value } });
    expect([value, answer.kind, answer.text]).toEqual([value, 'refused', expect.stringContaining(why)]);
    expect(answer.text).toContain(`${first} is open as before`);
  }
  expect(Object.keys((await rig.state(runId)).approvals)).toEqual([first]);
  await rig.send(runId, { kind: 'edit', approvalId: first, args: { value: { text: 'go slowly' } } });
  const events = await done(runId);
  expect([of(events, 'EditRefused'), of(events, 'MessageRejected').length]).toEqual([[], bad.length]);
  expect(of(events, 'CallPrepared').map(({ edited }) => edited?.by.id)).toEqual([undefined, 'ann']);
  expect(new Set(of(events, 'CallPrepared').map(({ key }) => key)).size).toBe(2);
  expect(rig.effects(runId)).toMatchObject([{ text: 'go slowly', key: of(events, 'CallPrepared')[1]?.key }]);
});

test('R10.1 an edit falls under the policy of what was edited: denied, or for other people to approve', async () => {
  const runId = await rig.run({ plan: plan(step('asked', 'go')) });
  const first = await approvalOf(runId);
  await rig.send(runId, { kind: 'edit', approvalId: first, args: { value: { text: 'never' } } });
  const second = await approvalOf(runId, [first]);
  await rig.send(runId, { kind: 'edit', approvalId: second, args: { value: { text: 'boss only' } } });
  const third = await approvalOf(runId, [first, second]);
  expect(await rig.send(runId, { kind: 'approve', approvalId: third })).toMatchObject({ kind: 'refused', text: expect.stringContaining('boss') as unknown });
  expect(await rig.send(runId, { kind: 'approve', approvalId: third }, person('boss'))).toMatchObject({ kind: 'granted' });
  expect(of(await done(runId), 'EditRefused')).toMatchObject([{ failure: { class: 'policy' } }]);
  expect(texts(runId)).toEqual(['boss only']);
});

test('R10.1 an approval for the rest of the run: later calls go without a question, each naming the grant, until it is revoked', async () => {
  const runId = await rig.run({ plan: plan(step('a', 'one'), step('b', 'two', { dependsOn: ['a'] }), step('c', 'three', { dependsOn: ['b'] }), { id: 'ask', title: 'Ask', dependsOn: ['c'], action: { type: 'question', question: 'Go on?' } }, step('d', 'four', { dependsOn: ['ask'] })) });
  const first = await approvalOf(runId);
  const nonsense = await rig.send(runId, { kind: 'approve', approvalId: first, grant: { where: { text: 't*', path: 'out/*' } } });
  expect([nonsense.kind, nonsense.text]).toEqual(['refused', expect.stringMatching(new RegExp(`asked has no argument path, .*Its arguments are text, .*${first} is open as before`))]);
  expect([(await rig.state(runId)).grants ?? [], texts(runId)]).toEqual([[], []]);
  expect(await rig.send(runId, { kind: 'approve', approvalId: first, grant: { where: { text: 't*' } } })).toMatchObject({ kind: 'granted', text: expect.stringContaining('revoke g-') as unknown });
  const questionId = await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  expect(texts(runId)).toEqual(['one', 'two', 'three']);
  const [grant] = of(await rig.events(runId), 'GrantGiven');
  expect(of(await rig.events(runId), 'ApprovalGranted').map(({ grantId }) => grantId)).toEqual([undefined, grant?.grantId, grant?.grantId]);
  expect(await rig.send(runId, { kind: 'revoke', grantId: grant?.grantId ?? '' }, person('bob'))).toMatchObject({ kind: 'done' });
  await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'yes' } });
  await rig.send(runId, { kind: 'approve', approvalId: await approvalOf(runId, [first]) });
  await done(runId);
  expect(texts(runId)).toHaveLength(4);
});

test('R10.1 a quorum of two needs two people, and who asked for the run may not approve what cannot be taken back', async () => {
  const runId = await rig.run({ plan: plan(step('two', 'two people'), { id: 'pay', title: 'Pay', action: { type: 'tool', tool: 'blind', args: { text: 'pay' } } }) });
  const asked = await rig.until(runId, (state) => Object.keys(state.approvals).length === 2 && Object.values(state.approvals));
  const [two, pay] = ['asked', 'blind'].map((tool) => asked.find(({ binding }) => binding.tool === tool)?.approvalId ?? '') as [string, string];
  expect(await rig.send(runId, { kind: 'approve', approvalId: two })).toMatchObject({ kind: 'counted' });
  expect(await rig.send(runId, { kind: 'approve', approvalId: two })).toMatchObject({ kind: 'already-decided' });
  expect(texts(runId)).toEqual([]);
  expect(await rig.send(runId, { kind: 'approve', approvalId: two }, person('bob'))).toMatchObject({ kind: 'granted' });
  expect(await rig.send(runId, { kind: 'approve', approvalId: pay })).toMatchObject({ kind: 'refused', text: expect.stringContaining('may not approve its own call') as unknown });
  expect(await rig.send(runId, { kind: 'approve', approvalId: pay, grant: {} }, person('bob'))).toMatchObject({ kind: 'refused' });
  expect(await rig.send(runId, { kind: 'approve', approvalId: pay }, person('bob'))).toMatchObject({ kind: 'granted' });
  await done(runId);
  expect(texts(runId).sort()).toEqual(['pay', 'two people']);
});

test('R5.3 every deadline policy of an approval does what it says, and reminders come before it', async () => {
  const begin = (text: string) => rig.run({ plan: plan(step('asked', text)) });
  const [cancel, fail, again, escalate] = await Promise.all(['cancel-run', 'fail-step', 'ask-again', 'escalate'].map((policy) => begin(`soon: ${policy}`))) as [string, string, string, string];
  expect((await rig.end(cancel)).status).toBe('CANCELLED');
  expect(of(await rig.events(cancel), 'WaitReminded').at(-1)?.n).toBeGreaterThanOrEqual(2);
  await rig.until(fail, (state) => state.blocked?.failure.class === 'expired');
  await rig.send(fail, { kind: 'settle', as: 'partial' });
  const second = await rig.until(again, (_, events) => of(events, 'ApprovalRequested')[1]?.approvalId);
  await rig.send(again, { kind: 'approve', approvalId: second });
  const boss = await rig.until(escalate, (_, events) => of(events, 'ApprovalRequested')[1]);
  expect(boss).toMatchObject({ rule: { approvers: ['boss'] }, onDeadline: { then: 'cancel-run' } });
  expect(await rig.send(escalate, { kind: 'approve', approvalId: boss.approvalId })).toMatchObject({ kind: 'refused' });
  expect(await rig.send(escalate, { kind: 'approve', approvalId: boss.approvalId }, person('boss'))).toMatchObject({ kind: 'granted' });
  await Promise.all([fail, again, escalate].map(done));
  expect([cancel, fail, again, escalate].map((runId) => texts(runId).length)).toEqual([0, 0, 1, 1]);
});

test('R5.3 every deadline policy of a question does what it says', async () => {
  const ask = (onDeadline: object) => rig.run({ plan: plan({ id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?', deadline: '3s', onDeadline } }) });
  const [cancel, fail, go, escalate] = await Promise.all([{ then: 'cancel-run' }, { then: 'fail-step' }, { then: 'continue', default: 'no' }, { then: 'escalate', escalateTo: ['boss'], remindEvery: '1s' }].map(ask)) as [string, string, string, string];
  expect((await rig.end(cancel)).status).toBe('CANCELLED');
  await rig.until(fail, (state) => state.blocked !== null);
  await rig.send(fail, { kind: 'cancel', reason: 'seen' });
  expect(of(await done(go), 'QuestionAnswered')).toMatchObject([{ by: 'default', answer: { value: 'no' } }]);
  const passed = await rig.until(escalate, (_, events) => of(events, 'QuestionOpened')[1]);
  expect(passed.who).toEqual(['boss']);
  expect(await rig.send(escalate, { kind: 'answer', questionId: passed.questionId, answer: { value: 1 } })).toMatchObject({ kind: 'refused' });
  await rig.send(escalate, { kind: 'answer', questionId: passed.questionId, answer: { value: 1 } }, person('boss'));
  expect(of(await done(escalate), 'WaitReminded').length).toBeGreaterThanOrEqual(2);
});

/** Sends one Update under an id of its own, without asking again: what the server answers is what a door hears. */
const click = (runId: string, body: MessageBody, messageId: string, actor: Actor, updateId: string): Promise<MessageAnswer> =>
  rig.client.workflow.getHandle(workflowIdOf(runId)).executeUpdate<MessageAnswer, [Message]>(MESSAGE, { args: [{ messageId, actor, body }], updateId });

test('R6.3 B03 two people and one double click in one millisecond, 50 rounds: one grant, one effect, the others hear who decided', async () => {
  const round = async (n: number): Promise<void> => {
    // A question beside it keeps the run open, so that whoever comes second hears who decided and not that the run is over.
    const runId = await rig.run({ plan: plan(step('asked', `round ${n}`), { id: 'ask', title: 'Ask', action: { type: 'question', question: 'Go on?' } }) });
    const body = { kind: 'approve' as const, approvalId: await approvalOf(runId) };
    const answers = await Promise.all([
      click(runId, body, `${runId}-ann`, ANN, 'ann-1'), click(runId, body, `${runId}-bob`, person('bob').actor, 'bob'), click(runId, body, `${runId}-ann`, ANN, 'ann-2'),
    ]);
    await rig.send(runId, { kind: 'answer', questionId: await rig.until(runId, (state) => Object.keys(state.questions)[0]), answer: { value: 'yes' } });
    const events = await done(runId);
    const granted = of(events, 'ApprovalGranted');
    expect([n, granted.length, texts(runId).length]).toEqual([n, 1, 1]);
    const winner = granted[0]?.actors[0]?.id ?? '';
    expect(answers[0]).toEqual(answers[2]);
    const [first, other] = winner === 'ann' ? [answers[0], answers[1]] : [answers[1], answers[0]];
    expect([n, first?.kind, other?.kind, other?.text]).toEqual([n, 'granted', 'already-decided', expect.stringContaining(`by ${winner}`)]);
  };
  for (let n = 0; n < 50; n += 5) await Promise.all([0, 1, 2, 3, 4].map((i) => round(n + i)));
}, 300_000);

test('answers that come in the reverse order, with a crash between, each reach their own call', async () => {
  const names = ['w', 'x', 'y', 'z'];
  const worker = await rig.worker({ taskQueue: 'crash-between' });
  const runId = await rig.run({ plan: plan(...names.map((name) => step(name, name)), { id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }), taskQueue: 'crash-between' });
  const open = await rig.until(runId, (state) => Object.keys(state.approvals).length === 4 && Object.values(state.approvals));
  const idOf = (name: string): string => open.find(({ stepId }) => stepId === name)?.approvalId ?? '';
  await rig.send(runId, { kind: 'reject', approvalId: idOf('z'), reason: 'not z' });
  await rig.send(runId, { kind: 'edit', approvalId: idOf('y'), args: { value: { text: 'y, edited' } } });
  await rig.until(runId, (state) => state.steps.find(({ id }) => id === 'y')?.status === 'done');
  await worker.kill();
  const next = await rig.worker({ taskQueue: 'crash-between' });
  await rig.send(runId, { kind: 'approve', approvalId: idOf('x') });
  await rig.send(runId, { kind: 'approve', approvalId: idOf('w') });
  await rig.send(runId, { kind: 'answer', questionId: await rig.until(runId, (state) => Object.keys(state.questions)[0]), answer: { value: 'q' } });
  const events = await done(runId);
  expect(of(events, 'StepFailed')).toMatchObject([{ stepId: 'z', failure: { message: 'ann rejected it: not z' } }]);
  const outputs = Object.fromEntries(of(events, 'StepCompleted').map(({ stepId, output }) => [stepId, 'value' in output ? output.value : null]));
  expect(outputs).toMatchObject({ ask: 'q', w: { text: 'w' }, x: { text: 'x' }, y: { text: 'y, edited' } });
  expect(texts(runId).sort()).toEqual(['w', 'x', 'y, edited']);
  await next.kill();
});

test('B14 of two waits of one turn each is answered in its time; the finished sibling keeps its result', async () => {
  const runId = await rig.run({ plan: plan({ id: 'c', title: 'C', action: { type: 'tool', tool: 'stamp', args: { text: 'c' } } }, step('a', 'a'), step('b', 'b')) });
  const open = await rig.until(runId, (state) => Object.keys(state.approvals).length === 2 && state.steps[0]?.status === 'done' && Object.values(state.approvals));
  for (const name of ['a', 'b']) {
    await rig.send(runId, { kind: 'approve', approvalId: open.find(({ stepId }) => stepId === name)?.approvalId ?? '' });
    await rig.until(runId, (state) => state.steps.find(({ id }) => id === name)?.status === 'done');
  }
  await done(runId);
  expect(texts(runId).sort()).toEqual(['a', 'b', 'c']);
});

test('B11 B12 a decision outlives a worker that comes back with another configuration; policy is asked once a call, and nobody twice', async () => {
  const taskQueue = 'other-settings';
  const worker = await rig.worker({ taskQueue });
  const runId = await rig.run({ plan: plan(step('asked', 'go')), taskQueue });
  const approvalId = await approvalOf(runId);
  await worker.kill();
  await rig.client.workflow.getHandle(workflowIdOf(runId)).signal(MESSAGE, { messageId: 'while-away', actor: ANN, body: { kind: 'approve', approvalId } });
  const next = await rig.worker({ taskQueue, env: { LONGHAUL_LOG_LEVEL: 'debug', SOMETHING_NEW: 'yes' }, limits: { softEvents: 500, waitEvents: 50 } });
  const events = await done(runId);
  expect([of(events, 'ApprovalRequested').length, of(events, 'ApprovalGranted').length, texts(runId).length, policyAsked(rig.effectsFile, runId)]).toEqual([1, 1, 1, 1]);
  await next.kill();
});

test('a decision that reached a door in time counts when the run hears it late; one that nobody vouches for does not', async () => {
  const taskQueue = 'late';
  const worker = await rig.worker({ taskQueue });
  const runs = await Promise.all(['fail-step', 'fail-step', 'fail-step', 'cancel-run', 'ask-again'].map((then) => rig.run({ plan: plan(step('asked', `soon: ${then}`)), taskQueue })));
  const open = await Promise.all(runs.map((runId) => rig.until(runId, (state) => Object.values(state.approvals)[0])));
  await worker.kill();
  const end = Math.max(...open.map(({ expiresAt }) => expiresAt));
  const say = (i: number, receivedAt: number, assurance: Actor['assurance']) => rig.client.workflow.getHandle(workflowIdOf(runs[i] ?? '')).signal(MESSAGE, { messageId: `late-${i}`, actor: { ...ANN, assurance }, receivedAt, body: { kind: 'approve', approvalId: open[i]?.approvalId } });
  await say(0, open[0]!.expiresAt - 500, 'local-user');
  await say(1, open[1]!.expiresAt - 500, 'claimed');
  await sleep(Math.max(0, end - Date.now()) + 500);
  for (const i of [2, 3, 4]) await say(i, end + 400, 'local-user');
  const next = await rig.worker({ taskQueue });
  const answers = await Promise.all(runs.map((runId, i) => rig.until(runId, (_, events) => events.find((event) => event.message?.id === `late-${i}`)?.message?.answer.kind)));
  expect(answers).toEqual(['granted', 'expired', 'expired', 'expired', 'expired']);
  const [inTime, claimed, tooLate, cancelled, again] = runs as [string, string, string, string, string];
  await done(inTime);
  expect((await rig.end(cancelled)).status).toBe('CANCELLED');
  await rig.until(again, (_, events) => of(events, 'ApprovalRequested')[1]);
  for (const runId of [claimed, tooLate]) await rig.until(runId, (state) => state.blocked !== null);
  for (const runId of [claimed, tooLate, again]) {
    await rig.send(runId, { kind: 'cancel', reason: 'seen' });
    await rig.end(runId);
  }
  expect(runs.map((runId) => texts(runId).length)).toEqual([1, 0, 0, 0, 0]);
  await next.kill();
});

test('B12 a decision whose workflow task is lost after it stands in the journal wakes the run all the same', async () => {
  const taskQueue = 'lost-task';
  const worker = await rig.worker({ taskQueue, env: { LONGHAUL_CRASH_AT: 'append:after:ToolCallRequested' } });
  const runId = await rig.run({ plan: plan(step('asked', 'go')), taskQueue });
  const approvalId = await approvalOf(runId);
  const client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue });
  const delivery = await client.message(runId, { kind: 'approve', approvalId }, { actor: ANN, messageId: 'lost-task' });
  await worker.ended;
  expect(delivery).toMatchObject({ known: true, answer: { kind: 'granted' } });
  expect((await rig.types(runId)).at(-1)).toBe('ToolCallRequested');
  // The server forgets an Update that no workflow task has accepted; nothing but the Signal can wake the run now.
  await rig.server.restart();
  const next = await rig.worker({ taskQueue });
  await done(runId);
  expect([texts(runId), policyAsked(rig.effectsFile, runId)]).toEqual([['go'], 1]);
  await next.kill();
});

test('B46 a check that takes its time and denies: the call never goes out and is not tried again, and what was allowed beside it is done', async () => {
  const runId = await rig.run({ plan: plan(step('denied', AFTER_A_WHILE), { id: 'free', title: 'Free', action: { type: 'tool', tool: 'stamp', args: { text: 'free' } } }) });
  const { failure, steps } = await rig.until(runId, (state) => state.steps[1]?.status === 'done' && state.blocked);
  expect([failure, steps]).toMatchObject([{ class: 'policy', message: 'Nobody may write that either.' }, ['denied']]);
  const events = await rig.events(runId);
  const [checked, sent] = [of(events, 'CallPrepared').find(({ stepId }) => stepId === 'denied'), of(events, 'ToolCallRequested').map(({ stepId }) => stepId)];
  expect([checked?.policy.decision, sent, of(events, 'RetryScheduled'), of(events, 'ToolCallFailed')]).toMatchObject(['deny', ['free'], [], [{ sent: false, final: true }]]);
  await rig.send(runId, { kind: 'settle', as: 'partial' });
  await done(runId);
  expect([texts(runId), policyAsked(rig.effectsFile, runId)]).toEqual([['free'], 2]);
});

/** ms that a run may be at work, and that a call may take: the wait for a person is longer than either. */
const MAY_TAKE_MS = 20_000;

test('B15 R5.4 waiting through five restarts of the worker, for longer than the run and its calls may take, uses up no failure, no attempt and no time', async () => {
  const taskQueue = 'restarts';
  const runId = await rig.run({ plan: plan(step('asked', 'go')), taskQueue, budget: { failures: 2, wallMs: MAY_TAKE_MS } });
  const begin = () => rig.worker({ taskQueue, env: { LONGHAUL_ASKED_TIMEOUT_MS: '5000' } });
  let worker = await begin();
  const approvalId = await approvalOf(runId);
  for (let n = 0; n < 5; n += 1) {
    await worker.kill();
    worker = await begin();
    await rig.send(runId, { kind: 'note', text: { value: n } });
  }
  const timeOf = (events: RunEvent[], type: EventType): number => events.find((event) => event.type === type)?.at ?? NaN;
  const asked = timeOf(await rig.events(runId), 'ApprovalRequested');
  await sleep(Math.max(0, asked + MAY_TAKE_MS + 1_000 - Date.now()));
  await rig.send(runId, { kind: 'approve', approvalId });
  const events = await done(runId);
  const state = await rig.state(runId);
  expect(timeOf(events, 'ApprovalGranted') - asked).toBeGreaterThan(MAY_TAKE_MS);
  expect([state.end?.outcome, state.spent.failures, texts(runId).length, state.activeMs < MAY_TAKE_MS, of(events, 'BudgetExhausted')]).toEqual(['full', 0, 1, true, []]);
  expect(canonical(of(events, 'ToolCallRequested').map(({ attempt }) => attempt))).toBe('[1]');
  await worker.kill();
});
