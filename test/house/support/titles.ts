// The titles of tests as they stand in the sources: the first argument of test(...), it(...) and test.each(...)(...).
// A title that is put together at run time is known by its text in the source.
import { text, tracked } from './tracked';

const CALL = /(?<![\w.$])(?:test|it)(?:\.(?:concurrent|failing))?(?:\.each\s*(?:<(?:[^<>]|<[^<>]*>)*>)?(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`))?\s*\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

/** The titles in the text of one test file. */
export function titlesIn(source: string): string[] {
  return [...source.matchAll(CALL)].map((match) => (match[1] ?? match[2] ?? match[3] ?? '').replace(/\\(['"`\\])/g, '$1'));
}

/** The promises of a contract suite: the names of a record's members that prove something, each registered as a test. */
export function promisesIn(source: string): string[] {
  return [...source.matchAll(/^ {2}'((?:[^'\\]|\\.)*)': async \(/gm)].map((match) => (match[1] ?? '').replace(/\\(['\\])/g, '$1'));
}

/** The titles of all suites: test/, and the contract suites that are shipped in src/testing. */
export function allTitles(): Set<string> {
  const files = [...tracked(/^test\/.*\.ts$/), ...tracked(/^src\/testing\/.*\.ts$/)];
  const contracts = tracked(/^src\/testing\/contracts\/.*\.ts$/);
  return new Set([...files.flatMap((file) => titlesIn(text(file))), ...contracts.flatMap((file) => promisesIn(text(file)))]);
}
