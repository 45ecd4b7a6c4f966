// What the lists, the inbox and the doctor say of runs that nothing runs: an open run whose execution is gone is lost, and one that
// has ended between two looks is not. A list reads its rows first and asks Temporal afterwards, so that the two may differ.
import type { ExecutionView } from '../../src/client/execution';
import { executionsOf, lostWords } from '../../src/cli/executions';
import type { Place } from '../../src/cli/place';
import type { RunRow } from '../../src/core/row';

const row = (status: RunRow['status']): RunRow => ({ runId: 'r', status, createdAt: 0, waits: [] } as unknown as RunRow);
const view = (status: string): ExecutionView => ({ status, closedAt: null, taskAttempt: 0, missingKey: null, activities: [] });

/** What is said of a row that was read as `waiting`, when Temporal says `execution` afterwards and the journal `now`. */
async function said(execution: string, now: RunRow | null): Promise<string | null> {
  const place = {
    client: async () => ({ execution: async () => view(execution) }),
    stores: async () => ({ journal: { row: async () => now } }),
  } as unknown as Place;
  return lostWords(row('waiting'), (await executionsOf(place, [row('waiting')])).get('r'));
}

test('R10.6 a run that has ended since its row was read is not called lost', async () => {
  expect(await said('CANCELED', row('cancelled'))).toBeNull();
  expect(await said('COMPLETED', row('completed'))).toBeNull();
  expect(await said('NOT_FOUND', null)).toBeNull();
});

test('R10.6 an open run whose execution is gone is called lost, and one that is run is not', async () => {
  expect(await said('TERMINATED', row('waiting'))).toBe('terminated in Temporal');
  expect(await said('NOT_FOUND', row('waiting'))).toBe('not known to Temporal');
  expect(await said('RUNNING', row('waiting'))).toBeNull();
});
