// Forks on the real server: a new run goes on from what another had come to, while that one goes on by itself. Effects are counted
// in the file that the tools write to; the fork's journal is judged as an export, with no store beside it.
import { createClient, type LonghaulClient } from '../../src/client/client';
import type { ForkAnswer, ForkRequest } from '../../src/client/types';
import type { Json } from '../../src/core/canonical';
import { judgeJournal, type ReplayedEvent } from '../../src/cli/verify-journal';
import { workflowIdOf } from '../../src/messages';
import { ANN, startRig, type Rig } from '../rig/rig';

let rig: Rig;
let client: LonghaulClient;
beforeAll(async () => {
  rig = await startRig();
  await rig.worker();
  client = createClient({ stores: rig.stores, connection: rig.client.connection, taskQueue: 'rig' });
}, 120_000);
afterAll(() => rig.stop(), 60_000);

const tool = (id: string, name: string, dependsOn: string[] = [], args: { [key: string]: Json } = { text: id }) => ({ id, title: id, dependsOn, action: { type: 'tool', tool: name, args } });
const ask = (id: string, dependsOn: string[]) => ({ id, title: id, dependsOn, action: { type: 'question', question: `${id}?` } });
const PLAN = { goal: 'Do each thing once', steps: [tool('first', 'stamp'), ask('go', ['first']), tool('second', 'stamp', ['go'])] };
const lines = (runId: string): string[] => rig.effects(runId).map(({ text }) => text);
const fork = async (runId: string, request: Omit<ForkRequest, 'owner'>): Promise<Extract<ForkAnswer, { stands: string[] }>> => {
  const answer = await client.fork(runId, { owner: ANN, ...request });
  if (!('stands' in answer)) throw new Error(answer.why);
  return answer;
};
async function answered(runId: string): Promise<void> {
  const questionId = await rig.until(runId, (state) => Object.keys(state.questions)[0]);
  await rig.send(runId, { kind: 'answer', questionId, answer: { value: 'yes' } });
}

test('R10.2 a fork goes on from its event beside its parent: what was done before is done by neither again, each does its own after', async () => {
  const runId = await rig.run({ plan: PLAN });
  const version = await rig.until(runId, (state) => (Object.keys(state.questions)[0] ? state.version : null));
  const made = await fork(runId, { at: version, runId: 'fork-beside' });
  expect(made).toMatchObject({ kind: 'forked', effects: [expect.stringMatching(/^stamp c\d+ \(first\)$/)], doubts: [], later: [] });
  expect(await fork(runId, { at: version, runId: 'fork-beside' })).toMatchObject({ kind: 'known', runId: 'fork-beside' });
  // Before its own first event the journal is a copy, with what the parent had open.
  const asked = await rig.until('fork-beside', (state) => state.forked && Object.keys(state.questions)[0]);
  expect(asked).not.toBe(await rig.until(runId, (state) => Object.keys(state.questions)[0]));
  for (const id of [runId, 'fork-beside']) await answered(id);
  for (const id of [runId, 'fork-beside']) expect((await rig.end(id)).status).toBe('COMPLETED');
  expect([lines(runId), lines('fork-beside')]).toEqual([['first', 'second'], ['second']]);

  // The journal of the fork stands for itself.
  const events: ReplayedEvent[] = [];
  for await (const line of client.export('fork-beside')) if (line.kind === 'event') events.push(line as ReplayedEvent);
  expect(await judgeJournal({ runId: 'fork-beside', events: (async function* each() { yield* events; })(), checkpoints: [] })).toMatchObject({ ok: true, events: events.length, states: events.length });
  const keys = async (id: string): Promise<string[]> => (await rig.stores.ledger.byRun(id)).map(({ key }) => key);
  expect(new Set([...await keys(runId), ...await keys('fork-beside')]).size).toBe(3);
});

test('R10.2 with a plan of its own, from the middle of a run that is over', async () => {
  const runId = await rig.run({ plan: PLAN });
  await answered(runId);
  await rig.end(runId);
  const events = await rig.events(runId);
  const at = events.find((event) => event.type === 'StepCompleted')!.seq;
  const whole = events.filter((event) => event.at === events[at - 1]!.at).at(-1)!.seq;
  const plan = { goal: 'Otherwise', steps: [tool('first', 'stamp'), tool('other', 'stamp', ['first'], { text: { $from: 'first.text' } })] };
  const made = await fork(runId, { at: whole, runId: 'fork-otherwise', plan });
  expect(made).toMatchObject({ stands: ['first'], later: [expect.stringMatching(/^stamp/)] });
  const { state } = await rig.end('fork-otherwise');
  expect([state.end?.status, lines('fork-otherwise'), state.forked]).toEqual(['completed', ['first'], { runId, at: whole, effects: [expect.stringMatching(/^stamp/)], more: 0 }]);
});

test('R10.2 a call that was under way is asked about, and made under another key once a person has said so', async () => {
  const runId = await rig.run({ plan: { goal: 'One', steps: [tool('only', 'stamp', [], { text: 'slow', before: 3_000, deaf: true })] } });
  const version = await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent' && state.version);
  const made = await fork(runId, { at: version, runId: 'fork-doubt' });
  expect(made.doubts).toMatchObject([{ stepId: 'only', tool: 'stamp', why: 'it was under way' }]);
  const approvalId = await rig.until('fork-doubt', (state) => state.forked && Object.keys(state.approvals)[0]);
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect(lines('fork-doubt')).toEqual([]);
  expect((await client.show('fork-doubt')).row.waits).toMatchObject([{ kind: 'approval', doubt: expect.stringMatching(/^Run .* may have done this by its call /) }]);
  const late = await fork(runId, { at: version, runId: 'fork-late' });
  expect([late.doubts, late.later]).toMatchObject([[{ tool: 'stamp', since: { how: 'done' } }], []]);
  await rig.send('fork-doubt', { kind: 'reject', approvalId, reason: 'the other run has done it' });
  expect([(await rig.end('fork-doubt')).state.end?.outcome, lines('fork-doubt'), lines(runId)]).toEqual(['partial', [], ['slow']]);
});

test('R10.2 a call that was under way is asked about under a new plan too, under any step id, and in a fork of that fork; a fork from before it names it', async () => {
  const slow = { text: 'slow once', before: 4_000, deaf: true };
  const runId = await rig.run({ plan: { goal: 'One', steps: [ask('go', []), tool('only', 'stamp', ['go'], slow)] } });
  const whole = await rig.until(runId, (state) => (Object.keys(state.questions)[0] ? state.version : null));
  await answered(runId);
  const version = await rig.until(runId, (state) => Object.values(state.calls)[0]?.phase === 'sent' && state.version);
  const plan = { goal: 'Again', steps: [tool('renamed', 'stamp', [], slow)] };
  const [made, earlier] = [await fork(runId, { at: version, runId: 'fork-planned', plan }), await fork(runId, { at: whole, runId: 'fork-earlier' })];
  const [doubt] = made.doubts;
  expect([doubt, made.doubts.length]).toMatchObject([{ runId, stepId: 'only', tool: 'stamp', why: 'it was under way' }, 1]);
  expect([earlier.doubts, earlier.later]).toEqual([[], [`stamp ${doubt!.callId} (only), it was under way`]]);
  await client.cancel('fork-earlier', 'seen', { actor: ANN });

  const asking = async (id: string): Promise<number> => rig.until(id, (state) => (state.forked && Object.keys(state.approvals)[0] ? state.version : null));
  const again = await fork('fork-planned', { at: await asking('fork-planned'), runId: 'fork-again', plan: { goal: 'Again', steps: [tool('other', 'stamp', [], slow)] } });
  expect(again.doubts).toEqual([doubt]);
  // Its first events are a copy: the call before them is still that of the run that made it.
  expect((await fork('fork-planned', { at: version, runId: 'fork-copy' })).doubts).toEqual([doubt]);
  await rig.until('fork-copy', (state) => state.forked?.runId === 'fork-planned' && Object.keys(state.approvals)[0]);
  await rig.until('fork-again', (state) => state.forked?.runId === 'fork-planned' && Object.keys(state.approvals)[0]);
  expect((await rig.end(runId)).status).toBe('COMPLETED');
  expect([lines(runId), lines('fork-planned'), lines('fork-again'), lines('fork-copy')]).toEqual([['slow once'], [], [], []]);
  for (const id of ['fork-planned', 'fork-again', 'fork-copy']) {
    const last = (await rig.events(id)).filter((event) => event.type === 'CallPrepared').at(-1);
    expect(last?.data).toMatchObject({ policy: { why: `Run ${runId} may have done this by its call ${doubt!.callId}: it was under way. Find out first.` } });
    await client.cancel(id, 'seen', { actor: ANN });
  }
});

test('what cannot be forked is refused with a sentence: no such event, within a turn, another request under the same id, a plan that does not fit', async () => {
  const runId = await rig.run({ plan: PLAN });
  const version = await rig.until(runId, (state) => (Object.keys(state.questions)[0] ? state.version : null));
  const why = async (request: Omit<ForkRequest, 'owner'>, id = runId): Promise<string> => {
    const answer = await client.fork(id, { owner: ANN, ...request });
    return 'why' in answer ? answer.why : answer.kind;
  };
  expect(await why({ at: 0 })).toMatch(/has the events 1 to \d+: --at takes one/);
  expect(await why({ at: version + 9 })).toMatch(/has the events 1 to \d+: --at takes one/);
  expect(await why({ at: 1 })).toMatch(/Event 1 stands within what one turn has written.*use --at \d+\.$/);
  expect(await why({ at: version, runId: 'bad id' })).toMatch(/cannot be used/);
  expect(await why({ at: version, runId })).toBe(`A fork is a run of its own beside ${runId}: give it another --run-id.`);
  const other = await rig.run({ plan: PLAN });
  expect(await why({ at: version, runId: other })).toMatch(/exists with other input.*Use another --run-id/);
  expect(await why({ at: version, plan: { goal: 'g', steps: [tool('first', 'stamp', [], { text: 'changed' })] } })).toMatch(/Step first is done by then/);
  expect(await why({ at: version, plan: { goal: 'g', steps: [tool('x', 'unheard-of')] } })).toMatch(/unheard-of/);
  await expect(client.fork('nobody', { at: 1, owner: ANN })).rejects.toThrow(/There is no run nobody/);
  await answered(runId);
  const { state } = await rig.end(runId);
  const over = await why({ at: state.version });
  expect(over).toMatch(/No fork can begin after event \d+: the run is over there \(completed\); use --at \d+ /);
  const within = await why({ at: state.version - 1 });
  expect(within).toMatch(/no fork can begin after its last, \d+: the run is over there \(completed\); use --at \d+\.$/);
  const offered = [over, within].map((words) => Number(/use --at (\d+)/.exec(words)?.[1]));
  expect(new Set(offered).size).toBe(1);
  await fork(runId, { at: offered[0]!, runId: 'fork-offered' });
});

test('a fork under an id that Temporal knows and the journal does not is refused, as a start is', async () => {
  const runId = await rig.run({ plan: PLAN });
  const version = await rig.until(runId, (state) => (Object.keys(state.questions)[0] ? state.version : null));
  await rig.client.workflow.start('agentRun', { taskQueue: 'nobody', workflowId: workflowIdOf('fork-elsewhere'), args: [] });
  expect(await client.fork(runId, { owner: ANN, at: version, runId: 'fork-elsewhere' })).toMatchObject({ kind: 'refused', why: expect.stringMatching(/^Temporal knows a run fork-elsewhere, but the journal here does not/) });
  expect(await rig.stores.journal.row('fork-elsewhere')).toBeNull();
  await rig.client.workflow.getHandle(workflowIdOf('fork-elsewhere')).terminate();
});

test('a doubt keeps the name of the run that may have made the call, also when the forks between are purged', async () => {
  const runId = await rig.run({ plan: { goal: 'g', steps: [tool('only', 'stamp', [], { text: 'only', after: 4_000 })] } });
  const at = await rig.until(runId, (state, events) => (events.some(({ type }) => type === 'ToolCallRequested') ? state.version : null));
  await fork(runId, { at, runId: 'chain-1' });
  await fork('chain-1', { at, runId: 'chain-2' });
  await fork('chain-2', { at, runId: 'chain-3' });
  const gone = async (id: string): Promise<void> => {
    await client.cancel(id, 'seen', { actor: ANN });
    await rig.end(id);
    expect(await rig.stores.journal.purge(id)).toMatchObject({ kind: 'purged' });
  };
  await gone('chain-2');
  await gone('chain-1');
  const { doubts, later } = await fork('chain-3', { at, runId: 'chain-4' });
  expect([doubts.map((doubt) => doubt.runId), later]).toEqual([[runId], []]);
  await rig.until('chain-4', (state) => Object.keys(state.approvals)[0]);
  const prepared = (await rig.events('chain-4')).filter((event) => event.type === 'CallPrepared').at(-1);
  expect(prepared?.data).toMatchObject({ policy: { why: `Run ${runId} may have done this by its call c1: it was under way. Find out first.` } });
});
