// `defineTool`: a faulty declaration is refused at load with one sentence; a sound one yields manifest and JSON schema.
import { z } from 'zod';
import { tools } from '../../examples/folder-report/longhaul.config';
import { defineTool, inputSchema, modelToolSpec, toolConcurrency, toolManifest } from '../../src/adapters/tools/define-tool';
import type { ToolDefinition } from '../../src/ports/tool';

const sound: ToolDefinition = { name: 'probe', version: '1.2.3', description: 'Probes.', input: z.strictObject({}), effect: 'none', execute: async () => null };
const declared = (change: Record<string, unknown>): (() => unknown) => () => defineTool({ ...sound, ...change } as ToolDefinition);

test.each<[string, Record<string, unknown>, RegExp]>([
  ['a name with capitals', { name: 'Probe' }, /name of lower-case/],
  ['a name of 65 characters', { name: 'a'.repeat(65) }, /at most 64/],
  ['no name', { name: undefined }, /name of lower-case/],
  ['a version that is no semver', { version: '1.2' }, /semantic version/],
  ['no description', { description: ' ' }, /describe in a sentence/],
  ['an input that cannot parse', { input: {} }, /declare `input`/],
  ['an output that cannot parse', { output: 5 }, /declare `output`/],
  ['no execute', { execute: undefined }, /`execute` function/],
  ['an unknown effect', { effect: 'harmless' }, /effect "harmless" is unknown/],
  ['reversible without undo', { effect: 'reversible' }, /needs `undo`/],
  ['effect none with a key', { honoursKey: true }, /without effect has nothing/],
  ['a look-up that is no function', { effect: 'manual', lookUp: 'yes' }, /`lookUp` must be a function/],
  ['no attempts', { maxAttempts: 0 }, /`maxAttempts` must be a whole number from 1 to 20/],
  ['a time-out that is no whole number', { timeoutMs: 1.5e3 + 0.5 }, /`timeoutMs` must be/],
  ['sensitive names that are no list', { sensitive: 'token' }, /`sensitive` must be a list/],
  ['arguments that JSON cannot carry', { input: z.strictObject({ at: z.date() }) }, /has no JSON schema/],
  ['arguments that are no object', { input: z.string() }, /has no JSON schema/],
])('refuses %s in one sentence that names the tool', (_, change, message) => {
  expect(declared(change)).toThrow(message);
  expect(declared(change)).toThrow(/^Tool "/);
});

test('a tool without an effect class is irreversible, with the defaults of the law', () => {
  const { effect: _, ...unsaid } = sound;
  expect(toolManifest(defineTool(unsaid))).toEqual({
    name: 'probe', version: '1.2.3', effect: 'irreversible', hasLookUp: false, honoursKey: false, hasUndo: false, hasResourceVersion: false,
    localPrepare: true, maxAttempts: 3, timeoutMs: 60_000, sendWindowMs: 60_000, backoffMs: 1_000,
  });
  expect(toolConcurrency(sound)).toBe(16);
});

test('the manifests of the example say what its tools promise', () => {
  const manifests = Object.fromEntries(tools.map((tool) => [tool.name, toolManifest(tool)]));
  for (const name of ['inventory', 'search_text', 'read_chunk', 'query_csv', 'git_log']) expect(manifests[name]).toMatchObject({ effect: 'none', hasLookUp: false, hasUndo: false });
  expect(manifests['write_report']).toMatchObject({ effect: 'reversible', hasUndo: true, hasLookUp: true, honoursKey: true, localPrepare: true });
  expect(manifests['publish']).toMatchObject({ effect: 'manual', hasLookUp: true, honoursKey: true, hasResourceVersion: true, localPrepare: false });
  expect(manifests['notify']).toMatchObject({ effect: 'irreversible', hasLookUp: false, honoursKey: false, hasUndo: false });
});

test('models see draft-7 schemas that are objects and take no unknown members', () => {
  for (const tool of tools) {
    const { name, description, inputSchema: schema } = modelToolSpec(tool);
    expect(name).toBe(tool.name);
    expect(description.length).toBeGreaterThan(20);
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(JSON.stringify(schema)).not.toContain('$ref');
    expect(schema).not.toHaveProperty('$schema');
  }
});

test('a validator that is not zod\'s is shown as any object', () => {
  expect(inputSchema({ input: { parse: (value: unknown) => value } })).toEqual({ type: 'object', additionalProperties: true });
});
