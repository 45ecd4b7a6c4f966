// Reads the tables of docs/requirements.md (`| R1.1 | short words | files | tests |`, and the same for cases B01 of public
// reports) and says what is wrong with them.
// Files and test titles stand in backticks, any number of them in a cell.

export interface Known {
  /** Whether this path, from the root of the project, is a file or folder. */
  exists(path: string): boolean;
  titles: ReadonlySet<string>;
}

const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');

/** The rows of the tables: cells between bars; a bar inside a cell is written \|. */
function rows(markdown: string): string[][] {
  return markdown.split('\n').filter((line) => /^\|\s*[RB]\d/.test(line))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim().replaceAll('\\|', '|')));
}

/** One sentence for each fault; empty when every id has words, files that exist and tests that exist. */
export function faults(markdown: string, known: Known): string[] {
  const seen = new Set<string>();
  const found = rows(markdown).flatMap(([id = '', words = '', files = '', tests = '', ...rest]) => {
    const wrong: string[] = [];
    if (!/^(?:R\d+\.\d+|B\d\d)$/.test(id)) wrong.push(`${id}: an id has the form ${id.startsWith('B') ? 'B01' : 'R1.1'}.`);
    if (seen.has(id)) wrong.push(`${id}: stands twice in the table.`);
    seen.add(id);
    if (rest.length > 0) wrong.push(`${id}: a row has four cells.`);
    if (words === '') wrong.push(`${id}: says nothing.`);
    if (quoted(files).length === 0) wrong.push(`${id}: names no file.`);
    if (quoted(tests).length === 0) wrong.push(`${id}: names no test.`);
    for (const file of quoted(files)) if (!known.exists(file)) wrong.push(`${id}: there is no file ${file}.`);
    for (const title of quoted(tests)) if (!known.titles.has(title)) wrong.push(`${id}: there is no test called "${title}".`);
    return wrong;
  });
  if (!/^\|\s*id\s*\|.*\|.*files.*\|.*tests.*\|/m.test(markdown)) found.unshift('The table with the columns id, what, files, tests is missing.');
  return found;
}
