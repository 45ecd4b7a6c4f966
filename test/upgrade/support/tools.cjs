// The tools of the suite's configurations, for whatever build runs them: `send` in two major versions, told apart by what they write.
// Loads the build that reads the configuration, so that errors and schemas are its own.
const { appendFileSync } = require('node:fs');
const { defineAgent, defineConfig, defineTool, tablePolicy, z } = require(process.env.LONGHAUL_UPGRADE_BUILD);

const send = (version) => defineTool({
  name: 'send', version, description: 'Sends a line', effect: 'manual', input: z.strictObject({ to: z.string() }),
  execute: async ({ to }, { runId, key }) => {
    appendFileSync(process.env.LONGHAUL_UPGRADE_EFFECTS, `${JSON.stringify({ to, by: `send@${version.split('.')[0]}`, runId, key })}\n`);
    return { sent: to, by: version };
  },
});

exports.config = (...versions) => defineConfig({
  agents: [defineAgent({ name: 'clerk', version: '1.0.0', planner: 'declared', tools: ['send'] })],
  tools: versions.map(send),
  policy: tablePolicy({ name: versions.join('+'), rules: [{ name: 'somebody-looks', tool: 'send', decision: 'ask', ownerMay: true }] }),
});
