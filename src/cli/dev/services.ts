// The local services that a configuration names by command, as child processes with logs and kept ports. `services.json` tells
// workers where they are; it is written once all of them listen. A service that ends is started again on its port.
import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadedConfig } from '../../adapters/config/load';
import { choosePorts } from '../../adapters/temporal/ports';
import { openingRefusal } from '../../adapters/temporal/probe';
import { endProcess, spawnLogged, type LoggedChild } from '../../adapters/temporal/server-process';
import type { ServiceCommand } from '../../config';
import { EXIT, Stop } from '../exit';
import { noteChild } from './state';

const READY_MS = 20_000;

export interface RunningServices { urls: Record<string, string>; stop(): Promise<void> }

/** Starts every service that is named by a command; `own` are those of this process, told to workers like the others. Throws Stop with the log's last words when one does not listen in time. */
export async function startServices(stateDir: string, { config, file }: LoadedConfig, say: (line: string) => void, own: Record<string, string> = {}): Promise<RunningServices> {
  const named = Object.entries(config.services ?? {}).filter((entry): entry is [string, ServiceCommand] => typeof entry[1] === 'object' && 'command' in entry[1]);
  const running = await Promise.all(named.map(async ([name, service]) => {
    const { ports, notes } = await choosePorts(stateDir, { [`service:${name}`]: 0 });
    notes.forEach(say);
    const port = ports[`service:${name}`]!;
    const stop = await keepRunning({ stateDir, name, service, port, folder: path.dirname(file), say });
    return { name, url: `http://127.0.0.1:${port}`, stop };
  }));
  const urls = { ...own, ...Object.fromEntries(running.map(({ name, url }) => [name, url])) };
  writeServices(stateDir, urls);
  return { urls, stop: async () => void await Promise.all(running.map(({ stop }) => stop())) };
}

interface Service { stateDir: string; name: string; service: ServiceCommand; port: number; folder: string; say: (line: string) => void }

async function keepRunning(about: Service): Promise<() => Promise<void>> {
  let stopping = false;
  let child = await startOne(about);
  const watch = async (): Promise<void> => {
    for (;;) {
      await child.ended;
      if (stopping) return;
      about.say(`The service ${about.name} has ended; it is started again.`);
      await sleep(500);
      if (stopping) return;
      child = await startOne(about);
    }
  };
  watch().catch((error: unknown) => { about.say(error instanceof Error ? error.message : String(error)); });
  return async () => {
    stopping = true;
    if (child.identity) await endProcess(child.identity, 3_000);
    noteChild(about.stateDir, about.name, undefined);
  };
}

async function startOne({ stateDir, name, service, port, folder }: Service): Promise<LoggedChild> {
  const words = service.command.map((word) => word.replaceAll('{port}', String(port)).replaceAll('{stateDir}', stateDir));
  const program = words[0] === 'node' ? process.execPath : words[0]!;
  const logFile = path.join(stateDir, `${name}.log`);
  const child = spawnLogged(program, words.slice(1), { logFile, cwd: path.resolve(folder, service.cwd ?? '.') });
  noteChild(stateDir, name, child.identity);
  for (const deadline = Date.now() + READY_MS; Date.now() < deadline; await sleep(50)) {
    if (!child.isAlive()) break;
    if (!(await openingRefusal(`127.0.0.1:${port}`, 1_000, false))) return child;
  }
  if (child.identity) await endProcess(child.identity, 0);
  noteChild(stateDir, name, undefined);
  const words5 = child.failure() ?? (child.output(5) || 'it said nothing');
  throw new Stop(EXIT.unreachable, `The service ${name} does not listen on 127.0.0.1:${port}: ${words5} (log: ${logFile}).`);
}

function writeServices(stateDir: string, urls: Record<string, string>): void {
  const file = path.join(stateDir, 'services.json');
  writeFileSync(`${file}.${process.pid}`, `${JSON.stringify(Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }])), null, 2)}\n`);
  renameSync(`${file}.${process.pid}`, file);
}
