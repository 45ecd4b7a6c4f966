// What `dev` and `demo` keep in `<stateDir>/dev.json` beside the server's own entries: who supervises, which children it started,
// which configuration is served. Identities are pid and start time, so that another program's pid is never touched.
import { readDevState, updateDevState, type DevState } from '../../adapters/temporal/dev-state';
import { identify, isRunning, type ProcessIdentity } from '../../adapters/temporal/process-identity';
import { endProcess } from '../../adapters/temporal/server-process';
import { withStartLock } from '../../adapters/temporal/start-lock';
import { EXIT, Stop } from '../exit';

interface Kept extends DevState { supervisor?: ProcessIdentity & { mode: 'dev' | 'demo' }; children?: Record<string, ProcessIdentity>; configFile?: string; taskQueue?: string }

const kept = (stateDir: string): Kept => readDevState(stateDir) as Kept;

export interface RunningDev { pid: number; mode: 'dev' | 'demo'; configFile: string | null; address: string; uiAddress: string }

/** The supervisor that runs for this state folder, if one does. */
export function runningDev(stateDir: string): RunningDev | null {
  const { supervisor, configFile, port, uiPort } = kept(stateDir);
  if (!supervisor || !isRunning(supervisor)) return null;
  return { pid: supervisor.pid, mode: supervisor.mode, configFile: configFile ?? null, address: `127.0.0.1:${port}`, uiAddress: `http://127.0.0.1:${uiPort}` };
}

/** Makes this process the supervisor of the folder. Throws Stop when another one runs. */
export async function claimFolder(stateDir: string, { mode, configFile, taskQueue }: { mode: 'dev' | 'demo'; configFile: string; taskQueue: string }): Promise<void> {
  await withStartLock(stateDir, 60_000, async () => {
    const other = runningDev(stateDir);
    if (other) throw new Stop(EXIT.error, `\`longhaul ${other.mode}\` runs for ${stateDir} already (process ${other.pid}, Web UI ${other.uiAddress}): use it, stop it with Ctrl-C there, or name another folder with --state-dir.`);
    const self = identify(process.pid);
    updateDevState(stateDir, { supervisor: self && { ...self, mode }, configFile, taskQueue });
  });
}

/** Gives the folder back. */
export function leaveFolder(stateDir: string): void {
  if (kept(stateDir).supervisor?.pid === process.pid) updateDevState(stateDir, { supervisor: undefined, children: undefined });
}

/** Notes a child, so that the next start can end it if this process is killed. */
export function noteChild(stateDir: string, name: string, identity: ProcessIdentity | undefined): void {
  const { children = {} } = kept(stateDir);
  const { [name]: _, ...others } = children;
  updateDevState(stateDir, { children: identity ? { ...others, [name]: identity } : others });
}

/** Ends what a killed supervisor left running. */
export async function endLeftOvers(stateDir: string): Promise<string[]> {
  const left = Object.entries(kept(stateDir).children ?? {}).filter(([, identity]) => isRunning(identity));
  for (const [, identity] of left) await endProcess(identity, 3_000);
  updateDevState(stateDir, { children: undefined });
  return left.map(([name]) => name);
}
