// Asks Temporal to cancel the very execution that asks, so that a run cancelled by our message ends as Canceled there too.
// Cancelling twice, or after the end, does no harm.
import { Context } from '@temporalio/activity';
import type { Hands } from './types';

export const cancelSelf: Hands['cancelSelf'] = async () => {
  const { client, info: { workflowExecution } } = Context.current();
  if (!workflowExecution) throw new Error('Only a workflow can ask for its own cancellation.');
  await client.workflow.getHandle(workflowExecution.workflowId, workflowExecution.runId).cancel();
};
