// Every snippet of the README and the docs is taken from a file under examples/, which runs as a test.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { faults } from './support/snippets';
import { text, tracked } from './support/tracked';
import { root } from './support/tree';

const read = (file: string) => (file === 'examples/a.ts' ? 'const a = 1;\nconst b = 2;\n' : undefined);
const block = (mark: string, code: string, language = 'ts') => `${mark}\n\`\`\`${language}\n${code}\n\`\`\`\n`;

test('every snippet of the pages stands verbatim in a file under examples/', () => {
  const real = (file: string) => (existsSync(path.join(root, file)) ? text(file) : undefined);
  const pages = tracked(/^(README|ARCHITECTURE|AGENTS)\.md$|^docs\/(?!decisions\/).*\.md$/);
  expect(pages).toContain('AGENTS.md');
  expect(pages.flatMap((page) => faults(page, text(page), real))).toEqual([]);
});

test('a snippet that stands in its file passes', () => expect(faults('p.md', block('<!-- file: examples/a.ts -->', 'const b = 2;'), read)).toEqual([]));

test('a snippet of commands needs no file', () => expect(faults('p.md', block('', 'npm start', 'sh'), read)).toEqual([]));

test.each([
  ['that differs from its file', block('<!-- file: examples/a.ts -->', 'const b = 3;')],
  ['of a file that does not exist', block('<!-- file: examples/b.ts -->', 'const b = 2;')],
  ['of a file outside examples/', block('<!-- file: src/a.ts -->', 'const b = 2;')],
  ['without a file', block('Some words.', 'const b = 2;')],
])('a snippet %s is refused', (_what, page) => expect(faults('p.md', page, read)).toHaveLength(1));
