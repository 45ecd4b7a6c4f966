// The bundled publisher: a separate process with its own storage and its own log, the outside world of this example.
// Usage: main --storage DIR [--port N]. Binds 127.0.0.1 only; prints {"port":N} once it listens; SIGTERM and SIGINT stop it.
// Shares no code with the runtime, so that it can judge it: `log.jsonl` tells how many publications there really were.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { publisherHandler, type Faults } from './http';
import { openStore } from './store';

const millis = (name: string): number => Math.max(0, Number.parseInt(process.env[name] ?? '0', 10) || 0);

/** Trouble on demand: PUBLISHER_DELAY_BEFORE_MS, PUBLISHER_DELAY_AFTER_MS, PUBLISHER_DROP_REPLY=1. */
function faultsOf(): Faults {
  return { delayBeforeMs: millis('PUBLISHER_DELAY_BEFORE_MS'), delayAfterMs: millis('PUBLISHER_DELAY_AFTER_MS'), dropReply: process.env['PUBLISHER_DROP_REPLY'] === '1' };
}

function main(): void {
  const { values } = parseArgs({ options: { port: { type: 'string', default: '0' }, storage: { type: 'string' } } });
  const port = Number(values.port);
  if (!values.storage || !Number.isInteger(port) || port < 0 || port > 65_535) throw new Error('Usage: main --storage DIR [--port N]');
  const store = openStore(path.resolve(values.storage));
  const server = createServer(publisherHandler(store, faultsOf()));
  server.requestTimeout = 60_000;
  server.on('error', (error) => { store.close(); fail(error); });
  server.listen(port, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop(server, () => store.close()));
}

/** Lets requests under way finish for two seconds, then ends. */
function stop(server: Server, close: () => void): void {
  server.close(() => { close(); process.exit(0); });
  server.closeIdleConnections();
  setTimeout(() => server.closeAllConnections(), 2_000).unref();
}

function fail(error: unknown): void {
  process.stderr.write(`publisher: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

try {
  main();
} catch (error) {
  fail(error);
}
