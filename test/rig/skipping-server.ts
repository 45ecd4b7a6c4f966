// Temporal's time-skipping test server for one test file: a day of waiting takes as long as the work in it. What it lacks beside the
// real one, and what follows for a test: it lists no workflows (the rig replays the executions that it started itself), knows no
// search attributes (the worker shows none) and keeps nothing on disk (it cannot be killed and restarted). Its clock goes as ours
// does but for `skip`, and then stops for every activity and workflow task that is under way: what they do takes real time.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { quietRuntime } from './rig';
import { rigTestServer, type RigServer } from './server';

export interface SkippingServer extends RigServer {
  /** Lets the server's time go on by `ms`, as fast as what is waited for allows. */
  skip(ms: number): Promise<void>;
}

const cannot = (): never => { throw new Error('The time-skipping server keeps nothing on disk and cannot be started again; use startRigServer.'); };

/** Starts one. Runs of one server share its time, so that a test file skips for all of them at once. */
export async function startSkippingServer(): Promise<SkippingServer> {
  quietRuntime();
  const temporalBinary = await rigTestServer();
  const environment = await TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path: temporalBinary } } });
  const { address } = environment;
  const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-skipping-'));
  const stop = async (): Promise<void> => {
    await environment.teardown();
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    address, namespace: 'default', uiAddress: '', connectionOptions: { address }, temporalBinary, folder,
    pid: cannot, kill: cannot, restart: cannot, temporalCli: cannot, stop,
    skip: (ms) => environment.sleep(ms),
  };
}
