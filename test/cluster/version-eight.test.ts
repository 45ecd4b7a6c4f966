// Two processes that append version 8 of one run at the same moment, a hundred times on each database: one gets it, the other is told,
// takes over what stands there, and goes on after it. No number is missing or written twice.
import { batchOf, rowFor } from '../../src/testing/contracts/samples';
import { Peer, withPeers } from '../../src/testing/contracts/peers';
import type { StoresUnderTest } from '../../src/testing/contracts/suite';
import { embedded } from '../contract/store-open';
import { startPostgres, type PostgresServer } from './support/servers';
import { freshIn } from './support/stores';

const ROUNDS = 100;
let postgres: PostgresServer;
beforeAll(async () => { postgres = await startPostgres(); });
afterAll(() => postgres?.stop());

const opened: Record<string, () => Promise<StoresUnderTest>> = { SQLite: embedded, PostgreSQL: async () => freshIn(await postgres.fresh()) };

/** Appends version 8; who hears that it is there folds it and appends 9. Answers what it heard first, and its last version. */
async function append(peer: Peer, runId: string, executionId: string): Promise<{ heard: string; version: number }> {
  const first = await peer.call('journal', 'append', batchOf(runId, 7, 1, { executionId }));
  if (first.kind === 'appended') return { heard: first.kind, version: first.version };
  const { events } = await peer.call('journal', 'read', runId, 7);
  const next = await peer.call('journal', 'append', batchOf(runId, events.at(-1)!.seq, 1, { executionId }));
  return { heard: first.kind, version: next.kind === 'appended' ? next.version : 0 };
}

test.each(Object.keys(opened))('R6.2 two processes append version 8 at once on %s: one wins, the other hears it and settles, 100 rounds without a gap', async (database) => {
  const under = await opened[database]!();
  try {
    const { journal } = under.stores;
    const winners = new Set<number>();
    await withPeers(under, 2, async (peers) => {
      for (let round = 0; round < ROUNDS; round++) {
        const runId = `r${round}`;
        await journal.accept(rowFor(runId));
        await journal.append(batchOf(runId, 0, 7, { executionId: 'x0' }));
        // Every other round as one execution that lost its task, and as two executions.
        const names = round % 2 === 0 ? ['x0', 'x0'] : ['x0', 'x1'];
        const ends = await Promise.all(peers.map((peer, index) => append(peer, runId, names[index]!)));
        expect(ends.map(({ heard }) => heard).sort()).toEqual(['appended', round % 2 === 0 ? 'diverged' : 'behind']);
        expect(ends.map(({ version }) => version).sort((a, b) => a - b)).toEqual([8, 9]);
        winners.add(ends.findIndex(({ heard }) => heard === 'appended'));
        expect((await journal.exportRows(runId, 0, 20)).map(({ event }) => event.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      }
    });
    expect(winners.size).toBe(2);
  } finally {
    await under.close();
  }
}, 300_000);
