// Promises of the client on the real server: a run is accepted before it starts, a message counts once whatever is lost on the way,
// and everything that is read comes from the stores.
import type { ConnectionLike } from '@temporalio/client';
import { createClient, type LonghaulClient } from '../../src/client/client';
import type { ExportLine } from '../../src/client/export';
import { digestOf, sha256Hex, type Json } from '../../src/core/canonical';
import { chainNext, chainStart } from '../../src/core/chain';
import type { RunEvent } from '../../src/core/events';
import { fold } from '../../src/core/evolve';
import { initialState } from '../../src/core/initial';
import type { StartRequest } from '../../src/client/types';
import { KnownSecrets } from '../../src/adapters/secrets/known';
import { workflowIdOf } from '../../src/messages';
import { installRedactor } from '../../src/ports/redaction';
import { ANN, startRig, type Rig } from '../rig/rig';
import { RIG_AGENT } from '../rig/config';
import { embedded } from './store-open';

let rig: Rig;
let client: LonghaulClient;
beforeAll(async () => {
  rig = await startRig();
  await rig.worker();
  client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
}, 120_000);
afterAll(() => rig.stop(), 120_000);

const ASK = { goal: 'Wait for an answer', steps: [{ id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }] };
const STAMP = { goal: 'Stamp', steps: [{ id: 'stamp', title: 'Stamp', action: { type: 'tool', tool: 'stamp', args: { text: 'once' } } }] };
const request = (runId: string, plan: object = ASK, more: Partial<StartRequest> = {}): StartRequest => ({ runId, agent: RIG_AGENT, plan: plan as StartRequest['plan'], owner: ANN, ...more });
const questionOf = (runId: string): Promise<string> => rig.until(runId, (state) => Object.keys(state.questions)[0]);
const from = { actor: ANN };

/** The same connection, with one call of the service replaced. */
function through(name: string, call: (real: (...args: unknown[]) => Promise<unknown>, args: unknown[]) => Promise<unknown>): ConnectionLike {
  const { connection } = rig.client;
  const service = new Proxy(connection.workflowService, {
    get(target, member) {
      const real: unknown = Reflect.get(target, member);
      if (typeof real !== 'function') return real;
      const bound = (real as (...args: unknown[]) => Promise<unknown>).bind(target);
      return member === name ? (...args: unknown[]) => call(bound, args) : bound;
    },
  });
  return new Proxy(connection, { get: (target, member) => {
    if (member === 'workflowService') return service;
    const real: unknown = Reflect.get(target, member);
    return typeof real === 'function' ? (real as (...args: unknown[]) => unknown).bind(target) : real;
  } });
}

const unavailable = (): Error => Object.assign(new Error('14 UNAVAILABLE: no connection'), { code: 14, details: 'no connection' });

test('R1.2 a start that is lost after it was accepted is finished by the same request', async () => {
  const lossy = createClient({ stores: rig.stores, taskQueue: 'rig', connection: through('startWorkflowExecution', () => Promise.reject(unavailable())) });
  await expect(lossy.start(request('lost'))).rejects.toThrow();
  expect(await rig.stores.journal.row('lost')).toMatchObject({ status: 'accepted', version: 0 });
  await expect(client.message('lost', { kind: 'pause', reason: '' }, from)).resolves.toMatchObject({ known: false, state: 'no-execution' });
  expect(await client.start(request('lost'))).toMatchObject({ kind: 'known', runId: 'lost' });
  await questionOf('lost');
});

test('R1.2 without a server nothing is accepted', async () => {
  const away = createClient({ stores: rig.stores, connection: () => Promise.reject(unavailable()) });
  await expect(away.start(request('nothing'))).rejects.toThrow();
  expect(await rig.stores.journal.row('nothing')).toBeNull();
});

test('R1.2 the same id with other agent, input, plan or budget is refused naming each difference; the owner does not matter', async () => {
  await client.start(request('bound', STAMP, { input: { folder: '/a', depth: 1 }, budget: { calls: 5 } }));
  expect(await client.start(request('bound', STAMP, { input: { depth: 1, folder: '/a' }, budget: { calls: 5 }, owner: { ...ANN, id: 'bob' } }))).toMatchObject({ kind: 'known' });
  await client.result('bound');
  const answer = await client.start(request('bound', ASK, { input: { folder: '/b' }, budget: { calls: 6 } }));
  expect(answer).toMatchObject({ kind: 'other-input', runId: 'bound' });
  expect((answer as { differences: { path: string }[] }).differences.map(({ path }) => path)).toEqual(expect.arrayContaining(['budget.calls', 'input.depth', 'input.folder', 'plan.goal']));
  expect(await client.start(request('not a run id'))).toMatchObject({ kind: 'refused' });
  expect(await client.start(request('bound', STAMP, { input: { folder: '/a', depth: 1 }, budget: { calls: 5 } }))).toMatchObject({ kind: 'known', row: { status: 'completed' } });
  expect(rig.effects('bound')).toHaveLength(1);
});

test('R1.2 a run that Temporal knows and the journal does not is refused, and nothing is accepted', async () => {
  await client.start(request('elsewhere'));
  await questionOf('elsewhere');
  const { stores, close } = await embedded();
  const other = createClient({ stores, connection: rig.client.connection, taskQueue: 'rig' });
  expect(await other.start(request('elsewhere'))).toMatchObject({ kind: 'refused', why: expect.stringContaining('accepted in another state folder, or an older copy') });
  expect(await stores.journal.row('elsewhere')).toBeNull();
  expect(await other.start(request('here-only'))).toMatchObject({ kind: 'started' });
  await close();
});

test('sixteen senders at once: all are answered, and at most four Updates are under way', async () => {
  await client.start(request('crowd'));
  await questionOf('crowd');
  let under = 0;
  let most = 0;
  const counted = createClient({ stores: rig.stores, taskQueue: 'rig', connection: through('updateWorkflowExecution', async (real, args) => {
    most = Math.max(most, under += 1);
    try {
      return await real(...args);
    } finally {
      under -= 1;
    }
  }) });
  const answers = await Promise.all(Array.from({ length: 16 }, (_, i) => counted.message('crowd', { kind: 'note', text: { value: `note ${i}` } }, { ...from, messageId: `crowd-${i}` })));
  expect(answers.every((answer) => answer.known && answer.answer.kind === 'done')).toBe(true);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(4);
  const notes = (await rig.events('crowd')).flatMap((event) => (event.type === 'UserMessageReceived' ? [event.data.messageId] : []));
  expect(notes.sort()).toEqual(Array.from({ length: 16 }, (_, i) => `crowd-${i}`).sort());
});

test('I12 a reply that is lost is found in the journal, and the same message id counts once', async () => {
  await client.start(request('deaf'));
  await questionOf('deaf');
  const deaf = createClient({ stores: rig.stores, taskQueue: 'rig', connection: through('updateWorkflowExecution', async (real, args) => {
    await real(...args);
    throw unavailable();
  }) });
  const body = { kind: 'note' as const, text: { value: 'hello' } };
  const first = await deaf.message('deaf', body, { ...from, messageId: 'm-deaf' });
  expect(first).toMatchObject({ known: true, answer: { kind: 'done' } });
  expect(await client.message('deaf', body, { ...from, messageId: 'm-deaf' })).toEqual(first);
  expect(await client.message('deaf', { ...body, text: { value: 'other' } }, { ...from, messageId: 'm-deaf' })).toMatchObject({ known: true, answer: { kind: 'refused' } });
  expect((await rig.types('deaf')).filter((type) => type === 'UserMessageReceived')).toHaveLength(1);
});

test('while no worker runs a message is kept by Temporal, counts once a worker runs, and is answered when asked again', async () => {
  const alone = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'later' });
  const worker = await rig.worker({ taskQueue: 'later' });
  await alone.start(request('later'));
  const questionId = await questionOf('later');
  await worker.kill();
  const body = { kind: 'answer' as const, questionId, answer: { value: 'yes' } };
  expect(await alone.message('later', body, { ...from, messageId: 'm-later' })).toMatchObject({ known: false, state: 'kept' });
  await rig.worker({ taskQueue: 'later' });
  expect((await alone.result('later')).status).toBe('completed');
  expect(await alone.message('later', body, { ...from, messageId: 'm-later' })).toMatchObject({ known: true, answer: { kind: 'done' } });
  expect((await rig.types('later')).filter((type) => type === 'QuestionAnswered')).toHaveLength(1);
}, 90_000);

test('a closed run answers from its row, an unknown one is named, a misshapen message is refused before it is sent', async () => {
  expect(await client.message('bound', { kind: 'pause', reason: '' }, from)).toMatchObject({ known: true, answer: { kind: 'closed', text: expect.stringContaining('completed') } });
  await expect(client.message('nobody', { kind: 'resume' }, from)).rejects.toMatchObject({ code: 'unknown-run' });
  await expect(client.runOf('a-nothing')).rejects.toMatchObject({ code: 'unknown-wait' });
  expect(await client.message('crowd', { kind: 'approve', approvalId: '' }, from)).toMatchObject({ known: true, answer: { kind: 'refused' } });
});

test('I11 a message that refers to what nobody has stored is refused before it is sent; once it is stored the same message counts', async () => {
  const text = 'Mind this too. '.repeat(60);
  const bytes = new TextEncoder().encode(text);
  const ref = { sha256: sha256Hex(bytes), bytes: bytes.byteLength, mediaType: 'text/plain', summary: 'a note' };
  const send = () => client.message('crowd', { kind: 'note', text: { ref } }, { ...from, messageId: 'm-stored' });
  expect(await send()).toMatchObject({ known: true, answer: { kind: 'refused', text: expect.stringContaining(`artifact ${ref.sha256}, which is not in the store`) } });
  await rig.stores.artifacts.write(bytes, ref);
  expect(await send()).toMatchObject({ known: true, answer: { kind: 'done' } });
});

test('R1.3 of two restores at once one wins; messages then reach the new execution', async () => {
  await client.start(request('twice'));
  await questionOf('twice');
  await rig.client.workflow.getHandle(workflowIdOf('twice')).terminate('test');
  const answers = await Promise.all([client.restore('twice'), client.restore('twice')]);
  expect(answers.map(({ kind }) => kind).sort()).toEqual(['refused', 'restored']);
  expect(await client.restore('twice')).toMatchObject({ kind: 'refused', why: expect.stringContaining('Run twice runs; nothing to restore') });
  expect(await client.restore('twice', { force: true })).toMatchObject({ kind: 'restored', epoch: 3 });
  // A restore that was cut short after it had raised the epoch: what runs is fenced, and only another restore leads on.
  await rig.stores.journal.raiseEpoch('twice', 3);
  expect(await client.restore('twice')).toMatchObject({ kind: 'restored', epoch: 5 });
  expect(await client.cancel('twice', 'done', from)).toMatchObject({ known: true, answer: { kind: 'done' } });
  expect((await client.result('twice')).status).toBe('cancelled');
  expect(await client.restore('twice')).toMatchObject({ kind: 'refused' });
});

test('R10.3 watching resumes after the last seen number and ends with the run', async () => {
  await client.start(request('watched'));
  const questionId = await questionOf('watched');
  const seen: RunEvent[] = [];
  for await (const event of client.watch('watched', { idle: (row) => row.status === 'waiting' })) seen.push(event);
  await client.message('watched', { kind: 'answer', questionId, answer: { value: 'so' } }, from);
  for await (const event of client.watch('watched', { after: seen.at(-1)?.seq })) seen.push(event);
  expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, i) => i + 1));
  expect(seen.at(-1)?.type).toBe('RunCompleted');
});

test('an export holds every event with its link in the chain, and a closing line that counts them', async () => {
  const lines: ExportLine[] = [];
  for await (const line of client.export('watched')) lines.push(line);
  const events = lines.filter((line) => line.kind === 'event');
  let chain = chainStart('watched');
  for (const { chain: link, ...line } of lines) expect(link).toBe(chain = chainNext(chain, line));
  expect(lines[0]).toMatchObject({ kind: 'header', runId: 'watched', row: { status: 'completed' }, spec: { agent: RIG_AGENT } });
  expect(lines.at(-1)).toEqual({ kind: 'end', events: events.length, chain });
  const states = events.map((_, i) => digestOf(fold(initialState('watched'), events.slice(0, i + 1).map((line) => line.event))));
  expect(events.map((line) => line.state)).toEqual(states);
  expect(events.map((line) => line.event)).toEqual(await rig.events('watched'));
});

test('R1.2 what is nested too deep to be walked through is refused with a sentence, and nothing is accepted', async () => {
  const deep = JSON.parse(`${'['.repeat(3_000)}${']'.repeat(3_000)}`) as Json;
  expect(await client.start(request('deep', ASK, { input: deep }))).toEqual({ kind: 'refused', why: 'The input is nested too deep: JSON of at most 200 levels is taken.' });
  expect(await rig.stores.journal.row('deep')).toBeNull();
  await client.start(request('called', ASK));
  const waitId = await questionOf('called');
  expect(await client.callback(waitId, { eventId: 'e1', payload: deep }, { actor: ANN })).toMatchObject({ known: true, answer: { kind: 'refused', text: expect.stringContaining('nested too deep') } });
  expect(await client.callback(waitId, { eventId: 'e1', payload: { amount: Infinity } }, { actor: ANN })).toMatchObject({ known: true, answer: { kind: 'refused', text: expect.stringContaining('what JSON cannot carry') } });
});

test('R2.4 what holds the value of a known secret is refused at the doors of the client, before anything is stored', async () => {
  const known = new KnownSecrets();
  known.add('KEY', 'canary-of-the-client-1');
  let learned = 0;
  const careful = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig', secrets: async () => { learned += 1; } });
  const uninstall = installRedactor(known);
  try {
    const why = { kind: 'refused', why: expect.stringContaining('{"$secret": "KEY"}') };
    expect(await careful.start(request('with-secret', ASK, { input: { deep: [encodeURIComponent('?canary-of-the-client-1')] } }))).toEqual(why);
    expect(await careful.start(request('with-secret', { ...ASK, goal: 'canary-of-the-client-1' }))).toEqual(why);
    expect(await careful.start(request('with-secret', ASK, { title: 'canary-of-the-client-1' }))).toEqual(why);
    expect(await rig.stores.journal.row('with-secret')).toBeNull();
    await client.start(request('without-secret'));
    await questionOf('without-secret');
    await expect(careful.message('without-secret', { kind: 'note', text: { value: 'use canary-of-the-client-1' } }, from)).rejects.toMatchObject({ code: 'secret' });
    expect((await rig.types('without-secret')).includes('UserMessageReceived')).toBe(false);
    expect(learned).toBe(4);
  } finally {
    uninstall();
  }
});
