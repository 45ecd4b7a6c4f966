// The same job with a model behind real HTTP: a chat-completions server on this machine. A bad or a missing key fails the run at
// once, with one sentence that names the fix, and is never tried again.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { rulesModel } from '../../src/adapters/models/rules';
import { startChatServer, type ChatServer } from '../../src/testing/chat-server';
import { cli, ROOT, type Cli } from './support/cli';

/** A key that must not be found anywhere; the server repeats it in its refusal, as real ones do. */
const CANARY = 'canary-7f3a91c2';

/** Files under a folder that hold a text: databases, logs, artifacts. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true }).map((name) => path.join(folder, String(name)))
    .filter((file) => statSync(file).isFile() && readFileSync(file).includes(text));
}

let server: ChatServer;
let here: Cli;
beforeAll(async () => {
  server = await startChatServer({ keys: ['good-key'], answers: rulesModel() });
  here = cli();
});
afterAll(async () => {
  await here.stop();
  await server.close();
});

const model = (): Record<string, string> => ({ LONGHAUL_MODEL: `openai-compatible:${server.url}#tiny` });

test('R10.5 with a chat-completions server as its model the job completes, and the model is pinned', async () => {
  const end = await here.demo(['--yes', '--json'], { ...model(), LONGHAUL_MODEL_API_KEY: 'good-key' });
  expect([end.code, end.stderr.slice(-600)]).toEqual([0, expect.anything()]);
  const { runId } = JSON.parse(end.stdout) as { runId: string };
  const events = await here.events(runId);
  expect(events[0]?.data).toMatchObject({ pins: { model: `openai-compatible:${server.url}#tiny` } });
  expect(server.requests.length).toBeGreaterThan(5);
  expect(here.publications()).toHaveLength(1);
  // Its price is in no table: the worker says so once, and so does the doctor.
  expect(readFileSync(path.join(here.stateDir, 'worker.log'), 'utf8').split('LONGHAUL_MODEL_PRICE')).toHaveLength(2);
  const unpriced = await here.run(['doctor'], { ...model(), LONGHAUL_MODEL_API_KEY: 'good-key' });
  expect(unpriced.stdout).toMatch(/note +model: The price of .*#tiny is not known[^\n]*\n +next: export LONGHAUL_MODEL_PRICE/);
  expect((await here.run(['doctor'], { ...model(), LONGHAUL_MODEL_PRICE: '0.1,0.4' })).stdout).toMatch(/ok +model: .*#tiny;/);
});

test('R2.4 with a bad key the run fails within 5 s of a ready worker, with one sentence, exit 3, is not tried again, and the key is found nowhere', async () => {
  server.requests.length = 0;
  const dev = await here.dev({ ...model(), LONGHAUL_MODEL_API_KEY: CANARY });
  const end = await here.run(['run', 'folder-report', '--run-id', 'bad-key', '--input', '{"folder":".","question":"Anything?"}', '--watch']);
  await dev.stop();
  expect([end.code, end.stderr]).toEqual([3, expect.stringContaining('LONGHAUL_MODEL_API_KEY')]);
  expect(end.ms).toBeLessThan(5_000);
  expect(server.requests).toHaveLength(1);
  expect(end.stderr + end.stdout).not.toContain(CANARY);
  expect(filesWith(here.stateDir, CANARY)).toEqual([]);
});

test('with a chosen model and no key the run fails at once and names the variable', async () => {
  const dev = await here.dev({ LONGHAUL_MODEL: 'openai:gpt-5.1' });
  const end = await here.run(['run', 'folder-report', '--run-id', 'no-key', '--input', '{"folder":".","question":"Anything?"}', '--watch']);
  await dev.stop();
  expect([end.code, end.stderr]).toEqual([3, expect.stringContaining('OPENAI_API_KEY')]);
  expect(end.ms).toBeLessThan(5_000);
});

test('a model reads a range of a stored result with read_artifact, which it is offered without being asked for', async () => {
  const results: { artifact?: { sha256: string }; value?: { text: string; to: number; more: boolean } }[] = [];
  const curious = await startChatServer({ answers: ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== 'tool') return { calls: [{ tool: 'inventory', args: {} }] };
    results.push(JSON.parse(String(last.content)));
    return results.length > 1 ? { text: 'Read.' } : { calls: [{ tool: 'read_artifact', args: { sha256: results[0]?.artifact?.sha256 ?? '', from: 1, bytes: 40 } }] };
  } });
  const dev = await here.dev({ LONGHAUL_MODEL: `openai-compatible:${curious.url}#curious` });
  const folder = path.join(ROOT, 'examples', 'folder-report', 'corpus');
  const end = await here.run(['run', 'folder-report', '--run-id', 'reads-on', '--input', JSON.stringify({ folder, question: 'What is here?' }), '--watch']);
  await dev.stop();
  await curious.close();
  expect([end.code, end.stderr]).toEqual([0, expect.stringContaining('completed')]);
  const { stdout } = await here.run(['artifacts', 'cat', results[0]?.artifact?.sha256 ?? '']);
  expect(results[1]?.value).toMatchObject({ from: 1, to: 41, more: true, text: stdout.slice(1, 41) });
});
