// Reading the configuration file: every form of it, faults as one sentence that says what to write instead, and names of
// services resolved at the moment of use.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { faultOfConfig } from '../../src/adapters/config/check';
import { ConfigError, loadConfig } from '../../src/adapters/config/load';
import { resolveAgents, serviceResolver } from '../../src/adapters/config/resolve';
import type { Config } from '../../src/config';
import { ToolError } from '../../src/core/failure';
import { modeOf } from '../../src/worker';
import { toolFor } from '../rig/hands';

let folder: string;
beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'longhaul-config-')); });
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const put = (name: string, text: string): string => { const file = path.join(folder, name); writeFileSync(file, text); return file; };

const AGENT = { name: 'a', version: '1.0.0', planner: 'declared' as const };
const TOOL = toolFor(async () => null);
const whole = (over: object = {}): Config => ({ agents: [AGENT], tools: [TOOL], ...over });

test.each([
  ['longhaul.config.ts', 'const agents: object[] = [{ name: "a", version: "1.0.0", planner: "declared" }]; export default { agents, tools: [] };'],
  ['longhaul.config.js', 'module.exports = { agents: [{ name: "a", version: "1.0.0", planner: "declared" }], tools: [] };'],
  ['longhaul.config.cjs', 'module.exports = { agents: [{ name: "a", version: "1.0.0", planner: "declared" }], tools: [] };'],
  ['longhaul.config.json', '{ "agents": [{ "name": "a", "version": "1.0.0", "planner": "declared" }], "tools": [] }'],
])('%s is found in its folder and by its path', async (name, text) => {
  const file = put(name, text);
  for (const where of [folder, file]) {
    expect(await loadConfig(where)).toMatchObject({ config: { agents: [{ name: 'a' }] }, file, stateDir: path.join(folder, '.longhaul') });
  }
});

test('a missing, broken or wrong file is one sentence that names it', async () => {
  await expect(loadConfig(folder)).rejects.toThrow(/There is no configuration at .*make a longhaul.config.ts/);
  put('longhaul.config.json', '{ not json');
  await expect(loadConfig(folder)).rejects.toThrow(/longhaul.config.json could not be read/);
  put('longhaul.config.json', '{ "agents": [] }');
  await expect(loadConfig(folder)).rejects.toThrow(/cannot be used\. It needs `agents`/);
  await expect(loadConfig(folder)).rejects.toBeInstanceOf(ConfigError);
});

test.each([
  [null, /must export an object/], [{ agents: [AGENT], tools: [], agent: 1 }, /unknown member "agent"/], [{ agents: [AGENT] }, /needs `tools`/],
  [whole({ tools: [TOOL, TOOL] }), /Two tools are called act/], [whole({ tools: [{ name: 'x' }] }), /Tool "x"/],
  [whole({ agents: [AGENT, AGENT] }), /Two agents are called a/], [whole({ agents: [{ ...AGENT, name: 'A' }] }), /lower-case/],
  [whole({ agents: [{ ...AGENT, version: '1' }] }), /semantic version/], [whole({ agents: [{ ...AGENT, planner: 'x' }] }), /planner/],
  [whole({ agents: [{ ...AGENT, tools: ['nothing'] }] }), /uses the tool "nothing"/], [whole({ agents: [{ ...AGENT, budget: { money: 1 } }] }), /wrong entry "money"/],
  [whole({ agents: [{ ...AGENT, maxParallel: 0 }] }), /maxParallel/], [whole({ policy: {} }), /policy/], [whole({ services: { p: { url: 'ftp://x' } } }), /service "p"/],
  [whole({ secrets: { k: 'value' } }), /secret "k"/], [whole({ limits: { softEvents: 0 } }), /limit "softEvents"/],
].map(([config, fault]) => ({ config, fault: fault as RegExp })))('a fault is named: $fault', ({ config, fault }) => {
  expect(faultOfConfig(config)).toMatch(fault);
});

test('a sound configuration has no fault', () => {
  expect(faultOfConfig(whole({ services: { p: { url: 'http://127.0.0.1:1' } }, secrets: { k: { env: 'K' } }, resources: { doc: async () => 'v1' }, limits: { softEvents: 200 } }))).toBeNull();
});

test('an agent gets its tools, its defaults and its title', () => {
  const agents = resolveAgents({ agents: [AGENT, { ...AGENT, name: 'b', tools: [], model: 'openai:x' }], tools: [TOOL] }, 'rules@1');
  expect(agents.get('a')?.manifest).toMatchObject({ model: 'rules@1', maxParallel: 4 });
  expect(agents.get('a')?.manifest.tools.map(({ name }) => name)).toContain('act');
  expect(agents.get('b')?.manifest).toMatchObject({ model: 'openai:x' });
  expect(agents.get('b')?.manifest.tools.map(({ name }) => name)).not.toContain('act');
  const spec = { v: 1 as const, agent: 'a', input: { question: 'Why?' }, plan: null, budget: {}, owner: { id: 'ann', via: 'cli' as const, assurance: 'local-user' as const } };
  expect(agents.get('a')?.title(spec)).toBe('Why?');
  expect(agents.get('a')?.title({ ...spec, plan: { goal: 'Do it' } })).toBe('Do it');
});

test('a service is found by variable, then configuration, then what runs; else the sentence says how to name it', () => {
  const service = serviceResolver(whole({ services: { declared: { url: 'http://declared' } } }), folder);
  mkdirSync(folder, { recursive: true });
  put('services.json', '{ "running": { "url": "http://running" }, "declared": { "url": "http://other" } }');
  expect([service('declared'), service('running')]).toEqual(['http://declared', 'http://running']);
  process.env['LONGHAUL_SERVICE_MY_OWN'] = 'http://own';
  expect(service('my-own')).toBe('http://own');
  delete process.env['LONGHAUL_SERVICE_MY_OWN'];
  expect(() => service('my-own')).toThrow(/longhaul dev, or set LONGHAUL_SERVICE_MY_OWN/);
  expect(() => service('constructor')).toThrow(ToolError);
});

test.each<[string, { config?: object; production?: boolean; env?: string }, string]>([
  ['nothing', {}, 'dev'], ['the configuration', { config: { mode: 'production' } }, 'production'], ['a flag', { production: true }, 'production'],
  ['the environment', { env: 'production' }, 'production'], ['a configuration that an environment would take back', { config: { mode: 'production' }, env: 'dev' }, 'production'],
])('R6.3 the mode of runs that begin here is said by %s', (_, { config, env, ...flag }, mode) => {
  try {
    process.env.LONGHAUL_MODE = env ?? '';
    expect(modeOf({ config: whole(config), ...flag })).toBe(mode);
  } finally {
    delete process.env.LONGHAUL_MODE;
  }
});
