// Invariants that recorded histories can show by themselves: how activities were scheduled, how large payloads are, how a
// generation begins. Read as plain JSON, so that nothing of the SDK stands between the test and what was written.
import { readFileSync } from 'node:fs';
import { EVENT_SCHEMA } from '../../src/core/events';
import { knowsEvent } from '../../src/core/evolve';
import { tracked, text } from '../house/support/tracked';
import { goldenHistories } from './support/corpus';

interface Payloads { payloads?: { data?: string }[] }
interface RawEvent {
  activityTaskScheduledEventAttributes?: { activityType: { name: string }; retryPolicy?: { maximumAttempts?: number }; input?: Payloads };
  activityTaskCompletedEventAttributes?: { result?: Payloads };
  markerRecordedEventAttributes?: { details?: { data?: Payloads; result?: Payloads } };
}

const histories = goldenHistories().map(({ name, file }) => ({ file: name, events: (JSON.parse(readFileSync(file, 'utf8')) as { events: RawEvent[] }).events }));
const decoded = (payloads?: Payloads): string => (payloads?.payloads ?? []).map(({ data }) => Buffer.from(data ?? '', 'base64').toString()).join(' ');
/** Local activities in the order of their markers. */
const locals = (events: RawEvent[]): string[] => events.flatMap((event) => {
  const type = (JSON.parse(decoded(event.markerRecordedEventAttributes?.details?.data) || '{}') as { activity_type?: string }).activity_type;
  return type === undefined ? [] : [type];
});

test('I5 every generation, fresh, restored, reset or continued as new, begins with open', () => {
  expect(histories.length).toBeGreaterThan(10);
  for (const { file, events } of histories) expect([file, locals(events)[0] ?? events.find((event) => event.activityTaskScheduledEventAttributes)?.activityTaskScheduledEventAttributes?.activityType.name]).toEqual([file, 'open']);
});

test('I8 model, prepare and call are scheduled with one attempt; what Temporal retries only looks or is idempotent', () => {
  const seen = new Set<string>();
  for (const { file, events } of histories) {
    for (const { activityTaskScheduledEventAttributes: scheduled } of events) {
      if (!scheduled) continue;
      seen.add(scheduled.activityType.name);
      const once = ['model', 'prepare', 'call'].includes(scheduled.activityType.name);
      expect([file, scheduled.activityType.name, once ? scheduled.retryPolicy?.maximumAttempts : 'retried']).toEqual([file, scheduled.activityType.name, once ? 1 : 'retried']);
    }
  }
  expect([...seen]).toEqual(expect.arrayContaining(['call', 'gate']));
  expect([...seen].filter((name) => !['open', 'append', 'read', 'model', 'prepare', 'call', 'gate', 'checkpoint', 'collect', 'cancelSelf'].includes(name))).toEqual([]);
});

test('I9 an event of a schema that this build does not know is known nowhere inside, and only the door asks for a version', () => {
  expect([EVENT_SCHEMA, knowsEvent('EventOfTheFuture'), knowsEvent('__proto__')]).toEqual([1, false, false]);
  const asking = tracked(/^src\/.*\.ts$/).filter((file) => !file.startsWith('src/core/versions/') && /\bevent\.v\b/.test(text(file)));
  expect(asking).toEqual([]);
});

test('I11 no activity of a recorded history carries more than references and small values', () => {
  for (const { file, events } of histories) {
    for (const event of events) {
      const sizes = [event.activityTaskScheduledEventAttributes?.input, event.activityTaskCompletedEventAttributes?.result].map((payloads) => decoded(payloads).length);
      expect([file, Math.max(...sizes) <= 4096]).toEqual([file, true]);
    }
  }
});
