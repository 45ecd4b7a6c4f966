// Promises of schema-members: which members a schema knows, by its own words, and that open schemas know every name.
import { z } from 'zod';
import { inputSchema } from '../../src/adapters/tools/define-tool';
import type { Json } from '../../src/core/canonical';
import { knowsPath, lackingNames, topNames, unknownMembers } from '../../src/core/schema-members';

const schemaOf = (input: z.ZodType): Json => inputSchema({ input });
const closed = z.object({ path: z.string(), to: z.object({ name: z.string(), tags: z.array(z.object({ tag: z.string() })) }).optional(), how: z.union([z.object({ fast: z.boolean() }), z.object({ slow: z.number() })]).optional() });

test.each<[string, Json, string[]]>([
  ['what fits', { path: 'a', to: { name: 'n', tags: [{ tag: 't' }] }, how: { slow: 1 } }, []],
  ['a misspelt name', { path: 'a', too: {} }, ['too']],
  ['a misspelt name deep in a list', { path: 'a', to: { name: 'n', tags: [{ tag: 't' }, { tga: 't' }] } }, ['to.tags.1.tga']],
  ['a name that neither of two shapes has', { path: 'a', how: { medium: 1 } }, ['how.medium']],
  ['a member of a text', { path: { inner: 1 } }, ['path.inner']],
  ['what stands for a secret or an artifact', { path: { $secret: 'key' }, to: { $artifact: { sha256: 'x' }, path: [] } }, []],
  ['a name from the prototype', { path: 'a', constructor: 1 }, ['constructor']],
])('members that a schema does not know are named: %s', (_name, args, unknown) => {
  expect(unknownMembers(schemaOf(closed), args)).toEqual(unknown);
});

test('a schema that leaves names open knows every name, and one that is closed says which it has', () => {
  for (const open of [z.looseObject({ path: z.string() }), z.record(z.string(), z.number()), z.object({ path: z.string() }).catchall(z.number())]) {
    expect(unknownMembers(schemaOf(open), { path: 'a', other: 1 })).toEqual([]);
  }
  expect(unknownMembers(schemaOf(z.object({ path: z.any() })), { path: { any: 1 }, other: 1 })).toEqual(['other']);
  expect(unknownMembers(true, { a: 1 })).toEqual([]);
  expect([topNames(schemaOf(closed)), topNames(schemaOf(z.record(z.string(), z.string())))]).toEqual([['path', 'to', 'how'], []]);
});

test('a path is known by its names, through lists, choices and references to itself', () => {
  const tree: z.ZodType = z.object({ name: z.string(), get kids() { return z.array(tree).optional(); } });
  const schema = schemaOf(tree);
  expect([knowsPath(schema, ['kids', '0', 'kids', '3', 'name']), knowsPath(schema, ['kids', '0', 'nam'])]).toEqual([true, false]);
  expect([knowsPath(schemaOf(closed), ['how', 'fast']), knowsPath(schemaOf(closed), ['to', 'tags', '0', 'tag']), knowsPath(schemaOf(closed), ['pth'])]).toEqual([true, true, false]);
});

test('values that are still to come are not looked into, and names that are needed are missed whatever their values will be', () => {
  const schema = schemaOf(z.object({ amount: z.number(), to: z.string(), note: z.string().optional(), currency: z.string().default('EUR') }));
  expect(unknownMembers(schema, { amount: { $from: 'due.amount' }, too: { $from: 'due.to' } })).toEqual(['too']);
  expect(lackingNames(schema, { amount: { $from: 'due.amount' }, too: { $from: 'due.to' } })).toEqual(['to']);
  expect([lackingNames(schema, { $from: 'due' }), unknownMembers(schema, { $from: 'due' }), lackingNames(true, {}), lackingNames(schema, null)]).toEqual([[], [], [], []]);
});
