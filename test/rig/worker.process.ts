// One real worker process, so that a kill is a kill. Run through jiti by worker-process.ts; uses the built worker, as users do.
// Says `ready` on stdout once it polls. Everything it needs stands in LONGHAUL_RIG.
import type { HistoryLimits } from '../../src/config';
import { loadConfig } from '../../src/adapters/config/load';
import type { WorkerSettings } from '../../src/worker';
import { rigConfig } from './config';

export interface RigWorkerSettings { worker: string; address: string; taskQueue: string; stateDir: string; effects: string; logFile: string; limits?: HistoryLimits; graceMs?: number; /** A configuration module in place of the rig's own. */ configFile?: string }

async function main(): Promise<void> {
  const settings = JSON.parse(process.env['LONGHAUL_RIG'] ?? '{}') as RigWorkerSettings;
  const { startWorker } = require(settings.worker) as typeof import('../../src/worker');
  const running = await startWorker({
    ...(await configOf(settings)), stateDir: settings.stateDir, connection: { address: settings.address },
    taskQueue: settings.taskQueue, logFile: settings.logFile, logLevel: 'info', graceMs: settings.graceMs,
  });
  const done = running.run();
  process.stdout.write('ready\n');
  await done;
}

async function configOf({ configFile, effects, limits }: RigWorkerSettings): Promise<Pick<WorkerSettings, 'config' | 'configFile'>> {
  if (configFile === undefined) return { config: rigConfig(effects, limits) };
  return { config: (await loadConfig(configFile)).config, configFile };
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
