// Worker Deployment versions as Temporal keeps them: which one is current, and making one current. A version exists for the server
// once a worker of it has polled, so both are asked again until it does. Without a current version no run starts on versioned workers.
// Decides nothing: which build may become current is the caller's to say.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';

/** One version of a Worker Deployment. */
export interface DeploymentVersion { name: string; buildId: string }

/** gRPC status NOT_FOUND: the deployment, or this version of it, has not polled yet. */
const NOT_FOUND = 5;
/** gRPC status FAILED_PRECONDITION: known, but its task queues are not yet. */
const NOT_READY = 9;
const LOOK_MS = 250;

const isCode = (error: unknown, ...codes: number[]): boolean => codes.includes((error as { code?: number } | null)?.code ?? -1);

/** Build id of the current version; null when there is none, or no deployment of that name. */
export async function currentBuild({ workflowService }: Connection, namespace: string, deploymentName: string): Promise<string | null> {
  try {
    const { workerDeploymentInfo } = await workflowService.describeWorkerDeployment({ namespace, deploymentName });
    return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId || null;
  } catch (error) {
    if (isCode(error, NOT_FOUND)) return null;
    throw error;
  }
}

/** DRAINING and DRAINED, in Temporal's numbers. */
const REPLACED: ReadonlySet<unknown> = new Set([4, 5]);

/** Was this version current, until another took its place? */
export async function wasReplaced({ workflowService }: Connection, namespace: string, { name, buildId }: DeploymentVersion): Promise<boolean> {
  try {
    const { workerDeploymentVersionInfo } = await workflowService.describeWorkerDeploymentVersion({ namespace, deploymentVersion: { deploymentName: name, buildId } });
    return REPLACED.has(workerDeploymentVersionInfo?.status);
  } catch (error) {
    if (isCode(error, NOT_FOUND)) return false;
    throw error;
  }
}

/**
 * Makes a version current: runs begin on it from now on, and older ones move to it when they continue as new. Asks again for
 * `forMs` while the server does not know the version. Throws what the server says then.
 */
export async function makeCurrent({ workflowService }: Connection, namespace: string, { name, buildId }: DeploymentVersion, forMs = 15_000): Promise<void> {
  const until = Date.now() + forMs;
  for (;;) {
    try {
      await workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName: name, buildId });
      return;
    } catch (error) {
      if (!isCode(error, NOT_FOUND, NOT_READY) || Date.now() > until) throw error;
      await sleep(LOOK_MS);
    }
  }
}
