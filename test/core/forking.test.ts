// Forks in the law: what stands in, what stays the parent's, what is begun anew and what is asked about first. The copying is the
// journal's (contracts); here a parent's events are copied as it does, and the Fork command is what `open` would give.
import { canonical, digestOf } from '../../src/core/canonical';
import type { ForkOrder } from '../../src/core/commands';
import type { RunEvent } from '../../src/core/events';
import { fold } from '../../src/core/evolve';
import { inherited } from '../../src/core/fork';
import { initialState } from '../../src/core/initial';
import type { StepOutline } from '../../src/core/plan';
import { batchAround, doubtsOf, endOf, faultOfFork, planOfFork } from '../../src/core/rules/forking';
import { turn } from '../../src/core/turn';
import { waitsOf } from '../../src/core/waits';
import { asks, cancelled, given, GivenRun, modelSaid, prepared, proposes, returned, said, succeeded, toolManifest, toolStep } from '../../src/testing/scenario';
import { walk } from './support/walk';

const REF = { sha256: '1'.repeat(64), bytes: 2, mediaType: 'application/json', summary: '' };
const agent = { tools: [toolManifest('read', { effect: 'none' }), toolManifest('pay', { effect: 'reversible', hasUndo: true }), toolManifest('post', { effect: 'irreversible' })] };
const steps = [toolStep('first', 'pay'), toolStep('look', 'read'), toolStep('second', 'post', { dependsOn: ['first'] })];

const order = (at: number, more: Partial<ForkOrder> = {}): ForkOrder => ({
  parent: { runId: 'run-1', at }, epoch: 1, owner: { id: 'fay', via: 'cli', assurance: 'local-user' }, title: 'a fork', seed: 'other', inputDigest: digestOf('fork'), inputRef: REF, ledgerIncarnation: 'ledger-0', plan: null, budget: {}, ...more,
});

/** The fork of a run after event `at`, before its own first command. */
function copied(events: readonly RunEvent[], at: number, now: number): GivenRun {
  const copy = events.slice(0, at).map((event) => inherited(event, 'fork-1'));
  return new GivenRun(fold(initialState('fork-1'), copy), now, copy);
}
const forked = (parent: GivenRun, more: Partial<ForkOrder> = {}, at = parent.journal.length): GivenRun => copied(parent.journal, at, parent.now).when({ type: 'Fork', order: order(at, more) });

/** Why the call that was prepared last may go, is asked about, or may not. */
const words = (run: GivenRun): string | undefined => run.journal.flatMap((event) => (event.type === 'CallPrepared' ? [event.data.policy.why] : [])).at(-1);

const one = given({ agent, steps, budget: { calls: 10, wallMs: 1_000_000 } }).when(prepared('first'));
const paid = one.when(returned('c1', 1, succeeded({ read: 1 }))).when(returned('c2', 1, succeeded({ paid: 1 }))).after(1_000).when(prepared('second', { of: 'second' }, { policy: asks() }));

test('R10.2 earlier results stand in, and earlier effects are the parent\'s: listed, not repeated, not taken back', () => {
  expect(paid.state.effects.map(({ tool }) => tool)).toEqual(['pay']);
  const fork = forked(paid).then(['RunForked', { effects: ['pay c2 (first)'], doubts: [], parent: { runId: 'run-1', at: paid.journal.length } }]);
  expect(fork.state.steps.map(({ id, status }) => [id, status])).toEqual([['first', 'done'], ['look', 'done'], ['second', 'pending']]);
  expect([fork.state.effects, fork.state.forked?.effects, fork.state.owner.id]).toEqual([[], ['pay c2 (first)'], 'fay']);
  fork.thenNeeds('prepare:second#2');
  fork.when(cancelled()).then('CancelRequested', ['RunCancelled', { report: { finished: [], undone: [], unknown: [], needsPerson: [] } }]);
});
test('R10.2 approvals of the parent do not carry over, nor grants: the fork asks anew, and calls under keys of its own', () => {
  const open = Object.keys(paid.state.approvals)[0]!;
  const granted = paid.when(said('ann', { kind: 'approve', approvalId: open }));
  for (const parent of [paid, granted]) {
    const fork = forked(parent);
    expect([fork.state.approvals, fork.state.grants, fork.state.calls]).toEqual([{}, undefined, {}]);
    const asked = fork.when(prepared('second', { of: 'second' }, { n: 2, policy: asks() })).then('CallPrepared', 'ApprovalRequested');
    expect(Object.keys(asked.state.approvals)).not.toContain(open);
    asked.when(said('ann', { kind: 'approve', approvalId: open })).then('MessageRejected').thenHears('unknown');
    const called = asked.when(said('ann', { kind: 'approve', approvalId: Object.keys(asked.state.approvals)[0]! }));
    const keys = (run: GivenRun): string[] => run.journal.flatMap((event) => (event.type === 'ToolCallRequested' && event.data.tool !== 'read' ? [event.data.key] : []));
    expect(new Set([...keys(called), ...keys(granted)]).size).toBe(3);
  }
});
test('R10.2 a call that was under way or in doubt is asked about before it is made under another key, also where policy would let it go', () => {
  for (const [parent, why] of [[one, 'it was under way'], [one.when(returned('c2', 1, { kind: 'unknown', why: 'the line broke' })), 'the line broke']] as const) {
    const fork = forked(parent).then(['RunForked', { doubts: [{ runId: 'run-1', stepId: 'first', callId: 'c2', tool: 'pay', argsDigest: digestOf({ of: 'first' }), why }] }], 'ToolCallRequested');
    const asked = fork.when(prepared('first', { of: 'first' }, { n: 2 })).then(['CallPrepared', { policy: { decision: 'ask', rule: 'fork', why: `Run run-1 may have done this by its call c2: ${why}. Find out first.`, approval: { quorum: 1, approvers: [], ownerMay: true, rule: 'fork', mayGrant: false } } }], 'ApprovalRequested');
    const [approvalId = ''] = Object.keys(asked.state.approvals);
    asked.when(said('fay', { kind: 'approve', approvalId, grant: {} })).then('MessageRejected').thenHears('refused');
    asked.when(said('fay', { kind: 'approve', approvalId })).then('ApprovalGranted', 'ToolCallRequested');
  }
  const free = forked(given({ agent, steps })).when(prepared('first')).then('CallPrepared', 'ToolCallRequested');
  expect(free.state.steps[0]?.doubt).toBeUndefined();
});
test('R10.2 a new plan forgets no doubt: the same call under any step id, or the same step with other arguments, is asked about first', () => {
  const plan = (...add: object[]) => ({ goal: 'otherwise', add: add as StepOutline[], drop: [] });
  for (const [parent, why] of [[one, 'it was under way'], [one.when(returned('c2', 1, { kind: 'unknown', why: 'the line broke' })), 'the line broke']] as const) {
    const doubt = { runId: 'run-1', stepId: 'first', callId: 'c2', tool: 'pay', argsDigest: digestOf({ of: 'first' }), why };
        const fork = forked(parent, { plan: plan(toolStep('first', 'pay'), toolStep('renamed', 'pay'), toolStep('other', 'pay'), toolStep('post', 'post')) }).then(['RunForked', { replanned: true, doubts: [doubt] }], ['PlanAccepted', {}]);
    expect(fork.state.forked?.doubts).toEqual([doubt]);
    for (const [step, args] of [['first', { of: 'first' }], ['first', { of: 'less' }], ['renamed', { of: 'first' }]] as const) {
      const asked = fork.when(prepared(step, args)).then('CallPrepared', 'ApprovalRequested');
      expect(words(asked)).toBe(`Run run-1 may have done this by its call c2: ${why}. Find out first.`);
      const [approvalId = ''] = Object.keys(asked.state.approvals);
      const made = asked.when(said('fay', { kind: 'approve', approvalId })).then('ApprovalGranted', 'ToolCallRequested');
      if (step !== 'renamed') made.when(prepared('renamed', { of: 'first' })).then('CallPrepared', 'ApprovalRequested');
    }
    fork.when(prepared('other', { of: 'other' })).then('CallPrepared', 'ToolCallRequested');
    fork.when(prepared('post', { of: 'first' })).then('CallPrepared', 'ToolCallRequested');
  }
});
test('R10.2 a call whose arguments are not known holds every call of its tool in a fork', () => {
  const fork = forked(one, { plan: { goal: 'g', add: [toolStep('x', 'pay') as StepOutline], drop: [] } });
  const unsure = new GivenRun({ ...fork.state, forked: { ...fork.state.forked!, doubts: [{ runId: 'run-1', stepId: 'first', callId: 'c2', tool: 'pay', why: 'it was under way' }] } }, fork.now, fork.journal);
  unsure.when(prepared('x', { of: 'anything' })).then('CallPrepared', 'ApprovalRequested');
});
test('R10.2 a fork of a fork keeps what the runs before it may have done, each under the run that may have done it', () => {
  const unmade = forked(one);
  const next = (run: GivenRun, more: Partial<ForkOrder> = {}): GivenRun => forked(run, { inputDigest: digestOf('again'), parent: { runId: 'fork-1', at: run.journal.length }, ...more });
  expect(words(next(unmade).when(prepared('first', { of: 'first' }, { n: 2 })))).toBe('Run run-1 may have done this by its call c2: it was under way. Find out first.');

  const copy = forked(one, { inputDigest: digestOf('again'), parent: { runId: 'fork-1', at: one.journal.length, of: 'run-1' } });
  expect([copy.state.forked?.runId, copy.state.forked?.doubts]).toMatchObject(['fork-1', [{ runId: 'run-1', callId: 'c2' }]]);

  const asked = unmade.when(prepared('first', { of: 'first' }, { n: 2 }));
  const made = asked.when(said('fay', { kind: 'approve', approvalId: Object.keys(asked.state.approvals)[0]! }));
  const [call = ''] = Object.values(made.state.calls).flatMap(({ tool, callId }) => (tool === 'pay' ? [callId] : []));
  const both = next(made).then('RunForked', 'ToolCallRequested');
  expect(both.state.forked?.doubts).toMatchObject([{ runId: 'run-1', callId: 'c2' }, { runId: 'fork-1', callId: call }]);
  expect(words(both.when(prepared('first', { of: 'first' }, { n: 3 })))).toBe(`Run run-1 may have done this by its call c2: it was under way. Run fork-1 may have done this by its call ${call}: it was under way. Find out first.`);
  const replanned = next(made, { plan: { goal: 'g', add: [toolStep('renamed', 'pay') as StepOutline], drop: [] } });
  expect(replanned.when(prepared('renamed', { of: 'first' })).then('CallPrepared', 'ApprovalRequested').state.forked?.doubts).toHaveLength(2);
});
test('R10.2 a fork that an older build began asks about the steps that it noted, and folds to the state that it had', () => {
  const old = forked(one).journal.map((event) => (event.type === 'RunForked' ? { ...event, data: { ...event.data, doubts: event.data.doubts.map(({ stepId, callId, tool, why }) => ({ stepId, callId, tool, why })) } } : event));
  const fork = new GivenRun(fold(initialState('fork-1'), old), one.now, old);
  expect(fork.state.forked).toEqual({ runId: 'run-1', at: one.journal.length, effects: [], more: 0 });
  expect(words(fork.when(prepared('first', { of: 'first' }, { n: 2 })).then('CallPrepared', 'ApprovalRequested'))).toBe('Run run-1 may have done this by its call c2: it was under way. Find out first.');
});
test('R10.2 the approval of a call that a run before may have made says so in the lists, and how it has ended there is known once it has', () => {
  const asked = forked(one).when(prepared('first', { of: 'first' }, { n: 2 }));
  expect(waitsOf(asked.state)).toMatchObject([{ kind: 'approval', doubt: 'Run run-1 may have done this by its call c2: it was under way. Find out first.' }]);
  expect(waitsOf(paid.state).map(({ doubt }) => doubt)).toEqual([undefined]);
  const seq = paid.journal.findIndex((event) => event.type === 'ToolCallSucceeded' && event.data.callId === 'c2') + 1;
  expect([endOf(one.journal, 'c2'), endOf(one.when(returned('c2', 1, { kind: 'unknown', why: 'the line broke' })).journal, 'c2'), endOf(paid.journal, 'c2')]).toEqual([undefined, undefined, { seq, how: 'done' }]);
});
test('R10.2 a reader or a model that was under way is simply asked again', () => {
  const planning = given({ agent: { ...agent, planner: 'model' } });
  forked(planning).then(['RunForked', { doubts: [] }], ['ModelCallRequested', { callId: 'c2' }]);
  const fork = forked(given({ agent, steps })).thenNeeds('prepare:first#1', 'call:c2#1');
  expect(fork.events.map(({ type }) => type)).toEqual(['RunForked', 'ToolCallRequested']);
});
test('R10.2 a fork of a fork lists what that fork had done, and the journal holds what was done before', () => {
  const first = forked(paid).when(prepared('second', { of: 'second' }, { n: 2 }));
  const done = first.when(returned('c4', 1, succeeded({ posted: 1 })));
  expect(done.state.end?.status).toBe('completed');
  const second = forked(first, { inputDigest: digestOf('again'), parent: { runId: 'fork-0', at: first.journal.length } });
  second.then(['RunForked', { effects: [], doubts: [{ runId: 'fork-0', stepId: 'second', callId: 'c4', tool: 'post', argsDigest: digestOf({ of: 'second' }), why: 'it was under way' }] }]);
  expect(second.journal.flatMap((event) => (event.type === 'RunForked' ? event.data.effects : []))).toEqual(['pay c2 (first)']);
});
test('R10.2 what was left of the budget is left, the time between is nobody\'s, and a kind that is named begins anew', () => {
  const late = paid.after(5_000_000);
  const fork = forked(late);
  expect([fork.state.budget, fork.state.spent, fork.state.reserved, fork.state.activeMs]).toEqual([{ calls: 10, wallMs: 1_000_000 }, paid.state.spent, { calls: 0, tokens: 0, microUsd: 0, failures: 0 }, paid.state.activeMs]);
  expect(forked(late, { budget: { calls: 3, tokens: 7 } }).state.budget).toEqual({ calls: 3 + paid.state.spent.calls, tokens: 7 + paid.state.spent.tokens, wallMs: 1_000_000 });
});
test('R10.2 a budget that was used up stays so, until the fork is given more of it', () => {
  const out = given({ agent, budget: { calls: 1 }, steps: [toolStep('look', 'read'), toolStep('again', 'read', { dependsOn: ['look'] })] }).when(returned('c1', 1, succeeded()));
  expect(out.state.exhausted).toEqual(['calls']);
  expect(forked(out).then('RunForked').state.exhausted).toEqual(['calls']);
  forked(out, { budget: { calls: 2 } }).then('RunForked', 'ToolCallRequested');
});
test('R10.2 a plan takes the place of what had not ended: steps that are done stand in under their ids, and may be depended on', () => {
  const post = toolStep('second', 'post', { dependsOn: ['first'] }) as StepOutline;
  const plan = { goal: 'otherwise', add: [steps[0]!, { ...post, action: { type: 'tool' as const, tool: 'post', args: { text: 'other' } } }, toolStep('third', 'read', { dependsOn: ['second'] })], drop: [] };
  const fork = forked(paid, { plan }).then(['RunForked', { replanned: true }], ['PlanAccepted', { by: 'fork', goal: 'otherwise', drop: [] }]);
  expect(fork.state.steps.map(({ id, status }) => [id, status])).toEqual([['first', 'done'], ['look', 'done'], ['second', 'pending'], ['third', 'pending']]);
  fork.thenNeeds('prepare:second#1');
  fork.when(prepared('second', { text: 'other' }, { policy: asks() })).then('CallPrepared', 'ApprovalRequested');
  const planned = forked(given({ agent: { ...agent, planner: 'model' } }).when(modelSaid('c1', 1, proposes({ goal: 'g', add: [toolStep('a', 'read')], drop: [] }))), { plan: { goal: 'declared', add: [toolStep('b', 'read')], drop: [] } });
  expect([planned.state.agent.planner, planned.state.steps.map(({ id }) => id)]).toEqual(['declared', ['b']]);
});
test('R10.2 a plan that changes a step that is done, or says nothing new, is refused; one that cannot be followed ends the fork', () => {
  const changed = { goal: 'g', add: [{ ...steps[0]!, action: { type: 'tool' as const, tool: 'pay', args: { other: true } } }, toolStep('x', 'read')], drop: [] };
  expect(planOfFork(paid.state, changed)).toEqual({ reasons: [expect.stringMatching(/Step first is done by then, and not as the plan has it now/)] });
  expect(planOfFork(paid.state, { goal: 'g', add: [steps[0]!], drop: [] })).toEqual({ reasons: [expect.stringMatching(/Every step of the plan is done/)] });
  expect(planOfFork(paid.state, { goal: 'g', add: [toolStep('x', 'nothing')], drop: [] })).toEqual({ reasons: [expect.stringMatching(/nothing/)] });
  expect(forked(paid, { plan: changed }).then('RunForked', 'RunFailed').state.end?.failure).toMatchObject({ class: 'argument', code: 'plan' });
});
test('R10.2 a run that is over or being cancelled is forked before that, and a turn is taken whole', () => {
  const over = given({ agent, steps: [toolStep('look', 'read')] }).when(returned('c1', 1, succeeded()));
  expect([faultOfFork(over.state), faultOfFork(paid.when(cancelled()).state), faultOfFork(paid.state)]).toEqual(['the run is over there (completed)', expect.stringMatching(/over there|being cancelled/), null]);
  const at = (...times: number[]): RunEvent[] => times.map((time, i) => ({ ...paid.journal[0]!, seq: i + 1, at: time }));
  expect([2, 3, 5].map((place) => batchAround(at(1, 2, 2, 2, 3), place))).toEqual([{ from: 2, to: 4 }, { from: 2, to: 4 }, { from: 5, to: 5 }]);
});
test('I12 the same fork again changes nothing, and a restore before and after it counts', () => {
  const fork = forked(paid);
  fork.when({ type: 'Fork', order: order(paid.journal.length) }).then();
  fork.when({ type: 'Restore', epoch: 2, executionId: 'x', why: 'lost' }).then('RunRestored');
});
test('R10.2 I10 of any run, after any turn: the fork is the fold of its events, and no key, approval or undo of the parent is in it', () => {
  let seen = 0;
  for (let seed = 1; seed <= 20; seed += 1) {
    const { events, commands } = walk(seed);
    const keys = new Set(events.flatMap((event) => (event.type === 'ToolCallRequested' && event.data.key !== '' ? [event.data.key] : [])));
    for (const { before } of commands) {
      if (before.version === 0 || faultOfFork(before) !== null || seen % 3 === 1) { seen += 1; continue; }
      seen += 1;
      const copy = events.slice(0, before.version).map((event) => inherited(event, 'fork-1'));
      const state = fold(initialState('fork-1'), copy);
      const result = turn(state, [{ type: 'Fork', order: order(before.version) }], before.at + 5);
      expect(canonical(fold(initialState('fork-1'), [...copy, ...result.events]))).toBe(canonical(result.draft));
      expect(result.events[0]?.type).toBe('RunForked');
      expect(doubtsOf(before, 'run-1').length).toBe(result.draft.steps.filter((step) => step.doubt).length);
      const stopped = turn(result.draft, [cancelled()], before.at + 6);
      for (const need of [...result.needs, ...stopped.needs]) {
        if (need.kind === 'call') expect([need.undoOf, keys.has(need.key)]).toEqual([undefined, false]);
        expect(need.kind).not.toBe('gate');
      }
      expect(Object.keys(result.draft.approvals).filter((id) => id in before.approvals)).toEqual([]);
    }
  }
  expect(seen).toBeGreaterThan(100);
});
