// Promises of a checkpoint's size: the widest plan that is allowed fits, and what is known of a planning agent stays flat.
import { fits, snapshot } from '../../src/core/checkpoint';
import type { EventData, EventType, RunEvent } from '../../src/core/events';
import { evolve } from '../../src/core/evolve';
import { initialState } from '../../src/core/initial';
import { NO_USAGE } from '../../src/core/rules/budgets';
import { LIMITS } from '../../src/core/run';
import type { State } from '../../src/core/state';
import { ann, refOf } from '../../src/testing/contracts/samples';

const value = { value: 'x'.repeat(LIMITS.inlineBytes - 2) };
const manifest = (planner: 'declared' | 'model') => ({ name: 'a', version: '1.0.0', planner, model: null, tools: [{ name: 'write', version: '1.0.0', effect: 'manual' as const, hasUndo: true }], budget: {}, maxParallel: 8, maxRejectedPlans: 3, maxOutputTokens: 1, maxInputTokens: 1 });

class Told {
  state: State;
  constructor(planner: 'declared' | 'model') {
    this.state = initialState('r');
    const pins = { build: 'b', manifest: refOf('b'), prompts: refOf('b'), policy: refOf('b'), model: null, eventSchema: 1 };
    this.add('RunCreated', { epoch: 0, law: 1, agent: manifest(planner) as never, pins, budget: {}, owner: ann, seed: 's', inputDigest: 'd', inputRef: refOf('a'), title: 't', ledgerIncarnation: 'i' });
  }
  add<T extends EventType>(type: T, data: EventData[T]): void {
    const seq = this.state.version + 1;
    this.state = evolve(this.state, { runId: 'r', seq, v: 1, type, at: seq, causationId: 'c', correlationId: 'run', actor: ann, data } as RunEvent);
  }
  /** A step whose call has an effect and a result as large as a value in an event may be. */
  act(n: number): void {
    const [callId, stepId, key] = [`c${n}`, `step-${n}`, `k1:${'0'.repeat(64)}`];
    this.add('CallPrepared', { callId, callSeq: n, stepId, tool: 'write', version: '1.0.0', key, argsDigest: 'd', args: value, resourceVersion: null, policy: { decision: 'allow', rule: 'r', why: 'w' } as never });
    this.add('ToolCallRequested', { callId, callSeq: n, stepId, tool: 'write', version: '1.0.0', key, attempt: 1, argsDigest: 'd', ledgerIncarnation: 'i', reserved: NO_USAGE });
    this.add('ToolCallSucceeded', { callId, attempt: 1, output: value, summary: 's', via: 'sent', settled: true });
    this.add('StepCompleted', { stepId, output: value });
  }
}

const outline = (n: number) => ({ id: `step-${n}`, title: 't'.repeat(120), dependsOn: n > 1 ? [`step-${n - 1}`] : [], uses: [], action: { type: 'tool' as const, tool: 'write', argsRef: refOf('a'), at: ['plan', 'steps', String(n), 'args'] } });

test('the state of the widest plan fits a checkpoint, with 500 results and all effects at hand', () => {
  const run = new Told('declared');
  run.add('PlanAccepted', { planVersion: 1, by: 'start', goal: 'g', add: Array.from({ length: LIMITS.planSteps }, (_, i) => outline(i + 1)), drop: [] });
  for (let n = 1; n <= LIMITS.planSteps; n += 1) run.act(n);
  const { text } = snapshot(run.state);
  expect(run.state.effects.length).toBeGreaterThan(200);
  expect(text.length).toBeGreaterThan(256 * 1024);
  expect(fits(text)).toBe(true);
});

test('the state of a planning agent is as large after 2,000 turns as after 500', () => {
  const run = new Told('model');
  const sizes: number[] = [];
  for (let n = 1; n <= 2_000; n += 1) {
    run.add('PlanAccepted', { planVersion: n, by: `c${n}`, goal: '', add: [outline(n)], drop: [] });
    run.act(n);
    if (n % 500 === 0) sizes.push(snapshot(run.state).text.length);
  }
  expect(Math.max(...sizes)).toBeLessThan(Math.min(...sizes) * 1.05);
  expect(fits(snapshot(run.state).text)).toBe(true);
});
