// The doctor's look at versions: open runs that a newer build carried on, which this build leaves alone; runs that are pinned to a
// deployment version whose workers are gone, so that nothing would wake them. Changes nothing.
import type { LonghaulClient } from '../../client/client';
import { workflowIdOf } from '../../messages';
import { outlooks } from '../outlook';
import { pollingVersions } from '../workers';
import { ok, wrong, type Check, type Finding } from './findings';
import { openRuns } from './runs';

const MOST = 50;

/** Does this build know what every open run was written with? */
export const versions: Check = async (place) => {
  if (!await place.hasStores()) return [];
  const refused = (await outlooks(place)).filter(({ verdict }) => verdict === 'refused');
  if (refused.length === 0) return ok('versions', 'this build can go on with every open run');
  return refused.slice(0, MOST).flatMap(({ runId, why, damaged }) => (damaged
    ? wrong(`run ${runId}`, why, `npx longhaul replay ${runId} names what does not fit`)
    : wrong(`run ${runId}`, `this build leaves it alone: ${why}`, 'start a worker of the build that wrote it (`npx longhaul migrate --dry-run` names every such run); nothing was touched')));
};

/** Is there a worker for every version that open runs are pinned to? */
export const deployments: Check = async (place) => {
  const polled = await pollingVersions(place);
  const client = await place.client({ mustExist: false });
  const open = await openRuns(place);
  const found: Finding[] = [];
  for (const { runId } of open.slice(0, MOST)) found.push(...await pinnedTo(client, runId, polled));
  return found;
};

async function pinnedTo(client: LonghaulClient, runId: string, polled: Awaited<ReturnType<typeof pollingVersions>>): Promise<Finding[]> {
  const { version, status } = await client.execution(runId);
  if (!version || status !== 'RUNNING' || polled.some(({ deployment, buildId }) => deployment === version.name && buildId === version.buildId)) return [];
  return wrong(`run ${runId}`, `it is pinned to ${version.name} ${version.buildId}, and no worker of that version polls, so that nothing wakes it`,
    `start that build again; or, when it is gone for good, let the current version have the run: npx longhaul temporal workflow update-options --workflow-id ${workflowIdOf(runId)} --versioning-override-behavior auto_upgrade`);
}
