// Finds the fenced blocks of a Markdown page that claim to come from a file (`<!-- file: examples/x.ts -->` on the
// line before the fence), and the blocks of code that claim nothing.

export interface Snippet {
  file: string | undefined;
  language: string;
  code: string;
  line: number;
}

/** Every fenced block of a page, in order; `line` counts from 1. */
export function snippets(markdown: string): Snippet[] {
  const found: Snippet[] = [];
  const lines = markdown.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const fence = /^```\s*(\w*)/.exec(lines[i] ?? '');
    if (!fence) continue;
    let before = i - 1;
    while (before >= 0 && lines[before]?.trim() === '') before--;
    const end = lines.findIndex((line, at) => at > i && line.startsWith('```'));
    const stop = end < 0 ? lines.length : end;
    const file = /^<!--\s*file:\s*(\S+)\s*-->$/.exec(lines[before]?.trim() ?? '')?.[1];
    found.push({ file, language: fence[1] ?? '', code: lines.slice(i + 1, stop).join('\n'), line: i + 1 });
    i = stop;
  }
  return found;
}

/** One sentence for each block of TypeScript, JavaScript or YAML without a file, or with one that does not hold it. */
export function faults(page: string, markdown: string, read: (file: string) => string | undefined): string[] {
  return snippets(markdown).flatMap(({ file, language, code, line }) => {
    if (file === undefined) {
      return /^(ts|typescript|js|javascript|yaml|yml)$/.test(language)
        ? [`${page}:${line}: a snippet of ${language} without <!-- file: ... -->.`] : [];
    }
    const whole = read(file);
    if (!file.startsWith('examples/') || whole === undefined) return [`${page}:${line}: there is no file ${file} under examples/.`];
    return whole.includes(code) ? [] : [`${page}:${line}: ${file} does not contain this snippet.`];
  });
}
