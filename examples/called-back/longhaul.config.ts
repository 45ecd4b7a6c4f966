// An agent that has texts translated by an office outside: its tool writes a letter, is done with that, and the translations come
// back one by one, hours later. The letters stand in a file, one line each, so that you can play the office.
import { appendFile, readFile } from 'node:fs/promises';
import { defineAgent, defineConfig, defineTool, pending, tablePolicy, z } from 'longhaul';

const file = (): string => process.env.LETTERS_FILE ?? 'letters.jsonl';
const letters = async (): Promise<{ key: string }[]> => (await readFile(file(), 'utf8').catch(() => '')).split('\n').filter(Boolean).map((line) => JSON.parse(line));

/** One callback for each text; after three days the run goes on with those that came. */
const translations = (texts: string[]) => pending({ expect: texts.length, deadline: '3d', onDeadline: { then: 'continue' } });

export const translate = defineTool({
  name: 'translate', version: '1.0.0', description: 'Have texts translated by the office', effect: 'manual',
  input: z.object({ texts: z.array(z.string()).min(1).max(100) }),
  async execute({ texts }, call) {
    const later = translations(texts);
    const letter = { key: call.key, callBack: `${call.service('callbacks')}/${call.callbackId}`, texts };
    await appendFile(file(), `${JSON.stringify(letter)}\n`);
    return later;
  },
  async lookUp({ key, args }) {
    const sent = (await letters()).some((letter) => letter.key === key);
    return sent ? { found: true, output: translations(args.texts) } : { found: false };
  },
});

export default defineConfig({
  agents: [defineAgent({ name: 'translator', version: '1.0.0', planner: 'declared' })],
  tools: [translate],
  policy: tablePolicy({ name: 'office', rules: [{ name: 'letters-are-free', tool: 'translate', decision: 'allow', why: 'The office is paid by the month.' }] }),
});
