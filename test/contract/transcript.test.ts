// Promises of what a planning model is told of a long run: the newest turns, read from the end of the journal, and what people
// and the plan said before them. How much is read does not depend on how long the run is.
import type { EventData, EventType, RunEvent } from '../../src/core/events';
import { fold } from '../../src/core/evolve';
import { canonical } from '../../src/core/canonical';
import { initialState } from '../../src/core/initial';
import { NO_USAGE } from '../../src/core/rules/budgets';
import type { StepOutline } from '../../src/core/plan';
import { STATE_VERSION } from '../../src/core/state';
import { RecentEvents } from '../../src/activities/recent-events';
import { StoredAnswers } from '../../src/activities/stored-answers';
import { resultOf } from '../../src/activities/results';
import { readTranscript } from '../../src/activities/read-transcript';
import { MAX_TURNS } from '../../src/activities/transcript';
import { ann, refOf, rowFor } from '../../src/testing/contracts/samples';
import type { StoresUnderTest } from '../../src/testing/contracts/suite';
import { embedded } from './store-open';

let under: StoresUnderTest;
beforeEach(async () => { under = await embedded(); });
afterEach(() => under.close());

const agent = { name: 'clerk', version: '1.0.0', planner: 'model' as const, model: 'm', tools: [], budget: {}, maxParallel: 1, maxRejectedPlans: 3, maxOutputTokens: 1, maxInputTokens: 1 };
const pins = { build: 'b', manifest: refOf('b'), prompts: refOf('b'), policy: refOf('b'), model: 'm', eventSchema: 1 };
const step = (id: string): StepOutline => ({ id, title: id, dependsOn: [], uses: [], action: { type: 'tool', tool: 'look', args: {} } });

/** A run of `turns` turns with a step each; notes of people after the third turn and after the last but one. */
function events(runId: string, turns: number, declared = false): RunEvent[] {
  const all: RunEvent[] = [];
  const add = <T extends EventType>(type: T, data: EventData[T]): void => {
    all.push({ runId, seq: all.length + 1, v: 1, type, at: 1_000 + all.length, causationId: 'c', correlationId: 'run', actor: ann, data } as RunEvent);
  };
  const done = (stepId: string, value: string): void => add('StepCompleted', { stepId, output: { value } });
  add('RunCreated', { epoch: 0, law: 1, agent, pins, budget: {}, owner: ann, seed: 's', inputDigest: 'd', inputRef: refOf('a'), title: 'Look', ledgerIncarnation: 'i' });
  if (declared) {
    add('PlanAccepted', { planVersion: 1, by: 'start', goal: 'A goal', add: [step('first')], drop: [] });
    done('first', 'of the start');
  }
  for (let n = 1; n <= turns; n += 1) {
    add('ModelCallRequested', { callId: `c${n}`, callSeq: n, attempt: 1, purpose: 'plan', reserved: NO_USAGE });
    add('ModelCallSucceeded', { callId: `c${n}`, attempt: 1, usage: NO_USAGE, text: `turn ${n}` });
    add('PlanAccepted', { planVersion: n + 1, by: `c${n}`, goal: '', add: [step(`s${n}`)], drop: [] });
    done(`s${n}`, `result ${n}`);
    if (n === 3 || n === turns - 1) add('UserMessageReceived', { messageId: `m${n}`, text: { value: `note ${n}` }, actor: ann });
  }
  return all;
}

/** Puts the run into the journal, with a checkpoint at each of `at`. */
async function store(all: RunEvent[], at: number[] = []): Promise<void> {
  const { journal, artifacts } = under.stores;
  const [{ runId }] = all as [RunEvent];
  await journal.accept(rowFor(runId));
  const version = all.length;
  await journal.append({ runId, epoch: 0, executionId: 'x1', expectedVersion: 0, events: all, row: rowFor(runId, { status: 'running', version }) });
  for (const upTo of at) {
    const ref = await artifacts.write(Buffer.from(canonical(fold(initialState(runId), all.slice(0, upTo)))), { mediaType: 'application/json', summary: 'state' });
    await journal.saveCheckpoint({ runId, version: upTo, stateVersion: STATE_VERSION, ref, at: 1 });
  }
}

/** What follows version `from`. */
async function append(all: RunEvent[], from: number): Promise<void> {
  const [{ runId }] = all as [RunEvent];
  await under.stores.journal.append({ runId, epoch: 0, executionId: 'x1', expectedVersion: from, events: all.slice(from), row: rowFor(runId, { status: 'running', version: all.length }) });
}

/** The transcript up to a version, and how many events were read for it. */
async function told(runId: string, upTo: number) {
  let read = 0;
  const journal = { ...under.stores.journal, read: async (...asked: Parameters<typeof under.stores.journal.read>) => {
    const page = await under.stores.journal.read(...asked);
    read += page.events.length;
    return page;
  } };
  const { artifacts } = under.stores;
  const sources = { journal, artifacts, log: () => undefined, recent: new RecentEvents(journal), answers: new StoredAnswers(artifacts) };
  const transcript = await readTranscript(sources, runId, upTo);
  return { transcript, sources, read: () => read };
}

test('of a long run the newest turns are told, with the goal, the plan of the start, old notes and the number of turns left out', async () => {
  const all = events('long', 900, true);
  await store(all, [1_200, all.length - 40]);
  const { transcript } = await told('long', all.length);
  expect(transcript.turns.map(({ answer }) => answer.text)).toEqual(Array.from({ length: MAX_TURNS }, (_, i) => `turn ${900 - MAX_TURNS + 1 + i}`));
  expect([transcript.olderTurns, transcript.goal, transcript.created.title]).toEqual([900 - MAX_TURNS, 'A goal', 'Look']);
  expect([transcript.notes, transcript.turns.at(-2)?.notes]).toEqual([['Note from ann: note 3'], ['Note from ann: note 899']]);
  expect(transcript.declared.map(({ id }) => [id, transcript.steps.get(id)])).toEqual([['first', { is: 'done', output: { value: 'of the start' } }]]);
  expect(transcript.steps.get('s900')).toEqual({ is: 'done', output: { value: 'result 900' } });
});

test('the same version tells the same, with checkpoints and without, also one that is older than the newest checkpoint', async () => {
  const [bare, saved] = ['bare', 'saved'].map((runId) => events(runId, 800));
  await store(bare!);
  await store(saved!, [500, 3_000, saved!.length]);
  for (const upTo of [2_049, 2_500, 3_100, bare!.length - 7]) {
    expect((await told('saved', upTo)).transcript).toEqual((await told('bare', upTo)).transcript);
  }
});

test('as much is read at turn 3,000 as at turn 1,000', async () => {
  const all = events('r', 3_000);
  await store(all, [3_990, 11_990]);
  const [early, late] = [await told('r', 4_004), await told('r', 12_002)];
  expect(early.transcript.turns).toHaveLength(MAX_TURNS);
  expect(late.transcript.turns).toHaveLength(MAX_TURNS);
  expect(late.read()).toBeLessThan(early.read() * 1.1);
  expect(late.read()).toBeLessThan(3_000);
});

test('a run of fewer turns than are told is told whole', async () => {
  const all = events('short', 150);
  await store(all);
  const { transcript } = await told('short', all.length);
  expect([transcript.turns.length, transcript.olderTurns, transcript.turns[2]?.notes]).toEqual([150, 0, ['Note from ann: note 3']]);
});

test('the next turn reads what the last one added, and hears of a journal that was put back', async () => {
  const all = events('r', 1_000);
  await store(all.slice(0, 3_990), [3_980]);
  const { sources, read } = await told('r', 3_986);
  const before = read();
  await append(all, 3_990);
  expect((await readTranscript(sources, 'r', 4_000)).turns.at(-1)?.answer.text).toBe('turn 999');
  expect(read() - before).toBeLessThan(100);

  await under.close();
  under = await embedded();
  const other = events('r', 1_000).map((event) => (event.type === 'ModelCallSucceeded' ? { ...event, data: { ...event.data, text: 'otherwise' } } : event.type === 'StepCompleted' ? { ...event, at: event.at + 1 } : event));
  await store(other as RunEvent[], [3_980]);
  const moved = { ...sources, journal: under.stores.journal, recent: Object.assign(sources.recent, { journal: under.stores.journal }) };
  expect((await readTranscript(moved, 'r', 4_002)).turns.at(-1)?.answer.text).toBe('otherwise');
});

test('a step whose call may have been made is told as that, not as one that waits, until it is known or the call is made anew', async () => {
  const all = events('doubt', 1).slice(0, -1);
  const add = (type: EventType, data: object): void => { all.push({ ...all[0], seq: all.length + 1, type, at: 2_000 + all.length, data } as RunEvent); };
  const requested = { callSeq: 2, stepId: 's1', tool: 'look', version: '1.0.0', key: 'k', ledgerIncarnation: 'i', reserved: NO_USAGE };
  add('ToolCallRequested', { ...requested, callId: 'c2', attempt: 1 });
  add('ToolCallUnknown', { callId: 'c2', attempt: 1, why: 'the worker died' });
  const unknown = all.length;
  add('ToolCallRequested', { ...requested, callId: 'c2', attempt: 2 });
  await store(all);
  const note = async (upTo: number) => {
    const { transcript, sources } = await told('doubt', upTo);
    return ((await resultOf(transcript.steps.get('s1'), { inlineBytes: 100, brief: false, readOn: false }, sources.artifacts)) as { note: string }).note;
  };
  expect([await note(unknown - 1), await note(unknown), await note(all.length)]).toEqual([
    expect.stringMatching(/^Not done yet/), expect.stringMatching(/not known whether this was done.*do not make it again/), expect.stringMatching(/^Not done yet/),
  ]);
});
