// Promises of rules/budgets: set aside before a call, settled after it, never below zero; a breach stops and asks.
import { budgetLeft, extended, subtract } from '../../src/core/rules/budgets';
import { given, modelSaid, prepared, proposes, returned, said, succeeded, toolStep } from '../../src/testing/scenario';

test('a call is set aside when it is requested, and settled when it is answered', () => {
  const run = given({ steps: [toolStep('a', 'read'), toolStep('b', 'read')], budget: { calls: 3 } });
  expect(run.state.reserved.calls).toBe(2);
  expect(budgetLeft(run.state)).toEqual({ calls: 1 });
  const one = run.when(returned('c1', 1, succeeded()));
  expect([one.state.reserved.calls, one.state.spent.calls]).toEqual([1, 1]);
  expect(budgetLeft(one.state)).toEqual({ calls: 1 });
});

test('a call that does not fit any more is not requested: the run stops and asks', () => {
  const run = given({ steps: [toolStep('a', 'read'), toolStep('b', 'read', { dependsOn: ['a'] })], budget: { calls: 1 } });
  const stopped = run.when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', ['BudgetExhausted', { kind: 'calls', limit: 1, used: 1 }]);
  stopped.thenNeeds().when().then();
  stopped.when(said('ann', { kind: 'extend', budget: { calls: 1 } })).then(['BudgetExtended', { budget: { calls: 2 } }], 'ToolCallRequested').thenHears('done');
});

test('what is under way when the budget is used up is still recorded', () => {
  const run = given({ steps: [toolStep('a', 'read'), toolStep('b', 'read'), toolStep('c', 'read')], budget: { calls: 2 } }).then('RunCreated', 'PlanAccepted', 'ToolCallRequested', 'ToolCallRequested', 'BudgetExhausted');
  run.when(returned('c1', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted');
});

test('tokens of a model call are set aside as its most and settled as its real use', () => {
  const run = given({ budget: { tokens: 6_000 } });
  expect(budgetLeft(run.state)).toEqual({ tokens: 1_000 });
  const planned = run.when(modelSaid('c1', 1, proposes({ add: [toolStep('s', 'read')], drop: [] })));
  expect(budgetLeft(planned.state)).toEqual({ tokens: 5_990 });
});

test('used up failures stop the run although attempts are left', () => {
  const fail = { kind: 'failed' as const, failure: { class: 'network' as const, code: 'x', message: 'x' }, sent: true };
  const run = given({ steps: [toolStep('s', 'read')], budget: { failures: 0 } }).when(returned('c1', 1, fail));
  run.after(60_000).when().then(['BudgetExhausted', { kind: 'failures' }]);
});

test('what a person or the runtime stopped is no failure of the tool', () => {
  const run = given({ steps: [toolStep('s', 'mail')] }).when(prepared('s', {}, { policy: { decision: 'deny', rule: 'r', why: 'no' } }));
  expect(run.state.spent.failures).toBe(0);
});

test('a retry gives back what the failed attempt had set aside', () => {
  const fail = { kind: 'failed' as const, failure: { class: 'network' as const, code: 'x', message: 'x' }, sent: true };
  const run = given({ steps: [toolStep('s', 'read')], budget: { calls: 5 } }).when(returned('c1', 1, fail));
  expect([run.state.reserved.calls, run.state.spent.calls]).toEqual([0, 1]);
});

test('amounts are never below zero, and a kind without a limit has none', () => {
  expect(subtract({ calls: 1, tokens: 0, microUsd: 0, failures: 0 }, { calls: 5, tokens: 1, microUsd: 1, failures: 1 })).toEqual({ calls: 0, tokens: 0, microUsd: 0, failures: 0 });
  expect(extended({ calls: 1 }, { calls: 2, tokens: 5 })).toEqual({ calls: 3 });
  expect(budgetLeft(given({ steps: [toolStep('s', 'read')] }).state)).toEqual({});
});

test('a run that is stopped for its budget can be ended by a person, and only extending lets it go on', () => {
  const run = given({ steps: [toolStep('a', 'read'), toolStep('b', 'read', { dependsOn: ['a'] })], budget: { calls: 1 } }).when(returned('c1', 1, succeeded()));
  run.when(said('ann', { kind: 'settle', as: 'retry' })).thenHears('refused');
  run.when(said('ann', { kind: 'settle', as: 'partial' })).then(['RunCompleted', { outcome: 'partial' }]);
  run.when(said('ann', { kind: 'settle', as: 'fail' })).then('RunFailed');
});

describe('money', () => {
  const price = { input: 1_000_000, output: 3_000_000 };
  const costs = (microUsd: number) => ({ ...proposes({ add: [toolStep('s', 'read')], drop: [] }), usage: { calls: 1, tokens: 10, microUsd, failures: 0 } }) as Parameters<typeof modelSaid>[2];
  test('of a model call is set aside as its most by the pinned price, and settled as its real cost; what does not fit is not asked', () => {
    const most = given({ agent: { price } }).state.reserved.microUsd;
    expect(most).toBe(given().state.agent.maxInputTokens + 3 * given().state.agent.maxOutputTokens);
    const run = given({ agent: { price }, budget: { microUsd: most + 999 } });
    expect(budgetLeft(run.state)).toEqual({ microUsd: 999 });
    const planned = run.when(modelSaid('c1', 1, costs(1_000)));
    expect(budgetLeft(planned.state)).toEqual({ microUsd: most - 1 });
    planned.when(returned('c2', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', ['BudgetExhausted', { kind: 'microUsd', limit: most + 999, used: 1_000 }])
      .when(said('ann', { kind: 'extend', budget: { microUsd: 1 } })).then('BudgetExtended', 'ModelCallRequested');
  });
  test('of a model without a known price is used up once it is spent; readers go on', () => {
    const run = given({ budget: { microUsd: 500 } }).when(modelSaid('c1', 1, costs(600))).then('ModelCallSucceeded', 'PlanAccepted', 'ToolCallRequested');
    run.when(returned('c2', 1, succeeded())).then('ToolCallSucceeded', 'StepCompleted', ['BudgetExhausted', { kind: 'microUsd', limit: 500, used: 600 }]);
  });
});
