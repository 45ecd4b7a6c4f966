// Promises of rules/reminders: they wake the run in time, are counted, decide nothing, and however long a wait is, they stay few.
import { parsePlan } from '../../src/core/rules/planning';
import { tablePolicy } from '../../src/adapters/policy/table';
import { asks, given, prepared, said, toolStep, type GivenRun } from '../../src/testing/scenario';

const HOUR = 3_600_000;
const asked = (remindEveryMs = 10 * 60_000, expiresInMs = HOUR): GivenRun =>
  given({ steps: [toolStep('s', 'pay')] }).when(prepared('s', {}, { policy: asks({ expiresInMs, onDeadline: { then: 'fail-step', remindEveryMs } }) }));
const idOf = (run: GivenRun): string => Object.keys({ ...run.state.approvals, ...run.state.questions })[0] ?? '';

test('a reminder has a timer, is counted when it is due, and the approval stays as open as before', () => {
  const run = asked();
  run.thenNeeds(`timer:approval:${idOf(run)}@${run.now + HOUR}`, `timer:remind:${idOf(run)}@${run.now + 600_000}`);
  const reminded = run.after(600_000).when({ type: 'TimerFired', name: `remind:${idOf(run)}`, dueAt: run.now + 600_000 }).then(['WaitReminded', { waitId: idOf(run), n: 1 }]);
  reminded.when().then();
  reminded.thenNeeds(`timer:approval:${idOf(run)}@${run.now + HOUR}`, `timer:remind:${idOf(run)}@${run.now + 1_200_000}`);
  reminded.when(said('ann', { kind: 'approve', approvalId: idOf(run) })).then('ApprovalGranted', 'ToolCallRequested');
});

test('reminders that fell due while nothing ran are one event', () => {
  const run = asked().after(45 * 60_000).when();
  run.then(['WaitReminded', { n: 4 }]);
});

test('after the deadline nobody is reminded', () => {
  asked().after(HOUR).when().then('ApprovalExpired', 'ToolCallFailed', 'StepFailed', 'RunBlocked').thenNeeds();
});

test('a wait of a year that reminds every second writes fewer than forty reminders', () => {
  let run = asked(1_000, 365 * 24 * HOUR);
  let count = 0;
  for (;;) {
    const timer = run.needs.find((need) => need.kind === 'timer' && need.name.startsWith('remind'));
    if (timer?.kind !== 'timer') break;
    run = run.after(timer.dueAt - run.now).when();
    count += run.events.length;
  }
  expect(count).toBeGreaterThan(20);
  expect(count).toBeLessThan(40);
});

test('a question reminds too, and who is asked after an escalation is reminded as often', () => {
  const run = given({ steps: [{ id: 'q', title: 'ask', dependsOn: [], uses: [], action: { type: 'question', question: 'Well?', deadlineMs: HOUR, onDeadline: { then: 'escalate', escalateTo: ['boss'], remindEveryMs: HOUR / 4 } } }] });
  run.after(HOUR / 4).when().then('WaitReminded');
  const passed = run.after(HOUR).when().then('QuestionExpired', ['QuestionOpened', { who: ['boss'], onDeadline: { then: 'cancel-run', remindEveryMs: HOUR / 4 } }]);
  passed.after(HOUR / 4).when().then(['WaitReminded', { n: 1 }]);
});

test('plans say remindEvery beside the deadline, policies remindEveryMs; a pause below a second is refused', () => {
  const plan = (onDeadline: object) => parsePlan({ goal: 'g', steps: [{ id: 'q', action: { type: 'question', question: 'Q?', deadline: '2d', onDeadline: onDeadline as never } }] }, []);
  expect(plan({ then: 'fail-step', remindEvery: '6h' })).toMatchObject({ patch: { add: [{ action: { onDeadline: { then: 'fail-step', remindEveryMs: 6 * HOUR } } }] } });
  expect(plan({ then: 'fail-step', remindEvery: 'often' })).toMatchObject({ reasons: expect.arrayContaining([expect.stringContaining('remindEvery')]) as unknown });
  expect(plan({ then: 'fail-step', remindEvery: '5ms' })).toHaveProperty('reasons');
  const rule = { name: 'r', decision: 'ask', onDeadline: { then: 'ask-again', remindEveryMs: 60_000 } };
  expect(() => tablePolicy({ name: 'p', rules: [rule] })).not.toThrow();
  expect(() => tablePolicy({ name: 'p', rules: [{ ...rule, onDeadline: { then: 'ask-again', remindEveryMs: 5 } }] })).toThrow(/remindEveryMs/);
});
