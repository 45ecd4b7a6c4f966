// What models cost, for budgets in money. Integer micro-US-dollars per million tokens; list prices without discounts for
// cached or batched tokens, so that a budget errs on the safe side. A model that is not here has no known price: its calls
// cost 0 in the budget and `modelFromEnv` says so. LONGHAUL_MODEL_PRICE gives a price that this table does not know.

export interface Price { input: number; output: number }

const USD = 1_000_000;

/** By the model's name without provider; a dated name (`gpt-5-2025-08-07`) has the price of its family. */
const PRICES: Record<string, Price> = {
  'gpt-4.1': { input: 2 * USD, output: 8 * USD },
  'gpt-4.1-mini': { input: 0.4 * USD, output: 1.6 * USD },
  'gpt-5': { input: 1.25 * USD, output: 10 * USD },
  'gpt-5-mini': { input: 0.25 * USD, output: 2 * USD },
  'gpt-5-nano': { input: 0.05 * USD, output: 0.4 * USD },
  'gpt-5.1': { input: 1.25 * USD, output: 10 * USD },
  'claude-haiku-4-5': { input: USD, output: 5 * USD },
  'claude-sonnet-4-5': { input: 3 * USD, output: 15 * USD },
  'claude-sonnet-4-6': { input: 3 * USD, output: 15 * USD },
  'claude-opus-4-5': { input: 5 * USD, output: 25 * USD },
};

/** Price of a model by its name, or null when it is not known. */
export function priceOf(model: string): Price | null {
  const family = model.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, '');
  return Object.prototype.hasOwnProperty.call(PRICES, family) ? (PRICES[family] ?? null) : null;
}

/** Reads `3,15` (US dollars per million tokens in, out); null when it is not that. */
export function parsePrice(text: string): Price | null {
  const match = /^\s*(\d{1,5}(?:\.\d{1,6})?)\s*,\s*(\d{1,5}(?:\.\d{1,6})?)\s*$/.exec(text);
  return match ? { input: Math.round(Number(match[1]) * USD), output: Math.round(Number(match[2]) * USD) } : null;
}

/** Micro-US-dollars of a call, rounded up; 0 when there is no price. */
export function costOf(price: Price | null, tokens: { input: number; output: number }): number {
  return price ? Math.ceil((tokens.input * price.input + tokens.output * price.output) / 1_000_000) : 0;
}
