// What `npm test` counts, shown on small trees: the closing line, the exit code, and what is a failure beside a test
// that fails: a skipped test, a file that cannot be loaded, a suite without tests, a process left running.
import { tree, type Ran } from './support/tree';

const rooms = 'core replay house contract workflow crash e2e'.split(' ');
const good = "test('a', () => { expect(1).toBe(1); });";
const leaves = "test('a', () => { require('node:child_process').spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }).unref(); });";

/** `npm test` over a tree with one test file in each room: a good one, or what `special` says; '' leaves it out. */
function count(special: Record<string, string>, args: string[] = []): Ran {
  const files = Object.fromEntries(rooms.map((room) => [`test/${room}/a.test.ts`, special[room] ?? good]).filter(([, text]) => text !== ''));
  const sample = tree({ ...files, 'src/a.ts': 'export const a = 1;' },
    ['scripts', 'jest.config.js', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json']);
  const ran = sample.node(['scripts/test.js', ...args]);
  sample.remove();
  return ran;
}

test('the closing line sums over the build and every suite, each once', () => {
  const { code, last } = count({});
  expect(last).toBe('8 passed, 0 failed');
  expect(code).toBe(0);
});

test('a failing or skipped test, a file that cannot be loaded, a suite without tests and a process left running are failures', () => {
  const { code, last, output } = count({
    core: `${good} test('b', () => { expect(1).toBe(2); }); test.${'skip'}('c', () => {});`,
    replay: "throw new Error('cannot be loaded');",
    house: '',
    contract: leaves,
  });
  expect(output).toMatch(/FAILED tests: core, replay: 1 tests were skipped/);
  expect(output).toMatch(/FAILED tests: house: test\/house has no test/);
  expect(output).toMatch(/FAILED tests: contract: it left process \d+ running \(ended now\): sleep 60/);
  expect(output).toMatch(/Failed: tests: house; tests: core, replay; tests: contract\n/);
  expect(last).toBe('6 passed, 5 failed');
  expect(code).toBe(1);
});

test('a suite that does not exist is refused with the names of those that do', () => {
  const { code, output } = count({}, ['cor']);
  expect(output).toContain('No suite is called cor; name some of: core, replay, house');
  expect(code).toBe(2);
});
