// Promises of rules/retries: which failures are tried again, when, and how often; the same run waits the same.
import fc from 'fast-check';
import type { ErrorClass } from '../../src/core/failure';
import { backoffMs, mayRetry } from '../../src/core/rules/retries';
import type { CallResult, GateEvidence } from '../../src/core/world';
import { evidence, given, prepared, returned, saw, toolStep, type GivenRun } from '../../src/testing/scenario';

const CLASSES: ErrorClass[] = ['rate-limited', 'network', 'timeout-before-send', 'server', 'permission', 'argument', 'business-refusal', 'not-found', 'policy',
  'cancelled', 'mismatch', 'tool-missing', 'model-key', 'model-output', 'artifact', 'rejected', 'expired', 'unknown'];
const failure = (cls: ErrorClass, more: object = {}) => ({ class: cls, code: cls, message: cls, ...more });

test.each(CLASSES)('%s is tried again exactly when the closed table says so', (cls) => {
  const transient = ['rate-limited', 'network', 'timeout-before-send', 'server'].includes(cls);
  expect(mayRetry(failure(cls), true)).toBe(transient);
  expect(mayRetry(failure(cls), false)).toBe(transient || cls === 'unknown');
});

test('no outside parks a run for more than a day by its word alone', () => {
  for (const retryAfterMs of [1e12, 1e20, Number.POSITIVE_INFINITY, Number.NaN]) expect(backoffMs(failure('rate-limited', { retryAfterMs }), 1, 1_000, 's', 'p')).toBeLessThanOrEqual(24 * 3600 * 1000);
});

test('a reader outlives workers that die around it, but not without end', () => {
  let run = given({ steps: [toolStep('s', 'read')] });
  const lost = { kind: 'failed' as const, failure: { class: 'network' as const, code: 'worker-lost', message: 'gone' }, sent: true };
  for (let n = 1; n <= 30 && !run.state.blocked; n += 1) run = run.when(returned('c1', n, lost)).after(120_000).when();
  expect(run.state.calls.c1?.attempt ?? 0).toBe(0);
  expect(run.journal.filter((event) => event.type === 'ToolCallRequested').length).toBeGreaterThan(5);
  expect(run.state.blocked).toMatchObject({ failure: { code: 'worker-lost' } });
});

test('Retry-After is never shortened', () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 10_000_000 }), fc.integer({ min: 1, max: 30 }), fc.string(), (retryAfterMs, n, seed) => {
    expect(backoffMs(failure('rate-limited', { retryAfterMs }), n, 1_000, seed, 'p')).toBeGreaterThanOrEqual(retryAfterMs);
  }));
});

test('a pause doubles up to a minute, keeps at least half of its length, and is the same for the same run and place', () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 40 }), fc.string(), fc.string(), (n, seed, place) => {
    const pause = backoffMs(failure('network'), n, 1_000, seed, place);
    const whole = Math.min(60_000, 1_000 * 2 ** (n - 1));
    expect(pause).toBeGreaterThanOrEqual(whole / 2);
    expect(pause).toBeLessThanOrEqual(whole);
    expect(backoffMs(failure('network'), n, 1_000, seed, place)).toBe(pause);
  }));
});

test('two runs do not wait in step', () => {
  const pauses = new Set(Array.from({ length: 20 }, (_, i) => backoffMs(failure('network'), 3, 1_000, `seed-${i}`, 'c1#1')));
  expect(pauses.size).toBeGreaterThan(15);
});

test('a call is tried as often as its tool allows, each try written with its class and pause, and then fails its step', () => {
  let run = given({ steps: [toolStep('s', 'mail')] }).when(prepared('s'));
  for (const attempt of [1, 2]) {
    run = run.when(returned('c1', attempt, { kind: 'failed', failure: failure('timeout-before-send'), sent: false }));
    run.then(['ToolCallFailed', { final: false, attempt }], ['RetryScheduled', { class: 'timeout-before-send', attempt }]);
    const dueAt = run.state.calls.c1?.dueAt ?? 0;
    run.thenNeeds(`timer:retry:c1@${dueAt}`);
    run = run.after(dueAt - run.now).when().then(['ToolCallRequested', { attempt: attempt + 1 }]);
  }
  run.when(returned('c1', 3, { kind: 'failed', failure: failure('timeout-before-send'), sent: false })).then(['ToolCallFailed', { final: true }], 'StepFailed', 'RunBlocked');
});

test('a failure that no second try can mend is tried once', () => {
  given({ steps: [toolStep('s', 'read')] }).when(returned('c1', 1, { kind: 'failed', failure: failure('permission'), sent: true })).then('ToolCallFailed', 'StepFailed', 'RunBlocked');
});

test('Retry-After of a provider is waited out by the call', () => {
  const run = given({ steps: [toolStep('s', 'read')] }).when(returned('c1', 1, { kind: 'failed', failure: failure('rate-limited', { retryAfterMs: 90_000 }), sent: true }));
  run.then('ToolCallFailed', ['RetryScheduled', { delayMs: 90_000 }]);
  run.after(89_999).when().then();
});

test('no new attempt begins while the run is paused; it begins after the resume', () => {
  const failed = given({ steps: [toolStep('s', 'read')] }).when(returned('c1', 1, { kind: 'failed', failure: failure('network'), sent: true }));
  const paused = failed.when({ type: 'Message', message: { messageId: 'p', actor: { id: 'ann', via: 'cli', assurance: 'token' }, body: { kind: 'pause', reason: '' } } });
  const still = paused.after(60_000).when().then();
  still.when({ type: 'Message', message: { messageId: 'r', actor: { id: 'ann', via: 'cli', assurance: 'token' }, body: { kind: 'resume' } } }).then('RunResumed', ['ToolCallRequested', { attempt: 2 }]);
});

describe('an effect whose attempt failed with an unknown outcome', () => {
  const { now: start } = given({ steps: [toolStep('s', 'stage')] });
  const unknown = (cls: ErrorClass, more: object = {}): CallResult => ({ kind: 'unknown', why: `It failed with ${cls}.`, cause: { class: cls, code: cls, ...more } });
  /** The gate looks until it decides. */
  const looked = (run: GivenRun, more: Partial<GateEvidence>): GivenRun => {
    let next = run;
    for (let i = 0; i < 4 && next.state.calls.c1?.phase === 'doubt'; i += 1) {
      const { gate, dueAt } = next.state.calls.c1;
      next = next.after(Math.max(0, dueAt - next.now)).when();
      next = next.when(saw('c1', gate + 1, evidence({ now: next.now, ledger: { state: 'unknown', fence: 1, firstClaimedAt: start, sendWindowUntil: start, ownerGone: false }, ...more })));
    }
    return next;
  };
  const absent = { lookUp: { kind: 'absent' as const } };
  const keyed = { lookUp: { kind: 'none' as const }, honoursKey: true };

  test.each([['stage', absent], ['pay', keyed]])('R8.2 B22 of %s: found undone or harmless to repeat, it counts, waits its pause with Retry-After, and is made again under its key', (tool, more) => {
    let run = given({ steps: [toolStep('s', tool)] }).when(prepared('s')).when(returned('c1', 1, unknown('server', { retryAfterMs: 7_000 })));
    run = looked(run, more).then(['RecoveryChecked', { decision: 'retry' }], ['ToolCallFailed', { attempt: 1, final: false, sent: true }], ['RetryScheduled', { attempt: 1, class: 'server', delayMs: 7_000 }]);
    expect(run.state).toMatchObject({ spent: { calls: 1, failures: 1 }, reserved: { calls: 0 } });
    run.after(6_999).when().then();
    const again = run.after(7_000).when().then(['ToolCallRequested', { attempt: 2 }]);
    expect(new Set(again.journal.flatMap((event) => (event.type === 'ToolCallRequested' ? [event.data.key] : []))).size).toBe(1);
  });

  const triedOut = (tool: string, more: Partial<GateEvidence>): GivenRun => {
    let run = given({ steps: [toolStep('s', tool)] }).when(prepared('s'));
    for (let attempt = 1; attempt < 10 && run.state.calls.c1?.phase === 'sent'; attempt += 1) {
      run = looked(run.when(returned('c1', attempt, unknown('unknown'))), more);
      const due = run.state.calls.c1;
      if (due?.phase === 'ready') run = run.after(due.dueAt - run.now).when();
    }
    return run;
  };

  test('and that fails again and again, found undone each time: its step fails at the limit, and the run is blocked', () => {
    const run = triedOut('stage', absent).then('RecoveryChecked', ['ToolCallFailed', { final: true, attempt: 3 }], 'StepFailed', 'RunBlocked');
    expect(run.journal.filter((event) => event.type === 'RetryScheduled')).toHaveLength(2);
  });

  test('and that fails again and again without a look-up: at the limit a person is asked, since nobody knows', () => {
    triedOut('pay', keyed).then('RecoveryChecked', ['ToolCallFailed', { final: false, attempt: 3 }], 'HumanDecisionRequested');
  });

  test('one that was lost with its worker counts no failure and waits for nothing', () => {
    const run = given({ steps: [toolStep('s', 'pay')] }).when(prepared('s')).when(returned('c1', 1, { kind: 'unknown', why: 'The worker gave no answer.' }));
    looked(run, keyed).then(['RecoveryChecked', { decision: 'retry' }], ['ToolCallRequested', { attempt: 2 }]);
  });
});
