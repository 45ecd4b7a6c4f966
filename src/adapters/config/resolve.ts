// Makes of a checked configuration what the runtime works with: agents ready to be pinned, and names of services resolved at
// the moment of use, in this process, so that a new port changes no digest and no event. Secrets: adapters/secrets.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { AgentConfig, Config } from '../../config';
import type { Json } from '../../core/canonical';
import { ToolError } from '../../core/failure';
import { contractOf, majorOf } from '../../core/keys';
import type { AgentManifest, RunSpec } from '../../core/run';
import type { ToolDefinition } from '../../ports/tool';
import type { Price } from '../models/prices';
import { toolManifest } from '../tools/define-tool';
import { readArtifact } from '../tools/read-artifact';
import { RUN_AGENT, runAgent, type RunAgentDeps } from '../tools/run-agent';

export interface ResolvedAgent { manifest: AgentManifest; prompts: Record<string, string>; title(spec: RunSpec): string }

/** Agents by name. `defaultModel` is what an agent without a model of its own gets; `priceOf` tells a model's price. */
export function resolveAgents(config: Config, defaultModel: string | null, priceOf: (model: string) => Price | null = () => null): ReadonlyMap<string, ResolvedAgent> {
  return new Map(config.agents.map((agent) => [agent.name, resolveAgent(agent, config, defaultModel, priceOf)]));
}

/** The tools of the configuration and the built-in ones, by name: of several major versions the newest. `children`: how `run_agent` starts runs; without it, it is only shown. */
export function toolsByName(config: Config, children?: RunAgentDeps): ReadonlyMap<string, ToolDefinition> {
  const newest = new Map<string, ToolDefinition>();
  for (const tool of everyTool(config, children)) if (majorOf(tool.version) > majorOf(newest.get(tool.name)?.version ?? '-1')) newest.set(tool.name, tool);
  return newest;
}

/** The same by contract, `name@major`: several major versions of a tool stand side by side, and a run calls the one that it is pinned to. */
export function toolsByContract(config: Config, children?: RunAgentDeps): ReadonlyMap<string, ToolDefinition> {
  return new Map(everyTool(config, children).map((tool) => [contractOf(tool.name, tool.version), tool]));
}

const everyTool = ({ tools }: Config, children?: RunAgentDeps): ToolDefinition[] => [...tools, readArtifact as ToolDefinition, runAgent(children)];

function resolveAgent(agent: AgentConfig, config: Config, defaultModel: string | null, priceOf: (model: string) => Price | null): ResolvedAgent {
  const model = agent.model ?? defaultModel;
  const price = model === null ? null : priceOf(model);
  return {
    manifest: {
      name: agent.name, version: agent.version, planner: agent.planner, model, ...(price ? { price } : {}),
      tools: toolsOfAgent(agent, config).map(toolManifest),
      budget: agent.budget ?? {}, maxParallel: agent.maxParallel ?? 4, maxRejectedPlans: agent.maxRejectedPlans ?? 3,
      maxOutputTokens: agent.maxOutputTokens ?? 4_096, maxInputTokens: agent.maxInputTokens ?? 32_768,
    },
    prompts: agent.prompts ?? {},
    title: (spec) => (agent.title?.(spec) ?? titleOf(spec)).slice(0, 200),
  };
}

/** In the order of the configuration. A plain name means the newest major version, `name@2` that one. */
function toolsOfAgent({ tools, planner }: AgentConfig, config: Config): ToolDefinition[] {
  const newest = [...toolsByName(config).values()];
  if (!tools) return newest.filter(({ name }) => name !== RUN_AGENT);
  // A planning model is shown large results in part: it can always read on, whatever tools it has.
  const wanted = new Set(planner === 'model' ? [...tools, readArtifact.name] : tools);
  const older = [...toolsByContract(config)].flatMap(([contract, tool]) => (wanted.has(contract) ? [tool] : []));
  return [...newest.filter(({ name }) => wanted.has(name) && !older.some((tool) => tool.name === name)), ...older];
}

function titleOf({ agent, input, plan }: RunSpec): string {
  const member = (value: Json | null, name: string): string => {
    const found = typeof value === 'object' && value !== null && !Array.isArray(value) ? value[name] : undefined;
    return typeof found === 'string' ? found.trim() : '';
  };
  return member(plan, 'goal') || member(input, 'question') || agent;
}

/** Base URL of a named service: the variable LONGHAUL_SERVICE_<NAME>, the configuration, `services.json` in the state folder. */
export function serviceResolver(config: Config, stateDir: string): (name: string) => string {
  return (name) => {
    const variable = `LONGHAUL_SERVICE_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
    const set = process.env[variable];
    if (set) return set;
    const declared = config.services && Object.hasOwn(config.services, name) ? config.services[name] : undefined;
    if (typeof declared === 'function') return declared();
    if (declared && 'url' in declared) return declared.url;
    const running = runningServices(stateDir)[name]?.url;
    if (typeof running === 'string') return running;
    throw new ToolError('permission', 'service', `No service is called ${name}; start it with longhaul dev, or set ${variable} to its URL.`);
  };
}

function runningServices(stateDir: string): Record<string, { url?: string }> {
  try {
    return JSON.parse(readFileSync(path.join(stateDir, 'services.json'), 'utf8')) as Record<string, { url?: string }>;
  } catch {
    return {};
  }
}
