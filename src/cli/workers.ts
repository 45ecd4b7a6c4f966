// Who polls the queue: told to people when nobody does, since a run that is accepted then waits without a word.
import os from 'node:os';
import { identify } from '../adapters/temporal/process-identity';
import type { Place } from './place';
import { command, say } from './print';

/** ms after which a poller that was seen last is taken for gone: a poll lasts a minute at most. */
const SEEN_MS = 70_000;

/** Identities of the workers that poll the queue now. A worker of this host whose process is gone does not count. */
export async function pollingWorkers(place: Place): Promise<string[]> {
  const { connection, at } = await place.connection();
  const answer = await connection.workflowService.describeTaskQueue({ namespace: at.namespace, taskQueue: { name: place.taskQueue }, taskQueueType: 1 });
  return (answer.pollers ?? []).flatMap(({ identity, lastAccessTime }) => {
    const seen = Number(lastAccessTime?.seconds ?? 0) * 1000;
    const [, pid, host] = /^longhaul (\d+)@(.*)$/.exec(identity ?? '') ?? [];
    const gone = host === os.hostname() && identify(Number(pid)) === undefined;
    return gone || Date.now() - seen > SEEN_MS ? [] : [identity ?? ''];
  });
}

/** Says on stderr when no worker polls. */
export async function workerNote(place: Place): Promise<void> {
  const workers = await pollingWorkers(place).catch(() => ['unknown']);
  if (workers.length === 0) say(`No worker polls the queue "${place.taskQueue}", so nothing moves yet: start one with ${command('longhaul dev')} or ${command('longhaul worker')}`);
}
