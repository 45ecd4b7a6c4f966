// Each invariant of ARCHITECTURE.md has at least one test whose name begins with its id.
import { allTitles } from './support/titles';

const invariants = Array.from({ length: 13 }, (_, i) => `I${i + 1}`);

test.each(invariants)('%s has a test whose name begins with its id', (id) => {
  expect([...allTitles()].filter((title) => title.startsWith(`${id} `))).not.toEqual([]);
});

test('a name that begins with the id of an invariant names one that exists', () => {
  const ids = new Set(invariants);
  const wrong = [...allTitles()].filter((title) => /^I\d+\b/.test(title) && !ids.has(title.split(' ')[0] ?? ''));
  expect(wrong).toEqual([]);
});
