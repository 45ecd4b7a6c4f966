// temporal-dev.yml is one declaration read twice: by Compose and by the local start. No server is needed here.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { declaredCommand, declaredSearchAttributes, devCommand, devFile } from '../../src/adapters/temporal/dev-file';
import { sdkVersion } from '../../src/adapters/temporal/fetch-binary';

const root = path.join(__dirname, '../..');
const compose = parse(readFileSync(path.join(root, 'temporal-dev.yml'), 'utf8'));
const service = compose.services.temporal;
const replaced = ['--ip', '--port', '--ui-port', '--db-filename'];

/** The value that follows a flag; the flag must stand in the list exactly once. */
function valueOf(command: string[], flag: string): string {
  expect(command.filter((part) => part === flag)).toHaveLength(1);
  return command[command.indexOf(flag) + 1]!;
}

describe('temporal-dev.yml', () => {
  it('is found from the sources', () => {
    expect(devFile()).toBe(path.join(root, 'temporal-dev.yml'));
  });

  it('reads the same to Compose and to the local start, four flags aside', () => {
    const flags = { ip: '127.0.0.9', port: 1, uiPort: 2, dbFile: '/state/temporal.db' };
    const local = devCommand(flags);
    expect(local).toHaveLength(service.command.length);
    const changed = local.flatMap((part, index) => (part === service.command[index] ? [] : [[service.command[index - 1], part]]));
    expect(changed).toEqual([['--ip', '127.0.0.9'], ['--port', '1'], ['--ui-port', '2'], ['--db-filename', '/state/temporal.db']]);
    expect(changed.map(([flag]) => flag)).toEqual(replaced);
  });

  it('gives Compose an image, published ports, a kept database and a health check that fit the command', () => {
    const command: string[] = service.command;
    expect(command.slice(0, 2)).toEqual(['server', 'start-dev']);
    expect(command.every((part) => typeof part === 'string')).toBe(true);
    expect(service.image).toMatch(/^temporalio\/temporal:/);
    expect(valueOf(command, '--ip')).toBe('0.0.0.0');
    const [port, uiPort] = [valueOf(command, '--port'), valueOf(command, '--ui-port')];
    expect(service.ports).toEqual([`127.0.0.1:${port}:${port}`, `127.0.0.1:${uiPort}:${uiPort}`]);
    const [volume, mount] = service.volumes[0].split(':');
    expect(Object.keys(compose.volumes)).toContain(volume);
    expect(path.posix.dirname(valueOf(command, '--db-filename'))).toBe(mount);
    expect(service.healthcheck.test.slice(-2)).toEqual(['--address', `127.0.0.1:${port}`]);
    expect(Object.keys(compose).sort()).toEqual(['services', 'volumes']);
  });

  it('keeps full durability and the limits that the client relies on', () => {
    const command = declaredCommand();
    const values = (flag: string) => command.filter((_, index) => command[index - 1] === flag);
    expect(values('--sqlite-pragma')).toEqual(['journal_mode=wal', 'synchronous=2']);
    expect(values('--dynamic-config-value')).toEqual(['history.maxInFlightUpdates=1000', 'history.transferProcessorMaxPollRPS=10000']);
  });

  it('declares the search attributes with the frozen names and types', () => {
    expect(declaredSearchAttributes()).toEqual([
      { name: 'AgentStatus', type: 'Keyword' },
      { name: 'AgentOwner', type: 'Keyword' },
      { name: 'AgentKind', type: 'Keyword' },
      { name: 'AgentWaitingFor', type: 'KeywordList' },
      { name: 'AgentDeadline', type: 'Datetime' },
    ]);
  });

  it('is packed with the product, whose download asks for the server of the SDK in use', () => {
    const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
    expect(manifest.files).toContain('temporal-dev.yml');
    expect(sdkVersion).toBe(manifest.dependencies['@temporalio/worker']);
  });
});
