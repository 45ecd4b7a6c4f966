// What any file of the project must and must not contain, as pure checks on its text.

/** How many lines the comment at the top of a source file has; 0 when it opens with something else. */
export function headerLines(source: string): number {
  const lines = source.replace(/^#!.*\n/, '').trimStart().split('\n');
  if (lines[0]?.startsWith('/*')) return lines.findIndex((line) => line.includes('*/')) + 1;
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return end < 0 ? lines.length : end;
}

const host = (...parts: string[]) => parts.join('\\.');
const MACHINE = [
  ['an absolute path of a machine', /(?<![\w.~}/-])\/(?:root|home\/\w+|Users\/\w+|work\/(?:main|shared)|opt\/\w+|mnt\/\w+)\//],
  ['an absolute path of a machine', /\b[A-Z]:\\Users\\/],
  ['the host of a package registry', new RegExp([host('registry', '(?:npmjs|yarnpkg)', '(?:org|com)'), host('pypi', 'org'), host('files', 'pythonhosted', 'org'),
    host('(?:static|index)', 'crates', 'io'), host('proxy', 'golang', 'org'), host('repo1?', 'maven', '(?:apache\\.)?org')].join('|'))],
] as const;

/** What in a text ties it to one machine or one registry: `line: what`. */
export function machineTraces(source: string): string[] {
  return source.split('\n').flatMap((line, i) => MACHINE.filter(([, pattern]) => pattern.test(line)).map(([what]) => `${i + 1}: ${what}`));
}

const UNKEPT = /(?:^|[\s;{(])(?:x(?:it|test|describe)|f(?:it|describe))\(|(?<![\w$])(?:test|it|describe)(?:\.\w+)*\.(?:skip|only|todo|skipIf|runIf)(?![\w$])/;

/** The lines of a test file that skip a test, run it alone or only announce it. */
export function unkeptPromises(source: string): string[] {
  return source.split('\n').flatMap((line, i) => (UNKEPT.test(line) ? [`${i + 1}: ${line.trim()}`] : []));
}
