// Promises of the local chat server as the model of a run: what `rules@1` answers in this process, it answers through HTTP,
// and the server is a program of its own that can be started and stopped.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';
import { modelFromEnv } from '../../src/adapters/models/from-env';
import { rulesModel } from '../../src/adapters/models/rules';
import type { ModelAnswer, ModelMessage, ModelPort, ModelToolSpec } from '../../src/ports/model';
import { startChatServer } from '../../src/testing/chat-server';

const tools: ModelToolSpec[] = ['inventory', 'search_text', 'read_chunk', 'propose_plan'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));
const question: ModelMessage[] = [{ role: 'system', text: 'You are a clerk.' }, { role: 'user', text: 'Goal: x\n\nInput (JSON):\n{"question":"How many refunds were there in July?"}' }];
const after: ModelMessage[] = [
  ...question,
  { role: 'assistant', text: '', calls: [{ id: 'c1-1', tool: 'inventory', args: {} }] },
  { role: 'tool', id: 'c1-1', tool: 'inventory', result: { step: 's1', value: { files: [{ path: 'a.md', lines: 3 }] } } },
];

function port(env: Record<string, string>): ModelPort {
  const found = modelFromEnv(env);
  if ('missing' in found) throw new Error(found.missing);
  return found.port;
}

const ask = (model: ModelPort, messages: ModelMessage[]): Promise<ModelAnswer> => model.generate({ messages, tools, maxOutputTokens: 1_000, signal: new AbortController().signal });
const told = ({ text, calls, finish }: ModelAnswer): unknown => ({ text, finish, calls: calls.map(({ tool, args, error }) => ({ tool, args, error })) });

describe('rules@1', () => {
  test('is a model like any other: it calls tools, costs nothing and needs no key', async () => {
    const answer = await ask(port({ LONGHAUL_MODEL: 'rules@1' }), question);
    expect(answer.calls[0]).toMatchObject({ tool: 'inventory' });
    expect(answer.usage).toEqual({ tokens: 0, microUsd: 0 });
  });

  test('answers the same through the local chat server, turn by turn', async () => {
    const server = await startChatServer({ answers: rulesModel() });
    const [here, there] = [port({ LONGHAUL_MODEL: 'rules@1' }), port({ LONGHAUL_MODEL: `openai-compatible:${server.url}#rules` })];
    for (const messages of [question, after]) expect(told(await ask(there, messages))).toEqual(told(await ask(here, messages)));
    expect(server.requests).toHaveLength(2);
    await server.close();
  });
});

test('the local chat server runs as a process, says where it is, and ends when told', async () => {
  const file = path.join(__dirname, '..', '..', 'src', 'testing', 'chat-server.process.ts');
  const jiti = path.join(path.dirname(createRequire(__filename).resolve('jiti/package.json')), 'lib', 'jiti-cli.mjs');
  const child = fork(jiti, [file, '--answers', 'rules'], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], execArgv: [] });
  const [line] = await once(child.stdout ?? child, 'data') as [Buffer];
  const url = String(line).trim();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  expect((await ask(port({ LONGHAUL_MODEL: `openai-compatible:${url}#rules` }), question)).calls[0]).toMatchObject({ tool: 'inventory' });
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(child.exitCode).toBe(0);
});
