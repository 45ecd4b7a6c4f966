// The rules of .oxlintrc.json and tsconfig.core.json that hold the invariants and the sizes, shown on files that
// break them. The project's own files are checked by `npm run verify`.
import { tree, type Tree } from './support/tree';

const lines = (count: number) => Array.from({ length: count }, (_, i) => `export const v${i} = ${i};`).join('\n');
const longFunction = (count: number) => `export function f() {\n${Array.from({ length: count - 2 }, (_, i) => `  use(${i});`).join('\n')}\n}\nconst use = (n: number) => n;\n`;

const files: Record<string, string> = {
  'src/core/clock.ts': 'export const now = () => Date.now();',
  'src/core/dice.ts': 'export const roll = () => Math.random();',
  'src/core/later.ts': 'export const later = Promise.resolve(1);',
  'src/core/iso.ts': 'export const iso = (at: number) => new Date(at).toISOString();',
  'src/core/order.ts': 'export const by = (a: string, b: string) => a.localeCompare(b);',
  'src/core/schema.ts': "import { z } from 'zod'; export const s = z.string();",
  'src/core/good.ts': 'export const now = (at: number): number => at;',
  'src/workflows/value.ts': "import { act } from '../activities/act'; export const a = act;",
  'src/workflows/again.ts': "export * from '../activities/act';",
  'src/workflows/type.ts': "import type { act } from '../activities/act'; export type A = typeof act;",
  'src/workflows/agent-run.ts': lines(121),
  'src/activities/act.ts': 'export const act = 1;',
  'src/client/floating.ts': 'async function f() { return 1; }\nexport function g() { f(); }',
  'src/client/long-file.ts': lines(301),
  'src/client/full-file.ts': lines(300),
  'src/client/long-function.ts': longFunction(41),
  'src/client/full-function.ts': longFunction(40),
  'src/client/union.ts': "export function f(x: 'a' | 'b'): number { switch (x) { case 'a': return 1; } return 2; }",
  'test/focused.test.ts': `test.${'only'}('x', () => { expect(1).toBe(1); });`,
  'tsconfig.json': JSON.stringify({ compilerOptions: { target: 'ES2022', strict: true, module: 'CommonJS', moduleResolution: 'bundler', types: ['jest'] }, include: ['src', 'test'] }),
};

let sample: Tree;
let output: string;
let code: number | null;
beforeAll(() => {
  sample = tree(files, ['.oxlintrc.json']);
  ({ output, code } = sample.run('oxlint', ['--type-aware', '--deny-warnings', '--format', 'unix', 'src', 'test']));
});
afterAll(() => sample.remove());

const found = (file: string) => output.split('\n').filter((line) => line.startsWith(`${file}:`)).join('\n');

test('a tree that breaks the rules is refused', () => expect(code).toBeGreaterThan(0));

test.each([
  ['src/core/clock.ts', 'no-restricted-globals'],
  ['src/core/dice.ts', 'no-restricted-properties'],
  ['src/core/later.ts', 'no-restricted-globals'],
  ['src/core/order.ts', 'no-restricted-properties'],
])('I1 the lint refuses a clock, a die, a promise and a locale in the core: %s', (file, rule) => expect(found(file)).toContain(rule));

test('I1 the core does not compile with a timer, a crypto source or a Node global', () => {
  const bare = tree({
    'src/core/bad.ts': 'export const a = () => setTimeout(() => 1, 1);\nexport const b = () => crypto.randomUUID();\nexport const c = () => process.env;\nexport const d = () => Buffer.from("");',
  }, ['tsconfig.json', 'tsconfig.core.json']);
  const result = bare.run('tsc', ['--noEmit', '-p', 'tsconfig.core.json']);
  bare.remove();
  for (const line of [1, 2, 3, 4]) expect(result.output).toContain(`bad.ts(${line},`);
  expect(result.code).not.toBe(0);
});

test.each([
  ['src/core/schema.ts', 'no-restricted-imports'],
  ['src/workflows/value.ts', 'no-restricted-imports'],
  ['src/workflows/again.ts', 'no-restricted-imports'],
  ['src/client/floating.ts', 'no-floating-promises'],
  ['src/client/long-file.ts', 'max-lines'],
  ['src/client/long-function.ts', 'max-lines-per-function'],
  ['src/workflows/agent-run.ts', 'max-lines'],
  ['src/client/union.ts', 'switch-exhaustiveness-check'],
  ['test/focused.test.ts', 'no-focused-tests'],
])('the lint finds in %s: %s', (file, rule) => expect(found(file)).toContain(rule));

test.each(['src/core/good.ts', 'src/core/iso.ts', 'src/workflows/type.ts', 'src/client/full-file.ts', 'src/client/full-function.ts'])('the lint finds nothing in %s', (file) =>
  expect(found(file)).toBe(''));
