// The local chat server as a process of its own: `node chat-server.process.js [--port N] [--script FILE] [--answers NAME]`.
// FILE holds a JSON list of replies (chat-formats.ts). NAME is `rules` for the planner without a model, or a path
// `MODULE#EXPORT` of a function that gives a language model. Prints its base URL as one line; ends on SIGINT and SIGTERM.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import type { Reply } from './chat-formats';
import { startChatServer } from './chat-server';

/** The model is named, not imported: this room knows no adapter, and whoever starts the process composes it. */
async function modelNamed(name: string): Promise<LanguageModelV3> {
  const [file = '', member = 'rulesModel'] = (name === 'rules' ? `${path.join(__dirname, '..', 'adapters', 'models', 'rules')}#rulesModel` : name).split('#');
  const loaded = (await import(path.resolve(file))) as Record<string, () => LanguageModelV3 | Promise<LanguageModelV3>>;
  const make = loaded[member];
  if (!make) throw new Error(`The module ${file} exports no ${member}.`);
  return make();
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { port: { type: 'string' }, script: { type: 'string' }, answers: { type: 'string' } } });
  const server = await startChatServer({
    port: Number(values.port ?? 0),
    ...(values.script === undefined ? {} : { script: JSON.parse(readFileSync(values.script, 'utf8')) as Reply[] }),
    ...(values.answers === undefined ? {} : { answers: await modelNamed(values.answers) }),
  });
  console.log(server.url);
  const stop = (): void => void server.close();
  process.once('SIGINT', stop).once('SIGTERM', stop);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
