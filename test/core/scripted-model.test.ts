// Promises of the scripted model that longhaul/testing gives to users.
import { ModelError, type ModelRequest } from '../../src/ports/model';
import { callTo, scriptedModel } from '../../src/testing/scripted-model';

const ask = (text = 'go'): ModelRequest => ({ messages: [{ role: 'user', text }], tools: [], maxOutputTokens: 100, signal: new AbortController().signal });

test('answers come in their turn, with calls that have ids and usage that counts', async () => {
  const model = scriptedModel('script:two', [{ calls: [callTo('read', { path: 'a' })], tokens: 7 }, { text: 'done' }]);
  expect(await model.generate(ask())).toEqual({ text: '', finish: 'tool-calls', usage: { tokens: 7, microUsd: 0 }, calls: [{ id: 'script-1-1', tool: 'read', args: { path: 'a' } }] });
  expect(await model.generate(ask())).toMatchObject({ text: 'done', finish: 'stop', calls: [] });
  expect(model.left()).toBe(0);
  expect(model.asked).toHaveLength(2);
});

test('an answer with a condition waits for the request that fits', async () => {
  const model = scriptedModel('script:when', [{ when: ({ messages }) => JSON.stringify(messages).includes('refund'), text: 'about refunds' }, { text: 'other' }]);
  expect((await model.generate(ask('hello'))).text).toBe('other');
  expect((await model.generate(ask('refund?'))).text).toBe('about refunds');
});

test('a scripted failure is thrown as the port says, and a script that is over says so by name', async () => {
  const model = scriptedModel('script:bad', [{ fails: { class: 'rate-limited', code: '429', message: 'slow down', retryAfterMs: 5 } }]);
  const error = await model.generate(ask()).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ModelError);
  expect((error as ModelError).failure).toMatchObject({ class: 'rate-limited', retryAfterMs: 5 });
  await expect(model.generate(ask())).rejects.toThrow('The script of script:bad has no answer for request 2; add one.');
});

test('an answer that may be taken always does not run out', async () => {
  const model = scriptedModel('script:always', [{ text: 'again', always: true }]);
  for (let i = 0; i < 3; i += 1) expect((await model.generate(ask())).text).toBe('again');
});
