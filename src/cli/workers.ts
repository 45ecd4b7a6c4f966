// Who polls the queue: told to people when nobody does, since a run that is accepted then waits without a word. And which workers of
// this folder send in plain, because they were started before there were keys: a change of keys does not reach these.
import os from 'node:os';
import { ownerLives } from '../adapters/claims/owner';
import { readLists } from '../adapters/claims/running';
import { identify } from '../adapters/temporal/process-identity';
import type { Place } from './place';
import { command, say } from './print';

/** Temporal's number for a worker that is one version of a deployment. */
const VERSIONED = 2;
/** ms after which a poller that was seen last is taken for gone: a poll lasts a minute at most. */
const SEEN_MS = 70_000;

/** Identities of the workers that poll the queue now. A worker of this host whose process is gone does not count. */
export const pollingWorkers = async (place: Place): Promise<string[]> => (await pollingVersions(place)).map(({ identity }) => identity);

/** The same with the deployment version that each is of. */
export async function pollingVersions(place: Place): Promise<{ identity: string; deployment?: string; buildId?: string }[]> {
  const { connection, at } = await place.connection();
  const answer = await connection.workflowService.describeTaskQueue({ namespace: at.namespace, taskQueue: { name: place.taskQueue }, taskQueueType: 1 });
  return (answer.pollers ?? []).flatMap(({ identity, lastAccessTime, deploymentOptions }) => {
    const seen = Number(lastAccessTime?.seconds ?? 0) * 1000;
    const [, pid, host] = /^longhaul (\d+)@(.*)$/.exec(identity ?? '') ?? [];
    const gone = host === os.hostname() && identify(Number(pid)) === undefined;
    if (gone || Date.now() - seen > SEEN_MS) return [];
    const { deploymentName, buildId, workerVersioningMode } = deploymentOptions ?? {};
    return [{ identity: identity ?? '', ...(workerVersioningMode === VERSIONED && deploymentName ? { deployment: deploymentName, buildId: buildId ?? '' } : {}) }];
  });
}

/** Says on stderr when no worker polls. */
export async function workerNote(place: Place): Promise<void> {
  const workers = await pollingWorkers(place).catch(() => ['unknown']);
  if (workers.length === 0) say(`No worker polls the queue "${place.taskQueue}", so nothing moves yet: start one with ${command('longhaul dev')} or ${command('longhaul worker')}`);
}

/** Identities of the living workers of this state folder that do not encrypt, and will not before they are started again. */
export const workersInPlain = (stateDir: string): string[] => readLists(stateDir).flatMap(({ owner, encrypts }) => (encrypts === false && ownerLives(owner) ? [owner.worker] : []));
