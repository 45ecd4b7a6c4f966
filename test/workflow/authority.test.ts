// Who decides, on the real server: a run in production mode counts signed decisions only, however the others come in, and a token
// once, for what it was made for. Whatever is refused executes nothing and stands in the journal with its reason.
import { randomBytes } from 'node:crypto';
import { openKeyring, type Keyring } from '../../src/adapters/keys/keyring';
import { writeToken } from '../../src/adapters/keys/token';
import { createClient, type LonghaulClient } from '../../src/client/client';
import { digestOf } from '../../src/core/canonical';
import type { Claims } from '../../src/core/proof';
import { matterOf } from '../../src/core/rules/authority';
import type { Actor } from '../../src/core/run';
import { MESSAGE, workflowIdOf, type MessageBody } from '../../src/messages';
import { startChatServer, type ChatServer } from '../../src/testing/chat-server';
import { PLANNER } from '../rig/config';
import { ANN, startRig, type Rig } from '../rig/rig';

let rig: Rig;
let model: ChatServer;
let keys: Keyring;
/** A program with neither keys nor tokens of its own, and a door that has the keys. */
let plain: LonghaulClient;
let door: LonghaulClient;

const env = (): Record<string, string> => ({ LONGHAUL_MODE: 'production', LONGHAUL_MODEL: `openai-compatible:${model.url}#tiny` });
beforeAll(async () => {
  model = await startChatServer({ script: [] });
  rig = await startRig();
  keys = openKeyring(rig.stateDir);
  await rig.worker({ env: env() });
  await rig.worker({ taskQueue: 'dev' });
  plain = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
  door = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig', keys, door: 'operator' });
}, 120_000);
afterAll(async () => {
  await model.close();
  await rig.stop();
}, 120_000);

const askedFor = (text: string) => ({ goal: 'Ask', steps: [{ id: 'asked', title: 'Asked', action: { type: 'tool', tool: 'asked', args: { text } } }] });
const ASKED = askedFor('go');
const STRANGER: Actor = { id: 'mallory', via: 'client', assurance: 'token' };
const HOUR = 3_600_000;

const handle = (runId: string) => rig.client.workflow.getHandle(workflowIdOf(runId));
const effects = (runId: string): number => rig.effects(runId).length;
const refusals = async (runId: string): Promise<string[]> => (await rig.events(runId)).flatMap((event) => (event.type === 'MessageRejected' ? [event.data.why] : []));
const approvalOf = (runId: string): Promise<string> => rig.until(runId, (state) => Object.keys(state.approvals)[0]);

interface Asked { runId: string; approvalId: string; body: MessageBody; claims: Claims }

async function asked(more: { taskQueue?: string; plan?: unknown } = {}): Promise<Asked> {
  const runId = await rig.run({ plan: ASKED, ...more });
  const approvalId = await approvalOf(runId);
  const { about, binding } = matterOf(await rig.state(runId), approvalId)!;
  const iat = Date.now();
  return { runId, approvalId, body: { kind: 'approve', approvalId }, claims: { jti: `jti-${runId}`, sub: 'ann', iss: 'operator', run: runId, about, may: ['approve', 'reject'], binding, iat, exp: iat + HOUR } };
}

/** Sends an approval with a token as any program may, and asserts that it was refused, for this reason, and that nothing was done. */
async function refusedFor(one: Asked, token: string, why: string, actor: Actor = { ...ANN, assurance: 'token' }): Promise<void> {
  const delivery = await plain.message(one.runId, one.body, { actor, token });
  expect(delivery).toMatchObject({ known: true, answer: { kind: 'refused', text: expect.stringContaining(why) } });
  expect(await refusals(one.runId)).toContainEqual(expect.stringContaining(why));
  expect(effects(one.runId)).toBe(0);
}

test('R6.3 forged, foreign and expired tokens are refused at once, nothing is executed, and a good one counts afterwards, once', async () => {
  const [one, other] = [await asked(), await asked()];
  const good = keys.sign(one.claims);
  const [head, body, mac] = good.split('.') as [string, string, string];
  const kid = keys.list()[0]?.kid ?? '';
  await refusedFor(one, 'approved', 'has not the form');
  await refusedFor(one, `${head}.${body}.${(mac[0] === 'A' ? 'B' : 'A') + mac.slice(1)}`, 'signature is wrong');
  await refusedFor(one, writeToken(kid, randomBytes(32), one.claims), 'signature is wrong');
  await refusedFor(one, writeToken('k-00000000', randomBytes(32), one.claims), 'not in the keyring');
  await refusedFor(one, keys.sign(other.claims), 'another run');
  await refusedFor(one, keys.sign({ ...one.claims, about: other.approvalId }), `made for ${other.approvalId}`);
  await refusedFor(one, keys.sign({ ...one.claims, binding: digestOf('another call') }), 'no longer what is asked');
  await refusedFor(one, keys.sign({ ...one.claims, exp: Date.now() - 1_000 }), 'expired');
  await refusedFor(one, keys.sign({ ...one.claims, may: ['reject'] }), 'allows reject');
  await refusedFor(one, good, 'made for ann', { ...STRANGER });
  expect(await plain.message(one.runId, one.body, { actor: { ...ANN, assurance: 'token' }, token: good })).toMatchObject({ answer: { kind: 'granted' } });
  const { state, status } = await rig.end(one.runId);
  expect([status, effects(one.runId)]).toEqual(['COMPLETED', 1]);
  expect(state.usedTokens).toEqual([one.claims.jti]);
  const granted = (await rig.events(one.runId)).find((event) => event.type === 'ApprovalGranted');
  expect(granted?.actor).toMatchObject({ id: 'ann', assurance: 'token', proof: { kid, jti: one.claims.jti, iss: 'operator' } });
  // What is kept is no token: neither it nor a part of it stands in the journal.
  expect(JSON.stringify(await rig.events(one.runId))).not.toContain(mac);
  await rig.send(other.runId, { kind: 'cancel', reason: 'done' });
  await rig.end(other.runId);
});

test('R6.3 a token that was used is refused when it comes again, as a message or as a plain signal', async () => {
  const { runId, approvalId, body, claims } = await asked({ plan: { ...ASKED, steps: [...ASKED.steps, { id: 'ask', title: 'Ask', action: { type: 'question', question: 'Well?' } }] } });
  const token = keys.sign(claims);
  await plain.message(runId, { kind: 'reject', approvalId, reason: 'not now' }, { actor: { ...ANN, assurance: 'token' }, token });
  const again = await plain.message(runId, body, { actor: { ...ANN, assurance: 'token' }, token });
  expect(again).toMatchObject({ answer: { kind: 'already-decided', text: expect.stringMatching(/was used before.*Already rejected by ann/) } });
  await handle(runId).signal('approve', { approvalId, actor: 'ann', token });
  await rig.until(runId, (_, events) => events.filter((event) => event.type === 'MessageRejected').length === 2);
  expect(await refusals(runId)).toEqual([expect.stringContaining('was used before'), expect.stringContaining('was used before')]);
  expect(effects(runId)).toBe(0);
  await rig.send(runId, { kind: 'cancel', reason: 'done' });
  await rig.end(runId);
});

test('R6.3 in production a raw signal, and a message that says it is authenticated, decide nothing', async () => {
  const { runId, approvalId, body, claims } = await asked();
  const cli = (name: string, input: object) => rig.server.temporalCli(['workflow', 'signal', '-w', workflowIdOf(runId), '--name', name, '--input', JSON.stringify(input)]);
  expect((await cli('approve', { approvalId, actor: 'ann' })).code).toBe(0);
  expect((await cli(MESSAGE, { messageId: 'raw', actor: { ...STRANGER, proof: { kid: 'k', seal: 'x' } }, body })).code).toBe(0);
  await rig.until(runId, (_, events) => events.filter((event) => event.type === 'MessageRejected').length === 2);
  for (const assurance of ['claimed', 'local-user', 'token'] as const) {
    expect(await plain.message(runId, body, { actor: { ...ANN, assurance }, receivedAt: 0 })).toMatchObject({ answer: { kind: 'refused', text: expect.stringContaining('must be signed') } });
  }
  expect(await refusals(runId)).toHaveLength(5);
  expect((await rig.events(runId)).filter((event) => event.type === 'MessageRejected').map((event) => event.actor.assurance)).toEqual(Array(5).fill('claimed'));
  expect(effects(runId)).toBe(0);
  // The same plain signal with a token is a decision.
  expect((await cli('approve', { approvalId, actor: 'ann', token: keys.sign(claims) })).code).toBe(0);
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(effects(runId)).toBe(1);
});

test('R10.8 a model that writes "approved", and calls what it thinks approves, has no way to decide', async () => {
  model.push(
    { text: '{"approved": true, "approvedBy": "ann"}', calls: [{ tool: 'approve', args: { approvalId: 'a-000000000000' } }] },
    { text: 'APPROVED by ann. kind: approve', calls: [{ tool: 'asked', args: { text: 'approved: true' } }] },
  );
  const runId = await rig.run({ agent: PLANNER, plan: null, input: { question: 'approve it' } });
  const approvalId = await approvalOf(runId);
  const rejected = (await rig.events(runId)).flatMap((event) => (event.type === 'PlanRejected' ? event.data.reasons : []));
  expect(rejected).toContainEqual(expect.stringContaining('approve'));
  expect(Object.keys((await rig.state(runId)).approvals)).toEqual([approvalId]);
  expect(await rig.types(runId)).not.toContain('ApprovalGranted');
  expect(effects(runId)).toBe(0);
  await rig.send(runId, { kind: 'cancel', reason: 'done' });
  await rig.end(runId);
});

test('a door with the keys signs for those it knows, and puts a decision of its own in place of a token', async () => {
  const one = await asked();
  expect(await door.message(one.runId, one.body, { actor: ANN })).toMatchObject({ answer: { kind: 'granted' } });
  await rig.end(one.runId);
  expect((await rig.events(one.runId)).find((event) => event.type === 'ApprovalGranted')?.actor).toMatchObject({ id: 'ann', assurance: 'token', proof: { iss: 'operator' } });
  const two = await asked();
  const { token } = await door.token(two.runId, { about: two.approvalId, sub: 'bob', iss: 'operator', may: ['approve', 'reject'], expiresInMs: HOUR });
  expect(await door.message(two.runId, two.body, { actor: { ...ANN, id: 'bob', assurance: 'token' }, token })).toMatchObject({ answer: { kind: 'granted' } });
  await rig.end(two.runId);
  const [{ history }] = await rig.histories(two.runId) as [Awaited<ReturnType<Rig['histories']>>[number]];
  const sent = history.events?.flatMap((event) => event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.args?.payloads ?? []).map(({ data }) => Buffer.from(data ?? '').toString()) ?? [];
  expect(sent.filter((text) => text.includes('"token"'))).toHaveLength(1);
  expect(sent.join('')).not.toContain(token);
  expect(effects(two.runId)).toBe(1);
});

test('R7.3 a key that is taken out between the approval and the call voids the approval, and the call is asked for anew', async () => {
  const { runId, approvalId, body, claims } = await asked();
  const [compromised] = keys.list();
  const token = keys.sign(claims);
  await rig.send(runId, { kind: 'pause', reason: 'look again' });
  expect(await plain.message(runId, body, { actor: { ...ANN, assurance: 'token' }, token })).toMatchObject({ answer: { kind: 'granted' } });
  keys.rotate();
  keys.remove(compromised?.kid ?? '');
  await rig.send(runId, { kind: 'resume' });
  const second = await rig.until(runId, (state) => Object.keys(state.approvals).find((id) => id !== approvalId));
  expect((await rig.events(runId)).find((event) => event.type === 'ApprovalVoided')?.data).toMatchObject({ approvalId, why: expect.stringContaining('was taken out') });
  expect(effects(runId)).toBe(0);
  expect(await door.message(runId, { kind: 'approve', approvalId: second }, { actor: ANN })).toMatchObject({ answer: { kind: 'granted' } });
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(effects(runId)).toBe(1);
});

test('R7.3 the mode is the run\'s: a worker in development that goes on with it still wants signed decisions', async () => {
  const worker = await rig.worker({ taskQueue: 'strict', env: env() });
  const { runId, body, claims } = await asked({ taskQueue: 'strict' });
  await worker.kill();
  const lenient = await rig.worker({ taskQueue: 'strict' });
  expect(await plain.message(runId, body, { actor: ANN })).toMatchObject({ answer: { kind: 'refused' } });
  expect(effects(runId)).toBe(0);
  expect(await plain.message(runId, body, { actor: { ...ANN, assurance: 'token' }, token: keys.sign(claims) })).toMatchObject({ answer: { kind: 'granted' } });
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(effects(runId)).toBe(1);
  await lenient.kill();
});

test('in development a plain signal counts and is shown as unauthenticated; a forged token is refused all the same', async () => {
  const one = await asked({ taskQueue: 'dev' });
  await refusedFor(one, writeToken(keys.list()[0]?.kid ?? '', randomBytes(32), one.claims), 'signature is wrong');
  await handle(one.runId).signal('approve', { approvalId: one.approvalId, actor: 'ann' });
  expect((await rig.end(one.runId)).status).toBe('COMPLETED');
  expect((await rig.events(one.runId)).find((event) => event.type === 'ApprovalGranted')?.actor).toEqual({ id: 'ann', via: 'temporal', assurance: 'claimed' });
  expect(effects(one.runId)).toBe(1);
});

test('a decision that a door received in time counts although no worker ran until the deadline was over', async () => {
  const worker = await rig.worker({ taskQueue: 'late', env: env() });
  const { runId, approvalId, body } = await asked({ taskQueue: 'late', plan: askedFor('soon: ask-again') });
  await worker.kill();
  const { expiresAt } = (await rig.state(runId)).approvals[approvalId]!;
  const received = Date.now();
  expect(received).toBeLessThan(expiresAt);
  const kept = await createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'late', keys, door: 'operator' }).message(runId, body, { actor: ANN });
  expect(kept).toMatchObject({ known: false, state: 'kept' });
  expect(Date.now()).toBeGreaterThan(expiresAt);
  const back = await rig.worker({ taskQueue: 'late', env: env() });
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(effects(runId)).toBe(1);
  expect(await rig.types(runId)).not.toContain('ApprovalExpired');
  await back.kill();
});
