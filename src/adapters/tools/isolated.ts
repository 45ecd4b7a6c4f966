// A tool with `isolation: 'process'` as the worker sees it: the same declaration, whose functions run in a process of their own,
// one process a call. Arguments are checked here and handed on as they came, since what a schema makes of them need not cross.
// Decides nothing about calls: the runner treats it like any other tool.
import type { ToolCall, ToolDefinition } from '../../ports/tool';
import type { Part } from './isolation-wire';
import { runIsolated, type Isolation } from './isolated-process';

/** The tools as the worker runs them. Throws TypeError when one wants a process and nobody says where its module is. */
export function withIsolation(tools: ReadonlyMap<string, ToolDefinition>, isolation: Omit<Isolation, 'file'> & { file?: string }): ReadonlyMap<string, ToolDefinition> {
  const { file, ...rest } = isolation;
  return new Map([...tools].map(([contract, tool]) => {
    if (tool.isolation !== 'process') return [contract, tool];
    if (file === undefined) throw new TypeError(`The tool ${tool.name} runs in a process of its own, which reads the configuration again: start the worker with configFile, the path of the module that exports it.`);
    return [contract, isolated(tool, { file, ...rest })];
  }));
}

function isolated(tool: ToolDefinition, isolation: Isolation): ToolDefinition {
  const { name, version } = tool;
  const run = <T>(part: Part) => (given: unknown, call: ToolCall): Promise<T> => runIsolated(isolation, { tool: name, version, part, given }, call) as Promise<T>;
  return {
    ...tool,
    input: { parse: (value) => { tool.input.parse(value); return value; } },
    // The process applies it: what it makes of a result need not cross either.
    output: undefined,
    execute: run('execute'),
    ...(tool.lookUp ? { lookUp: run('lookUp') } : {}),
    ...(tool.undo ? { undo: run('undo') } : {}),
    ...(tool.resourceVersion ? { resourceVersion: run('resourceVersion') } : {}),
    ...(tool.preview ? { preview: run('preview') } : {}),
  };
}

/** Names of variables that usually hold what a tool is to be given by name only. */
const SECRET = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|DATABASE_URL/i;

/** The environment of a tool's process: the worker's, without variables that hold secrets. They are asked for by name. */
export function isolatedEnv(env: NodeJS.ProcessEnv, secrets: Readonly<Record<string, { env: string } | { file: string }>> = {}): NodeJS.ProcessEnv {
  const named = new Set(Object.values(secrets).flatMap((place) => ('env' in place ? [place.env] : [])));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !named.has(name) && !SECRET.test(name)));
}
