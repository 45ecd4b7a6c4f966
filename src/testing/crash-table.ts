// How the result of crashEverywhere reads as text: one row for each kind of crash, one for each tool. Owns no judgement.
// Columns are as wide as their widest cell; numbers stand right.

/** What came of one kind of crash, summed over its runs. */
export interface CrashRow {
  crash: string;
  /** Boundaries at which it was made to happen, or seeds that were played. */
  runs: number;
  /** Effects that the same run has on a good day, summed; null under random faults, where runs end in many ways. */
  expected: number | null;
  /** Effects that took place. */
  seen: number;
  /** Calls that were left to a person, since nobody could tell whether they happened. */
  asked: number;
  /** Runs that ended otherwise than on a good day: blocked first, or cancelled by a deadline. Always 0 for random faults. */
  otherEnds: number;
  doubled: number;
  lost: number;
}

/** What the crashes meant for one tool. */
export interface CrashToolRow {
  tool: string;
  effects: number;
  /** How often a person had to say whether it happened. A tool with a look-up or with keys needs nobody. */
  asked: number;
}

/** Both tables as text, ready to print. */
export function crashTable(rows: readonly CrashRow[], tools: readonly CrashToolRow[]): string {
  const sum = (of: (row: CrashRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const all: CrashRow = {
    crash: 'all', runs: sum((row) => row.runs), expected: null, seen: sum((row) => row.seen), asked: sum((row) => row.asked),
    otherEnds: sum((row) => row.otherEnds), doubled: sum((row) => row.doubled), lost: sum((row) => row.lost),
  };
  const cells = [...rows, all].map((row) => [row.crash, row.runs, row.expected ?? '', row.seen, row.asked, row.otherEnds, row.doubled, row.lost]);
  return [
    ...columns([['crash', 'runs', 'effects expected', 'seen', 'a person asked', 'other end', 'doubled', 'lost'], ...cells]),
    '',
    ...columns([['tool', 'effects', 'a person asked'], ...tools.map((row) => [row.tool, row.effects, row.asked])]),
  ].join('\n');
}

function columns(table: readonly (readonly (string | number)[])[]): string[] {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => String(row[column] ?? '').length)));
  return table.map((row) => row.map((cell, i) => {
    const width = widths[i] ?? 0;
    return i === 0 ? String(cell).padEnd(width) : String(cell).padStart(width);
  }).join('  ').trimEnd());
}
