// The configuration that the rig's workers run: one agent that follows declared plans, and a policy that asks for `asked` only.
// Where a test names the service `outside`, the tools of the effect server are there too.
import { tablePolicy } from '../../src/adapters/policy/table';
import { defineAgent, defineConfig, type Config, type HistoryLimits } from '../../src/config';
import { outsideTools } from './outside-tools';
import { stopTools } from './stop-tools';
import { rigTools } from './tools';

export const RIG_AGENT = 'tester';

export function rigConfig(effects: string, limits?: HistoryLimits): Config {
  return defineConfig({
    agents: [defineAgent({ name: RIG_AGENT, version: '1.0.0', planner: 'declared', budget: {} })],
    tools: [...rigTools(effects), ...stopTools(effects), ...(process.env['LONGHAUL_SERVICE_OUTSIDE'] ? outsideTools() : [])],
    policy: tablePolicy({ name: 'rig', rules: [
      { name: 'asked-asks', tool: 'asked', decision: 'ask', ownerMay: true, why: 'The test decides.' },
      { name: 'rest-free', decision: 'allow', why: 'A test.' },
    ] }),
    ...(limits ? { limits } : {}),
  });
}
