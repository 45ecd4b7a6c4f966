// Does an execution sleep behind its own journal? An Update that Temporal had not accepted yet is lost with its workflow task, also
// when its events were appended; a client that dies before its Signal leaves a run that waits for nothing. The journal says what
// should be under way, Temporal what is. Only looks, and wakes by a signal that says nothing.
import { advance } from '../core/advance';
import { needsOf } from '../core/needs';
import type { RunRow } from '../core/row';
import type { State } from '../core/state';
import { WAKE, workflowIdOf } from '../messages';
import type { ExecutionView } from './execution';
import { stateOf } from './reads';
import { isOver } from './start';
import type { Temporal } from './temporal';
import type { ClientStores } from './types';

/** ms that a run may take from an event to what follows from it. */
const QUIET_MS = 15_000;

/** Can the view be that of a sleeping run at all: an execution with nothing to do, long after the last event? */
export const seemsIdle = (row: RunRow, view: ExecutionView, now = Date.now()): boolean =>
  !isOver(row) && view.status === 'RUNNING' && view.taskAttempt === 0 && view.activities.length === 0 && now - row.updatedAt > QUIET_MS;

/** What should be under way, or should have happened, and is not; null when the run rightly waits. */
export function overdue(state: State, now = Date.now()): string | null {
  if (state.version === 0) return 'its first event';
  const then = now - QUIET_MS;
  const need = needsOf(state, then).find(({ begun, kind }) => begun && kind !== 'timer' && kind !== 'checkpoint');
  if (need) return need.summary;
  return advance(state, then, false)[0]?.type ?? null;
}

/** What a run that runs in Temporal sleeps over; null when it does not sleep. */
export async function sleepsOver(stores: ClientStores, row: RunRow, view: ExecutionView): Promise<string | null> {
  return seemsIdle(row, view) ? overdue(await stateOf(stores, row.runId)) : null;
}

/** Lets a run read on in its journal. Throws what the connection throws. */
export const wake = ({ client }: Temporal, runId: string): Promise<void> => client.workflow.getHandle(workflowIdOf(runId)).signal(WAKE);
