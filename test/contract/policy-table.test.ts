// The policy table: the first rule that fits decides and is named; what nothing covers is denied; a misspelt table is refused.
import { table } from '../../examples/folder-report/policy';
import { tablePolicy } from '../../src/adapters/policy/table';
import type { PolicyQuestion } from '../../src/ports/policy';

const asked = (change: Partial<PolicyQuestion>): PolicyQuestion => ({ runId: 'r', agent: 'folder-report', owner: 'ann', tool: 'x', version: '1.0.0', effect: 'none', argsDigest: 'd', args: {}, ...change });
const empty = tablePolicy({ name: 'empty', rules: [] });

test('without rules the effect class decides: readers free, reversible free, manual asks, irreversible asks somebody else', async () => {
  expect(await empty.decide(asked({ effect: 'none' }))).toMatchObject({ decision: 'allow', rule: 'readers-free' });
  expect(await empty.decide(asked({ effect: 'reversible' }))).toMatchObject({ decision: 'allow', rule: 'reversible-free' });
  expect(await empty.decide(asked({ effect: 'manual' }))).toMatchObject({ decision: 'ask', rule: 'manual-asks', approval: { quorum: 1, approvers: [], ownerMay: true, rule: 'manual-asks' } });
  expect(await empty.decide(asked({ effect: 'irreversible' }))).toMatchObject({ decision: 'ask', approval: { ownerMay: false } });
});

test('what is of no known effect is denied, by name of the rule', async () => {
  expect(await empty.decide(asked({ effect: 'magical' as never }))).toMatchObject({ decision: 'deny', rule: 'nothing-fits' });
});

test('the first rule that fits decides, by tool, effect, agent and arguments', async () => {
  const policy = tablePolicy({ name: 't', rules: [
    { name: 'no-mail', tool: 'mail', args: { to: 'all' }, decision: 'deny' },
    { name: 'mail-by-two', tool: 'mail', agent: 'writer', decision: 'ask', quorum: 2, approvers: ['ann', 'bob', 'eve'], expiresInMs: 60_000, onDeadline: { then: 'fail-step' } },
    { name: 'rest', tool: '*', effect: ['irreversible', 'manual'], decision: 'deny', why: 'Nothing else leaves.' },
  ] });
  expect(await policy.decide(asked({ tool: 'mail', effect: 'irreversible', args: { to: 'all' } }))).toMatchObject({ decision: 'deny', rule: 'no-mail' });
  expect(await policy.decide(asked({ tool: 'mail', effect: 'irreversible', agent: 'writer', args: { to: 'ann' } }))).toEqual({
    decision: 'ask', rule: 'mail-by-two', why: 'Rule mail-by-two of the policy.', approval: { quorum: 2, approvers: ['ann', 'bob', 'eve'], ownerMay: false, rule: 'mail-by-two' }, expiresInMs: 60_000, onDeadline: { then: 'fail-step' },
  });
  expect(await policy.decide(asked({ tool: 'mail', effect: 'irreversible' }))).toEqual({ decision: 'deny', rule: 'rest', why: 'Nothing else leaves.' });
  expect(await policy.decide(asked({ tool: 'read' }))).toMatchObject({ decision: 'allow' });
});

test('a member that arguments merely inherit is none that a rule can name', async () => {
  const policy = tablePolicy({ name: 't', rules: [{ name: 'odd', args: { toString: 'x' }, decision: 'allow' }] });
  expect(await policy.decide(asked({ effect: 'manual', args: Object.create({ toString: 'x' }) }))).toMatchObject({ decision: 'ask' });
  expect(await policy.decide(asked({ effect: 'manual', args: null }))).toMatchObject({ decision: 'ask' });
});

test('its text holds every rule, so that the pinned hash changes with any of them', () => {
  const text = (decision: 'allow' | 'deny'): string => tablePolicy({ name: 't', rules: [{ name: 'a', tool: 'x', decision }] }).describe().text;
  expect(text('allow')).not.toBe(text('deny'));
  expect(JSON.parse(text('allow'))).toMatchObject({ name: 't', rules: [{ name: 'a' }], then: expect.arrayContaining([expect.objectContaining({ name: 'nothing-fits' })]) });
});

test.each<[string, unknown, RegExp]>([
  ['a misspelt member', { name: 't', rules: [{ name: 'a', tol: 'x', decision: 'allow' }] }, /malformed at rules.0/],
  ['an unknown decision', { name: 't', rules: [{ name: 'a', decision: 'maybe' }] }, /malformed at rules.0.decision/],
  ['approvers without asking', { name: 't', rules: [{ name: 'a', decision: 'allow', approvers: ['ann'] }] }, /rule a names approvers but does not ask/],
  ['a quorum that nobody can reach', { name: 't', rules: [{ name: 'a', decision: 'ask', approvers: ['ann', 'ann'], quorum: 2 }] }, /fewer people/],
  ['a default for an approval', { name: 't', rules: [{ name: 'a', decision: 'ask', onDeadline: { then: 'continue', default: 1 } }] }, /malformed at rules.0.onDeadline: write \{ then: 'cancel-run' \| 'fail-step' \| 'ask-again' \}/],
  ['no table at all', 'allow', /malformed at its top/],
])('refuses %s in one sentence', (_, value, message) => {
  expect(() => tablePolicy(value)).toThrow(message);
});

test('the example asks one local approver to publish and lets the local outbox go, by named rules', async () => {
  const policy = tablePolicy(table);
  expect(await policy.decide(asked({ tool: 'publish', effect: 'manual' }))).toMatchObject({ decision: 'ask', rule: 'publish-one-local-approver', approval: { quorum: 1, ownerMay: true } });
  expect(await policy.decide(asked({ tool: 'notify', effect: 'irreversible' }))).toMatchObject({ decision: 'allow', rule: 'notify-local-outbox-free' });
  expect(await policy.decide(asked({ tool: 'publish', effect: 'irreversible' }))).toMatchObject({ decision: 'ask', rule: 'irreversible-asks' });
});
