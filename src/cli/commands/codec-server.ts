// `longhaul codec-server`: lets Temporal's Web UI and command line read the payloads of encrypted runs, on this machine, until Ctrl-C.
// Its address holds a token that is kept in the state folder (mode 0600), so that the address stays the same.
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import type { CodecServer } from '../../adapters/codec/server';
import { readPrivately } from '../../adapters/secrets/secrets-file';
import { readDevState } from '../../adapters/temporal/dev-state';
import { act } from '../act';
import { EXIT, Stop } from '../exit';
import { onLauncherGone } from '../launcher';
import { portOf, reading, type CommonOptions } from '../options';
import type { Place } from '../place';
import { json, say } from '../print';

const TOKEN_FILE = 'codec-server.token';

interface ServerOptions extends CommonOptions { port: string; uiOrigin?: string[]; decodeOnly?: boolean }

async function codecServer(place: Place, options: ServerOptions): Promise<void> {
  place.writable();
  const origins = options.uiOrigin ?? uiOrigins(place);
  const server = await openDoor(place, { port: portOf('--port', options.port), origins, decodeOnly: options.decodeOnly === true });
  if (options.json) json({ pid: process.pid, url: server.url, origins });
  say(`Codec server ${server.url}`);
  say(`In the Web UI (${origins.join(' or ')}): the glasses at the top right, "Configure Codec Server", this address. Temporal's own command line: npx longhaul temporal workflow show --codec-endpoint ${server.url} -w run/RUN`);
  say('Whoever has this address and runs on this machine can read the payloads. Ctrl-C stops it.');
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
    onLauncherGone(resolve);
  });
  await server.close();
}

/** Opens the server with the keys of a place. Throws Stop where the port is taken. */
export async function openDoor(place: Place, { port, origins, decodeOnly = false }: { port: number; origins: readonly string[]; decodeOnly?: boolean }): Promise<CodecServer> {
  const { dataConverter } = await place.encryption();
  const { openCodecServer } = await import('../../adapters/codec/server');
  const [codec] = dataConverter.payloadCodecs ?? [];
  return openCodecServer({ codec: codec!, port, origins, token: tokenOf(place.stateDir), decodeOnly }).catch((error: unknown) => {
    throw new Stop(EXIT.error, `Port ${port} of 127.0.0.1 cannot be opened for the codec server (${(error as NodeJS.ErrnoException).code ?? String(error)}); give --port another, or 0 for any free one.`);
  });
}

/** The Web UI of this folder's development server, under both its names. */
export function uiOrigins(place: Place): string[] {
  const { uiPort } = readDevState(place.stateDir);
  const port = typeof uiPort === 'number' ? uiPort : 8233;
  return [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
}

function tokenOf(stateDir: string): string {
  const file = path.join(stateDir, TOKEN_FILE);
  if (!existsSync(file)) {
    try {
      writeFileSync(file, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  return readPrivately(file).trim();
}

/** Adds `codec-server`. */
export function addCodecServer(program: Command): void {
  reading(program.command('codec-server').description("let Temporal's Web UI and command line on this machine read encrypted payloads; until Ctrl-C"))
    .option('--port <n>', 'port of 127.0.0.1; 0 for any free one', '8234')
    .option('--ui-origin <url...>', 'where the Web UI is, e.g. https://ui.example.com (default: that of the development server)')
    .option('--decode-only', 'refuse to encode')
    .action(act(codecServer, ([options]) => options));
}
