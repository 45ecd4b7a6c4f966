// A first agent: it reads what is due and pays it, once. The payments stand in a file, one line each, so that you can watch.
// `pay` can look up a key, so that a crash in the middle of it is settled without asking anybody.
import { appendFile, readFile } from 'node:fs/promises';
import { defineAgent, defineConfig, defineTool, ToolError, z } from 'longhaul';

const file = (): string => process.env.PAYMENTS_FILE ?? 'payments.jsonl';
const lines = async (): Promise<{ key: string; amount: number }[]> =>
  (await readFile(file(), 'utf8').catch(() => '')).split('\n').filter(Boolean).map((line) => JSON.parse(line));

export const due = defineTool({
  name: 'due', version: '1.0.0', description: 'What is due, in cents', effect: 'none',
  input: z.object({ customer: z.string() }),
  execute: async ({ customer }) => ({ customer, amount: 4200 }),
});

export const pay = defineTool({
  name: 'pay', version: '1.0.0', description: 'Pay an amount in cents', effect: 'manual',
  input: z.object({ customer: z.string(), amount: z.number().int().positive() }),
  async execute({ customer, amount }, call) {
    if (amount > 100_000) throw new ToolError('business-refusal', 'too-much', 'More than 1,000.00 needs another way.');
    await appendFile(file(), `${JSON.stringify({ key: call.key, customer, amount })}\n`);
    return { paid: amount };
  },
  async lookUp({ key }) {
    const found = (await lines()).find((line) => line.key === key);
    return found ? { found: true, output: { paid: found.amount } } : { found: false };
  },
});

export default defineConfig({
  agents: [defineAgent({ name: 'payer', version: '1.0.0', planner: 'declared' })],
  tools: [due, pay],
});
