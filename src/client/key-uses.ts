// Which payload keys the executions need that Temporal still keeps, so that no key is taken out that a run cannot go on without, and
// which are not there. The first reads every history of our kind, whole: for a person who retires a key, never for a loop. Only looks.
import type { RunRow } from '../core/row';
import type { JournalPort } from '../ports/journal';
import type { ExecutionView } from './execution';
import { workflowIdOf, WORKFLOW_TYPE } from '../messages';
import { keysIn } from './payloads';
import { isNotFound, type Temporal } from './temporal';

/** Runs that need a key: open ones by id, and how many ended executions that Temporal still keeps. */
export interface KeyUse { open: string[]; ended: number }

/** Uses by key id. Throws what the connection throws. */
export async function usesOfKeys({ client }: Temporal): Promise<Map<string, KeyUse>> {
  const uses = new Map<string, KeyUse>();
  for await (const { workflowId, runId: executionId, status } of client.workflow.list({ query: `WorkflowType = "${WORKFLOW_TYPE}"` })) {
    const history = await client.workflow.getHandle(workflowId, executionId).fetchHistory().catch((error: unknown) => {
      if (isNotFound(error)) return null;
      throw error;
    });
    for (const kid of keysIn(history?.events)) {
      const use = uses.get(kid) ?? { open: [], ended: 0 };
      if (status.name === 'RUNNING' || status.name === 'PAUSED') use.open.push(workflowId.slice(workflowIdOf('').length));
      else use.ended += 1;
      uses.set(kid, use);
    }
  }
  return uses;
}

const OPEN: RunRow['status'][] = ['running', 'waiting', 'paused', 'blocked', 'cancelling'];
/** Open runs that a start looks at, newest first. */
const MOST = 200;

/** Open runs by the key that is missing for them. Throws what the stores and the connection throw. */
export async function heldUpByKeys(journal: JournalPort, execution: (runId: string) => Promise<ExecutionView>): Promise<Map<string, string[]>> {
  const held = new Map<string, string[]>();
  for (const { runId } of await journal.list({ status: OPEN, limit: MOST })) {
    const { missingKey } = await execution(runId);
    if (missingKey !== null) held.set(missingKey, [...held.get(missingKey) ?? [], runId]);
  }
  return held;
}
