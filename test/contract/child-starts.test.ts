// Promises of the start of a child run that need no server: a run is taken for the child of a call only when it was started by
// that call, also when it appears under the child's id while the start is under way.
import { childRuns } from '../../src/client/children';
import { startRun } from '../../src/client/start';
import type { Temporal } from '../../src/client/temporal';
import type { ClientStores } from '../../src/client/types';
import { childRunIdOf } from '../../src/core/keys';
import { RIG_AGENT } from '../rig/config';
import { ANN } from '../rig/rig';
import { embedded } from './store-open';

/** Takes every start and does nothing. */
const temporal = async (): Promise<Temporal> => ({
  taskQueue: 'rig',
  client: { options: { loadedDataConverter: { payloadCodecs: [] } }, workflow: { start: async () => ({ firstExecutionRunId: 'x1' }), getHandle: () => ({ describe: async () => { throw Object.assign(new Error('unknown'), { name: 'WorkflowNotFoundError' }); } }) } },
}) as unknown as Temporal;
const ASKED = { agent: RIG_AGENT, input: 'the same', plan: null, budget: {} };
const parent = { runId: 'parent', callId: 'c1', callbackId: 'cb-1' };
const childId = childRunIdOf('parent', 'c1');

/** The stores as a start sees them during whose first look at the child's id somebody else begins a run under it. */
function overtaken(stores: ClientStores, begin: () => Promise<unknown>): ClientStores {
  let begun = false;
  const journal = new Proxy(stores.journal, {
    get(target, name) {
      if (name !== 'row') return Reflect.get(target, name) as unknown;
      return async (runId: string) => {
        if (runId !== childId || begun) return target.row(runId);
        begun = true;
        await begin();
        return null;
      };
    },
  });
  return { ...stores, journal };
}

test.each<[string, object, object]>([
  ['a stranger\'s run of the same request', {}, { kind: 'refused', code: 'taken' }],
  ['the same child, started by another attempt', { parent: { ...parent, depth: 1 } }, { kind: 'started', runId: childId }],
])('a run that appears under the id of a child while it is started: %s', async (_, more, expected) => {
  const { stores, close } = await embedded();
  await startRun(stores, temporal, { ...ASKED, runId: 'parent', input: 'parent', owner: ANN });
  const between = overtaken(stores, () => startRun(stores, temporal, { ...ASKED, runId: childId, owner: ANN, ...more }));
  const runs = childRuns(between, temporal, { cancel: () => { throw new Error('nobody cancels'); } });
  expect(await runs.start({ ...ASKED, parent })).toMatchObject(expected);
  await close();
});
