// Jest for every room of test/. TypeScript goes through swc to CommonJS, as tsc builds it.
// Time limits by kind of test live in scripts/jest/limits.js, so that `npx jest PATH` has them too.
// How many files run at once is decided by scripts/test.js: suites that start servers run alone.

/** Packages that ship ES modules only: jest turns them into CommonJS. */
const esmOnly = ['@clack/core', '@clack/prompts', 'fast-string-truncated-width', 'fast-string-width', 'fast-wrap-ansi', 'sisteransi'];

const swc = {
  sourceMaps: 'inline',
  jsc: { target: 'es2022', parser: { syntax: 'typescript' }, keepClassNames: true },
  module: { type: 'commonjs' },
};

module.exports = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['<rootDir>/test/{core,crash,replay,contract,workflow,e2e,house,cluster,upgrade,disaster}/**/*.test.ts'],
  transform: { '^.+\\.(ts|mts|mjs|js)$': ['@swc/jest', swc] },
  transformIgnorePatterns: [`/node_modules/(?!(${esmOnly.join('|')})/)`],
  testSequencer: '<rootDir>/scripts/jest/sequencer.js',
  setupFilesAfterEnv: ['<rootDir>/scripts/jest/limits.js'],
  moduleNameMapper: { '^longhaul$': '<rootDir>/src/index.ts', '^longhaul/testing$': '<rootDir>/src/testing/index.ts' },
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
};
