// Crashes the first agent's plan everywhere, in virtual time: no server, no worker, and no code of the tools runs, only what
// they declare. Run it with `npx jiti crashes.ts`, or call `crashes()` in a test and expect no problems.
import path from 'node:path';
import { crashEverywhere } from 'longhaul/testing';
import { due, pay } from './longhaul.config';

export const crashes = () => crashEverywhere({
  tools: [due, pay],
  outputs: { due: { customer: 'acme', amount: 4200 } },
  plan: {
    goal: 'Pay what Acme owes',
    steps: [
      { id: 'due', action: { type: 'tool', tool: 'due', args: { customer: 'acme' } } },
      { id: 'pay', dependsOn: ['due'], action: { type: 'tool', tool: 'pay', args: { customer: 'acme', amount: { $from: 'due.amount' } } } },
    ],
  },
});

if (path.basename(process.argv[1] ?? '') === 'crashes.ts') {
  const { table, problems } = crashes();
  console.log([table, ...problems].join('\n'));
  process.exitCode = problems.length > 0 ? 1 : 0;
}
