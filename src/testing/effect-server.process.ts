// The effect server as a process of its own: `node effect-server.process.js --folder DIR [--port N] [--attached]`. Binds
// 127.0.0.1 only, prints its base URL as one line once it listens, ends on SIGINT and SIGTERM, with `--attached` also when its
// stdin ends, so that it does not outlive who started it. May be killed at any moment: its log is whole.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { EffectService } from './effect-http';
import { EffectLog } from './effect-log';

function main(): void {
  const { values } = parseArgs({ options: { folder: { type: 'string' }, port: { type: 'string', default: '0' }, attached: { type: 'boolean' } } });
  if (!values.folder) throw new Error('Usage: effect-server.process --folder DIR [--port N]');
  const log = new EffectLog(values.folder);
  const service = new EffectService(log);
  const server = createServer((request, response) => void service.answer(request, response));
  server.on('error', fail);
  server.listen(Number(values.port), '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  const stop = (): void => {
    server.close(() => { log.close(); process.exit(); });
    server.closeAllConnections();
  };
  if (values.attached) process.stdin.once('end', stop).resume();
  process.once('SIGINT', stop).once('SIGTERM', stop);
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

try {
  main();
} catch (error) {
  fail(error);
}
