// Contract of the ledger between processes: one claim of many, a killed owner, one clock, one incarnation.
import { strict as assert } from 'node:assert';
import { request, requesting } from './requested';
import { claimFor, doneWith, owner } from './samples';
import { Peer, withPeers } from './peers';
import { same, sleep, suite } from './suite';
import type { OpenForTest, Promised } from './suite';

const ROUNDS = 100;

/** Registers what several processes may expect of one ledger. */
export function ledgerBetweenProcesses(name: string, open: OpenForTest): void {
  suite(`${name}: several processes`, open, between, 180_000);
}

const between: Promised = {
  'R6.3 of two processes that claim one key exactly one gets it, 100 times': async (under) => {
    await withPeers(under, 2, async (peers) => {
      for (let round = 0; round < ROUNDS; round++) {
        await request(under.stores, claimFor(`k${round}`));
        const asked = peers.map((peer, index) => peer.call('ledger', 'claim', claimFor(`k${round}`, { owner: { ...owner, pid: index } })));
        same((await Promise.all(asked)).map(({ kind }) => kind).sort(), ['claimed', 'held']);
      }
    });
    same((await under.stores.ledger.open()).length, ROUNDS);
  },
  'of two processes that take over one dead claim exactly one gets it': async (under) => {
    await withPeers(under, 2, async (peers) => {
      for (let round = 0; round < 20; round++) {
        await requesting(under.stores).claim(claimFor(`k${round}`, { leaseMs: 1 }));
        await sleep(5);
        const asked = peers.map((peer) => peer.call('ledger', 'claim', claimFor(`k${round}`, { takeOver: 1 })));
        same((await Promise.all(asked)).map(({ kind }) => kind).sort(), ['claimed', 'held']);
      }
    });
  },
  'of two processes that settle one claim differently one is stored and the other hears of it': async (under) => {
    await withPeers(under, 2, async (peers) => {
      for (let round = 0; round < 20; round++) {
        await requesting(under.stores).claim(claimFor(`k${round}`));
        const asked = peers.map((peer, index) => peer.call('ledger', 'settle', `k${round}`, 1, doneWith(`by ${index}`)));
        const answers = await Promise.all(asked);
        same(answers.map(({ kind }) => kind).sort(), ['conflict', 'settled']);
        same(answers[0]!.outcome, answers[1]!.outcome);
      }
    });
  },
  'R1.1 the claim of a killed owner is held while its lease lives, and a dead owner afterwards': async (under) => {
    const { ledger } = under.stores;
    const peer = await Peer.start(under);
    await request(under.stores, claimFor('k'));
    same((await peer.call('ledger', 'claim', claimFor('k', { leaseMs: 400 }))).kind, 'claimed');
    await peer.kill();
    same((await ledger.claim(claimFor('k'))).kind, 'held');
    await sleep(450);
    same((await ledger.claim(claimFor('k'))).kind, 'dead-owner');
  },
  'an acknowledged claim is there after its process was killed at once, 10 times': async (under) => {
    for (let round = 0; round < 10; round++) {
      const peer = await Peer.start(under);
      await request(under.stores, claimFor(`k${round}`));
      const { kind } = await peer.call('ledger', 'claim', claimFor(`k${round}`));
      await peer.kill();
      same([kind, (await under.stores.ledger.get(`k${round}`))?.state], ['claimed', 'claimed']);
    }
  },
  'times are the clock of the database: a process whose own clock is wrong changes nothing': async ({ stores }) => {
    const ledger = requesting(stores);
    const real = Date.now;
    const before = real();
    Date.now = () => before + 30 * 86_400_000;
    try {
      await ledger.claim(claimFor('k', { leaseMs: 15_000 }));
      same((await ledger.claim(claimFor('k'))).kind, 'held');
      const row = (await ledger.get('k'))!;
      assert.ok(Math.abs(row.claimedAt - before) < 5_000, `claimed at ${row.claimedAt}, asked at ${before}`);
      assert.equal(row.leaseUntil, row.claimedAt + 15_000);
      assert.equal(row.sendWindowUntil, row.claimedAt + 60_000);
      assert.ok(row.now >= row.claimedAt);
    } finally {
      Date.now = real;
    }
  },
  'the incarnation is the same for every process and after a restart': async (under) => {
    const incarnation = await under.stores.ledger.incarnation();
    assert.match(incarnation, /\S{8,}/);
    await withPeers(under, 1, async ([peer]) => same(await peer!.call('ledger', 'incarnation'), incarnation));
    await requesting(under.stores).claim(claimFor('k'));
    const other = await under.again();
    same(await other.ledger.incarnation(), incarnation);
    await other.close();
  },
};
