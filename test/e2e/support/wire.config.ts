// An agent that wires money, for tests of what nobody can look up: the tool is irreversible, honours no key and has no look-up. The
// effect server at OUTSIDE_URL is the judge. Policy lets it go, so that only the recovery gate asks a person.
import { defineAgent, defineConfig, defineTool, tablePolicy, z } from 'longhaul';

const wire = defineTool({
  name: 'wire', version: '1.0.0', description: 'Wires an amount in cents', effect: 'irreversible', input: z.object({ amount: z.number() }), timeoutMs: 10_000,
  async execute({ amount }, call) {
    const answer = await fetch(`${process.env['OUTSIDE_URL']}/things/wire-${call.runId}`, { method: 'POST', body: JSON.stringify({ amount }), signal: call.signal });
    if (!answer.ok) throw new Error(`The bank answers ${answer.status}.`);
    return { wired: amount };
  },
});

export default defineConfig({
  agents: [defineAgent({ name: 'treasurer', version: '1.0.0', planner: 'declared' })],
  tools: [wire],
  policy: tablePolicy({ name: 'free', rules: [{ name: 'free', decision: 'allow', why: 'A test.' }] }),
});
