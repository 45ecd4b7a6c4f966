// The table at the end of the kill suites: what was killed where, and what came of it. Reads the lines that test/crash/support/tally.ts
// wrote, one a point, and adds them up by suite. Judges nothing: the tests do.
const { existsSync, readFileSync } = require('node:fs');

const HEAD = ['suite', 'points', 'kills', 'effects expected', 'seen', 'unknown, named', 'doubled', 'lost'];

/** The table as text; '' when nothing was killed. */
function killTable(file) {
  if (!file || !existsSync(file)) return '';
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  if (lines.length === 0) return '';
  const suites = [...new Set(lines.map((line) => line.suite))];
  const row = (name, of) => {
    const sum = (field) => of.reduce((total, line) => total + line[field], 0);
    return [name, of.length, sum('kills'), sum('expected'), sum('seen'), of.reduce((total, line) => total + line.unknown.length, 0), sum('doubled'), sum('lost')].map(String);
  };
  const rows = [HEAD, ...suites.map((suite) => row(suite, lines.filter((line) => line.suite === suite))), row('all', lines)];
  const widths = HEAD.map((_, i) => Math.max(...rows.map((cells) => cells[i].length)));
  const named = lines.filter((line) => line.unknown.length > 0).map((line) => `  ${line.point}: ${line.unknown.join(', ')}`);
  return [
    '', ...rows.map((cells) => cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ')),
    ...(named.length > 0 ? ['', 'Unknown, and a person was asked about it by name:', ...named] : []), '',
  ].join('\n');
}

module.exports = { killTable };
