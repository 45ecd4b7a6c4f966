// The configuration that the rig's workers run: an agent that follows declared plans, one that plans by the model that LONGHAUL_MODEL
// names, and a policy that asks for `asked` only (rules.ts has what tests may choose).
// Where a test names the service `outside`, the tools of the effect server are there too.
import { defineAgent, defineConfig, type Config, type HistoryLimits } from '../../src/config';
import { laterTools } from './later-tools';
import { outsideTools } from './outside-tools';
import { rigPolicy } from './rules';
import { stopTools } from './stop-tools';
import { rigTools, versionOf } from './tools';

export const RIG_AGENT = 'tester';
/** It may start runs of the other agents, and of its own kind. */
export const PARENT = 'parent';
export const PLANNER = 'planner';

export function rigConfig(effects: string, limits?: HistoryLimits): Config {
  return defineConfig({
    agents: [
      defineAgent({ name: RIG_AGENT, version: '1.0.0', planner: 'declared', budget: {} }),
      defineAgent({ name: PARENT, version: '1.0.0', planner: 'declared', budget: {}, tools: ['look', 'asked', 'stamp', 'undoable', 'run_agent'] }),
      defineAgent({ name: PLANNER, version: '1.0.0', planner: 'model', budget: {} }),
    ],
    tools: [...rigTools(effects), ...stopTools(effects), ...laterTools(effects), ...(process.env['LONGHAUL_SERVICE_OUTSIDE'] ? outsideTools() : [])],
    policy: rigPolicy(effects),
    resources: { thing: async (name) => versionOf(effects, name) },
    ...(limits ? { limits } : {}),
  });
}
