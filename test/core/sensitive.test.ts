// Members that a tool names as sensitive: hidden wherever arguments are shown.
import { isSensitive, shownArgs, withoutSensitive } from '../../src/core/sensitive';
import { toolManifest } from '../../src/core/tool';
import { schemaReasons } from '../../src/activities/schema-reasons';

const args = { text: 'hello', pin: '12345', auth: { pin: 67890, user: 'ann' }, list: [{ card: { number: '4111-1111' }, note: 'n' }], ref: { $secret: 'KEY' } };

test('R2.4 a name hides every member of that name, a path the one member, in lists too, and what names a secret stays', () => {
  expect(shownArgs(args, ['pin', 'card.number', 'list.card', 'ref'])).toEqual({ text: 'hello', pin: '[hidden]', auth: { pin: '[hidden]', user: 'ann' }, list: [{ card: '[hidden]', note: 'n' }], ref: { $secret: 'KEY' } });
  expect(shownArgs(args, ['auth.pin'])).toEqual({ ...args, auth: { pin: '[hidden]', user: 'ann' } });
  expect(shownArgs(args, ['list.card.number'])).toEqual({ ...args, list: [{ card: { number: '[hidden]' }, note: 'n' }] });
  expect(shownArgs(args)).toBe(args);
  expect([isSensitive(['auth'], ['auth', 'user']), isSensitive(['auth.pin'], ['pin']), isSensitive(['auth.pin'], ['auth', 'pinned'])]).toEqual([true, false, false]);
});

test('R2.4 a preview that repeats sensitive values is shown without them, longest first, and without touching short words', () => {
  expect(withoutSensitive('pays with 4111-1111 and 67890 for ann', args, ['auth.pin', 'list.card.number'])).toBe('pays with [hidden] and [hidden] for ann');
  expect(withoutSensitive('a 12 b', { pin: '12' }, ['pin'])).toBe('a 12 b');
  expect(withoutSensitive('KEY', args, ['ref'])).toBe('KEY');
});

test('R2.4 the reasons of a schema say where, and what only for members that are not sensitive', () => {
  const error = { issues: [{ path: ['auth', 'pin'], message: 'not 67890' }, { path: ['list', 0, 'note'], message: 'too short' }, { path: [], message: 'all of 67890' }] };
  expect(schemaReasons(error, ['auth.pin'])).toBe('auth.pin: does not fit; list.0.note: too short; the arguments: does not fit');
  expect([schemaReasons(new Error('67890'), ['pin']), schemaReasons(new Error('wrong'))]).toEqual(['they were refused', 'wrong']);
});

test('the sensitive members are pinned with the tool, where there are any', () => {
  expect(toolManifest({ name: 'a', version: '1.0.0', sensitive: ['pin'] })).toMatchObject({ sensitive: ['pin'] });
  expect(toolManifest({ name: 'a', version: '1.0.0' })).not.toHaveProperty('sensitive');
});
