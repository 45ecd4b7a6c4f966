// The journal of the simulator answers as the embedded one: random appends of several executions and epochs, side by side.
import { Random } from '../../src/testing/random';
import { batchOf, messageAt, rowFor } from '../../src/testing/contracts/samples';
import { SimulatedJournal } from '../../src/testing/simulator-journal';
import { embedded } from './store-open';

test.each([1, 2, 3, 4, 5, 6])('random appends are answered alike by both journals (seed %d)', async (seed) => {
  const random = new Random(seed);
  const under = await embedded();
  const { journal } = under.stores;
  const simulated = new SimulatedJournal(() => undefined);
  await journal.accept(rowFor('r1'));
  let epoch = (await journal.raiseEpoch('r1', 0)).epoch;
  const seen = new Set<string>();
  for (let i = 0; i < 60; i += 1) {
    if (random.chance(0.05)) {
      epoch = simulated.raiseEpoch();
      await journal.raiseEpoch('r1', epoch - 1);
    }
    const expectedVersion = Math.max(0, simulated.version - (random.chance(0.4) ? random.int(1, 4) : 0));
    const request = batchOf('r1', expectedVersion, random.int(1, 3), { epoch: random.chance(0.9) ? epoch : epoch - 1, executionId: random.chance(0.8) ? 'x1' : 'x2' });
    if (random.chance(0.5)) request.events[0] = messageAt('r1', expectedVersion + 1, 'hello', `key-${random.int(1, 12)}`);
    const [real, played] = [await journal.append(request), simulated.append(request)];
    // How much of a tail one answer holds is each store's own business.
    const plain = (answer: typeof real): unknown => (answer.kind === 'diverged' ? { kind: answer.kind, first: answer.tail[0] } : answer);
    expect(plain(played)).toEqual(plain(real));
    seen.add(real.kind);
  }
  expect((await journal.exportRows('r1', 0, 10_000)).map(({ event }) => event)).toEqual(simulated.all());
  expect(seen.size).toBeGreaterThanOrEqual(3);
  await under.close();
});
