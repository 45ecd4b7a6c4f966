// Who polls the queue, and who gets what is new on it: told to people when nobody does, since a run that is accepted then waits
// without a word. A queue of which a deployment version is current gives nothing to unversioned workers. And which workers of this
// folder send in plain, because they were started before there were keys: a change of keys does not reach these. Changes nothing.
import os from 'node:os';
import type { Connection } from '@temporalio/client';
import { ownerLives } from '../adapters/claims/owner';
import { readLists } from '../adapters/claims/running';
import { identify } from '../adapters/temporal/process-identity';
import type { Place } from './place';
import { command, say } from './print';

/** Temporal's number for a worker that is one version of a deployment. */
const VERSIONED = 2;
/** ms after which a poller that was seen last is taken for gone: a poll lasts a minute at most. */
const SEEN_MS = 70_000;

/** Who polls a queue, and of which deployment version, if of any. */
export interface Poller { identity: string; deployment?: string; buildId?: string }

/** `owner`: the current version to which the server gives what is new on the queue; null: to unversioned workers. */
export interface Polled { pollers: Poller[]; owner: { name: string; buildId: string } | null }

/** Identities of the workers that poll the queue now. A worker of this host whose process is gone does not count. */
export const pollingWorkers = async (place: Place): Promise<string[]> => (await pollingVersions(place)).map(({ identity }) => identity);

/** The same with the deployment version that each is of. */
export const pollingVersions = async (place: Place): Promise<Poller[]> => (await polled(place)).pollers;

/** Who polls the queue now, and who gets what is new on it. */
export async function polled(place: Place): Promise<Polled> {
  const { connection, at } = await place.connection();
  const answer = await connection.workflowService.describeTaskQueue({ namespace: at.namespace, taskQueue: { name: place.taskQueue }, taskQueueType: 1 });
  const { deploymentName: name, buildId } = answer.versioningInfo?.currentDeploymentVersion ?? {};
  return { pollers: (answer.pollers ?? []).flatMap(pollerOf), owner: name && buildId ? { name, buildId } : null };
}

type Seen = NonNullable<Awaited<ReturnType<Connection['workflowService']['describeTaskQueue']>>['pollers']>[number];

function pollerOf({ identity, lastAccessTime, deploymentOptions }: Seen): Poller[] {
  const seen = Number(lastAccessTime?.seconds ?? 0) * 1000;
  const [, pid, host] = /^longhaul (\d+)@(.*)$/.exec(identity ?? '') ?? [];
  const gone = host === os.hostname() && identify(Number(pid)) === undefined;
  if (gone || Date.now() - seen > SEEN_MS) return [];
  const { deploymentName, buildId, workerVersioningMode } = deploymentOptions ?? {};
  return [{ identity: identity ?? '', ...(workerVersioningMode === VERSIONED && deploymentName ? { deployment: deploymentName, buildId: buildId ?? '' } : {}) }];
}

/** Is it one of the version that owns the queue, or, where none does, unversioned? Only such a poller gets what is new. */
export const served = ({ owner }: Polled) => ({ deployment, buildId }: Poller): boolean => deployment === owner?.name && buildId === owner?.buildId;

/** Gives a queue back to unversioned workers; words of the Temporal command line. */
export const giveBack = (deployment: string): string => `npx longhaul temporal worker deployment set-current-version --deployment-name ${deployment} --unversioned --yes`;

/** Says on stderr when no worker polls, or none of the version that gets what is new. */
export async function workerNote(place: Place): Promise<void> {
  const found = await polled(place).catch(() => null);
  if (found === null || found.pollers.some(served(found))) return;
  const { owner } = found;
  if (owner) say(`The queue "${place.taskQueue}" belongs to ${owner.name} ${owner.buildId}, and no worker of that version polls, so nothing moves yet: ${command('longhaul doctor')} says what to do`);
  else if (found.pollers.length === 0) say(`No worker polls the queue "${place.taskQueue}", so nothing moves yet: start one with ${command('longhaul dev')} or ${command('longhaul worker')}`);
  else say(`No version of a deployment is current on the queue "${place.taskQueue}", so nothing moves yet: ${command('longhaul doctor')} says what to do`);
}

/** Identities of the living workers of this state folder that do not encrypt, and will not before they are started again. */
export const workersInPlain = (stateDir: string): string[] => readLists(stateDir).flatMap(({ owner, encrypts }) => (encrypts === false && ownerLives(owner) ? [owner.worker] : []));
