// A configuration for trouble: the tools of isolated.config.ts, the same without a process of their own, and tools over the effect
// server (the service `effects`) that say what its status codes mean. `tester` follows plans, `planner` asks a model.
import { defineAgent, defineConfig, defineTool, tablePolicy, ToolError, z, type ErrorClass, type ToolCall } from '../../src/index';
import { act, common, tools as isolated } from './isolated.config';

const thing = z.strictObject({ thing: z.string(), text: z.string().optional() });
type Args = z.infer<typeof thing>;

const classOf = (status: number): ErrorClass => (status === 429 ? 'rate-limited' : status === 422 ? 'business-refusal' : status >= 500 ? 'server' : 'unknown');

async function asked(path: string, call: ToolCall, init: RequestInit = {}): Promise<unknown> {
  const answer = await fetch(`${call.service('effects')}${path}`, { ...init, signal: call.signal }).catch((error: unknown) => { throw new ToolError('network', 'fetch', String(error)); });
  if (answer.ok) return answer.json();
  const later = answer.headers.get('retry-after');
  throw new ToolError(classOf(answer.status), `http-${answer.status}`, `The outside answers ${answer.status}.`, later === null ? undefined : Number(later) * 1_000);
}

const post = ({ thing: name, text = '' }: Args, call: ToolCall): Promise<unknown> =>
  asked(`/things/${name}`, call, { method: 'POST', body: JSON.stringify({ text }), headers: { 'Idempotency-Key': call.key } });
const lookUp = async ({ key }: { key: string }, call: ToolCall) => {
  const output = await asked(`/keys/${key}`, call).catch((error: unknown) => { if (String(error).includes('404')) return null; throw error; });
  return output === null ? { found: false as const } : { found: true as const, output: output as never };
};
const http = { version: '1.0.0', description: 'Asks the outside.', input: thing, backoffMs: 50, sendWindowMs: 1_000, timeoutMs: 10_000 };

export default defineConfig({
  agents: [defineAgent({ name: 'tester', version: '1.0.0', planner: 'declared' }), defineAgent({ name: 'planner', version: '1.0.0', planner: 'model', prompts: { system: 'You plan.' } })],
  tools: [
    ...isolated,
    defineTool({ ...common, isolation: undefined, name: 'plain', effect: 'manual', execute: act }),
    defineTool({ ...http, name: 'keyed', effect: 'manual', honoursKey: true, lookUp, execute: post }),
    defineTool({ ...http, name: 'seen', effect: 'manual', lookUp, execute: post }),
    defineTool({ ...http, name: 'fetched', effect: 'none', execute: ({ thing: name }: Args, call) => asked(`/things/${name}`, call) }),
    // A reader that is down for as long as anything is asked of it: its outside answers by POST alone.
    defineTool({ ...http, name: 'down', effect: 'none', maxAttempts: 20, execute: post }),
  ] as never,
  policy: tablePolicy({ name: 'bench', rules: [{ name: 'all-free', decision: 'allow', why: 'A test.' }] }),
});
