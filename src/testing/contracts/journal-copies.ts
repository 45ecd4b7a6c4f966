// Contract suite of the journal port: runs that begin as a copy of another, runs that are purged, and what they name.
// Both are one transaction: whoever looks sees all of it or nothing.
import { nextAfter, type JournalPort } from '../../ports/journal';
import type { RunEvent } from '../../core/events';
import { request } from './requested';
import { batchOf, claimFor, doneWith, messageAt, owner, refOf, refusedWith, rowFor, waitOn } from './samples';
import { same, suite } from './suite';
import type { OpenForTest, Promised, StorePorts } from './suite';

export function journalCopies(name: string, open: OpenForTest): void {
  suite(`${name}: forks`, open, forking);
  suite(`${name}: purging`, open, purging);
  suite(`${name}: what is named`, open, naming);
}

const saved = (runId: string, seq: number): RunEvent => ({ ...messageAt(runId, seq), type: 'CheckpointSaved', data: { version: seq - 1, ref: refOf('c') } }) as RunEvent;

/** A run of five events, the second with a key and an answer, the fourth a checkpoint, with an open wait. */
async function parent(journal: JournalPort): Promise<RunEvent[]> {
  await journal.accept(rowFor('r1'));
  const events = [messageAt('r1', 1), { ...messageAt('r1', 2, 'b', 'msg:m2'), message: { id: 'm2', digest: 'd', answer: { kind: 'done' as const, text: 'ok' } } }, messageAt('r1', 3), saved('r1', 4), messageAt('r1', 5)];
  await journal.append({ ...batchOf('r1', 0, 5), events, row: rowFor('r1', { waits: [waitOn('a-1')] }) });
  return events;
}

const forkRow = (runId: string, at: number) => rowFor(runId, { version: at, inputDigest: `fork ${runId}`, forkOf: { runId: 'r1', at }, taskQueue: 'q7' });

const forking: Promised = {
  'a fork has the first events of its parent as its own, without their keys and answers, and goes on from there': async ({ stores: { journal, ledger } }) => {
    await parent(journal);
    const row = { ...forkRow('f1', 4), ledgerIncarnation: await ledger.incarnation() };
    same(await journal.fork(forkRow('f1', 4), { runId: 'r1', at: 4 }), { kind: 'accepted' });
    const { events } = await journal.read('f1', 0);
    same(events, [messageAt('f1', 1), messageAt('f1', 2, 'b'), messageAt('f1', 3), { ...saved('f1', 4), data: { version: 3, ref: refOf('c'), of: 'r1' } }]);
    same([await journal.head('f1'), await journal.row('f1')], [{ epoch: 0, version: 4, executionId: 'x1' }, row]);
    same(await journal.append({ ...batchOf('f1', 4, 1, { executionId: 'x9' }), events: [messageAt('f1', 5, 'c', 'msg:m2')], row: rowFor('f1', { status: 'running' }) }), { kind: 'appended', version: 5 });
    same(await journal.row('f1'), { ...row, status: 'running', version: 5 });
    same((await journal.read('r1', 0)).events.length, 5);
  },
  'what the parent waits for stays its own, and what it names is named by the fork too': async ({ stores: { journal } }) => {
    await parent(journal);
    await journal.fork(forkRow('f1', 5), { runId: 'r1', at: 5 });
    same([await journal.runOfWait('a-1'), await journal.checkpoint('f1')], ['r1', null]);
    await journal.append({ ...batchOf('r1', 5, 1), row: rowFor('r1', { status: 'completed' }) });
    await journal.purge('r1');
    same(await Promise.all(['a', 'c', 'd'].map((letter) => journal.isNamed(refOf(letter).sha256))), [true, true, false]);
    same((await journal.read('f1', 0)).events.length, 5);
  },
  'a fork is accepted once; another request of its id is told apart; events that are not there are not copied': async ({ stores: { journal } }) => {
    await parent(journal);
    const from = { runId: 'r1', at: 3 };
    same((await Promise.all([1, 2].map(() => journal.fork(forkRow('f1', 3), from)))).map(({ kind }) => kind), ['accepted', 'known']);
    same((await journal.fork({ ...forkRow('f1', 2), inputDigest: 'other' }, { runId: 'r1', at: 2 })).kind, 'other-input');
    same(await journal.fork(forkRow('f2', 6), { runId: 'r1', at: 6 }), { kind: 'no-such-event', version: 5 });
    same(await journal.fork(forkRow('f2', 0), { runId: 'r1', at: 0 }), { kind: 'no-such-event', version: 5 });
    same(await journal.fork(forkRow('f2', 1), { runId: 'nobody', at: 1 }), { kind: 'no-such-event', version: 0 });
    same([await journal.row('f2'), (await journal.read('f1', 0)).events.length], [null, 3]);
  },
  'a long journal is copied whole': async ({ stores: { journal } }) => {
    await journal.accept(rowFor('r1'));
    for (let version = 0; version < 300; version += 100) await journal.append(batchOf('r1', version, 100));
    await journal.fork(forkRow('f1', 299), { runId: 'r1', at: 299 });
    same((await journal.exportRows('f1', 0, 1_000)).map(({ event }) => event.seq), Array.from({ length: 299 }, (_, index) => index + 1));
  },
};

const end = (journal: JournalPort, runId: string, version: number) => journal.append({ ...batchOf(runId, version, 1), row: rowFor(runId, { status: 'completed', updatedAt: 7_000 }) });

/** Ends a run that has made one call of each fate; answers its version. */
async function withCalls({ journal, ledger }: StorePorts, keys: string[]): Promise<void> {
  for (const key of keys) {
    await request({ journal, ledger }, claimFor(key));
    const claimed = await ledger.claim(claimFor(key));
    if (claimed.kind !== 'claimed') throw new Error(`not claimed: ${claimed.kind}`);
    if (key.startsWith('done')) await ledger.settle(key, claimed.fence, doneWith(key));
    if (key.startsWith('refused')) await ledger.settle(key, claimed.fence, refusedWith('no'));
    if (key.startsWith('given-back')) await ledger.release(key, claimed.fence);
    if (key.startsWith('unknown')) await ledger.markUnknown(key, claimed.fence);
  }
  await end(journal, 'r1', (await journal.head('r1'))!.version);
}

const purging: Promised = {
  'a run that is over goes with everything that is kept of it, and leaves that there was one': async ({ stores, again }) => {
    const { journal, ledger } = stores;
    await withCalls(stores, ['done', 'refused', 'given-back']);
    await journal.accept(rowFor('r2'));
    await journal.append({ ...batchOf('r2', 0, 1), row: rowFor('r2', { waits: [waitOn('a-2')] }) });
    const answer = await journal.purge('r1');
    same(answer.kind, 'purged');
    const other = await again();
    const left = await other.journal.purged('r1');
    same({ ...left, purgedAt: 0 }, { runId: 'r1', inputDigest: 'digest of r1', status: 'completed', events: 4, endedAt: 7_000, purgedAt: 0, doubts: [] });
    same([await other.journal.row('r1'), await other.journal.head('r1'), (await other.journal.read('r1', 0)).events, await other.ledger.byRun('r1')], [null, null, [], []]);
    same((await other.journal.list({ limit: 9 })).map(({ runId }) => runId), ['r2']);
    same([await other.journal.runOfWait('a-2'), (await other.journal.read('r2', 0)).events.length], ['r2', 1]);
    same(await journal.purge('r1'), { kind: 'already', purged: left });
    same(await ledger.get('done'), null);
    await other.close();
  },
  'its id is never accepted again, neither as a run nor as a fork': async ({ stores: { journal } }) => {
    await parent(journal);
    await end(journal, 'r1', 5);
    await journal.purge('r1');
    same([(await journal.accept(rowFor('r1'))).kind, (await journal.accept(rowFor('r1', { inputDigest: 'other' }))).kind], ['purged', 'purged']);
    await journal.accept(rowFor('r2'));
    await journal.append(batchOf('r2', 0, 2));
    same((await journal.fork(rowFor('r1', { version: 1, forkOf: { runId: 'r2', at: 1 } }), { runId: 'r2', at: 1 })).kind, 'purged');
    same((await journal.read('r1', 0)).events, []);
  },
  'an execution that has not heard of the purge writes nothing any more, whatever it expects, and is told to end': async ({ stores: { journal } }) => {
    await parent(journal);
    await end(journal, 'r1', 5);
    await journal.purge('r1');
    for (const version of [0, 5, 6, 9]) same(await journal.append(batchOf('r1', version, 1)), { kind: 'fenced', epoch: 0 });
    await journal.saveCheckpoint({ runId: 'r1', version: 5, stateVersion: 1, ref: refOf('e'), at: 1 });
    same([(await journal.read('r1', 0)).events, await journal.row('r1'), await journal.checkpoints('r1'), await journal.isNamed(refOf('e').sha256)], [[], null, [], false]);
  },
  'a run that is not over stays, and so does one that nobody knows': async ({ stores: { journal } }) => {
    await parent(journal);
    same([await journal.purge('r1'), await journal.purge('r1', { force: true }), await journal.purge('nobody'), await journal.purged('nobody')],
      [{ kind: 'open', status: 'accepted' }, { kind: 'open', status: 'accepted' }, { kind: 'unknown' }, null]);
    same((await journal.read('r1', 0)).events.length, 5);
  },
  'calls in doubt hold a run; by force it goes, and their rows stay': async ({ stores }) => {
    const { journal, ledger } = stores;
    await withCalls(stores, ['claimed', 'done', 'unknown']);
    same(await journal.purge('r1'), { kind: 'in-doubt', calls: ['publish call-claimed', 'publish call-unknown'] });
    same((await journal.row('r1'))?.status, 'completed');
    const answer = await journal.purge('r1', { force: true });
    same(answer.kind === 'purged' && answer.purged.doubts, ['publish call-claimed', 'publish call-unknown']);
    same((await ledger.byRun('r1')).map(({ key, state }) => [key, state]), [['claimed', 'claimed'], ['unknown', 'unknown']]);
    same((await ledger.settle('claimed', 1, doneWith('late'))).kind, 'settled');
    same((await ledger.claim(claimFor('unknown', { attempt: 2, owner }))).kind, 'not-awaited');
  },
  'a list goes on after a page whose last run was purged meanwhile': async ({ stores: { journal } }) => {
    for (const n of [1, 2, 3, 4]) await journal.accept(rowFor(`r${n}`, { createdAt: 10 }));
    await end(journal, 'r3', 0);
    const page = await journal.list({ limit: 2 });
    await journal.purge('r3');
    same((await journal.list({ limit: 2, ...nextAfter(page) })).map(({ runId }) => runId), ['r2', 'r1']);
  },
  'runs are listed by the time of their last event': async ({ stores: { journal } }) => {
    for (const n of [1, 2, 3]) await journal.accept(rowFor(`r${n}`, { createdAt: n, updatedAt: n * 100 }));
    const ids = async (updatedBefore: number): Promise<string[]> => (await journal.list({ limit: 9, updatedBefore })).map(({ runId }) => runId);
    same([await ids(100), await ids(101), await ids(1_000)], [[], ['r1'], ['r3', 'r2', 'r1']]);
  },
};

const naming: Promised = {
  'whatever names an artifact keeps it: input, event, argument, checkpoint, outcome of the ledger': async ({ stores: { journal, ledger } }) => {
    await journal.accept(rowFor('r1'));
    const events = [{ ...messageAt('r1', 1), type: 'ArtifactProduced', data: { ref: refOf('b'), callId: 'c1', role: 'report' } }, { ...messageAt('r1', 2), data: { messageId: 'm', text: { value: { deep: [{ sha256: refOf('c').sha256 }] } }, actor: owner } }] as unknown as RunEvent[];
    await journal.append({ ...batchOf('r1', 0, 2), events });
    await journal.saveCheckpoint({ runId: 'r1', version: 2, stateVersion: 1, ref: refOf('d'), at: 1 });
    await request({ journal, ledger }, claimFor('k1'));
    await ledger.claim(claimFor('k1'));
    await ledger.settle('k1', 1, { kind: 'done', output: { ref: refOf('e') }, summary: 'made e' });
    const named = (): Promise<boolean[]> => Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => journal.isNamed(refOf(letter).sha256)));
    same(await named(), [true, true, true, true, true, false]);
    // What the run itself vouches for is another question.
    same(await journal.refersTo('r1', refOf('e').sha256), false);
    await end(journal, 'r1', 3);
    await journal.purge('r1');
    same(await named(), [false, false, false, false, false, false]);
  },
};
