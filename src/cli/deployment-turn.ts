// What a worker that is one version of a Worker Deployment is to its deployment, found out before it polls: current already, to become
// current, or one that waits until a person says so. The first version becomes current by itself only where that takes the queue from
// nobody: no unversioned worker, no other deployment and no open run that unversioned workers began. Decides; the adapter acts.
import type { DeploymentVersion } from '../adapters/temporal/deployment';
import { openRuns } from './doctor/runs';
import { EXIT, Stop } from './exit';
import type { Place } from './place';
import { giveBack, polled } from './workers';

export interface VersionOptions { deployment?: string; buildId?: string; current?: boolean; force?: boolean }

/** Throws Stop (usage) where the words of the command line make no version; connects nothing. */
export function checkVersion({ deployment, buildId, current }: VersionOptions): void {
  if (deployment === undefined) {
    const lonely = buildId !== undefined ? '--build-id' : current ? '--current' : null;
    if (lonely) throw new Stop(EXIT.usage, `${lonely} belongs to a deployment: name it with --deployment NAME, or leave ${lonely} out.`);
    return;
  }
  if (!/^(?!__)[^.:\s]+$/.test(deployment)) throw new Stop(EXIT.usage, `--deployment needs a name without dots, colons and spaces that does not begin with __, such as crew, not "${deployment}".`);
  if (buildId !== undefined && !/^\S+$/.test(buildId)) throw new Stop(EXIT.usage, `--build-id needs an id without spaces, such as v2, not "${buildId}"; or leave it out.`);
}

/** The version that a checked command line names; null without --deployment. */
export function versionOf({ deployment, buildId }: VersionOptions, buildName: () => string): DeploymentVersion | null {
  return deployment === undefined ? null : { name: deployment, buildId: buildId ?? buildName() };
}

/**
 * Whether this version has to become current once it polls. Answers how that is done, with the sentence that says what came of it.
 * Throws Stop when it may not become current.
 */
export async function turnOf(place: Place, version: DeploymentVersion, { current, force }: VersionOptions): Promise<() => Promise<string>> {
  const { currentBuild, makeCurrent, wasReplaced } = await import('../adapters/temporal/deployment');
  const { connection, at } = await place.connection();
  const now = await currentBuild(connection, at.namespace, version.name);
  const { name, buildId } = version;
  if (now === buildId) return async () => `${name} ${buildId} is the current version.`;
  if (now !== null && !current) return async () => `Runs begin on ${name} ${now}, the current version; this one takes none before it is made current: start it with --current, or npx longhaul temporal worker deployment set-current-version --deployment-name ${name} --build-id ${buildId}`;
  // A worker of a version that was current before and is started again must not take the deployment back.
  if (!force && await wasReplaced(connection, at.namespace, version)) return async () => `${name} ${buildId} was current before ${now === null ? 'its queues were given to unversioned workers' : `${now} took its place`}, and keeps the runs that are pinned to it; to go back to it, start it with --current --force.`;
  const queue = await queueOf(place, name);
  if (now === null && !current && queue.taken) return async () => `${name} ${buildId} polls and gets no runs: ${queue.taken}; start it with --current to move the queue "${place.taskQueue}" to it.`;
  if (!force) await refuseIfBehind(place, version);
  return async () => {
    await makeCurrent(connection, at.namespace, version);
    return `${now === null ? firstWords(version, queue) : `${name} ${buildId} is the current version now, after ${now}: runs begin on it, and older ones move to it when they continue as new.`}${await passedOver(place, version)}`;
  };
}

/** `taken`: who has the queue, as a part of a sentence; absent when nobody would lose anything. */
interface Queue { taken?: string; foreign: boolean }

const firstWords = ({ name, buildId }: DeploymentVersion, { taken, foreign }: Queue): string => (taken
  ? `${name} ${buildId} is the current version now: runs begin on it${foreign ? '' : ', and those that unversioned workers began go on with it'}.`
  : `${name} had no current version, so that no run could begin; it is ${buildId} now.`);

/** Who would lose the queue to the first version of this deployment. */
async function queueOf(place: Place, name: string): Promise<Queue> {
  const { pollers, owner } = await polled(place);
  if (owner) return owner.name === name ? { foreign: true } : { taken: `runs still go to ${owner.name} ${owner.buildId}`, foreign: true };
  const unversioned = pollers.filter(({ deployment }) => deployment === undefined).map(({ identity }) => identity);
  if (unversioned.length > 0) return { taken: `runs still go to the unversioned workers (${unversioned.join(', ')})`, foreign: false };
  const runId = await unversionedRun(place);
  return runId === null ? { foreign: false } : { taken: `runs still go to unversioned workers, one of which began run ${runId}, which is open`, foreign: false };
}

/** An open run of this queue that has begun on unversioned workers; null when there is none. */
async function unversionedRun(place: Place): Promise<string | null> {
  const client = await place.client({ mustExist: false });
  // What is only accepted has been with no worker yet.
  for (const { runId, status } of await openRuns(place)) {
    if (status === 'accepted') continue;
    const { status: execution, taskQueue, unversioned } = await client.execution(runId);
    if ((execution === 'RUNNING' || execution === 'PAUSED') && taskQueue === place.taskQueue && unversioned) return runId;
  }
  return null;
}

/** Said when the version becomes current although unversioned workers poll: they do not know. */
async function passedOver(place: Place, { name }: DeploymentVersion): Promise<string> {
  const { pollers } = await polled(place);
  const unversioned = pollers.filter(({ deployment }) => deployment === undefined).map(({ identity }) => identity);
  return unversioned.length === 0 ? '' : ` Unversioned workers (${unversioned.join(', ')}) get no new work from now on; to give them the queue back: ${giveBack(name)}`;
}

/** A build that does not know what open runs were written with is refused while they are still untouched. */
async function refuseIfBehind(place: Place, { name, buildId }: DeploymentVersion): Promise<void> {
  const { outlooks } = await import('./outlook');
  const refused = (await outlooks(place)).filter(({ verdict }) => verdict === 'refused');
  const [first] = refused;
  if (!first) return;
  const more = refused.length > 1 ? ` (and ${refused.length - 1} more open runs)` : '';
  throw new Stop(EXIT.error, `${name} ${buildId} does not become current, and nothing was touched: run ${first.runId}${more}: ${first.why} See npx longhaul migrate --dry-run.`);
}
