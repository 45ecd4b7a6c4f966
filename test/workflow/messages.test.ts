// What arrives at a run from outside, on the real server: early, doubled, malformed, misspelt, at the same moment. No message
// poisons a run, and the same decision twice is one decision.
import { LIMITS } from '../../src/core/run';
import { workflowIdOf, MESSAGE } from '../../src/messages';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
beforeAll(async () => { rig = await startRig(); await rig.worker(); }, 120_000);
afterAll(() => rig.stop(), 60_000);

const ASKED = { goal: 'Ask', steps: [{ id: 'asked', title: 'Asked', action: { type: 'tool', tool: 'asked', args: { text: 'go' } } }] };
const handle = (runId: string) => rig.client.workflow.getHandle(workflowIdOf(runId));
const approvalOf = (runId: string) => rig.until(runId, (state) => Object.keys(state.approvals)[0]);
const effects = (runId: string): number => rig.effects(runId).length;

test('I7 R10.8 malformed and misspelt signals are recorded as rejected, and a good one still counts', async () => {
  const runId = await rig.run({ plan: ASKED });
  const approvalId = await approvalOf(runId);
  await handle(runId).signal(MESSAGE, null);
  await handle(runId).signal(MESSAGE, { messageId: 'x', actor: ANN, body: { kind: 'aprove', approvalId } });
  await handle(runId).signal('approve', 'not an object');
  await handle(runId).signal('aprove', { approvalId });
  await rig.until(runId, (_, events) => events.filter((event) => event.type === 'MessageRejected').length === 4);
  expect(effects(runId)).toBe(0);
  const signal = await rig.server.temporalCli(['workflow', 'signal', '-w', workflowIdOf(runId), '--name', 'approve', '--input', JSON.stringify({ approvalId })]);
  expect(signal.code).toBe(0);
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(effects(runId)).toBe(1);
  const granted = (await rig.events(runId)).find((event) => event.type === 'ApprovalGranted');
  expect(granted?.actor).toEqual({ id: 'temporal', via: 'temporal', assurance: 'claimed' });
});

test('B37 null, wrong types, too much and misspelt names leave the run healthy, each visible or refused, and a correct approval works', async () => {
  const runId = await rig.run({ plan: ASKED });
  const approvalId = await approvalOf(runId);
  const good = { messageId: 'good', actor: ANN, body: { kind: 'approve', approvalId } };
  const bent: unknown[] = [
    null, 5, 'approve', [], { ...good, messageId: 7 }, { ...good, messageId: '' }, { ...good, actor: null }, { ...good, actor: { id: 'ann', via: 'cli', assurance: 'trust me' } }, { ...good, body: null },
    { ...good, body: { kind: 'approve' } }, { ...good, body: { kind: 'approve', approvalId: null } }, { ...good, body: { kind: 'aprove', approvalId } }, { ...good, body: { kind: 'approve', approvalId: { $ne: null } } }, { ...good, body: { kind: 'approve', approvalId, grant: { forMs: -1 } } }, { ...good, body: { kind: 'edit', approvalId } }, { ...good, receivedAt: 'now' },
    { ...good, body: { kind: 'edit', approvalId, args: { ref: { sha256: '../../etc/passwd', bytes: 1 } } } }, { ...good, body: { kind: '__proto__' } }, { ...good, body: { kind: 'note', text: { value: 'x'.repeat(70_000) } } },
  ];
  for (const message of bent) await handle(runId).signal(MESSAGE, message);
  await rig.until(runId, (_, events) => events.filter((event) => event.type === 'MessageRejected').length === bent.length);
  for (const [i, message] of bent.entries()) await expect(handle(runId).executeUpdate(MESSAGE, { args: [message], updateId: `bent-${i}` })).rejects.toThrow();
  const large = { ...good, body: { kind: 'note', text: { value: 'x'.repeat(3_000_000) } } };
  await expect(handle(runId).signal(MESSAGE, large)).rejects.toThrow();
  await expect(handle(runId).executeUpdate(MESSAGE, { args: [large], updateId: 'large' })).rejects.toThrow();
  await expect(handle(runId).executeUpdate('aprove', { args: [good], updateId: 'misspelt' })).rejects.toThrow();
  expect(effects(runId)).toBe(0);
  expect(await rig.send(runId, { kind: 'approve', approvalId })).toMatchObject({ kind: 'granted' });
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(effects(runId)).toBe(1);
});

test('an Update of the wrong shape is refused and leaves no trace in history or journal', async () => {
  const runId = await rig.run({ plan: ASKED });
  await approvalOf(runId);
  const before = await rig.types(runId);
  await expect(handle(runId).executeUpdate(MESSAGE, { args: [{ messageId: 'x', actor: ANN, body: { kind: 'approve' } }] })).rejects.toMatchObject({ cause: { message: expect.stringContaining('approve') } });
  expect(await rig.types(runId)).toEqual(before);
  await rig.send(runId, { kind: 'cancel', reason: 'done' });
  await rig.end(runId);
});

test('R6.3 two approvers in one moment: one decision, and the other hears who decided', async () => {
  const runId = await rig.run({ plan: ASKED });
  const approvalId = await approvalOf(runId);
  const answers = await Promise.all(['ann', 'bob'].map((id) => rig.send(runId, { kind: 'approve', approvalId }, { actor: { ...ANN, id } })));
  expect(answers.map((answer) => answer.kind).sort()).toEqual(['already-decided', 'granted']);
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(effects(runId)).toBe(1);
  expect((await rig.types(runId)).filter((type) => type === 'ApprovalGranted')).toHaveLength(1);
});

test('I12 the same message again, as Update and as Signal, answers the same and acts once', async () => {
  const runId = await rig.run({ plan: { goal: 'Wait', steps: [{ id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }] } });
  await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  const body = { kind: 'note' as const, text: { value: 'hello' } };
  const first = await rig.send(runId, body, { messageId: 'same' });
  await handle(runId).signal(MESSAGE, { messageId: 'same', actor: ANN, body });
  await sleep(500);
  const again = await handle(runId).executeUpdate(MESSAGE, { args: [{ messageId: 'same', actor: ANN, body }], updateId: 'another-update-id' });
  expect(again).toEqual(first);
  expect((await rig.types(runId)).filter((type) => type === 'UserMessageReceived')).toHaveLength(1);
  expect(await handle(runId).executeUpdate(MESSAGE, { args: [{ messageId: 'same', actor: ANN, body: { ...body, text: { value: 'other' } } }], updateId: 'third' })).toMatchObject({ kind: 'refused' });
  await rig.send(runId, { kind: 'cancel', reason: 'done' });
  await rig.end(runId);
});

test('a message that arrives before the first workflow task is heard', async () => {
  const runId = await rig.run({ plan: ASKED, taskQueue: 'later' });
  const sent = handle(runId).executeUpdate(MESSAGE, { args: [{ messageId: 'early', actor: ANN, body: { kind: 'note', text: { value: 'early' } } }], updateId: 'early' });
  await handle(runId).signal('cancel', { reason: 'early too' });
  const worker = await rig.worker({ taskQueue: 'later' });
  expect(await sent).toHaveProperty('kind');
  expect((await rig.end(runId)).status).toBe('CANCELLED');
  await worker.kill();
});

test('I12 a message whose answer the state has forgotten is caught by the journal and acts once', async () => {
  const runId = await rig.run({ plan: { goal: 'Wait', steps: [{ id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }] } });
  await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  const count = LIMITS.decisions + 20;
  let next = 0;
  const note = (n: number) => rig.send(runId, { kind: 'note', text: { value: n } }, { messageId: `note-${n}` });
  await Promise.all(Array.from({ length: 8 }, async () => { while (next < count) await note(next += 1); }));
  expect((await rig.state(runId)).remembered.some(({ id }) => id === 'note-1')).toBe(false);
  await handle(runId).signal(MESSAGE, { messageId: 'note-1', actor: ANN, body: { kind: 'note', text: { value: 1 } } });
  expect(await handle(runId).executeUpdate(MESSAGE, { args: [{ messageId: 'note-1', actor: ANN, body: { kind: 'note', text: { value: 1 } } }], updateId: 'again' })).toMatchObject({ kind: 'already-decided' });
  expect((await rig.types(runId)).filter((type) => type === 'UserMessageReceived')).toHaveLength(count);
  await rig.send(runId, { kind: 'cancel', reason: 'done' });
  await rig.end(runId);
});

test('I7 words that look like what they are not: a list of one word decides nothing, and the run is healthy afterwards', async () => {
  const runId = await rig.run({ plan: { goal: 'Doubt', steps: [{ id: 'blind', title: 'Blind', action: { type: 'tool', tool: 'blind', args: { text: 'go', fail: 'unknown' } } }] } });
  const { callId } = await rig.until(runId, (state) => Object.values(state.decisions)[0]);
  await handle(runId).signal(MESSAGE, { messageId: 'list', actor: ANN, body: { kind: 'resolve', callId, verdict: ['happened'], reference: 'x' } });
  expect(await rig.send(runId, { kind: 'resolve', callId, verdict: 'give-up' })).toMatchObject({ kind: 'done' });
  await rig.until(runId, (state) => state.blocked);
  await handle(runId).signal(MESSAGE, { messageId: 'list-2', actor: ANN, body: { kind: 'settle', as: ['partial'] } });
  expect(await rig.send(runId, { kind: 'settle', as: 'fail' })).toMatchObject({ kind: 'done' });
  expect([(await rig.end(runId)).status, (await rig.types(runId)).filter((type) => type === 'MessageRejected')]).toEqual(['FAILED', ['MessageRejected', 'MessageRejected']]);
});

test('I7 a run that fails with half a character in its words ends, and its worker goes on with the others', async () => {
  const other = await rig.run({ plan: ASKED });
  const runId = await rig.run({ plan: { goal: 'Half', steps: [{ id: 'half', title: 'Half', premises: [{ resource: 'thing:half', version: 'was \ud83d' }], action: { type: 'tool', tool: 'stamp', args: { text: 'half' } } }] } });
  await rig.until(runId, (state) => state.blocked);
  await rig.send(runId, { kind: 'settle', as: 'fail' });
  expect((await rig.end(runId)).status).toBe('FAILED');
  await expect(handle(runId).result()).rejects.toMatchObject({ cause: { message: expect.stringContaining('thing:half was was \ufffd') as unknown } });
  await rig.send(other, { kind: 'approve', approvalId: await approvalOf(other) });
  expect((await rig.end(other)).status).toBe('COMPLETED');
});
