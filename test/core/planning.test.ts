// Promises of rules/planning: which proposals are refused and with what reason, how a declared plan is read,
// how large arguments leave the outline, and that no JSON value makes any of it throw.
import fc from 'fast-check';
import type { Json } from '../../src/core/canonical';
import type { PlanPatch, StepOutline } from '../../src/core/plan';
import type { ArtifactRef } from '../../src/core/run';
import type { StepState } from '../../src/core/state';
import { memberAt } from '../../src/core/rules/binding';
import { durationMs } from '../../src/core/rules/duration';
import { checkPatch, outlineByReference, parsePlan, type PlanningState } from '../../src/core/rules/planning';

const ref: ArtifactRef = { sha256: 'b'.repeat(64), bytes: 20_000, mediaType: 'application/json', summary: 'plan' };
const tools = ['inventory', 'publish'].map((name) => ({ name }));
const agent = { tools, model: 'rules@1' } as unknown as PlanningState['agent'];
const step = (id: string, more: Partial<StepOutline> = {}): StepOutline => ({ id, title: id, dependsOn: [], uses: [], action: { type: 'tool', tool: 'inventory', args: {} }, ...more });
const state = (...steps: Partial<StepState>[]): PlanningState => ({ agent, steps: steps.map((s) => ({ ...step(s.id ?? 'x'), status: 'done', since: 1, prepared: 0, ...s }) as StepState) });
const patch = (...add: StepOutline[]): PlanPatch => ({ add, drop: [] });

const file = (...steps: Json[]): Json => ({ goal: 'A report', steps });
const reasonsOf = (json: Json): string[] => { const read = parsePlan(json, tools); return 'reasons' in read ? read.reasons : []; };
const tool = (id: string, args: Json = {}, more: { [key: string]: Json } = {}): Json => ({ id, action: { type: 'tool', tool: 'inventory', args }, ...more });

describe('rules/planning: a proposal', () => {
  test('is accepted when its steps are known tools that depend on what exists', () => {
    expect(checkPatch(state({ id: 'collect' }), patch(step('a', { dependsOn: ['collect'], uses: ['collect'] }), step('b', { dependsOn: ['a'] })))).toEqual([]);
  });

  test('B43 with a made-up tool is refused naming the step and the tools there are', () => {
    const [reason] = checkPatch(state(), patch(step('a', { action: { type: 'tool', tool: 'get_dat', args: {} } })));
    expect(reason).toBe('Step a uses the tool "get_dat", which this agent does not have; it has: inventory, publish.');
  });

  test.each<[string, PlanningState, PlanPatch, RegExp]>([
    ['an id twice', state(), patch(step('a'), step('a')), /Step a is there twice/],
    ['an id of an earlier step', state({ id: 'a' }), patch(step('a')), /Step a takes the id of an earlier step/],
    ['an id with a dot', state(), patch(step('a.b')), /Step 1 of the list needs an id/],
    ['a circle', state(), patch(step('a', { dependsOn: ['b'] }), step('b', { dependsOn: ['c'] }), step('c', { dependsOn: ['a'] })), /circle/],
    ['a circle through $from', state(), patch(step('a', { action: { type: 'tool', tool: 'publish', args: { x: { $from: 'b' } } } }), step('b', { dependsOn: ['a'] })), /Steps a -> b -> a/],
    ['a step that depends on itself', state(), patch(step('a', { dependsOn: ['a'] })), /Step a depends on itself/],
    ['a dependency on nothing', state(), patch(step('a', { dependsOn: ['gone'] })), /Step a refers to step "gone", which does not exist/],
    ['a $from to nothing', state(), patch(step('a', { action: { type: 'tool', tool: 'publish', args: { x: { $from: 'gone.y' } } } })), /Step a refers to step "gone"/],
    ['a $from to a step that failed', state({ id: 'f', status: 'failed' }), patch(step('a', { uses: ['f'], dependsOn: ['f'] })), /Step a uses the output of step "f", which has none/],
    ['too many steps', state(), patch(...Array.from({ length: 501 }, (_, i) => step(`s${i}`))), /501 open steps/],
    ['nothing at all', state(), patch(), /no step and does not end/],
    ['an end with new steps', state(), { add: [step('a')], drop: [], done: { outcome: 'full', summary: 'x' } }, /Step a is added although/],
    ['a drop of nothing', state(), { add: [], drop: ['gone'] }, /Step gone cannot be dropped: there is no such step/],
    ['a drop of what has begun', state({ id: 'p', status: 'active' }), { add: [], drop: ['p'] }, /Step p cannot be dropped: it is under way/],
    ['a drop of what is needed', state({ id: 'p', status: 'pending' }, { id: 'q', status: 'pending', dependsOn: ['p'] }), { add: [], drop: ['p'] }, /Step q depends on step p/],
    ['a model step without a model', { ...state(), agent: { ...agent, model: null } }, patch(step('m', { action: { type: 'model', prompt: 'sum up' } })), /Step m asks a model/],
    ['an endless wait', state(), patch(step('w', { action: { type: 'wait', forMs: 1e15 } })), /Step w has a wait/],
    ['arguments that are no object', state(), patch(step('a', { action: { type: 'tool', tool: 'publish', args: [1] } })), /Step a needs args/],
    ['a pointer that only the runtime writes', state(), patch(step('a', { action: { type: 'tool', tool: 'publish', args: { x: { $artifact: {}, path: [] } } } })), /Step a: .*\$artifact/],
  ])('with %s is refused naming the step', (_what, known, proposal, reason) => {
    expect(checkPatch(known, proposal).join('\n')).toMatch(reason);
  });

  test('may drop what has not begun, and may end the run', () => {
    expect(checkPatch(state({ id: 'p', status: 'pending' }), { add: [], drop: ['p'] })).toEqual([]);
    expect(checkPatch(state(), { add: [], drop: [], done: { outcome: 'partial', summary: 'half' } })).toEqual([]);
  });

  test('has at most twenty short reasons', () => {
    const reasons = checkPatch(state(), patch(...Array.from({ length: 40 }, (_, i) => step(`s${i}`, { dependsOn: ['gone'.repeat(40)] }))));
    expect(reasons).toHaveLength(20);
    expect(Math.max(...reasons.map((reason) => reason.length))).toBeLessThanOrEqual(300);
  });
});

describe('rules/planning: a declared plan', () => {
  test('is read with titles, durations, deadlines, premises and uses', () => {
    const read = parsePlan(file(
      tool('collect'),
      { id: 'ask', title: 'Which quarter', action: { type: 'question', question: 'Which quarter?', deadline: '24h', onDeadline: { then: 'cancel-run' } } },
      { id: 'rest', action: { type: 'wait', for: '1h30m' } },
      { id: 'publish', dependsOn: ['ask'], optional: true, premises: [{ resource: 'publisher:refunds', version: { $from: 'collect.version' } }],
        action: { type: 'tool', tool: 'publish', args: { body: { $from: 'rest' }, key: { $secret: 'PUBLISHER' } } } },
    ), tools);
    expect('patch' in read && read.patch).toEqual({
      goal: 'A report', drop: [], add: [
        { id: 'collect', title: 'collect', dependsOn: [], uses: [], action: { type: 'tool', tool: 'inventory', args: {} } },
        { id: 'ask', title: 'Which quarter', dependsOn: [], uses: [], action: { type: 'question', question: 'Which quarter?', deadlineMs: 86_400_000, onDeadline: { then: 'cancel-run' } } },
        { id: 'rest', title: 'rest', dependsOn: [], uses: [], action: { type: 'wait', forMs: 5_400_000 } },
        { id: 'publish', title: 'publish', dependsOn: ['ask', 'rest', 'collect'], uses: ['rest', 'collect'], optional: true,
          premises: [{ resource: 'publisher:refunds', version: { $from: 'collect.version' } }],
          action: { type: 'tool', tool: 'publish', args: { body: { $from: 'rest' }, key: { $secret: 'PUBLISHER' } } } },
      ],
    });
  });

  test.each<[string, Json, RegExp]>([
    ['an unknown member', file({ ...(tool('a') as object), dependOn: ['b'] }), /Step a has an unknown member "dependOn"; known are id, title, dependsOn/],
    ['an unknown member of an action', file({ id: 'a', action: { type: 'tool', tool: 'inventory', arguments: {} } }), /Step a, its action, has an unknown member "arguments"/],
    ['an unknown tool', file({ id: 'a', action: { type: 'tool', tool: 'nope' } }), /Step a uses the tool "nope"/],
    ['a circle', file(tool('a', {}, { dependsOn: ['b'] }), tool('b', {}, { dependsOn: ['a'] })), /Steps a -> b -> a/],
    ['a reference to nothing', file(tool('a', { x: { $from: 'z.y' } })), /Step a refers to step "z"/],
    ['a bad duration', file({ id: 'w', action: { type: 'wait', for: 'soon' } }), /Step w has a "for" that is not a duration/],
    ['no duration', file({ id: 'w', action: { type: 'wait' } }), /Step w needs to say how long/],
    ['a bad onDeadline', file({ id: 'q', action: { type: 'question', question: 'x', deadline: '1h', onDeadline: { then: 'explode' } } }), /Step q needs an onDeadline of/],
    ['an escalation to nobody', file({ id: 'q', action: { type: 'question', question: 'x', deadline: '1h', onDeadline: { then: 'escalate' } } }), /Step q needs an onDeadline/],
    ['an onDeadline without a deadline', file({ id: 'q', action: { type: 'question', question: 'x', onDeadline: 'fail-step' } }), /Step q says what happens at its deadline but has no deadline/],
    ['no action', file({ id: 'a' }), /Step a needs an "action"/],
    ['a step that is no object', file('collect'), /Step 1 of the list is not an object/],
    ['no goal', { steps: [tool('a')] }, /needs a "goal"/],
    ['no steps', { goal: 'x', steps: [] }, /at least one step/],
  ])('with %s is refused in words that name the place', (_what, json, reason) => {
    expect(reasonsOf(json).join('\n')).toMatch(reason);
  });

  test('durations are sums of counted units', () => {
    expect([durationMs('24h'), durationMs('500ms'), durationMs('1d12h'), durationMs('2w')]).toEqual([86_400_000, 500, 129_600_000, 1_209_600_000]);
    expect([durationMs('0s'), durationMs('h'), durationMs('1.5h'), durationMs('-1h'), durationMs(''), durationMs('9'.repeat(30))]).toEqual([null, null, null, null, null, null]);
  });

  test('keeps small arguments inline and refers to large ones by their place in the stored plan', () => {
    const json = file(tool('small', { q: 'x' }), tool('large', { text: 'y'.repeat(600) }));
    const read = parsePlan(json, tools);
    if ('reasons' in read) throw new Error(read.reasons.join());
    const outline = outlineByReference(read.patch, ref, ['plan']);
    expect(outline.planRef).toEqual(ref);
    expect(outline.add[0]?.action).toEqual({ type: 'tool', tool: 'inventory', args: { q: 'x' } });
    expect(outline.add[1]?.action).toEqual({ type: 'tool', tool: 'inventory', argsRef: ref, at: ['plan', 'steps', '1', 'action', 'args'] });
    expect(memberAt({ plan: json }, ['plan', 'steps', '1', 'action', 'args'])).toEqual({ text: 'y'.repeat(600) });
  });

  test('moves all arguments out of an outline of more than 16 KiB', () => {
    const read = parsePlan(file(...Array.from({ length: 60 }, (_, i) => tool(`s${i}`, { text: 'z'.repeat(300) }))), tools);
    if ('reasons' in read) throw new Error(read.reasons.join());
    expect(outlineByReference(read.patch, ref).add.every((added) => 'argsRef' in added.action && !('args' in added.action))).toBe(true);
  });
});

describe('rules/planning: totality', () => {
  const key = fc.constantFrom('goal', 'steps', 'id', 'title', 'dependsOn', 'action', 'type', 'tool', 'args', 'premises', 'resource', 'version', 'question', 'deadline', 'onDeadline', 'then', 'for', 'forMs', 'add', 'drop', 'done', 'uses', 'optional', '$from', '__proto__', 'toString');
  const planLike = fc.letrec<{ json: Json }>((tie) => ({
    json: fc.oneof({ depthSize: 'small' }, fc.constantFrom<Json>('tool', 'question', 'wait', 'model', 'inventory', 'a', '1h', 'escalate', 7, null, true), fc.string(), fc.dictionary(key, tie('json')), fc.array(tie('json'))) as fc.Arbitrary<Json>,
  })).json;
  const near = fc.record({ goal: fc.string(), steps: fc.array(fc.record({ id: planLike, action: planLike, premises: planLike, dependsOn: planLike }, { requiredKeys: ['id'] })) }) as fc.Arbitrary<Json>;

  test('no JSON value makes parsePlan or checkPatch throw, and a plan that is read is a patch that is accepted', () => {
    fc.assert(fc.property(fc.oneof(planLike, near, fc.jsonValue() as fc.Arbitrary<Json>), (json) => {
      const read = parsePlan(json, tools);
      if ('patch' in read) expect(checkPatch(state(), read.patch)).toEqual([]);
      else expect(read.reasons.length).toBeGreaterThan(0);
      expect(Array.isArray(checkPatch(state(), json as unknown as PlanPatch))).toBe(true);
      checkPatch(state(), { add: [json], drop: [json] } as unknown as PlanPatch);
      checkPatch(state(), { add: [{ ...step('a'), action: json }], drop: [] } as unknown as PlanPatch);
    }), { numRuns: 600 });
  });
});
