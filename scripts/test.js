// `npm test`: every suite once, the ones that need no server first. Builds dist first where it is stale, since the
// suites on the real server start the built command line and the built worker.
// `npm test -- core house` runs those rooms alone. test/crash runs its fixed sample unless LONGHAUL_EXHAUSTIVE=1.
// What the kill suites killed and saw is printed as one table. Closes with `N passed, N failed`.
const { existsSync, mkdtempSync, readdirSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { killTable } = require('./kill-table.js');
const { check, close, root, tests } = require('./stages.js');

/** Every suite has a server, ports and folders of its own; those on a server wait more than they compute. All kills at once run one file at a time. */
const groups = [
  { rooms: ['core', 'replay', 'house'], workers: 2, limitMs: 600_000 },
  { rooms: ['contract'], workers: 2, limitMs: 600_000 },
  { rooms: ['workflow'], workers: 3, limitMs: 1_200_000 },
  { rooms: ['crash'], workers: process.env.LONGHAUL_EXHAUSTIVE ? 1 : 2, limitMs: process.env.LONGHAUL_EXHAUSTIVE ? 14_400_000 : 900_000 },
  { rooms: ['e2e'], workers: 3, limitMs: 900_000 },
  /** Only when it is named: it makes builds of its own. */
  { rooms: ['upgrade'], workers: 1, limitMs: 2_400_000, named: true },
];

const hasTests = (room) => {
  const folder = path.join(root, 'test', room);
  return existsSync(folder) && readdirSync(folder, { recursive: true }).some((file) => String(file).endsWith('.test.ts'));
};

async function main(wanted) {
  const known = groups.flatMap((group) => group.rooms);
  const wrong = wanted.filter((room) => !known.includes(room));
  if (wrong.length > 0) throw new Error(`No suite is called ${wrong.join(', ')}; name some of: ${known.join(', ')}.`);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'longhaul-kills-'));
  process.env.LONGHAUL_KILLS = path.join(folder, 'kills.jsonl');
  const results = [await check('build', process.execPath, [path.join(__dirname, 'build.js'), '--if-stale'], 'Mend what tsc names above.')];
  for (const group of groups) {
    const chosen = group.rooms.filter((room) => wanted.includes(room) || (wanted.length === 0 && !group.named));
    for (const room of chosen.filter((name) => !hasTests(name))) {
      console.log(`\nFAILED tests: ${room}: test/${room} has no test.`);
      results.push({ name: `tests: ${room}`, passed: 0, failed: 1 });
    }
    const rooms = chosen.filter(hasTests);
    if (rooms.length > 0) results.push(await tests(rooms, group));
  }
  process.stdout.write(killTable(process.env.LONGHAUL_KILLS));
  rmSync(folder, { recursive: true, force: true });
  close(results);
}

main(process.argv.slice(2)).catch((error) => { console.error(error.message); process.exitCode = 2; });
