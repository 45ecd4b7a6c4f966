// Promises of the built-in tool `run_agent` before any run is started: who has it, what a model is told, what it refuses and with
// which class. What it does to runs is shown on the real server (test/workflow/children.test.ts).
import { faultOfConfig } from '../../src/adapters/config/check';
import { resolveAgents, toolsByName } from '../../src/adapters/config/resolve';
import { modelToolSpec } from '../../src/adapters/tools/define-tool';
import { RUN_AGENT, runAgent } from '../../src/adapters/tools/run-agent';
import { defineAgent, type AgentConfig, type Config } from '../../src/config';
import type { RunsPort } from '../../src/ports/runs';
import { toolCall } from '../rig/tool-call';

const agent = (more: Partial<AgentConfig> = {}): AgentConfig => defineAgent({ name: 'writer', version: '1.0.0', planner: 'model', model: 'rules@1', ...more });
const config = (...agents: AgentConfig[]): Config => ({ agents, tools: [] });
const toolsOf = (one: AgentConfig): string[] | undefined => resolveAgents(config(one), null).get(one.name)?.manifest.tools.map(({ name }) => name);
/** Nothing may reach it. */
const none = new Proxy({}, { get: (_, name) => () => { throw new Error(`${String(name)} was asked`); } }) as RunsPort;
const agents = resolveAgents(config(agent(), agent({ name: 'clerk', planner: 'declared', tools: ['read_artifact'] })), null);
const tool = runAgent({ runs: none, agents });
const execute = (args: object): Promise<unknown> => Promise.resolve(tool.execute(tool.input.parse(args), toolCall({ input: null })));

test('R10.4 only an agent that names it may start runs, and no tool of a configuration may take its name', () => {
  expect(toolsOf(agent())).toEqual(['read_artifact']);
  expect(toolsOf(agent({ tools: [RUN_AGENT] }))).toEqual(['read_artifact', RUN_AGENT]);
  expect(faultOfConfig({ agents: [agent({ tools: [RUN_AGENT] })], tools: [] })).toBeNull();
  expect(faultOfConfig({ agents: [agent()], tools: [tool] })).toContain('is built in');
});
test('R10.4 it is pinned as a call that starts a run, can be looked up, honours its key and is undone', () => {
  const [, manifest] = resolveAgents(config(agent({ tools: [RUN_AGENT] })), null).get('writer')?.manifest.tools ?? [];
  expect(manifest).toMatchObject({ name: RUN_AGENT, effect: 'reversible', hasLookUp: true, honoursKey: true, hasUndo: true, carves: true, localPrepare: true });
  expect(tool.carves?.({ agent: 'writer', budget: { calls: 3, tokens: undefined } })).toEqual({ calls: 3 });
});
test('a model is told which agents there are and which of them need a plan', () => {
  const spec = modelToolSpec(toolsByName(config(agent()), { runs: none, agents }).get(RUN_AGENT) ?? tool);
  expect(spec.description).toContain('Agents: writer, clerk (needs a plan).');
  expect(Object.keys((spec.inputSchema as { properties: object }).properties)).toEqual(['agent', 'input', 'plan', 'budget']);
});
test.each<[string, object, string]>([
  ['an unknown agent', { agent: 'nobody' }, 'No agent is called "nobody"; known are writer, clerk.'],
  ['a missing plan', { agent: 'clerk' }, 'Agent clerk follows declared plans; give it a plan.'],
  ['a plan that is no JSON', { agent: 'clerk', plan: 'steps:' }, 'The plan is a text that is no JSON; write it as JSON text, or as an object.'],
  ['a plan with an unknown tool', { agent: 'clerk', plan: { goal: 'g', steps: [{ id: 'a', title: 'A', action: { type: 'tool', tool: 'gone', args: {} } }] } }, 'The plan for clerk cannot be followed:'],
  ['too much', { agent: 'writer', input: 'x'.repeat(300_000) }, 'may have 262144 bytes'],
])('%s is refused before anything is started, in one sentence', async (_, args, words) => {
  await expect(execute(args)).rejects.toMatchObject({ failureClass: 'argument', message: expect.stringContaining(words) as unknown });
});
