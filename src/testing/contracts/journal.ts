// Contract suite of the journal port: run it against any store to know that the conductor may trust it.
// One process here; several processes, kills and locks stand in journal-processes.
import { strict as assert } from 'node:assert';
import type { RunEvent } from '../../core/events';
import type { AppendAnswer, JournalPort } from '../../ports/journal';
import { TAIL_BYTES } from '../../ports/journal';
import { journalCopies } from './journal-copies';
import { journalBetweenProcesses } from './journal-processes';
import { batchOf, messageAt, refOf, rowFor, waitOn } from './samples';
import { rejects, same, suite } from './suite';
import type { OpenForTest, Promised } from './suite';

/** Registers the suite. `open` makes a fresh, empty store for each test. */
export function journalContract(name: string, open: OpenForTest): void {
  suite(`${name}: runs are accepted before any work`, open, accepting);
  suite(`${name}: append`, open, appending);
  suite(`${name}: the runs row, waits and checkpoints`, open, rows);
  journalCopies(name, open);
  journalBetweenProcesses(name, open);
}

const kindOf = ({ kind }: { kind: string }): string => kind;
const allOf = async (journal: JournalPort, runId: string): Promise<number[]> => (await journal.exportRows(runId, 0, 10_000)).map(({ event }) => event.seq);

const accepting: Promised = {
  'a run is accepted once; the same input again is known; another input is told apart; the ledger of that moment is noted': async ({ stores: { journal, ledger } }) => {
    const row = { ...rowFor('r1'), ledgerIncarnation: await ledger.incarnation() };
    same(await journal.accept(rowFor('r1')), { kind: 'accepted' });
    same(await journal.accept(rowFor('r1', { title: 'again', createdAt: 5_000 })), { kind: 'known', row });
    same(await journal.accept(rowFor('r1', { inputDigest: 'other' })), { kind: 'other-input', row });
    same(await journal.head('r1'), { epoch: 0, version: 0, executionId: null });
  },
  'an accepted run is there after a restart, and an unknown one is null': async ({ stores: { journal }, again }) => {
    await journal.accept(rowFor('r1'));
    const other = await again();
    same(await other.journal.row('r1'), { ...rowFor('r1'), ledgerIncarnation: await other.ledger.incarnation() });
    same(await other.journal.row('r2'), null);
    same(await other.journal.head('r2'), null);
    await other.close();
  },
  'two that accept one id at once get one accepted and one known': async ({ stores: { journal } }) => {
    const kinds = (await Promise.all([journal.accept(rowFor('r1')), journal.accept(rowFor('r1'))])).map(kindOf);
    same(kinds.sort(), ['accepted', 'known']);
  },
};

const appending: Promised = {
  'a batch that follows the head is appended, read back as it was, and moves the head': async ({ stores: { journal } }) => {
    await journal.accept(rowFor('r1'));
    const batch = batchOf('r1', 0, 3);
    same(await journal.append(batch), { kind: 'appended', version: 3 });
    same(await journal.read('r1', 0), { events: batch.events, more: false });
    same(await journal.read('r1', 2), { events: batch.events.slice(2), more: false });
    same(await journal.read('r1', 0, 2), { events: batch.events.slice(0, 2), more: true });
    same(await journal.head('r1'), { epoch: 0, version: 3, executionId: 'x1' });
  },
  'I10 the same execution that lost its task gets the journal back, also when only times differ': async ({ stores: { journal } }) => {
    await journal.accept(rowFor('r1'));
    const first = batchOf('r1', 0, 2);
    await journal.append(first);
    const later = batchOf('r1', 0, 2);
    later.events.forEach((event) => { event.at += 5_000; });
    same(await journal.append(later), { kind: 'diverged', tail: first.events, more: false });
    same(await allOf(journal, 'r1'), [1, 2]);
  },
  'a long tail comes in pages of at most TAIL_BYTES that join without a gap': async ({ stores: { journal } }) => {
    await journal.accept(rowFor('r1'));
    for (let version = 0; version < 60; version += 20) await journal.append(batchOf('r1', version, 20, { text: 'é'.repeat(4_000) }));
    const seen: number[] = [];
    for (let more = true; more;) {
      const answer: AppendAnswer = await journal.append(batchOf('r1', seen.length, 1));
      assert.equal(answer.kind, 'diverged');
      if (answer.kind !== 'diverged') return;
      assert.ok(answer.tail.reduce((bytes, event) => bytes + Buffer.byteLength(JSON.stringify(event)), 0) <= TAIL_BYTES);
      seen.push(...answer.tail.map(({ seq }) => seq));
      more = answer.more;
    }
    same(seen, Array.from({ length: 60 }, (_, index) => index + 1));
  },
  'an event larger than a page is a page of its own': async ({ stores: { journal } }) => {
    await journal.accept(rowFor('r1'));
    await journal.append({ ...batchOf('r1', 0, 3), events: [messageAt('r1', 1), messageAt('r1', 2, 'x'.repeat(2 * TAIL_BYTES)), messageAt('r1', 3)] });
    const pages = [0, 1, 2].map(async (after) => { const { events, more } = await journal.read('r1', after); return [events.map(({ seq }) => seq), more]; });
    same(await Promise.all(pages), [[[1], true], [[2], true], [[3], false]]);
  },
  'one event of another execution in the tail means behind, wherever it stands': async ({ stores: { journal } }) => {
    await journal.accept(rowFor('r1'));
    await journal.append(batchOf('r1', 0, 2));
    await journal.append(batchOf('r1', 2, 1, { executionId: 'x2' }));
    same(await journal.append(batchOf('r1', 2, 1)), { kind: 'behind' });
    same(await journal.append(batchOf('r1', 0, 1)), { kind: 'behind' });
    await journal.append(batchOf('r1', 3, 1));
    same(await journal.append(batchOf('r1', 0, 1)), { kind: 'behind' });
    same((await journal.append(batchOf('r1', 3, 1))).kind, 'diverged');
  },
  'an idempotency key that is in already is answered by its position, and nothing of the batch is kept': async ({ stores: { journal } }) => {
    await journal.accept(rowFor('r1'));
    await journal.append({ ...batchOf('r1', 0, 1), events: [messageAt('r1', 1, 'a', 'msg:m1')] });
    const events = [messageAt('r1', 2, 'b', 'msg:m2'), messageAt('r1', 3, 'a', 'msg:m1')];
    same(await journal.append({ ...batchOf('r1', 1, 2), events }), { kind: 'duplicate', hits: [{ idempotencyKey: 'msg:m1', seq: 1 }] });
    same(await allOf(journal, 'r1'), [1]);
    same((await journal.row('r1'))?.version, 1);
    same((await journal.append({ ...batchOf('r1', 1, 1), events: [messageAt('r1', 2, 'b', 'msg:m2')] })).kind, 'appended');
  },
  'the same idempotency key in another run is no duplicate': async ({ stores: { journal } }) => {
    for (const runId of ['r1', 'r2']) {
      await journal.accept(rowFor(runId));
      same((await journal.append({ ...batchOf(runId, 0, 1), events: [messageAt(runId, 1, 'a', 'msg:m1')] })).kind, 'appended');
    }
  },
  'the epoch is raised by compare-and-set, and an older epoch is fenced, whatever version it expects': async ({ stores: { journal } }) => {
    await journal.accept(rowFor('r1'));
    await journal.append(batchOf('r1', 0, 2));
    same(await journal.raiseEpoch('r1', 0), { epoch: 1, raised: true });
    same(await journal.raiseEpoch('r1', 0), { epoch: 1, raised: false });
    for (const version of [0, 2]) same(await journal.append(batchOf('r1', version, 1)), { kind: 'fenced', epoch: 1 });
    same(await journal.append(batchOf('r1', 2, 1, { epoch: 1, executionId: 'x2' })), { kind: 'appended', version: 3 });
    same((await journal.row('r1'))?.epoch, 1);
    same((await journal.exportRows('r1', 1, 10)).map(({ event, epoch, executionId }) => [event.seq, epoch, executionId]), [[2, 0, 'x1'], [3, 1, 'x2']]);
  },
  'what only a defect can ask for is refused with a sentence and keeps nothing': async ({ stores: { journal } }) => {
    await rejects(journal.append(batchOf('r1', 0, 1)), /never accepted/);
    await rejects(journal.raiseEpoch('r1', 0), /never accepted/);
    await journal.accept(rowFor('r1'));
    await rejects(journal.append(batchOf('r1', 4, 1)), /ends at 0.*older copy/);
    await rejects(journal.append(batchOf('r1', 0, 1, { epoch: 3 })), /epoch 0/);
    await rejects(journal.append({ ...batchOf('r1', 0, 1), events: [messageAt('r1', 2)] }), /must be r1#1/);
    await rejects(journal.append({ ...batchOf('r1', 0, 1), events: [messageAt('r2', 1)] }), /must be r1#1/);
    await rejects(journal.append({ ...batchOf('r1', 0, 2), events: [messageAt('r1', 1, 'a', 'k'), messageAt('r1', 2, 'b', 'k')] }), /stands twice/);
    same(await journal.read('r1', 0), { events: [], more: false });
  },
  'a batch that fails half-way leaves nothing, and what is committed with it stays': async ({ stores: { journal } }) => {
    for (const runId of ['r1', 'r2', 'r3']) await journal.accept(rowFor(runId));
    const broken = { ...batchOf('r2', 0, 2), events: [messageAt('r2', 1), { ...messageAt('r2', 2), at: Number.NaN }] };
    const asked = [journal.append(batchOf('r1', 0, 1)), journal.append(broken), journal.append(batchOf('r3', 0, 1))];
    same((await Promise.allSettled(asked)).map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled']);
    same(await Promise.all(['r1', 'r2', 'r3'].map((runId) => allOf(journal, runId))), [[1], [], [1]]);
    same((await journal.row('r2'))?.version, 0);
  },
  'a request that throws spoils none of those that are committed with it': async ({ stores: { journal } }) => {
    const ids = Array.from({ length: 20 }, (_, index) => `r${index}`);
    await Promise.all(ids.map((runId) => journal.accept(rowFor(runId))));
    const asked = ids.map((runId, index) => journal.append(batchOf(runId, index % 3 === 0 ? 7 : 0, 2)).then(kindOf, () => 'threw'));
    same(await Promise.all(asked), ids.map((_, index) => (index % 3 === 0 ? 'threw' : 'appended')));
    for (const [index, runId] of ids.entries()) same(await allOf(journal, runId), index % 3 === 0 ? [] : [1, 2]);
  },
};

const rows: Promised = {
  'the row follows each batch, but keeps what was accepted, the ledger of that moment too': async ({ stores: { journal, ledger } }) => {
    const first = await ledger.incarnation();
    await journal.accept(rowFor('r1'));
    await journal.raiseEpoch('r1', 0, true);
    const row = rowFor('r1', { status: 'waiting', detail: 'waits', createdAt: 9, inputRef: refOf('b'), inputDigest: 'b', updatedAt: 2_000 });
    await journal.append({ ...batchOf('r1', 0, 1, { epoch: 1 }), row });
    same(await journal.row('r1'), { ...rowFor('r1', { status: 'waiting', detail: 'waits', epoch: 1, version: 1, updatedAt: 2_000 }), ledgerIncarnation: first });
    same(await ledger.incarnation() === first, false);
  },
  'runs are listed newest first, by state, by what they wait for, and page by page': async ({ stores: { journal } }) => {
    for (const n of [1, 2, 3, 4, 5]) await journal.accept(rowFor(`r${n}`, { createdAt: n < 3 ? 10 : n * 10 }));
    await journal.append({ ...batchOf('r2', 0, 1), row: rowFor('r2', { status: 'waiting', waits: [waitOn('a-1')] }) });
    await journal.append({ ...batchOf('r4', 0, 1), row: rowFor('r4', { status: 'waiting', waits: [waitOn('q-1', 'question')] }) });
    const ids = async (query: Parameters<JournalPort['list']>[0]): Promise<string[]> => (await journal.list(query)).map(({ runId }) => runId);
    same(await ids({ limit: 10 }), ['r5', 'r4', 'r3', 'r2', 'r1']);
    same(await ids({ limit: 2 }), ['r5', 'r4']);
    same(await ids({ limit: 2, before: { createdAt: 40, runId: 'r4' } }), ['r3', 'r2']);
    same(await ids({ limit: 2, before: { createdAt: 10, runId: 'r2' } }), ['r1']);
    same(await ids({ limit: 9, status: ['waiting'] }), ['r4', 'r2']);
    same(await ids({ limit: 9, status: ['waiting'], waitingFor: ['approval', 'time'] }), ['r2']);
    same(await ids({ limit: 9, status: [] }), []);
  },
  'a wait leads to its run while it is open and for ever after': async ({ stores: { journal } }) => {
    await journal.accept(rowFor('r1'));
    await journal.append({ ...batchOf('r1', 0, 1), row: rowFor('r1', { waits: [waitOn('a-1'), waitOn('q-1', 'question')] }) });
    await journal.append({ ...batchOf('r1', 1, 1), row: rowFor('r1', { waits: [waitOn('q-1', 'question')] }) });
    same(await Promise.all(['a-1', 'q-1', 'a-2'].map((waitId) => journal.runOfWait(waitId))), ['r1', 'r1', null]);
    same((await journal.list({ limit: 9, waitingFor: ['approval'] })).length, 0);
    same((await journal.list({ limit: 9, waitingFor: ['question'] })).length, 1);
  },
  'an event is found by its idempotency key, in its own run alone': async ({ stores: { journal } }) => {
    for (const runId of ['r1', 'r2']) await journal.accept(rowFor(runId));
    const batch = batchOf('r1', 0, 2);
    await journal.append({ ...batch, events: batch.events.map((event, i) => (i === 0 ? { ...event, idempotencyKey: 'msg:m1' } : event)) });
    same([(await journal.byKey('r1', 'msg:m1'))?.seq ?? null, await journal.byKey('r1', 'msg:m2'), await journal.byKey('r2', 'msg:m1')], [1, null, null]);
  },
  'a run refers to its input and to what its events vouch for, not to what stands in arguments or values, nor to what other runs have': async ({ stores: { journal } }) => {
    for (const runId of ['r1', 'r2']) await journal.accept(rowFor(runId));
    const [before] = batchOf('r1', 0, 1).events;
    const events = [
      before!,
      { ...before!, seq: 2, type: 'ArtifactProduced', data: { ref: refOf('b'), callId: 'c1', role: 'report' } },
      { ...before!, seq: 3, type: 'StepCompleted', data: { stepId: 's', output: { ref: refOf('c') } } },
      { ...before!, seq: 4, type: 'ToolCallSucceeded', data: { callId: 'c2', attempt: 1, output: { value: { made: refOf('d') } }, summary: '', via: 'sent', settled: true } },
      { ...before!, seq: 5, type: 'PlanAccepted', data: { planVersion: 1, by: 'c1', goal: 'g', drop: [], add: [{ id: 's', title: 's', dependsOn: [], uses: [], action: { type: 'tool', tool: 'read', args: { sha256: refOf('e').sha256, all: refOf('f') } } }] } },
    ] as RunEvent[];
    same((await journal.append({ ...batchOf('r1', 0, 5), events })).kind, 'appended');
    const refers = (runId: string): Promise<boolean[]> => Promise.all(['a', 'b', 'c', 'd', 'e', 'f', '0'].map((letter) => journal.refersTo(runId, refOf(letter).sha256)));
    same(await refers('r1'), [true, true, true, false, false, false, false]);
    same(await refers('r2'), [true, false, false, false, false, false, false]);
    same(await refers('nobody'), [false, false, false, false, false, false, false]);
  },
  'checkpoints are kept, listed oldest first, and the newest is found': async ({ stores: { journal }, again }) => {
    const at = (version: number) => ({ runId: 'r1', version, stateVersion: 1, ref: refOf('c'), at: version });
    same(await journal.checkpoint('r1'), null);
    for (const version of [25, 50, 25]) await journal.saveCheckpoint(at(version));
    const other = await again();
    same(await other.journal.checkpoint('r1'), at(50));
    same(await other.journal.checkpoint('r1', 49), at(25));
    same(await other.journal.checkpoint('r1', 24), null);
    same(await other.journal.checkpoints('r1'), [at(25), at(50)]);
    await other.close();
  },
};
