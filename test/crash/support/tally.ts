// Counts what the kill suites did and saw, says each point as it is done (jest speaks only at the end), and prints the table of a
// file. `npm run test:crash` and `npm test` name a file in LONGHAUL_KILLS and print one table over all files instead.
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const { killTable } = require('../../../scripts/kill-table.js') as { killTable: (file: string) => string };

/** What came of one point. */
export interface Point {
  suite: string;
  point: string;
  kills: number;
  /** Effects that the run should have had, and those that the judge saw. */
  expected: number;
  seen: number;
  /** Calls about which a person was asked, each by tool and id. */
  unknown: string[];
  doubled: number;
  lost: number;
}

const shared = process.env['LONGHAUL_KILLS'];
const folder = shared === undefined ? mkdtempSync(path.join(tmpdir(), 'longhaul-kills-')) : undefined;
const file = shared ?? path.join(folder ?? '', 'kills.jsonl');
const began = Date.now();

/** Notes a point and says it at once. */
export function tally(point: Omit<Point, 'doubled' | 'lost'>): void {
  const { expected, seen } = point;
  const whole: Point = { ...point, doubled: Math.max(0, seen - expected), lost: Math.max(0, expected - seen) };
  appendFileSync(file, `${JSON.stringify(whole)}\n`);
  const unknown = point.unknown.length > 0 ? `, a person was asked about ${point.unknown.join(', ')}` : '';
  process.stderr.write(`  ${((Date.now() - began) / 1000).toFixed(0)} s  ${point.suite}, ${point.point}: ${point.kills} killed, ${seen} of ${expected} effects${unknown}\n`);
}

/** To be called after all tests of a file. */
export function printTally(): void {
  if (folder === undefined) return;
  process.stderr.write(killTable(file));
  rmSync(folder, { recursive: true, force: true });
}
