// docs/requirements.md promises that an id holds: each row names files that exist and tests that exist.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { faults } from './support/requirements';
import { allTitles, promisesIn, titlesIn } from './support/titles';
import { text } from './support/tracked';
import { root } from './support/tree';

const head = '| id | what | files | tests |\n|---|---|---|---|\n';
const known = { exists: (file: string) => file === 'src/a.ts', titles: new Set(['a thing holds']) };

test('every requirement names files that exist and tests that exist', () => {
  const real = { exists: (file: string) => existsSync(path.join(root, file)), titles: allTitles() };
  expect(faults(text('docs/requirements.md'), real)).toEqual([]);
});

test.each([
  ['| R1.1 | words | `src/a.ts` | |', 'R1.1: names no test.'],
  ['| R1.1 | words | | `a thing holds` |', 'R1.1: names no file.'],
  ['| R1.1 | | `src/a.ts` | `a thing holds` |', 'R1.1: says nothing.'],
  ['| R1.1 | words | `src/b.ts` | `a thing holds` |', 'R1.1: there is no file src/b.ts.'],
  ['| R1.1 | words | `src/a.ts` | `another thing` |', 'R1.1: there is no test called "another thing".'],
  ['| R1 | words | `src/a.ts` | `a thing holds` |', 'R1: an id has the form R1.1.'],
  ['| B1 | words | `src/a.ts` | `a thing holds` |', 'B1: an id has the form B01.'],
  ['| B01 | words | `src/a.ts` | `another thing` |', 'B01: there is no test called "another thing".'],
])('the row %s is refused', (row, fault) => expect(faults(head + row, known)).toEqual([fault]));

test('an id that stands twice is refused', () => {
  const row = '| R1.1 | words | `src/a.ts` | `a thing holds` |\n';
  expect(faults(head + row, known)).toEqual([]);
  expect(faults(head + row + row, known)).toEqual(['R1.1: stands twice in the table.']);
});

test('a page without the table is refused', () => expect(faults('# Requirements', known)).toHaveLength(1));

test('titles are read from test, it and test.each in every kind of quotes', () => {
  const source = [
    "test.each<[string, Record<string, unknown>]>([\n  ['x', { a: g(1) }],\n])('typed %s', f);", "test('one', f);", 'it("two", f);', 'test(\n  `three`, f);', "test.each([\n  ['x', (a) => g(a)],\n])('four %s', f);", "latest('no', f);", "test('it\\'s five', f);",
  ].join('\n');
  expect(titlesIn(source)).toEqual(['typed %s', 'one', 'two', 'three', 'four %s', "it's five"]);
});

test('the promises of a contract suite count as titles', () => {
  expect(promisesIn("const some: Promised = {\n  'one': async ({ stores }) => {\n    'no': async () => 1,\n  },\n  'it\\'s two': async (under) => {\n  },\n  no: 1,\n};")).toEqual(['one', "it's two"]);
});
