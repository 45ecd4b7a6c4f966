// The hands over real embedded stores, without a server: activities run in the SDK's mock of their environment, tools are
// written by each test. What a test bends (a store that fails, a lease that is lost) it bends by wrapping one port.
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import type { HandsDeps } from '../../src/activities';
import { Admission } from '../../src/activities/admission';
import { ownerGone, ownerHere, ownerLives } from '../../src/adapters/claims/owner';
import { openKeyring } from '../../src/adapters/keys/keyring';
import { policyOf, tablePolicy } from '../../src/adapters/policy/table';
import { openStores } from '../../src/adapters/stores/open-stores';
import { defineTool, inputSchema, toolConcurrency } from '../../src/adapters/tools/define-tool';
import { canonical, digestOf, type Json } from '../../src/core/canonical';
import { ToolError } from '../../src/core/failure';
import { callIdOf, callKey, contractOf, majorOf } from '../../src/core/keys';
import { initialState } from '../../src/core/initial';
import type { Actor, Effect, RunSpec } from '../../src/core/run';
import { rowOf } from '../../src/core/summary';
import type { Asked } from '../../src/core/wire';
import type { CallNeed } from '../../src/core/world';
import type { ToolDefinition } from '../../src/ports/tool';
import { requesting } from '../../src/testing/contracts/requested';

/** The run that every need is of; it was accepted with the input `{from: 'test'}`. */
export const RUN = 'hands';
const ANN: Actor = { id: 'ann', via: 'cli', assurance: 'local-user' };

/** A tool that takes `{text, secret?}` and does what the test says. */
export function toolFor(execute: ToolDefinition<{ text: string }, Json>['execute'], more: Partial<ToolDefinition<{ text: string }, Json>> = {}): ToolDefinition {
  const input = z.strictObject({ text: z.string(), secret: z.string().optional() });
  return defineTool({ name: 'act', version: '1.2.0', description: 'A test.', input, effect: 'manual', ...more, execute }) as ToolDefinition;
}

export interface HandsRig {
  deps: HandsDeps;
  /** Where the stores are. */
  folder: string;
  environment(): MockActivityEnvironment;
  /** Gives the run another input. */
  giveInput(input: Json): Promise<void>;
  /** A call need of the tool, as the law would write it. */
  need(over?: Partial<CallNeed>, args?: Json): Asked<CallNeed>;
  close(): Promise<void>;
}

export async function handsOver(tools: ToolDefinition[], over: Partial<HandsDeps> = {}): Promise<HandsRig> {
  const folder = mkdtempSync(path.join(tmpdir(), 'longhaul-hands-'));
  const stores = await openStores({ stateDir: folder });
  const accept = async (input: Json) => {
    const spec: RunSpec = { v: 1, agent: 'a', input, plan: null, budget: {}, owner: ANN };
    const inputRef = await stores.artifacts.write(Buffer.from(canonical(spec)), { mediaType: 'application/json', summary: 'input' });
    const row = { ...rowOf(initialState(RUN)), owner: ANN, inputDigest: digestOf(spec), inputRef };
    await stores.journal.accept(row);
    return row;
  };
  await accept({ from: 'test' });
  const secrets: Record<string, string> = { key: 'canary-0451' };
  const deps: HandsDeps = {
    ...stores, ledger: requesting(stores), keys: openKeyring(folder), mode: 'dev',
    policy: tablePolicy({ name: 'test', rules: [] }), policyOf, agents: new Map(), tools: new Map(tools.map((tool) => [contractOf(tool.name, tool.version), tool])), concurrencyOf: toolConcurrency, inputSchema, admission: new Admission(),
    service: (name) => `http://127.0.0.1/${name}`,
    secret: (name) => {
      const value = secrets[name];
      if (value === undefined) throw new ToolError('permission', 'secret', `The secret ${name} is not set.`);
      return value;
    },
    resources: {}, model: () => Promise.reject(new Error('no model in this test')),
    owner: ownerHere('test'), ownerGone, ownerLives,
    build: 'test', worker: { searchAttributes: false, limits: { softEvents: 2_000, hardEvents: 10_000, hardUpdates: 1_500, waitEvents: 200 } },
    log: () => undefined, ...over,
  };
  return {
    deps,
    folder,
    giveInput: async (input) => {
      const row = await accept(input);
      Object.assign(deps.journal, { row: async () => row });
    },
    environment: () => new MockActivityEnvironment({ heartbeatTimeoutMs: 10_000 }),
    need: (more = {}, args = { text: 'hello' }) => ({ runId: RUN, epoch: 0, need: needOf(tools[0], more, args) }),
    close: async () => {
      await stores.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function needOf(tool: ToolDefinition | undefined, more: Partial<CallNeed>, args: Json): CallNeed {
  const effect: Effect = tool?.effect ?? 'irreversible';
  const { name = 'act', version = '1.0.0' } = tool ?? {};
  return {
    kind: 'call', id: 'call:c1#1', begun: true, callId: callIdOf(1), callSeq: 1, attempt: 1, tool: name, version, effect,
    key: effect === 'none' ? '' : callKey(RUN, 1, name, majorOf(version)), call: { args, inputs: {} },
    ...(effect === 'none' ? {} : { argsDigest: digestOf(args) }), resourceVersion: null, premises: [], ledgerIncarnation: 'any',
    timeoutMs: 60_000, sendWindowMs: 1_000, summary: '', ...more,
  };
}
