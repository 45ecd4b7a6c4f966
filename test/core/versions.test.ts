// Versions of law and events: the registries are whole, old shapes are brought to this build's at the door, what is newer is refused by
// name, and a run goes over to a newer law by one event at the start of a generation.
import { EVENT_SCHEMA, type RunEvent } from '../../src/core/events';
import { atDoor, isNewer, knownLaw, knownState, NewerBuild, upcast } from '../../src/core/versions/door';
import { LAW, LAWS } from '../../src/core/versions/laws';
import { migrationOf } from '../../src/core/versions/migrate';
import { UPCASTERS, type Upcaster, type WrittenEvent } from '../../src/core/versions/upcasters';
import { given, toolStep } from '../../src/testing/scenario';
import { goesBy, PATCHES } from '../../src/workflows/patches';

const written = (v: number, type = 'RunPaused', data: unknown = {}): WrittenEvent => ({ runId: 'run-1', seq: 3, v, type, data });
const change = { why: 'for the test', since: '0.0.0', until: 'the test is over' };
const steps: Upcaster[] = [
  { ...change, from: 1, up: (event) => ({ ...event, data: { ...event.data as object, second: event.type } }) },
  { ...change, from: 2, up: (event) => ({ ...event, data: { ...event.data as object, third: true } }) },
];

test('R9.2 laws and upcasters are numbered without a gap, and each entry of a registry says why it came, since when and until when', () => {
  expect(LAWS.map(({ law }) => law)).toEqual(LAWS.map((_, i) => i + 1));
  expect(LAW).toBe(LAWS.length);
  expect(UPCASTERS.map(({ from }) => from)).toEqual(Array.from({ length: EVENT_SCHEMA - 1 }, (_, i) => i + 1));
  for (const { why, since, until } of [...LAWS, ...UPCASTERS, ...PATCHES]) expect([why.length > 10, /^\d+\.\d+\.\d+$/.test(since), until.length > 10]).toEqual([true, true, true]);
  expect(() => goesBy('nosuch')).toThrow('needs its row in workflows/patches.ts');
});

test('I9 an event is taken from schema to schema, each step once; one of this schema is left as it is', () => {
  expect(upcast(written(1), steps, 3)).toEqual({ ...written(3), data: { second: 'RunPaused', third: true } });
  expect(upcast(written(2), steps, 3)).toEqual({ ...written(3), data: { third: true } });
  const present = written(3);
  expect(upcast(present, steps, 3)).toBe(present);
  expect(upcast(upcast(written(1), steps, 3), steps, 3)).toEqual(upcast(written(1), steps, 3));
  const event = given({ steps: [toolStep('a', 'read')] }).journal[0] as RunEvent;
  expect(atDoor(event)).toBe(event);
});

const NEWER: [string, () => unknown][] = [
  ['an event of a newer schema', () => atDoor(written(EVENT_SCHEMA + 1))],
  ['an event of a type that is not known', () => atDoor(written(EVENT_SCHEMA, 'EventOfTheFuture'))],
  ['an event that is called like a member of every object', () => atDoor(written(EVENT_SCHEMA, '__proto__'))],
  ['a newer law', () => knownLaw('run-1', LAW + 1)],
  ['a state that follows a newer law', () => knownState({ ...given({ steps: [toolStep('a', 'read')] }).state, law: LAW + 1 })],
  ['a state of another version', () => knownState({ ...given({ steps: [toolStep('a', 'read')] }).state, v: 99 })],
];

test.each(NEWER)('R9.2 %s is refused by an error that says what was met and what to do', (_what, read) => {
  expect(read).toThrow(NewerBuild);
  expect(read).toThrow(/run-1.*start a worker of the .*build/i);
});

test('R9.2 the refusal is known again behind Temporal, which keeps the name of an error alone', () => {
  expect([isNewer(new NewerBuild('x')), isNewer({ type: 'NewerBuild' }), isNewer({ name: 'ActivityFailure', cause: { type: 'NewerBuild' } })]).toEqual([true, true, true]);
  expect([isNewer(new Error('NewerBuild')), isNewer({ cause: null }), isNewer({ cause: new Error('x') })]).toEqual([false, false, false]);
});

test('R9.2 a generation on a build with a newer law or schema begins with RunMigrated, which alone raises them; the same again does nothing', () => {
  const run = given({ steps: [toolStep('a', 'read')] });
  const before = { law: run.state.law, eventSchema: 1, build: 'b' };
  const raised = run.when({ type: 'Migrate', migration: { law: before.law + 1, eventSchema: 2, build: 'new' } });
  expect(raised.events[0]).toMatchObject({ type: 'RunMigrated', idempotencyKey: `migrate:${before.law + 1}.2`, data: { law: before.law + 1, eventSchema: 2, build: 'new', from: before } });
  expect([raised.state.law, raised.state.pins.eventSchema, raised.state.pins.build]).toEqual([before.law + 1, 2, 'new']);
  raised.when({ type: 'Migrate', migration: { law: before.law + 1, eventSchema: 2, build: 'newer still' } }).then();
  raised.when({ type: 'Migrate', migration: { law: 1, eventSchema: 1, build: 'older' } }).then();
});

test('R9.2 a run is never taken back: what is newer of the two stays, and a run that is over or not begun is left alone', () => {
  const { state } = given({ steps: [toolStep('a', 'read')] });
  const offer = { law: 2, eventSchema: 1, build: 'new' };
  expect(migrationOf({ ...state, pins: { ...state.pins, eventSchema: 3 } }, offer)).toEqual({ ...offer, eventSchema: 3 });
  expect(migrationOf({ ...state, law: 3 }, { ...offer, eventSchema: 2 })).toEqual({ law: 3, eventSchema: 2, build: 'new' });
  expect(migrationOf({ ...state, version: 0 }, offer)).toBeNull();
  expect(migrationOf({ ...state, end: { status: 'completed', outcome: 'full', summary: '' } }, offer)).toBeNull();
});

test('R9.1 the law is pinned with the run: what open has said holds, whatever the build that replays it knows', () => {
  const { state } = given({ steps: [toolStep('a', 'read')] });
  expect(state.law).toBe(1);
});
