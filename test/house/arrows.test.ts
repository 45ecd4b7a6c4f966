// The arrows of .dependency-cruiser.js, shown on a small tree that breaks each of them and on one that keeps them.
// The project's own tree is checked by `npm run verify`.
import { tree, type Tree } from './support/tree';

const broken: Record<string, string> = {
  'src/core/decide.ts': "import './evolve'; import '../ports/journal'; import 'node:fs'; import 'zod';",
  'src/core/evolve.ts': "import './decide'; import '@noble/hashes/sha2.js'; import 'canonicalize';",
  'src/ports/journal.ts': "import 'node:crypto'; export type Journal = 1;",
  'src/workflows/pump.ts': "import 'crypto'; import '../ports/journal'; import '@temporalio/client'; export const later = import('../activities/call');",
  'src/activities/call.ts': "import '../adapters/store'; import 'node:http'; import '@temporalio/activity';",
  'src/adapters/store.ts': "import 'libsql'; import '../client/front'; import 'fast-check'; import './nowhere';",
  'src/client/front.ts': "import '../activities/call'; import '@temporalio/workflow';",
  'src/testing/given.ts': "import '../adapters/store';",
  'src/cli/main.ts': "import '../workflows/pump'; import 'node:http'; import 'picocolors';",
  'src/elsewhere/thing.ts': "import '../../test/sample';",
  'src/messages.ts': "import '@temporalio/common';",
  'test/sample.ts': 'export const sample = 1;',
  'examples/agent.ts': "import '../src/core/decide';",
};

const kept: Record<string, string> = {
  'src/index.ts': "export * from './core/decide'; export * from './client/front'; export * from './worker';",
  'src/messages.ts': "import type { Event } from './core/decide'; export type Message = Event;",
  'src/core/decide.ts': "import canonicalize from 'canonicalize'; import { sha256 } from '@noble/hashes/sha2.js'; export type Event = 1; export const a = [canonicalize, sha256];",
  'src/ports/journal.ts': "import type { Event } from '../core/decide'; export type Journal = Event;",
  'src/workflows/index.ts': "import type * as activities from '../activities/call'; import { proxyActivities } from '@temporalio/workflow'; export const a = proxyActivities<typeof activities>();",
  'src/activities/call.ts': "import { Context } from '@temporalio/activity'; import type { Journal } from '../ports/journal'; export const call = (j: Journal) => [Context, j];",
  'src/adapters/store.ts': "import fs from 'node:fs'; import db from 'libsql'; import type { Journal } from '../ports/journal'; export const j: Journal = 1; export const k = [fs, db];",
  'src/client/front.ts': "import { Client } from '@temporalio/client'; import '../messages'; import '../ports/journal'; export const c = Client;",
  'src/testing/index.ts': "import '../core/decide'; import '../ports/journal';",
  'src/worker.ts': "import { Worker } from '@temporalio/worker'; import './adapters/store'; import './activities/call'; import path from 'node:path'; export const w = [Worker, path];",
  'src/cli/main.ts': "import { Command } from 'commander'; import '../worker'; import '../client/front'; import 'node:fs'; export const c = Command;",
  'examples/agent.ts': "import '../src/index'; import '../src/testing/index';",
  'test/core/a.ts': "import '../../src/core/decide'; import 'fast-check';",
};

const cruise = (sample: Tree) => sample.run('depcruise', ['--config', '.dependency-cruiser.js', '--output-type', 'err', 'src', 'examples', 'test']);

describe('a tree that breaks the arrows', () => {
  let sample: Tree;
  let output: string;
  let code: number | null;
  beforeAll(() => {
    sample = tree(broken, ['.dependency-cruiser.js']);
    ({ output, code } = cruise(sample));
  });
  afterAll(() => sample.remove());

  test('is refused', () => expect(code).toBeGreaterThan(0));

  test.each([
    ['core-imports', 'src/core/decide.ts → src/ports/journal.ts'],
    ['core-imports', 'src/core/decide.ts → fs'],
    ['core-imports', 'src/core/decide.ts → .*zod'],
    ['ports-imports', 'src/ports/journal.ts → crypto'],
    ['workflows-imports', 'src/workflows/pump.ts → crypto'],
    ['workflows-imports', 'src/workflows/pump.ts → src/ports/journal.ts'],
    ['workflows-imports', 'src/workflows/pump.ts → .*@temporalio/client'],
    ['workflows-types-only', 'src/workflows/pump.ts → src/activities/call.ts'],
    ['activities-imports', 'src/activities/call.ts → src/adapters/store.ts'],
    ['activities-imports', 'src/activities/call.ts → http'],
    ['adapters-imports', 'src/adapters/store.ts → src/client/front.ts'],
    ['client-imports', 'src/client/front.ts → src/activities/call.ts'],
    ['conductor-sandbox', 'src/client/front.ts → .*@temporalio/workflow'],
    ['testing-imports', 'src/testing/given.ts → src/adapters/store.ts'],
    ['cli-imports', 'src/cli/main.ts → src/workflows/pump.ts'],
    ['messages-imports', 'src/messages.ts → .*@temporalio/common'],
    ['no-room', 'src/elsewhere/thing.ts → test/sample.ts'],
    ['src-without-tests-and-examples', 'src/elsewhere/thing.ts → test/sample.ts'],
    ['shipped-packages-only', 'src/adapters/store.ts → .*fast-check'],
    ['resolvable', 'src/adapters/store.ts → ./nowhere'],
    ['examples-use-public-names', 'examples/agent.ts → src/core/decide.ts'],
  ])('%s names %s', (rule, edge) => expect(output).toMatch(new RegExp(`error ${rule}: ${edge}`)));

  test('no-cycles names the files of a cycle', () => expect(output).toMatch(/no-cycles: src\/core\/(decide|evolve)\.ts/));

  test('the two pure packages of the core are not named', () => expect(output).not.toMatch(/evolve\.ts → .*(noble|canonicalize)/));

  test('a composition root may use Node and any shipped package', () => expect(output).not.toMatch(/main\.ts → (http|.*picocolors)/));
});

test('a tree that keeps the arrows passes', () => {
  const sample = tree(kept, ['.dependency-cruiser.js']);
  const { code, output } = cruise(sample);
  sample.remove();
  expect(output).toMatch(/no dependency violations found/);
  expect(code).toBe(0);
});
