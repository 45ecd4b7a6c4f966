// Liveness: faults for three minutes of virtual time, and people who answer whatever they are asked: every run ends, every wait
// ends, and the report of a cancelled run names every effect.
import { BLOCKS, firstFault } from './support/simulations';

test.each(BLOCKS)('when faults stop and people answer, every run comes to an end: seeds %d to %d', (from, to) => {
  expect(firstFault('liveness', from, to)).toBe('');
}, 120_000);
