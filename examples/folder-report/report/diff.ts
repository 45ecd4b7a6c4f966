// Unified diff of two texts by lines (longest common subsequence), for people who decide whether the new one replaces the old.
// Bounded: texts whose middle is too large to compare are shown as replaced whole. Pure.

const CONTEXT = 3;
const MOST_CELLS = 4_000_000;

interface Edit { mark: ' ' | '-' | '+'; text: string }

/** The difference in unified form, at most `most` characters; an empty text when there is none. */
export function unifiedDiff(oldName: string, newName: string, before: string, after: string, most = 48_000): string {
  if (before === after) return '';
  const edits = editsOf(linesOf(before), linesOf(after));
  const text = `--- ${oldName}\n+++ ${newName}\n${hunksOf(edits).join('\n')}\n`;
  return text.length > most ? `${text.slice(0, most)}\n(the rest of the difference is left out)\n` : text;
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

function editsOf(before: string[], after: string[]): Edit[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const keep = (text: string): Edit => ({ mark: ' ', text });
  return [
    ...before.slice(0, head).map(keep),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(keep),
  ];
}

function middle(before: string[], after: string[]): Edit[] {
  if (before.length * after.length > MOST_CELLS) return [...before.map((text): Edit => ({ mark: '-', text })), ...after.map((text): Edit => ({ mark: '+', text }))];
  const width = after.length + 1;
  const common = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) common[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const edits: Edit[] = [];
  for (let i = 0, j = 0; i < before.length || j < after.length;) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      edits.push({ mark: ' ', text: before[i] ?? '' });
      i++;
      j++;
    } else if (i < before.length && (j >= after.length || at(i + 1, j) >= at(i, j + 1))) edits.push({ mark: '-', text: before[i++] ?? '' });
    else edits.push({ mark: '+', text: after[j++] ?? '' });
  }
  return edits;
}

/** Groups of changes with three lines around them, under `@@ -first,count +first,count @@`. */
function hunksOf(edits: Edit[]): string[] {
  const near = edits.map((_, at) => edits.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ mark }) => mark !== ' '));
  const hunks: string[] = [];
  let before = 1;
  let after = 1;
  let open: { before: number; after: number; lines: Edit[] } | undefined;
  const close = (): void => {
    if (!open) return;
    const count = (mark: '-' | '+'): number => open?.lines.filter((edit) => edit.mark === ' ' || edit.mark === mark).length ?? 0;
    const from = (start: number, lines: number): string => `${lines === 0 ? start - 1 : start},${lines}`;
    hunks.push(`@@ -${from(open.before, count('-'))} +${from(open.after, count('+'))} @@`, ...open.lines.map(({ mark, text }) => `${mark}${text}`));
    open = undefined;
  };
  for (const [at, edit] of edits.entries()) {
    if (near[at]) (open ??= { before, after, lines: [] }).lines.push(edit);
    else close();
    if (edit.mark !== '+') before++;
    if (edit.mark !== '-') after++;
  }
  close();
  return hunks;
}
