// The chain of an export and the digest that binds a run id: what they cover, and that neither order nor chance enters.
import { chainNext, chainStart } from '../../src/core/chain';
import type { RunEvent } from '../../src/core/events';
import type { RunSpec } from '../../src/core/run';
import { differencesOf, inputDigestOf } from '../../src/core/spec';

const event = (seq: number, more: object = {}): RunEvent => ({
  runId: 'r', seq, v: 1, type: 'RunResumed', at: seq, causationId: 'msg:m', correlationId: 'run', actor: { id: 'ann', via: 'cli', assurance: 'local-user' }, data: { actor: { id: 'ann', via: 'cli', assurance: 'local-user' } }, ...more,
}) as RunEvent;
const chainOf = (events: RunEvent[]): string => events.reduce(chainNext, chainStart('r'));

test('a link covers the event, everything before it, and the run', () => {
  const events = [event(1), event(2), event(3)];
  const whole = chainOf(events);
  expect(chainOf([...events])).toBe(whole);
  expect(chainOf([event(1), event(2, { at: 7 }), event(3)])).not.toBe(whole);
  expect(chainOf([event(1), event(3)])).not.toBe(whole);
  expect(chainOf([event(2), event(1), event(3)])).not.toBe(whole);
  expect(events.reduce(chainNext, chainStart('other'))).not.toBe(whole);
});

test('the order of members in an event does not matter', () => {
  const { data, ...rest } = event(1);
  expect(chainNext('x', { data, ...rest } as RunEvent)).toBe(chainNext('x', event(1)));
});

const spec = (more: Partial<RunSpec> = {}): RunSpec => ({ v: 1, agent: 'a', input: { folder: '/x', deep: [1, { two: 2 }] }, plan: null, budget: { calls: 5 }, owner: { id: 'ann', via: 'cli', assurance: 'local-user' }, ...more });

test('R1.2 the digest covers agent, input, plan and budget, and not the owner', () => {
  const digest = inputDigestOf(spec());
  expect(inputDigestOf(spec({ owner: { id: 'bob', via: 'client', assurance: 'token' } }))).toBe(digest);
  for (const other of [{ agent: 'b' }, { input: { folder: '/y' } }, { plan: { goal: 'g' } }, { budget: { calls: 6 } }]) expect(inputDigestOf(spec(other))).not.toBe(digest);
});

test('differences name each member by its path, and what is not there counts as null', () => {
  const now = spec({ input: { folder: '/y', deep: [1, { two: 3 }], more: true }, budget: {} });
  expect(differencesOf(spec(), now)).toEqual([
    { path: 'budget.calls', before: 5, now: null },
    { path: 'input.deep[1].two', before: 2, now: 3 },
    { path: 'input.folder', before: '/x', now: '/y' },
    { path: 'input.more', before: null, now: true },
  ]);
  expect(differencesOf(spec(), spec())).toEqual([]);
});
