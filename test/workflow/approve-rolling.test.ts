// Approvals at the very moment at which a run continues as new: it rolls when it has asked and before it waits, and is told at many
// offsets around that, by two people through their own clients. Each decision counts once, each of them hears an answer in the end.
import { createClient, type LonghaulClient } from '../../src/client/client';
import type { MessageBody } from '../../src/messages';
import { ANN, sleep, startRig, type Rig } from '../rig/rig';

let rig: Rig;
let people: [string, LonghaulClient][];
beforeAll(async () => {
  rig = await startRig();
  await rig.worker({ limits: { softEvents: 200, hardEvents: 1_000, hardUpdates: 400, waitEvents: 10 } });
  people = ['ann', 'bob'].map((id) => [id, createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' })]);
}, 120_000);
afterAll(() => rig.stop(), 120_000);

const step = (id: string, tool: string, dependsOn: string[] = []) => ({ id, title: id, dependsOn, action: { type: 'tool', tool, args: { text: id } } });
const PLAN = { goal: 'Ask, then roll', steps: [step('look', 'look'), step('go', 'asked', ['look']), step('then', 'stamp', ['go'])] };

/** What a person hears through the client, which is asked again under the same id while nothing is known. */
async function heard([id, client]: [string, LonghaulClient], runId: string, body: MessageBody): Promise<string> {
  for (const until = Date.now() + 60_000; Date.now() < until;) {
    const delivery = await client.message(runId, body, { actor: { ...ANN, id }, messageId: `${runId}-${id}` });
    if (delivery.known) return delivery.answer.kind;
  }
  return 'nothing';
}

/** Runs at once, and how often; two hundred offsets in all with LONGHAUL_EXHAUSTIVE=1. */
const AT_ONCE = 20;
const ROUNDS = process.env['LONGHAUL_EXHAUSTIVE'] ? 10 : 1;

/** ms from the roll-over that was nearest to the decision to the decision itself. */
async function fromRoll(runId: string): Promise<number> {
  const at = (await rig.events(runId)).find(({ type }) => type === 'ApprovalGranted')?.at ?? 0;
  const begun = (await rig.histories(runId)).slice(1).map(({ history }) => Number(history.events?.[0]?.eventTime?.seconds) * 1_000 + Number(history.events?.[0]?.eventTime?.nanos) / 1e6);
  return begun.map((start) => Math.round(at - start)).sort((a, b) => Math.abs(a) - Math.abs(b))[0] ?? NaN;
}

test('B34 approvals at many moments around the roll-over: each decision counts once, and each of two people hears granted or already decided', async () => {
  const offsets: number[] = [];
  const onBothSides = (): boolean => offsets.some((ms) => ms < 0) && offsets.some((ms) => ms > 0);
  // A slow machine rolls later: then the offsets are spread wider, until some are before and some after.
  for (let round = 0; round < ROUNDS || (!onBothSides() && round < ROUNDS + 3); round += 1) {
    const apart = 80 * 2 ** Math.max(0, round - ROUNDS + 1);
    const ids = await Promise.all(Array.from({ length: AT_ONCE }, () => rig.run({ plan: PLAN })));
    offsets.push(...await Promise.all(ids.map(async (runId, i) => {
      const approvalId = await rig.until(runId, (state) => Object.keys(state.approvals)[0]);
      await sleep(i * apart + (round * 80) / ROUNDS);
      const answers = await Promise.all(people.map((one) => heard(one, runId, { kind: 'approve', approvalId })));
      expect([runId, answers.filter((kind) => kind === 'granted'), answers.filter((kind) => !['granted', 'already-decided', 'closed'].includes(kind))]).toEqual([runId, ['granted'], []]);
      const { status, state } = await rig.end(runId);
      expect([status, state.end?.outcome, rig.effects(runId).map(({ text }) => text)]).toEqual(['COMPLETED', 'full', ['go', 'then']]);
      expect((await rig.types(runId)).filter((type) => type === 'ApprovalGranted')).toHaveLength(1);
      return fromRoll(runId);
    })));
  }
  process.stderr.write(`ms from the roll-over to the decision: ${offsets.sort((a, b) => a - b).join(' ')}\n`);
  expect(onBothSides()).toBe(true);
}, 240_000);
