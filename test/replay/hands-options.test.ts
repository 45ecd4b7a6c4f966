// How the conductor schedules activities, read from the code of today: the recorded histories show only what was so when they were
// written. The SDK's two functions are replaced, so that the options are seen as they are given.
import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow';

jest.mock('@temporalio/workflow', () => ({ proxyActivities: (options: object) => options, proxyLocalActivities: (options: object) => options }));

const hands = jest.requireActual<Record<string, unknown>>('../../src/workflows/hands') as Record<'quick' | 'patient' | 'looking' | 'saving' | 'quickOnce' | 'once', ActivityOptions & LocalActivityOptions>;

test('I8 model, prepare and call may be made once', () => {
  expect([hands.once.retry?.maximumAttempts, hands.quickOnce.retry?.maximumAttempts]).toEqual([1, 1]);
});

test('R7.2 every activity is waited for when it is cancelled, and a lost worker is noticed in ten seconds', () => {
  expect(Object.keys(hands).sort()).toEqual(['looking', 'once', 'patient', 'quick', 'quickOnce', 'saving']);
  for (const [name, { cancellationType }] of Object.entries(hands)) expect([name, cancellationType]).toEqual([name, 'WAIT_CANCELLATION_COMPLETED']);
  expect([hands.once.heartbeatTimeout, hands.looking.heartbeatTimeout]).toEqual(['10s', '10s']);
});
