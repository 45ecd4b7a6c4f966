// Safety: whole runs in virtual time with faults all the time. Workflow tasks lost at every boundary, workers dead and stalled,
// replies lost, late and doubled, restores and resets with the old execution alive, a ledger put back: nothing forbidden happens.
import seeds from './seeds.json';
import { BLOCKS, fault, firstFault } from './support/simulations';

test.each(BLOCKS)('under any faults every effect happens once or a person is asked: seeds %d to %d', (from, to) => {
  expect(firstFault('safety', from, to)).toBe('');
}, 120_000);

test.each(seeds)('seed $seed ($mode) stays mended: $why', ({ seed, mode }) => {
  expect(fault({ seed, mode: mode as 'safety' | 'liveness' })).toBe('');
});
