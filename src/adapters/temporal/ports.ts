// Chooses TCP ports for the development services and keeps them in `<stateDir>/dev.json`: the usual port where it is
// free, else another free one; once chosen, the same at the next start, so that addresses in use stay true.
// Never takes a port from another program: a kept port that is taken is chosen anew, and the answer says so.
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readDevState, updateDevState } from './dev-state';

/** Ports by the name under which dev.json keeps them, e.g. `{ port: 7233, uiPort: 8233 }`; 0 means any free port. */
export type Ports = Record<string, number>;

export interface ChosenPorts<Names extends Ports> {
  ports: { [Name in keyof Names]: number };
  /** One sentence for each kept port that was taken; empty in the usual case. */
  notes: string[];
}

/** Chooses a port for every name in `usual`, keeps them and returns them. */
export async function choosePorts<Names extends Ports>(stateDir: string, usual: Names, ip = '127.0.0.1'): Promise<ChosenPorts<Names>> {
  const kept = readDevState(stateDir);
  const ports: Ports = {};
  const notes: string[] = [];
  for (const [name, wanted] of Object.entries(usual)) {
    const before = kept[name];
    const taken = Object.values(ports);
    const usable = (port: unknown): port is number => isPort(port) && !taken.includes(port);
    const again = usable(before) && (await freeSoon(before, ip)) ? before : undefined;
    const chosen = again ?? (usable(wanted) && (await isFree(wanted, ip)) ? wanted : await anyFree(ip, taken));
    if (isPort(before) && chosen !== before) notes.push(`Port ${before} is taken by another program; ${chosen} is used from now on.`);
    ports[name] = chosen;
  }
  updateDevState(stateDir, ports);
  return { ports: ports as ChosenPorts<Names>['ports'], notes };
}

/** True when nobody listens on the port at this ip. */
export function isFree(port: number, ip = '127.0.0.1'): Promise<boolean> {
  return listenOnce(port, ip).then((got) => got !== undefined);
}

/** Some free port that is none of `not`. */
export async function anyFree(ip = '127.0.0.1', not: readonly number[] = []): Promise<number> {
  for (;;) {
    const port = await listenOnce(0, ip);
    if (port === undefined) throw new Error(`no free TCP port on ${ip}`);
    if (!not.includes(port)) return port;
  }
}

/** A server that has just been ended may hold its port for another moment. */
async function freeSoon(port: number, ip: string): Promise<boolean> {
  for (const deadline = Date.now() + 1_000; Date.now() < deadline; await sleep(100)) if (await isFree(port, ip)) return true;
  return false;
}

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65_536;
}

function listenOnce(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : undefined));
    });
  });
}
