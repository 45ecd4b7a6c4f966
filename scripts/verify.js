// `npm run verify`: what one runs before every commit. Types, lint, arrows, unused code, sizes, then the suites
// that need no server; about a minute. Goes on after a failed stage, so that one run shows everything.
// Closes with `N passed, N failed`; each stage before the tests counts one. `--no-tests` leaves the suites to `npm test`.
const { bin, check, close, tests } = require('./stages.js');

async function main() {
  const node = process.execPath;
  const results = [
    await check('types', bin('tsc'), ['--noEmit', '-p', 'tsconfig.json'], 'Mend the type errors above.'),
    await check('types of the core', bin('tsc'), ['--noEmit', '-p', 'tsconfig.core.json'],
      'src/core compiles without Node, DOM, timers and crypto: let time, ids and facts arrive inside commands.'),
    await check('lint and sizes', node, [bin('oxlint'), '--type-aware', '--deny-warnings', '--report-unused-disable-directives', 'src', 'test', 'examples', 'scripts', 'bin'],
      'Files have at most 300 lines, functions 40; every promise is awaited, returned or handled. Rules: .oxlintrc.json.'),
    await check('arrows', node, [bin('depcruise'), '--config', '.dependency-cruiser.js', '--output-type', 'err-long', 'src', 'examples', 'test'],
      'The rooms of src and what each may import are the table in .dependency-cruiser.js.'),
    await check('unused code', node, [bin('knip'), '--no-progress', '--no-config-hints'],
      'Remove what nothing uses, or name the entry point in knip.json.'),
  ];
  if (!process.argv.includes('--no-tests')) results.push(await tests(['core', 'replay', 'house'], { workers: 2, limitMs: 600_000 }));
  close(results);
}

main().catch((error) => { console.error(error); process.exitCode = 2; });
