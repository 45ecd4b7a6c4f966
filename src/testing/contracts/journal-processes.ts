// Contract of the journal between processes: races, SIGKILL in the middle of writes. Every process here is a real one.
import { strict as assert } from 'node:assert';
import { batchOf, rowFor } from './samples';
import { Peer, withPeers } from './peers';
import { same, sleep, suite } from './suite';
import type { OpenForTest, Promised } from './suite';

const ROUNDS = 100;
const KILLS = 20;
/** Events of one batch of the stream that is killed. */
const BATCH = 5;

/** Registers what several processes may expect of one journal. */
export function journalBetweenProcesses(name: string, open: OpenForTest): void {
  suite(`${name}: several processes`, open, between, 180_000);
}

const between: Promised = {
  'R6.2 of three processes that append one version, one gets it and two are told, 100 times, without a gap': async (under) => {
    const { journal } = under.stores;
    await journal.accept(rowFor('r1'));
    await withPeers(under, 3, async (peers) => {
      for (let version = 0; version < ROUNDS; version++) {
        const asked = peers.map((peer, index) => peer.call('journal', 'append', batchOf('r1', version, 1, { executionId: `x${index}` })));
        same((await Promise.all(asked)).map(({ kind }) => kind).sort(), ['appended', 'behind', 'behind']);
      }
    });
    const written = await journal.exportRows('r1', 0, 1_000);
    same(written.map(({ event }) => event.seq), Array.from({ length: ROUNDS }, (_, index) => index + 1));
  },
  'two processes that restore one run at once raise its epoch once': async (under) => {
    await under.stores.journal.accept(rowFor('r1'));
    await withPeers(under, 2, async (peers) => {
      for (let epoch = 0; epoch < 20; epoch++) {
        const answers = await Promise.all(peers.map((peer) => peer.call('journal', 'raiseEpoch', 'r1', epoch)));
        same(answers.filter(({ raised }) => raised).length, 1);
        same(answers.map((answer) => answer.epoch), [epoch + 1, epoch + 1]);
      }
    });
  },
  'R1.1 a process killed in a stream of appends loses nothing that was acknowledged and tears no batch, 20 times': async (under) => {
    const { journal } = under.stores;
    await journal.accept(rowFor('r1'));
    let acknowledged = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const peer = await Peer.start(under);
      await peer.stream({ stream: 'append', runId: 'r1', count: BATCH });
      await sleep(Math.random() * 40);
      await peer.kill();
      acknowledged = Math.max(acknowledged, ...(peer.told as number[]));
      const { version } = (await journal.head('r1'))!;
      assert.ok(version >= acknowledged, `acknowledged ${acknowledged}, kept ${version}`);
      assert.equal(version % BATCH, 0, `a torn batch ends at ${version}`);
      assert.equal((await journal.row('r1'))?.version, version);
    }
    const other = await under.again();
    const seqs = (await other.journal.exportRows('r1', 0, 1_000_000)).map(({ event }) => event.seq);
    same(seqs, Array.from({ length: seqs.length }, (_, index) => index + 1));
    await other.close();
  },
};
