// Requests that are kept parsed: read and verified once for as many calls as are made from them, whoever asks at the same time; what cannot be
// read is an error each time, and is read again.
import type { HandsDeps } from '../../src/activities/deps';
import { readRequest } from '../../src/activities/requests';
import { toolCallOf } from '../../src/activities/tool-call';
import { ArtifactError, type ArtifactsPort } from '../../src/ports/artifacts';

/** A store that counts how often each text was read. */
function counted(texts: Record<string, string>): { artifacts: ArtifactsPort; reads: Record<string, number> } {
  const reads: Record<string, number> = {};
  const read = async (sha256: string): Promise<Uint8Array> => {
    reads[sha256] = (reads[sha256] ?? 0) + 1;
    const text = texts[sha256];
    if (text === undefined) throw new ArtifactError('missing', `Artifact ${sha256} is missing.`);
    return Buffer.from(text);
  };
  return { artifacts: { read } as ArtifactsPort, reads };
}

test('a request is read once for a hundred calls at once and a hundred later ones', async () => {
  const { artifacts, reads } = counted({ 'requests-once': '{"input":{"n":1}}' });
  const ask = () => readRequest(artifacts, { sha256: 'requests-once' });
  const answers = await Promise.all(Array.from({ length: 100 }, ask));
  for (let n = 0; n < 100; n += 1) answers.push(await ask());
  expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(new Set(['{"input":{"n":1}}']));
  expect(reads).toEqual({ 'requests-once': 1 });
});

test('one that is missing or no JSON is an error each time, and is found once it is there', async () => {
  const texts: Record<string, string> = { 'requests-broken': '{' };
  const { artifacts } = counted(texts);
  for (let n = 0; n < 2; n += 1) {
    await expect(readRequest(artifacts, { sha256: 'requests-missing' })).rejects.toThrow(ArtifactError);
    await expect(readRequest(artifacts, { sha256: 'requests-broken' })).rejects.toThrow(SyntaxError);
  }
  texts['requests-missing'] = 'null';
  await expect(readRequest(artifacts, { sha256: 'requests-missing' })).resolves.toBeNull();
});

test('more than is kept is let go, the oldest first, and read again', async () => {
  const large = JSON.stringify('x'.repeat(12 * 1024 * 1024));
  const { artifacts, reads } = counted({ 'requests-a': large, 'requests-b': large, 'requests-c': large, 'requests-huge': JSON.stringify('x'.repeat(33 * 1024 * 1024)) });
  for (const name of ['a', 'b', 'c', 'c', 'a', 'huge', 'huge']) await readRequest(artifacts, { sha256: `requests-${name}` });
  expect(reads).toEqual({ 'requests-a': 2, 'requests-b': 1, 'requests-c': 1, 'requests-huge': 2 });
});

test('what a tool writes into the input of its run, no later call gets, also where a secret of it is not set', async () => {
  const { artifacts } = counted({ 'requests-own': '{"input":{"to":{"list":["a"]},"token":{"$secret":"unset"}}}' });
  const deps = { artifacts, secret: () => { throw new Error('not set'); } } as unknown as HandsDeps;
  const input = async () => (await toolCallOf(deps, { runId: 'r', callId: 'c1', attempt: 1, key: 'k', inputRef: { sha256: 'requests-own' }, resourceVersion: null, signal: new AbortController().signal })).input as { to: { list: string[] }; token: Record<string, string> };
  const first = await input();
  first.to.list.push('b');
  first.token['$secret'] = 'another';
  expect(await input()).toEqual({ to: { list: ['a'] }, token: { $secret: 'unset' } });
});
