// Contract suite of the effect ledger: who may try an effect, what came of it, and what is never taken for granted.
// One process here; several processes and kills stand in ledger-processes.
import { strict as assert } from 'node:assert';
import type { ClaimAnswer, LedgerPort } from '../../ports/ledger';
import { ledgerBetweenProcesses } from './ledger-processes';
import { ann, batchOf, claimFor, doneWith, messageAt, owner, refusedWith, requestAt, rowFor, unknownAt } from './samples';
import { request, requesting } from './requested';
import { rejects, same, sleep, suite } from './suite';
import type { OpenForTest, Promised, StoresUnderTest } from './suite';

/** Registers the suite. `open` makes a fresh, empty store for each test. */
export function ledgerContract(name: string, open: OpenForTest): void {
  ledgerInOneProcess(name, open);
  ledgerBetweenProcesses(name, open);
}

/** The part of the suite that a ledger in memory keeps as well. */
export function ledgerInOneProcess(name: string, open: OpenForTest): void {
  const requested = async (): Promise<StoresUnderTest> => {
    const under = await open();
    return { ...under, stores: { ...under.stores, ledger: requesting(under.stores) } };
  };
  suite(`${name}: held against the journal`, open, awaiting);
  suite(`${name}: claims`, requested, claiming);
  suite(`${name}: outcomes`, requested, settling);
  suite(`${name}: giving up and not knowing`, requested, giving);
}

/** A lease that is over by the next line. */
const SHORT = 20;
const over = (): Promise<void> => sleep(2 * SHORT);
const fenceOf = (answer: ClaimAnswer): number => ('fence' in answer ? answer.fence : 0);

/** Claims a key with a lease that has ended when this returns. */
async function abandoned(ledger: LedgerPort, key = 'k'): Promise<number> {
  const fence = fenceOf(await ledger.claim(claimFor(key, { leaseMs: SHORT })));
  await over();
  return fence;
}

const awaiting: Promised = {
  'I2 what nobody requested claims nothing, nor does another attempt than the newest': async ({ stores }) => {
    const { journal, ledger } = stores;
    same(await ledger.claim(claimFor('k')), { kind: 'not-awaited' });
    await journal.accept(rowFor('r1'));
    same(await ledger.claim(claimFor('k')), { kind: 'not-awaited' });
    await request(stores, claimFor('k', { attempt: 2 }));
    for (const attempt of [1, 3]) same(await ledger.claim(claimFor('k', { attempt })), { kind: 'not-awaited' });
    same(await ledger.claim(claimFor('k', { attempt: 2, callId: 'another' })), { kind: 'not-awaited' });
    same((await ledger.claim(claimFor('k', { attempt: 2 }))).kind, 'claimed');
  },
  'R6.1 a call about which something was written since its request claims nothing, not even a look at an outcome': async ({ stores }) => {
    const { journal, ledger } = stores;
    for (const key of ['new', 'done']) await request(stores, claimFor(key));
    await ledger.claim(claimFor('done'));
    await ledger.settle('done', 1, doneWith('x'));
    for (const [index, key] of ['new', 'done'].entries()) {
      const { callId } = claimFor(key);
      await journal.append(batchOf('r1', 2 + index, 1, { events: [unknownAt('r1', callId, 1, 3 + index)] }));
      // That somebody had claimed it is told, so that nobody takes it for never sent; what came of it is not.
      same(await ledger.claim(claimFor(key)), key === 'new' ? { kind: 'not-awaited' } : { kind: 'not-awaited', standing: { fence: 1, owner } });
    }
  },
  'C5 once a run is cancelled it waits for no effect but those that take others back': async ({ stores }) => {
    const { journal, ledger } = stores;
    await request(stores, claimFor('pay'));
    const undo = requestAt(claimFor('undo'), 2, await ledger.incarnation());
    if (undo.type === 'ToolCallRequested') undo.data.undoOf = 'call-earlier';
    await journal.append(batchOf('r1', 1, 1, { events: [undo] }));
    const cancel = messageAt('r1', 3);
    const events = [{ ...cancel, type: 'CancelRequested' as const, data: { actor: ann, reason: 'enough', deadline: 9_000 } }];
    await journal.append(batchOf('r1', 2, 1, { events }));
    same(await ledger.claim(claimFor('pay')), { kind: 'not-awaited' });
    same((await ledger.claim(claimFor('undo'))).kind, 'claimed');
  },
  'an attempt that was given back is over, whoever makes it; the next one claims': async ({ stores }) => {
    const { ledger } = stores;
    await request(stores, claimFor('k'));
    await ledger.claim(claimFor('k'));
    await ledger.release('k', 1);
    same(await ledger.claim(claimFor('k', { owner: { ...owner, worker: 'w2' } })), { kind: 'not-awaited' });
    await request(stores, claimFor('k', { attempt: 2 }));
    same(fenceOf(await ledger.claim(claimFor('k', { attempt: 2 }))), 2);
  },
  'a call that was requested under another ledger proves nothing by the lack of a claim here': async ({ stores }) => {
    const { journal, ledger } = stores;
    await journal.accept(rowFor('r1'));
    await journal.append(batchOf('r1', 0, 1, { events: [requestAt(claimFor('k'), 1, 'a ledger that is gone')] }));
    same(await ledger.claim(claimFor('k')), { kind: 'claims-lost' });
    same(await ledger.get('k'), null);
  },
};

const claiming: Promised = {
  'a new key is claimed under fence 1, and held for everyone, its owner too, while the lease lives': async ({ stores: { ledger } }) => {
    const first = await ledger.claim(claimFor('k'));
    assert.equal(first.kind, 'claimed');
    assert.equal(fenceOf(first), 1);
    for (const worker of ['w1', 'w2']) {
      const second = await ledger.claim(claimFor('k', { owner: { ...owner, worker }, attempt: 2 }));
      same(second, { kind: 'held', fence: 1, leaseUntil: first.kind === 'claimed' ? first.leaseUntil : 0, owner });
    }
  },
  'a claim whose lease is over is reported with its owner, and not taken': async ({ stores: { ledger } }) => {
    await abandoned(ledger);
    const row = (await ledger.get('k'))!;
    for (const takeOver of [undefined, 0, 2]) {
      same(await ledger.claim(claimFor('k', { takeOver })), {
        kind: 'dead-owner', fence: 1, firstClaimedAt: row.firstClaimedAt, sendWindowUntil: row.claimedAt + 60_000, owner,
      });
    }
  },
  'a dead claim is taken over under the fence that was examined, and keeps when it was first claimed': async ({ stores: { ledger } }) => {
    const fence = await abandoned(ledger);
    const before = (await ledger.get('k'))!;
    const other = { ...owner, worker: 'w2', taskToken: 'token' };
    same(fenceOf(await ledger.claim(claimFor('k', { takeOver: fence, owner: other, attempt: 2, sendWindowMs: 1 }))), 2);
    const row = (await ledger.get('k'))!;
    same([row.state, row.fence, row.owner, row.attempt, row.firstClaimedAt], ['claimed', 2, other, 2, before.firstClaimedAt]);
    assert.ok(row.claimedAt > before.claimedAt);
    assert.equal(row.sendWindowUntil, before.sendWindowUntil, 'the longest send window of all owners counts');
    same((await ledger.claim(claimFor('k', { takeOver: fence, attempt: 2 }))).kind, 'held');
  },
  'a live claim is not taken over by whoever names its fence': async ({ stores: { ledger } }) => {
    await ledger.claim(claimFor('k'));
    same((await ledger.claim(claimFor('k', { takeOver: 1 }))).kind, 'held');
  },
  'R4.2 other arguments under a key are a mismatch in every state': async ({ stores: { ledger } }) => {
    const asked = async (key: string): Promise<void> =>
      same(await ledger.claim(claimFor(key, { argsDigest: 'other', takeOver: 1 })), { kind: 'mismatch', argsDigest: 'args' });
    for (const key of ['held', 'done', 'released', 'unknown']) await ledger.claim(claimFor(key));
    await ledger.settle('done', 1, doneWith('x'));
    await ledger.release('released', 1);
    await ledger.markUnknown('unknown', 1);
    await abandoned(ledger, 'dead');
    for (const key of ['held', 'done', 'released', 'unknown', 'dead']) await asked(key);
  },
  'an older epoch of the run claims nothing, not even a look at an outcome, but still settles': async ({ stores: { journal, ledger } }) => {
    await journal.accept(rowFor('r1'));
    await ledger.claim(claimFor('old'));
    await journal.raiseEpoch('r1', 0);
    for (const key of ['old', 'new']) same(await ledger.claim(claimFor(key)), { kind: 'fenced', epoch: 1 });
    same(await ledger.renew('old', 1, 15_000), true);
    same((await ledger.settle('old', 1, doneWith('x'))).kind, 'settled');
    same(await ledger.claim(claimFor('old', { epoch: 1 })), { kind: 'outcome', fence: 1, outcome: doneWith('x') });
    same((await ledger.claim(claimFor('new', { epoch: 1 }))).kind, 'claimed');
  },
  'a renewed lease is longer, and a stalled owner may renew as long as nobody took over': async ({ stores: { ledger } }) => {
    const fence = await abandoned(ledger);
    same(await ledger.renew('k', fence, 15_000), true);
    same((await ledger.claim(claimFor('k', { takeOver: fence }))).kind, 'held');
    const row = (await ledger.get('k'))!;
    assert.ok(row.leaseUntil > row.now + 10_000);
    same(await ledger.renew('nobody', 1, 15_000), false);
  },
  'I13 a key that nobody claimed has no row; rows are listed by run and, without an outcome, as open': async ({ stores: { ledger } }) => {
    same(await ledger.get('k'), null);
    for (const key of ['a', 'b', 'c', 'd']) await ledger.claim(claimFor(key, { runId: key === 'd' ? 'r2' : 'r1' }));
    await ledger.settle('a', 1, doneWith('x'));
    await ledger.markUnknown('b', 1);
    await ledger.release('c', 1);
    same((await ledger.byRun('r1')).map(({ key, state }) => [key, state]), [['a', 'done'], ['b', 'unknown'], ['c', 'released']]);
    same((await ledger.open()).map(({ key, state }) => [key, state]), [['b', 'unknown'], ['d', 'claimed']]);
  },
};

const settling: Promised = {
  'a settled outcome is answered to every later claim; the same again is already there': async ({ stores: { ledger }, again }) => {
    await ledger.claim(claimFor('k'));
    same(await ledger.settle('k', 1, doneWith('x')), { kind: 'settled', outcome: doneWith('x') });
    same(await ledger.settle('k', 1, doneWith('x')), { kind: 'already', outcome: doneWith('x') });
    const other = await again();
    same(await other.ledger.claim(claimFor('k')), { kind: 'outcome', fence: 1, outcome: doneWith('x') });
    same((await other.ledger.get('k'))?.state, 'done');
    await other.close();
  },
  'a refusal by the business is an outcome too': async ({ stores: { ledger } }) => {
    await ledger.claim(claimFor('k'));
    await ledger.settle('k', 1, refusedWith('too-late'));
    same(await ledger.claim(claimFor('k')), { kind: 'outcome', fence: 1, outcome: refusedWith('too-late') });
    same((await ledger.get('k'))?.state, 'refused');
  },
  'an outcome that differs is a conflict, and the stored one stays': async ({ stores: { ledger } }) => {
    await ledger.claim(claimFor('k'));
    await ledger.settle('k', 1, doneWith('x'));
    for (const outcome of [doneWith('y'), refusedWith('no')]) same(await ledger.settle('k', 1, outcome), { kind: 'conflict', outcome: doneWith('x') });
    same((await ledger.get('k'))?.outcome, doneWith('x'));
  },
  'I6 an effect that happened under an older fence is kept as late, and the newer owner learns it': async ({ stores: { ledger } }) => {
    const fence = await abandoned(ledger);
    await ledger.claim(claimFor('k', { takeOver: fence }));
    same(await ledger.settle('k', fence, doneWith('x')), { kind: 'late', outcome: doneWith('x') });
    same(await ledger.settle('k', 2, doneWith('x')), { kind: 'already', outcome: doneWith('x') });
    same(await ledger.settle('k', 2, doneWith('y')), { kind: 'conflict', outcome: doneWith('x') });
    same(await ledger.claim(claimFor('k')), { kind: 'outcome', fence: 2, outcome: doneWith('x') });
  },
  'a late refusal says nothing of the newer attempt, which still decides': async ({ stores: { ledger } }) => {
    const fence = await abandoned(ledger);
    await ledger.claim(claimFor('k', { takeOver: fence }));
    same(await ledger.settle('k', fence, refusedWith('no')), { kind: 'late', outcome: refusedWith('no') });
    same((await ledger.get('k'))?.outcome, null);
    same((await ledger.settle('k', 2, doneWith('x'))).kind, 'settled');
  },
  'R6.1 a stale fence cannot renew, release or mark the claim of the newer one': async ({ stores: { ledger } }) => {
    const fence = await abandoned(ledger);
    await ledger.claim(claimFor('k', { takeOver: fence }));
    same([await ledger.renew('k', fence, 1), await ledger.release('k', fence), await ledger.markUnknown('k', fence)], [false, false, false]);
    same((await ledger.get('k'))?.state, 'claimed');
  },
  'news of an effect is accepted after its lease ended, after unknown and after release': async ({ stores: { ledger } }) => {
    for (const key of ['dead', 'unknown', 'released']) await abandoned(ledger, key);
    await ledger.markUnknown('unknown', 1);
    await ledger.release('released', 1);
    for (const key of ['dead', 'unknown', 'released']) same((await ledger.settle(key, 1, doneWith('x'))).kind, 'settled');
  },
  'settling what nobody claimed is a defect': async ({ stores: { ledger } }) => {
    await rejects(ledger.settle('k', 1, doneWith('x')), /Nobody claimed k/);
    await ledger.claim(claimFor('k'));
    await rejects(ledger.settle('k', 2, doneWith('x')), /under fence 2/);
  },
};

const giving: Promised = {
  'a released claim is taken at once under the next fence, also by its own owner': async ({ stores: { ledger } }) => {
    await ledger.claim(claimFor('k'));
    same([await ledger.release('k', 1), await ledger.release('k', 1)], [true, true]);
    same([(await ledger.get('k'))?.state, await ledger.renew('k', 1, 1_000), await ledger.markUnknown('k', 1)], ['released', false, false]);
    same(fenceOf(await ledger.claim(claimFor('k', { attempt: 2 }))), 2);
    same(await ledger.release('k', 1), false);
  },
  'an unknown claim waits for the gate, whatever is left of its lease': async ({ stores: { ledger } }) => {
    await ledger.claim(claimFor('k'));
    same(await ledger.markUnknown('k', 1), true);
    same((await ledger.claim(claimFor('k'))).kind, 'dead-owner');
    same(await ledger.renew('k', 1, 15_000), false);
    same(fenceOf(await ledger.claim(claimFor('k', { takeOver: 1 }))), 2);
  },
  'a person who says that it did not happen releases a dead or unknown claim': async ({ stores: { ledger } }) => {
    for (const key of ['dead', 'unknown']) await abandoned(ledger, key);
    await ledger.markUnknown('unknown', 1);
    for (const key of ['dead', 'unknown']) {
      same(await ledger.release(key, 1), true);
      same((await ledger.claim(claimFor(key, { attempt: 2 }))).kind, 'claimed');
    }
  },
  'a take-over that gives up unsent brings back the doubt about the owner before it, which the gate has examined': async ({ stores: { ledger } }) => {
    const fence = await abandoned(ledger);
    const before = (await ledger.get('k'))!;
    await ledger.claim(claimFor('k', { takeOver: fence, owner: { ...owner, worker: 'w2' } }));
    same(await ledger.release('k', 2), true);
    const row = (await ledger.get('k'))!;
    same([row.state, row.fence, row.owner, row.claimedAt, row.sendWindowUntil], ['unknown', 2, owner, before.claimedAt, before.sendWindowUntil]);
    same((await ledger.claim(claimFor('k'))).kind, 'dead-owner');
    same(fenceOf(await ledger.claim(claimFor('k', { takeOver: fence }))), 3);
    same(await ledger.release('k', 3), true);
    same(fenceOf(await ledger.claim(claimFor('k', { takeOver: 3 }))), 4);
  },
  'a take-over that died may have sent: what was examined before it takes nothing over': async ({ stores: { ledger } }) => {
    const fence = await abandoned(ledger);
    await ledger.claim(claimFor('k', { takeOver: fence, leaseMs: SHORT }));
    await over();
    same((await ledger.claim(claimFor('k', { takeOver: fence }))).kind, 'dead-owner');
    same(fenceOf(await ledger.claim(claimFor('k', { takeOver: 2 }))), 3);
  },
  'a settled claim is neither released nor marked unknown': async ({ stores: { ledger } }) => {
    await ledger.claim(claimFor('k'));
    await ledger.settle('k', 1, doneWith('x'));
    same([await ledger.release('k', 1), await ledger.markUnknown('k', 1), await ledger.renew('k', 1, 1)], [false, false, false]);
  },
};
