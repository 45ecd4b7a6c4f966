// What a fork takes over of its parent's journal, event by event. Pure.
// A copied event says the same and stands at the same place; only what would bind the fork to its parent is left out: idempotency
// keys (what was sent to the parent was not sent to the fork) and the claim that a checkpoint is one of this run's state.
import type { RunEvent } from './events';

/** An event of another run as it stands in the journal of its fork. */
export function inherited(event: RunEvent, runId: string): RunEvent {
  const { idempotencyKey: _key, message: _message, ...rest } = event;
  const copy = { ...rest, runId } as RunEvent;
  return copy.type === 'CheckpointSaved' ? { ...copy, data: { ...copy.data, of: copy.data.of ?? event.runId } } : copy;
}
