// Checks what a configuration file exports, member by member, and says in one sentence what to write instead.
// Never runs a tool, a reader or a title function. A tool that `defineTool` made is sound already; one that was written by
// hand is judged by the same door when its manifest is made.
import type { AgentConfig, Config } from '../../config';
import { contractOf } from '../../core/keys';
import { RUN_ID } from '../../core/run';
import { defineTool } from '../tools/define-tool';
import { readArtifact } from '../tools/read-artifact';
import { RUN_AGENT } from '../tools/run-agent';

const AGENT = /^[a-z][a-z0-9-]{0,63}$/;
const SEMVER = /^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$/;
const MEMBERS = ['agents', 'tools', 'policy', 'services', 'secrets', 'resources', 'mode', 'encryption', 'stateDir', 'stores', 'limits', 'modelConcurrency'];
const BUDGET = ['calls', 'tokens', 'microUsd', 'failures', 'wallMs'];

const isMembers = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** One sentence on the first fault of a configuration, or null. */
export function faultOfConfig(value: unknown): string | null {
  if (!isMembers(value)) return 'It must export an object; write `export default defineConfig({ agents: [...], tools: [...] })`.';
  const unknown = Object.keys(value).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) return `It has an unknown member ${JSON.stringify(unknown)}; known are ${MEMBERS.join(', ')}.`;
  if (!Array.isArray(value.agents) || value.agents.length === 0) return 'It needs `agents`: a list with at least one agent made by defineAgent.';
  if (!Array.isArray(value.tools)) return 'It needs `tools`: a list of tools made by defineTool, which may be empty.';
  const config = value as unknown as Config;
  return faultOfTools(config) ?? faultOfAgents(config) ?? faultOfRest(config);
}

function faultOfTools({ tools }: Config): string | null {
  const contracts = new Set<string>();
  for (const tool of tools) {
    try {
      defineTool(tool);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    const contract = contractOf(tool.name, tool.version);
    if (contracts.has(contract)) return `Two tools are called ${contract}; give one of them another name, or another major version.`;
    if (tool.name === readArtifact.name || tool.name === RUN_AGENT) return `The tool ${tool.name} is built in; give yours another name.`;
    contracts.add(contract);
  }
  return null;
}

function faultOfAgents({ agents, tools }: Config): string | null {
  const names = new Set<string>();
  const known = new Set([...tools.flatMap((tool) => [tool.name, contractOf(tool.name, tool.version)]), readArtifact.name, RUN_AGENT]);
  for (const agent of agents) {
    const fault = isMembers(agent) ? faultOfAgent(agent, known) : 'it must be an object; write defineAgent({ name, version, planner }).';
    if (fault) return `Agent ${JSON.stringify((agent as AgentConfig | null)?.name ?? '(without a name)')}: ${fault}`;
    if (names.has(agent.name)) return `Two agents are called ${agent.name}; give one of them another name.`;
    names.add(agent.name);
  }
  return null;
}

function faultOfAgent(agent: AgentConfig, known: ReadonlySet<string>): string | null {
  if (typeof agent.name !== 'string' || !AGENT.test(agent.name)) return 'give it a name of lower-case letters, digits and hyphens that starts with a letter, at most 64 characters.';
  if (typeof agent.version !== 'string' || !SEMVER.test(agent.version)) return 'give it a semantic version such as "1.0.0".';
  if (agent.planner !== 'declared' && agent.planner !== 'model') return 'its `planner` must be "declared" or "model".';
  if (agent.model !== undefined && (typeof agent.model !== 'string' || agent.model === '')) return 'its `model` must be a text such as "openai:gpt-5", or be left out.';
  if (agent.tools !== undefined && !Array.isArray(agent.tools)) return 'its `tools` must be a list of names.';
  const missing = agent.tools?.find((name) => !known.has(name));
  if (missing !== undefined) return `it uses the tool ${JSON.stringify(missing)}, which is not among the tools of the configuration.`;
  const plain = [...new Set(agent.tools)].map((name) => name.split('@')[0]);
  const twice = plain.find((name, i) => plain.indexOf(name) !== i);
  if (twice !== undefined) return `it uses the tool ${JSON.stringify(twice)} twice; name one major version of it.`;
  if (agent.prompts !== undefined && !(isMembers(agent.prompts) && Object.values(agent.prompts).every((text) => typeof text === 'string'))) return 'its `prompts` must be texts by name.';
  for (const name of ['maxParallel', 'maxRejectedPlans', 'maxOutputTokens', 'maxInputTokens'] as const) {
    const value = agent[name];
    if (value !== undefined && !(Number.isInteger(value) && value > 0)) return `its \`${name}\` must be a whole number above 0.`;
  }
  if (agent.title !== undefined && typeof agent.title !== 'function') return 'its `title` must be a function.';
  return faultOfBudget(agent.budget);
}

function faultOfBudget(budget: unknown): string | null {
  if (budget === undefined) return null;
  if (!isMembers(budget)) return `its \`budget\` must be an object of ${BUDGET.join(', ')}.`;
  const wrong = Object.entries(budget).find(([kind, n]) => !BUDGET.includes(kind) || !(Number.isSafeInteger(n) && (n as number) >= 0));
  return wrong ? `its budget has a wrong entry ${JSON.stringify(wrong[0])}; known are ${BUDGET.join(', ')}, each a whole number (micro-dollars, ms).` : null;
}

const isCommand = (service: unknown): boolean => isMembers(service) && Array.isArray(service.command) && service.command.length > 0
  && service.command.every((word) => typeof word === 'string');

function faultOfRest({ policy, services, secrets, resources, mode, encryption, stateDir, stores, limits, modelConcurrency }: Config): string | null {
  if (policy !== undefined && !(typeof policy?.decide === 'function' && typeof policy.describe === 'function')) return 'Its `policy` must be a policy such as tablePolicy({ name, rules }).';
  for (const [name, service] of Object.entries(services ?? {})) {
    if (typeof service !== 'function' && !isCommand(service) && !isUrl((service as { url?: unknown })?.url)) return `Its service ${JSON.stringify(name)} needs a \`url\` such as "http://127.0.0.1:8080", or a \`command\` (a list of words) that longhaul dev starts.`;
  }
  for (const [name, secret] of Object.entries(secrets ?? {})) {
    const place = isMembers(secret) ? (secret as { env?: unknown; file?: unknown }).env ?? (secret as { file?: unknown }).file : undefined;
    if (typeof place !== 'string' || place === '') return `Its secret ${JSON.stringify(name)} must name where the value is: { env: "VARIABLE" } or { file: "PATH" }.`;
  }
  const reader = Object.entries(resources ?? {}).find(([kind, read]) => typeof read !== 'function' || !RUN_ID.test(kind));
  if (reader) return `Its resource ${JSON.stringify(reader[0])} must be a function that reads a version.`;
  if (mode !== undefined && mode !== 'dev' && mode !== 'production') return 'Its `mode` must be "dev" or "production".';
  if (stateDir !== undefined && (typeof stateDir !== 'string' || stateDir === '')) return 'Its `stateDir` must be the path of a folder.';
  if (encryption !== undefined && typeof encryption !== 'boolean') return 'Its `encryption` must be true or false.';
  if (stores !== undefined && !(isMembers(stores) && Object.entries(stores).every(([name, text]) => ['database', 'artifacts'].includes(name) && typeof text === 'string' && text !== ''))) return 'Its `stores` must be an object of `database` and `artifacts`, each an address: postgres://HOST/DATABASE, s3://BUCKET/PREFIX.';
  if (modelConcurrency !== undefined && !(Number.isInteger(modelConcurrency) && modelConcurrency > 0)) return 'Its `modelConcurrency` must be a whole number above 0.';
  const limit = Object.entries(limits ?? {}).find(([, n]) => !(Number.isInteger(n) && (n as number) > 0));
  return limit ? `Its limit ${JSON.stringify(limit[0])} must be a whole number above 0.` : null;
}

function isUrl(text: unknown): boolean {
  return typeof text === 'string' && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
