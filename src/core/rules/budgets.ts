// Budgets: reserved before a call, settled after it, never shown below zero. A breach stops new work and asks a person.
// Pure arithmetic on integers; what counts as a call or a failure is said by the folds.
import { draft } from '../draft';
import type { Draft } from '../events';
import type { Budget, Usage } from '../run';
import type { State } from '../state';

export const NO_USAGE: Usage = { calls: 0, tokens: 0, microUsd: 0, failures: 0 };

export function add(a: Usage, b: Usage): Usage {
  return { calls: a.calls + b.calls, tokens: a.tokens + b.tokens, microUsd: a.microUsd + b.microUsd, failures: a.failures + b.failures };
}

/** a - b, never below zero. */
export function subtract(a: Usage, b: Usage): Usage {
  const less = (x: number, y: number): number => Math.max(0, x - y);
  return { calls: less(a.calls, b.calls), tokens: less(a.tokens, b.tokens), microUsd: less(a.microUsd, b.microUsd), failures: less(a.failures, b.failures) };
}

/** What a call of the agent's model may use up at most. */
export function modelReserve({ agent: { price, maxInputTokens, maxOutputTokens } }: Pick<State, 'agent'>): Usage {
  const microUsd = price ? Math.ceil((maxInputTokens * price.input + maxOutputTokens * price.output) / 1_000_000) : 0;
  return { calls: 1, tokens: maxInputTokens + maxOutputTokens, microUsd, failures: 0 };
}

/** What is left of each limited kind; reserved amounts count as used. */
export function budgetLeft(state: State): Record<string, number> {
  const left: Record<string, number> = {};
  for (const kind of ['calls', 'tokens', 'microUsd', 'failures'] as const) {
    const limit = state.budget[kind];
    if (limit !== undefined) left[kind] = Math.max(0, limit - state.spent[kind] - state.reserved[kind]);
  }
  if (state.budget.wallMs !== undefined) left.wallMs = Math.max(0, state.budget.wallMs - state.activeMs);
  return left;
}

/**
 * BudgetExhausted when `reserve` does not fit any more, else null. The failure budget is used up when its limit is passed; money,
 * for a model whose price is not known before, when nothing is left of it.
 */
export function breach(state: State, reserve: Usage): Draft | null {
  for (const kind of ['calls', 'tokens', 'microUsd'] as const) {
    const limit = state.budget[kind];
    const used = state.spent[kind] + state.reserved[kind];
    if (limit !== undefined && reserve[kind] > 0 && used + reserve[kind] > limit) return exhausted(kind, limit, used);
    if (kind === 'microUsd' && limit !== undefined && reserve.tokens > 0 && used > 0 && used >= limit) return exhausted(kind, limit, used);
  }
  const { failures, wallMs } = state.budget;
  if (failures !== undefined && state.spent.failures > failures) return exhausted('failures', failures, state.spent.failures);
  if (wallMs !== undefined && state.activeMs > wallMs) return exhausted('wallMs', wallMs, state.activeMs);
  return null;
}

function exhausted(kind: keyof Budget, limit: number, used: number): Draft {
  return draft('BudgetExhausted', { kind, limit, used }, `budget:${kind}`);
}

/** The budget after a person has added to it; a kind without a limit stays without one. */
export function extended(budget: Budget, more: Budget): Budget {
  const result: Budget = { ...budget };
  for (const [kind, n] of Object.entries(more) as [keyof Budget, number][]) {
    const now = result[kind];
    if (now !== undefined) result[kind] = now + n;
  }
  return result;
}
