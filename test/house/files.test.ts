// Habits that hold for every file: it opens by saying what it owns, it knows no machine, its tests all run.
import { headerLines, machineTraces, unkeptPromises } from './support/files';
import { text, tracked } from './support/tracked';

const generated = /\.generated\.ts$/;

test('each source file opens with a comment that says what it owns, in two lines or a long one', () => {
  const short = tracked(/^(src|scripts)\/.*\.(ts|js)$/).filter((file) => !generated.test(file) && headerLines(text(file)) < 2 && (text(file).split('\n')[0] ?? '').length < 80);
  expect(short).toEqual([]);
});

test('each test and example opens with a comment', () => {
  const bare = tracked(/^(test|examples)\/.*\.ts$/).filter((file) => !generated.test(file) && headerLines(text(file)) < 1);
  expect(bare).toEqual([]);
});

test('no file names an absolute path of a machine or the host of a package registry', () => {
  const traces = tracked().filter((file) => !/\.(png|jpe?g|gif|ico|wasm|gz|db)$/.test(file))
    .flatMap((file) => machineTraces(text(file)).map((trace) => `${file}:${trace}`));
  expect(traces).toEqual([]);
});

test('no test is skipped, run alone or only announced', () => {
  const found = tracked(/^(test|src\/testing)\/.*\.ts$/).filter((file) => !file.startsWith('test/house/'))
    .flatMap((file) => unkeptPromises(text(file)).map((line) => `${file}:${line}`));
  expect(found).toEqual([]);
});

test('a header is counted in both kinds of comment, after a shebang, and not after code', () => {
  expect(headerLines('// a\n// b\n\nconst x = 1;')).toBe(2);
  expect(headerLines('/**\n * a\n * b\n */\nconst x = 1;')).toBe(4);
  expect(headerLines('#!/usr/bin/env node\n// a\nconst x = 1;')).toBe(1);
  expect(headerLines('const x = 1;\n// a')).toBe(0);
});

test.each([`/${'root'}/x`, `"/${'home'}/me/x"`, `see /${'Users'}/me/x`, `https://registry.${'npmjs'}.org/x`, `https://pypi${'.org'}/x`])('%s ties a file to a machine or a registry', (line) =>
  expect(machineTraces(`ok\n${line}`)).toHaveLength(1));

test.each(['./root/x', 'src/home/index/x', 'https://example.org/root/x', '/tmp/x', 'npm registry'])('%s ties a file to nothing', (line) => expect(machineTraces(line)).toEqual([]));

test.each(['skip', 'only', 'todo', 'each.skip', 'concurrent.only'])('test.%s is found', (word) => expect(unkeptPromises(`  test.${word}('x', f);`)).toHaveLength(1));

test.each(["test('x', f);", 'limit(x);', "commit.only('x');", 'unfit()'])('%s is let through', (line) => expect(unkeptPromises(line)).toEqual([]));
