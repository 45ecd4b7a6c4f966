// A configuration whose tools run in processes of their own and do there what must not be done in a worker: spin, ignore their
// signal, exit, throw anything, leave children behind. `ISOLATED_FILE` names the file that takes one line an effect.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { defineAgent, defineConfig, defineTool, pending, runProgram, ToolError, z, type ToolCall } from '../../src/index';

const input = z.strictObject({ how: z.string(), mark: z.string().optional(), secret: z.string().optional(), sha256: z.string().optional(), when: z.string().transform((text) => new Date(text)).optional() });
type Args = z.infer<typeof input>;

const file = (): string => process.env['ISOLATED_FILE'] ?? '/dev/null';
const note = (call: ToolCall, what: string): void => appendFileSync(file(), `${JSON.stringify({ what, key: call.key, pid: process.pid, runId: call.runId })}\n`);
const lines = (): { what: string; key: string }[] => (existsSync(file()) ? readFileSync(file(), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as { what: string; key: string }) : []);

const cyclic = (): object => {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
};

const THROWN: Record<string, () => unknown> = {
  nothing: () => undefined, text: () => 'plain', cyclic, many: () => new AggregateError([new Error('a'), new Error('b')]),
  large: () => new Error('x'.repeat(5_000_000)), refusal: () => new ToolError('business-refusal', 'no', 'It says no.'), pause: () => new ToolError('server', '503', 'Busy.', 1_500),
};
const ANSWERED: Record<string, () => unknown> = { large: () => ({ text: 'y'.repeat(3_000_000), summary: 'large' }), cyclic, nothing: () => undefined };

export async function act({ how, mark, sha256, when }: Args, call: ToolCall): Promise<unknown> {
  const [kind = '', of = ''] = how.split(':');
  note(call, how);
  if (mark !== undefined) spawn('sleep', [mark], { stdio: 'ignore' });
  if (kind === 'throws') throw THROWN[of]?.();
  if (kind === 'answers') return ANSWERED[of]?.();
  if (kind === 'exits') process.exit(7);
  if (kind === 'crashes') setImmediate(() => { throw new Error('It broke somewhere else.'); });
  if (kind === 'waits') {
    await new Promise((resolve) => { setTimeout(resolve, 1_000); });
    note(call, 'late');
  }
  if (kind === 'program') await runProgram('sh', ['-c', 'echo "{\\"what\\":\\"begun\\",\\"pid\\":$PPID}" >> "$0"; sleep 1; echo "{\\"what\\":\\"late\\"}" >> "$0"', file()], { signal: call.signal });
  if (kind === 'spins') for (;;) if (of !== '' && lines().length > Number(of)) break;
  if (kind === 'crashes' || kind === 'deaf') await new Promise((resolve) => { setTimeout(resolve, 60_000); });
  if (kind === 'listens') await new Promise((_, reject) => { call.signal.addEventListener('abort', () => reject(new ToolError('timeout-before-send', 'stopped', String(call.signal.reason)))); });
  const ref = await call.artifacts.write('# Made here', { mediaType: 'text/markdown', summary: 'made' });
  return {
    pid: process.pid, input: call.input, key: call.key, service: call.service('x'), secret: call.secret('key').length, ref, known: await call.artifacts.known('0'.repeat(64)),
    read: sha256 === undefined ? null : Buffer.from(await call.artifacts.read({ sha256 })).toString('utf8'), year: when?.getUTCFullYear() ?? null, environment: process.env['CANARY_TOKEN'] ?? null,
  };
}

export const common = { version: '1.0.0', description: 'Does what a test asks.', input, isolation: 'process' as const, backoffMs: 50, sendWindowMs: 1_000, timeoutMs: 60_000 };

export const tools = [
  defineTool({ ...common, name: 'reader', effect: 'none', execute: act }),
  defineTool({ ...common, name: 'blind', effect: 'manual', execute: act }),
  defineTool({ ...common, name: 'actor', effect: 'reversible', execute: act,
    lookUp: async ({ key, args }) => (lines().some((line) => line.key === key) ? { found: true as const, output: { looked: args.how }, reference: `pid ${process.pid}` } : { found: false as const }),
    undo: async ({ args, output }, call) => { note(call, `undo ${args.how}`); return { undone: output, pid: process.pid }; },
    resourceVersion: async () => `v${process.pid > 0 ? lines().filter(({ what }) => what === 'version').length : 0}`,
    preview: async ({ how }) => `will do ${how} in ${process.pid}` }),
  defineTool({ ...common, name: 'later', effect: 'manual',
    execute: async ({ how }, call) => { note(call, how); return pending({ expect: 3, receipt: { callbackId: call.callbackId } }); },
    lookUp: async ({ key }) => (lines().some((line) => line.key === key) ? { found: true as const, output: pending({ expect: 3 }) } : { found: false as const }) }),
];

export default defineConfig({ agents: [defineAgent({ name: 'tester', version: '1.0.0', planner: 'declared' })], tools: tools as never });
