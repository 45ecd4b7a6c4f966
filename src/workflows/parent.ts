// A run that another run has started tells its parent that it is over: by a signal from workflow to workflow, which Temporal keeps
// as soon as it is sent, whatever becomes of the workers. It only says that it is time to look, under an id that is always the
// same, so that it may be told again; a parent that cannot be told is over, or finds out by its own look.
import { getExternalWorkflowHandle } from '@temporalio/workflow';
import { callbackMessageId } from '../core/keys';
import type { State } from '../core/state';
import { MESSAGE, workflowIdOf, type Message } from '../messages';

const EVENT_ID = 'ended';

/** Resolves when the parent was told, or cannot be told. */
export async function tellParent({ runId, parent, end }: State): Promise<void> {
  if (!parent) return;
  const { callbackId } = parent;
  const message: Message = {
    messageId: callbackMessageId(callbackId, EVENT_ID), actor: { id: runId, via: 'conductor', assurance: 'claimed' },
    body: { kind: 'callback', callbackId, eventId: EVENT_ID, payload: { value: { runId, status: end?.status ?? 'running' } } },
  };
  try {
    await getExternalWorkflowHandle(workflowIdOf(parent.runId)).signal(MESSAGE, message);
  } catch {
    return;
  }
}
