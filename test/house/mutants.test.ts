// The deliberate bugs of test/mutants still fit the code of today: each patch matches exactly once, and the test that is named for it is
// there. That they are caught is `npm run test:mutants`.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './support/tree';

interface Mutant { id: string; what: string; file: string; find: string; replace: string; test: { file: string; name: string; suite?: string; title?: string } }

const table = jest.requireActual<Mutant[]>('../mutants/table.js');
const { patched } = jest.requireActual<{ patched: (source: string, mutant: Mutant) => string }>('../../scripts/mutants.js');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

test('there are fifteen deliberate bugs at least, each with an id of its own', () => {
  expect(table.length).toBeGreaterThanOrEqual(15);
  expect(new Set(table.map(({ id }) => id)).size).toBe(table.length);
});

test.each(table.map((mutant) => [mutant.id, mutant] as const))('the bug %s still fits the code, and its test is there', (_id, mutant) => {
  const source = read(mutant.file);
  expect(patched(source, mutant)).not.toBe(source);
  const { file, name, suite, title } = mutant.test;
  expect(read(suite ?? file).replaceAll("\\'", "'")).toContain(title ?? name);
});

test('a patch that matches nowhere or twice is an error that names it', () => {
  const mutant = { ...(table[0] as Mutant), id: 'x', file: 'f', find: 'a' };
  expect(() => patched('b', mutant)).toThrow('The patch of x matches 0 times in f; mend test/mutants/table.js.');
  expect(() => patched('a a', mutant)).toThrow('matches 2 times');
});
