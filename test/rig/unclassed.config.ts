// A configuration whose author says nothing of policy, and of one tool not even what it does: what holds by default decides.
// `PARENT` calls its tools itself and hands the same calls to `RIG_AGENT`. `UNCLASSED_FILE` names the file that takes one line an effect.
import { appendFileSync } from 'node:fs';
import { defineAgent, defineConfig, defineTool, z, type ToolCall } from '../../src/index';

const common = { version: '1.0.0', input: z.strictObject({ text: z.string() }) };
const execute = async ({ text }: { text: string }, { key, runId }: ToolCall) => {
  appendFileSync(process.env['UNCLASSED_FILE'] ?? '/dev/null', `${JSON.stringify({ key, runId, text })}\n`);
  return { text };
};
const tools = [
  defineTool({ ...common, name: 'classed', description: 'Says what it does.', effect: 'manual', execute }),
  defineTool({ ...common, name: 'unclassed', description: 'Says nothing of what it does.', execute }),
];

export default defineConfig({
  agents: [
    defineAgent({ name: 'parent', version: '1.0.0', planner: 'declared', tools: ['classed', 'unclassed', 'run_agent'] }),
    defineAgent({ name: 'tester', version: '1.0.0', planner: 'declared' }),
  ],
  tools: tools as never,
});
