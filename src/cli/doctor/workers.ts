// The doctor's look at workers: does one poll that gets what is new on the queue? Where a deployment version is current only its
// workers do, and unversioned ones, such as those of `dev`, get nothing; where none is, it is the other way round. A worker that gets
// nothing is never said to be ok. Changes nothing.
import type { Place } from '../place';
import { giveBack, polled, served, type Polled, type Poller } from '../workers';
import { ok, wrong, type Check, type Finding } from './findings';

/** `idle`: does nothing run here and nothing wait either? */
export const workersCheck = (idle: (place: Place) => Promise<boolean>): Check => async (place) => {
  const found = await polled(place);
  if (found.pollers.length === 0 && !found.owner) {
    if (await idle(place)) return [{ what: 'worker', state: 'note', detail: 'none polls the queue, and no run waits for one', next: 'npx longhaul dev, or npx longhaul worker' }];
    return wrong('worker', 'none polls the queue, so runs wait', 'npx longhaul dev, or npx longhaul worker');
  }
  return judged(found, place.taskQueue);
};

/** What is to be said of a queue that somebody polls or a deployment owns. */
export function judged(found: Polled, taskQueue: string): Finding[] {
  const { pollers, owner } = found;
  const working = pollers.filter(served(found));
  const unversioned = pollers.filter(({ deployment }) => deployment === undefined);
  if (owner) return working.length === 0 ? deserted(owner, taskQueue, unversioned) : [...ok('worker', names(pollers.filter(({ deployment }) => deployment !== undefined))), ...left(owner, taskQueue, unversioned)];
  const versions = pollers.filter(({ deployment }) => deployment !== undefined);
  return working.length === 0 ? noneCurrent(versions) : [...ok('worker', names(working)), ...versions.map(waiting)];
}

const names = (pollers: readonly Poller[]): string => pollers.map(({ identity }) => identity).join(', ');

/** The current version has no worker, so that new and unversioned runs stand still. */
function deserted({ name, buildId }: NonNullable<Polled['owner']>, taskQueue: string, unversioned: readonly Poller[]): Finding[] {
  const others = unversioned.length > 0 ? `; unversioned workers get nothing from it (${names(unversioned)})` : '';
  return wrong('worker', `the queue "${taskQueue}" belongs to ${name} ${buildId}, the current version, and no worker of that version polls, so that runs wait${others}`,
    `start it again: npx longhaul worker --deployment ${name} --build-id ${buildId}; or a newer build: npx longhaul worker --deployment ${name} --build-id NEW --current; or give the queue back to unversioned workers such as dev: ${giveBack(name)}`);
}

const left = ({ name, buildId }: NonNullable<Polled['owner']>, taskQueue: string, unversioned: readonly Poller[]): Finding[] => (unversioned.length === 0 ? [] : [{
  what: 'worker', state: 'note', detail: `unversioned, and gets nothing, since the queue "${taskQueue}" belongs to ${name} ${buildId}: ${names(unversioned)}`, next: `stop it, or give it the queue back: ${giveBack(name)}`,
}]);

const makeCurrent = ({ deployment, buildId }: Poller): string => `npx longhaul temporal worker deployment set-current-version --deployment-name ${deployment} --build-id ${buildId} --yes`;

function noneCurrent(versions: readonly Poller[]): Finding[] {
  const [first] = versions;
  return first ? wrong(`deployment ${first.deployment}`, `no version of it is current on the queue, so that no run can begin on its workers: ${names(versions)}`, makeCurrent(first)) : [];
}

const waiting = (poller: Poller): Finding => ({
  what: `deployment ${poller.deployment}`, state: 'note', detail: `${poller.buildId} polls and is not current: runs go to the unversioned workers`, next: `to move the queue to it: ${makeCurrent(poller)}`,
});
