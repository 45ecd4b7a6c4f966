// Deadlines of days, weeks and months on Temporal's time-skipping server: every policy of every kind of wait that has one. The clock
// that the runs see is the server's; the worker, the stores and every effect are real. What needs a kill is in people.test.ts.
import { createClient, type LonghaulClient } from '../../src/client/client';
import type { EventOf, EventType, RunEvent } from '../../src/core/events';
import type { WaitRow } from '../../src/core/row';
import { ANN, startRig, type Rig } from '../rig/rig';
import { startSkippingServer, type SkippingServer } from '../rig/skipping-server';

const DAY = 24 * 3_600_000;
let server: SkippingServer;
let rig: Rig;
let client: LonghaulClient;
beforeAll(async () => {
  server = await startSkippingServer();
  rig = await startRig({ server });
  await rig.worker();
  client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
}, 120_000);
afterAll(() => rig.stop(), 120_000);

const BOSS = { actor: { ...ANN, id: 'boss' } };
const OUTSIDE = { actor: { id: 'outside', via: 'client' as const, assurance: 'claimed' as const } };
type Data<T extends EventType> = EventOf<T>['data'];
const of = <T extends EventType>(events: RunEvent[], type: T): Data<T>[] => events.flatMap((event) => (event.type === type ? [event.data as Data<T>] : []));
const begin = (action: object): Promise<string> => rig.run({ plan: { goal: 'Wait long', steps: [{ id: 's', title: 'S', action }] } });
const beginAll = (...actions: object[]): Promise<string[]> => Promise.all(actions.map(begin));
const texts = (runId: string): string[] => rig.effects(runId).map(({ text }) => text);
const status = async (runId: string): Promise<string> => (await rig.end(runId)).status;
const stepOf = async (runId: string) => (await rig.state(runId)).steps[0];
const blockedBy = (runId: string) => rig.until(runId, (state) => state.blocked?.failure);

/** Waits until each run rests in one wait; answers those, as lists show them. */
const resting = (runs: readonly string[]): Promise<WaitRow[]> => Promise.all(runs.map(async (runId) => {
  await rig.until(runId, ({ approvals, questions, callbacks, decisions, steps }) => Object.keys({ ...approvals, ...questions, ...callbacks, ...decisions }).length > 0 || steps[0]?.wakeAt !== undefined);
  return (await rig.stores.journal.row(runId))?.waits[0] as WaitRow;
}));
const spans = (waits: WaitRow[]): string[] => waits.map(({ until, since, then }) => `${until === null ? 'no end' : `${(until - since) / DAY} days`}: ${then}`);

/** Skips to an hour before the end of the waits, when nothing may have happened, and to a minute after it. */
async function past(runs: readonly string[], days: number): Promise<void> {
  const happened = () => Promise.all(runs.map(async (runId) => (await rig.types(runId)).filter((type) => type !== 'WaitReminded')));
  const before = await happened();
  await server.skip(days * DAY - 3_600_000);
  expect(await happened()).toEqual(before);
  await server.skip(3_600_000 + 60_000);
}

/** How long after the beginning of the run's first wait its events of a type came, in whole hours. */
async function hours(runId: string, type: EventType): Promise<number[]> {
  const events = await rig.events(runId);
  const since = events.find((event) => ['ApprovalRequested', 'QuestionOpened', 'CallbackAwaited', 'WaitStarted'].includes(event.type))?.at ?? 0;
  return events.filter((event) => event.type === type).map(({ at }) => Math.round((at - since) / 3_600_000));
}

test('R5.3 an approval of a fortnight at its end: the run is cancelled, the step fails, a fresh approval is asked for, or other people are', async () => {
  const kinds = ['cancel-run', 'fail-step', 'ask-again', 'escalate', 'escalate'];
  const runs = await beginAll(...kinds.map((then) => ({ type: 'tool', tool: 'asked', args: { text: `a fortnight: ${then}` } })));
  const [cancel, fail, again, passed, ignored] = runs as [string, string, string, string, string];
  const first = await resting(runs);
  expect(spans(first)).toEqual(kinds.map((then) => `14 days: ${then}`));
  await past(runs, 14);
  expect([await status(cancel), await hours(cancel, 'ApprovalExpired'), (await hours(cancel, 'WaitReminded')).map((hour) => hour / 24)]).toEqual(['CANCELLED', [14 * 24], [2, 4, 6, 8, 10, 12]]);
  expect(await blockedBy(fail)).toMatchObject({ class: 'expired' });
  const [fresh, toBoss, toNobody] = await resting([again, passed, ignored]);
  expect(spans([fresh!, toBoss!, toNobody!])).toEqual(['14 days: ask-again', '14 days: cancel-run', '14 days: cancel-run']);
  expect([fresh!.waitId === first[2]!.waitId, fresh!.who, toBoss!.who]).toEqual([false, [], ['boss']]);
  // What was asked first decides nothing any more; a person who is not asked decides nothing either.
  expect(await rig.send(again, { kind: 'approve', approvalId: first[2]!.waitId })).toMatchObject({ kind: 'expired' });
  expect(await rig.send(passed, { kind: 'approve', approvalId: toBoss!.waitId })).toMatchObject({ kind: 'refused' });
  expect(await rig.send(passed, { kind: 'approve', approvalId: toBoss!.waitId }, BOSS)).toMatchObject({ kind: 'granted' });
  expect(await status(passed)).toBe('COMPLETED');
  await past([again, ignored], 14);
  expect([await status(ignored), await hours(ignored, 'ApprovalExpired')]).toEqual(['CANCELLED', [14 * 24, 28 * 24]]);
  const [third] = await resting([again]);
  expect(await rig.send(again, { kind: 'approve', approvalId: third!.waitId })).toMatchObject({ kind: 'granted' });
  expect(await status(again)).toBe('COMPLETED');
  const bindings = of(await rig.events(again), 'ApprovalRequested').map(({ approvalId, binding }) => [approvalId, binding.argsDigest]);
  expect([new Set(bindings.map(([id]) => id)).size, new Set(bindings.map(([, digest]) => digest)).size]).toEqual([3, 1]);
  expect(runs.map((runId) => texts(runId).length)).toEqual([0, 0, 1, 1, 0]);
});

test('R5.3 an approval that says nothing of its end lasts a week, and then its run is cancelled', async () => {
  const [runId] = await beginAll({ type: 'tool', tool: 'asked', args: { text: 'a week' } }) as [string];
  expect(spans(await resting([runId]))).toEqual(['7 days: cancel-run']);
  await past([runId], 7);
  expect([await status(runId), texts(runId)]).toEqual(['CANCELLED', []]);
});

test('R5.3 a question of ten days at its end: the run is cancelled, the step fails, it is asked again, passed on, or goes on with a default', async () => {
  const policies = [{ then: 'cancel-run' }, { then: 'fail-step' }, { then: 'ask-again' }, { then: 'escalate', escalateTo: ['boss'] }, { then: 'continue', default: 'no' }];
  const runs = await beginAll(...policies.map((onDeadline) => ({ type: 'question', question: 'Well?', deadline: '10d', onDeadline })));
  const [cancel, fail, again, passed, goesOn] = runs as [string, string, string, string, string];
  const first = await resting(runs);
  expect(spans(first)).toEqual(policies.map(({ then }) => `10 days: ${then}`));
  await past(runs, 10);
  expect([await status(cancel), await blockedBy(fail), await status(goesOn)]).toMatchObject(['CANCELLED', { class: 'expired' }, 'COMPLETED']);
  expect([of(await rig.events(goesOn), 'QuestionAnswered'), await hours(goesOn, 'QuestionAnswered')]).toMatchObject([[{ by: 'default', answer: { value: 'no' } }], [240]]);
  const [fresh, toBoss] = await resting([again, passed]);
  expect([spans([fresh!, toBoss!]), fresh!.waitId === first[2]!.waitId, toBoss!.who]).toEqual([['10 days: ask-again', '10 days: cancel-run'], false, ['boss']]);
  const answer = { value: 'yes' };
  expect(await rig.send(again, { kind: 'answer', questionId: first[2]!.waitId, answer })).toMatchObject({ kind: 'expired' });
  expect(await rig.send(passed, { kind: 'answer', questionId: toBoss!.waitId, answer })).toMatchObject({ kind: 'refused' });
  await rig.send(again, { kind: 'answer', questionId: fresh!.waitId, answer });
  await rig.send(passed, { kind: 'answer', questionId: toBoss!.waitId, answer }, BOSS);
  expect([await status(again), await status(passed), (await stepOf(again))?.output, (await stepOf(passed))?.output]).toEqual(['COMPLETED', 'COMPLETED', answer, answer]);
});

test('R5.3 a callback of three weeks, of a step or of a call: the run is cancelled, the step fails, or it goes on with a default', async () => {
  const wait = (onDeadline: object) => ({ type: 'wait', callback: 'the word of the bank', deadline: '3w', onDeadline });
  const order = (more: object) => ({ type: 'tool', tool: 'order', args: { text: 'a book', deadline: '3w', ...more } });
  const runs = await beginAll(wait({ then: 'cancel-run' }), order({ onDeadline: 'cancel-run' }), wait({ then: 'fail-step' }), order({}), wait({ then: 'continue', default: 'nothing came' }), order({ goOn: true }));
  const waits = await resting(runs);
  expect(spans(waits)).toEqual(['cancel-run', 'cancel-run', 'fail-step', 'fail-step', 'continue', 'continue'].map((then) => `21 days: ${then}`));
  await past(runs, 21);
  for (const runId of runs.slice(0, 2)) expect(await status(runId)).toBe('CANCELLED');
  for (const runId of runs.slice(2, 4)) expect(await blockedBy(runId)).toMatchObject({ class: 'expired' });
  for (const runId of runs.slice(4)) expect([await status(runId), (await stepOf(runId))?.output]).toEqual(['COMPLETED', { value: 'nothing came' }]);
  const late = await Promise.all(waits.map(({ waitId }) => client.callback(waitId, { eventId: 'late', payload: 1 }, OUTSIDE)));
  expect(late.map((delivery) => (delivery.known ? delivery.answer.kind : delivery.state))).toEqual(runs.map(() => 'closed'));
  expect(runs.map((runId) => texts(runId).length)).toEqual([0, 1, 0, 1, 0, 1]);
});

test('R5.3 a batch of three weeks of which one item came: the run is cancelled, the step fails, or it goes on with what came', async () => {
  const runs = await beginAll(...[{ onDeadline: 'cancel-run' }, {}, { goOn: true }].map((more) => ({ type: 'tool', tool: 'order', args: { text: 'books', expect: 3, deadline: '3w', ...more } })));
  const [cancel, fail, goesOn] = runs as [string, string, string];
  const waits = await resting(runs);
  expect(spans(waits)).toEqual(['21 days: cancel-run', '21 days: fail-step', '21 days: goes on with what has come']);
  await server.skip(5 * DAY);
  for (const { waitId } of waits) expect(await client.callback(waitId, { eventId: 'e1', payload: 'one' }, OUTSIDE)).toMatchObject({ answer: { kind: 'counted' } });
  await past(runs, 16);
  expect([await status(cancel), await blockedBy(fail), await status(goesOn)]).toMatchObject(['CANCELLED', { class: 'expired', message: expect.stringContaining('1 of 3') as unknown }, 'COMPLETED']);
  expect((await stepOf(goesOn))?.output).toMatchObject({ value: { came: 1, expected: 3, complete: false, items: [{ item: 'e1', value: 'one' }] } });
});

test('R5.3 a step that waits for a month goes on after a month, neither sooner nor later', async () => {
  const runId = await rig.run({ plan: { goal: 'Wait', steps: [{ id: 's', title: 'A month', action: { type: 'wait', for: '30d' } }, { id: 'then', dependsOn: ['s'], action: { type: 'tool', tool: 'stamp', args: { text: 'then' } } }] } });
  expect(spans(await resting([runId]))).toEqual(['30 days: goes on']);
  await past([runId], 30);
  expect([await status(runId), await hours(runId, 'WaitSatisfied'), texts(runId)]).toEqual(['COMPLETED', [720], ['then']]);
});

test('R5.3 what has no deadline is open a year later, and is decided then: a call in doubt, a question, a callback', async () => {
  const runs = await beginAll({ type: 'tool', tool: 'blind', args: { text: 'in doubt', fail: 'unknown' } }, { type: 'question', question: 'Well?' }, { type: 'wait', callback: 'the word of the bank' });
  const [doubt, question, bank] = runs as [string, string, string];
  const waits = await resting(runs);
  expect([waits.map(({ kind }) => kind), spans(waits)]).toEqual([['decision', 'question', 'callback'], ['no end: nothing', 'no end: nothing', 'no end: nothing']]);
  await past(runs, 365);
  expect(await resting(runs)).toMatchObject(waits.map(({ waitId }) => ({ waitId })));
  expect(await rig.send(doubt, { kind: 'resolve', callId: waits[0]!.waitId, verdict: 'not-happened' })).toMatchObject({ kind: 'done' });
  await rig.send(question, { kind: 'answer', questionId: waits[1]!.waitId, answer: { value: 'yes' } });
  await client.callback(waits[2]!.waitId, { eventId: 'e1', payload: 'paid' }, OUTSIDE);
  expect([await status(doubt), await status(question), await status(bank), texts(doubt)]).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED', ['in doubt']]);
});
