// Tools for tests of cancelling and recovering: one that waits in child processes, one that may run
// once at a time, one that is turned away for a minute, one whose look-up is slow, and a reversible one that honours keys.
// The file of effects is the judge, as in tools.ts; process groups are written to `<effects>.groups`.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { runProgram } from '../../src/adapters/tools/program';
import { defineTool } from '../../src/adapters/tools/define-tool';
import { ToolError } from '../../src/core/failure';
import type { ToolCall, ToolDefinition } from '../../src/ports/tool';
import { linesOf, type Line } from './tools';

const args = z.strictObject({ text: z.string(), before: z.number().optional(), retryAfterMs: z.number().optional(), undoRetryAfterMs: z.number().optional(), lookMs: z.number().optional() });
type Args = z.infer<typeof args>;

const limits = { backoffMs: 50, timeoutMs: 120_000, sendWindowMs: 1_000 };

/** Ids of the process groups that `sleeper` has started, oldest first. */
export function groupsOf(effects: string): number[] {
  const file = `${effects}.groups`;
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : [];
}

/** Does any process of the group still run? One that its parent has not heard of yet does not. */
export function groupRuns(group: number): boolean {
  const rows = execFileSync('ps', ['-A', '-o', 'pgid=,stat='], { encoding: 'utf8' }).split('\n').map((row) => row.trim().split(/\s+/));
  return rows.some(([id, stat]) => Number(id) === group && !stat?.startsWith('Z'));
}

/** Two `sleep 600` below a shell, in the process group that `runProgram` makes and ends. */
const SLEEP = 'ps -o pgid= -p $$ >> "$1"; sleep 600 & sleep 600 & wait';

const once = (effects: string, line: Line): void => {
  if (!linesOf(effects).some(({ key }) => key === line.key)) appendFileSync(effects, `${JSON.stringify(line)}\n`);
};
const lineOf = (tool: string, text: string, { key, runId, callId, attempt }: ToolCall): Line => ({ tool, key, text, runId, callId, attempt });

export function stopTools(effects: string): ToolDefinition[] {
  const found = async ({ key, args: { lookMs } }: { key: string; args: Args }) => {
    if (lookMs) await wait(lookMs);
    const line = linesOf(effects).find((one) => one.key === key);
    return line ? { found: true as const, output: { text: line.text } } : { found: false as const };
  };
  const turned = (ms: number): never => { throw new ToolError('rate-limited', 'later', 'Not now.', ms); };
  return [
    defineTool({ name: 'sleeper', version: '1.0.0', description: 'Sleeps in a process group.', input: args, effect: 'none', ...limits, execute: async (_: Args, { signal }) => runProgram('sh', ['-c', SLEEP, 'sh', `${effects}.groups`], { signal }) }),
    defineTool({ name: 'single', version: '1.0.0', description: 'Waits, one at a time.', input: args, effect: 'none', concurrency: 1, ...limits,
      execute: async ({ text, before = 0 }: Args, { signal }) => { await wait(before, undefined, { signal }); return { text }; } }),
    defineTool({ name: 'turned', version: '1.0.0', description: 'Is turned away.', input: args, effect: 'none', maxAttempts: 5, ...limits, execute: async ({ retryAfterMs = 60_000 }: Args) => turned(retryAfterMs) }),
    defineTool({ name: 'searched', version: '1.0.0', description: 'Writes a line that is slow to find.', input: args, effect: 'manual', ...limits, lookUp: found,
      execute: async ({ text, before = 0 }: Args, call) => { once(effects, lineOf('searched', text, call)); await wait(before); return { text }; } }),
    defineTool({ name: 'reserve', version: '1.0.0', description: 'Writes a line once a key, and can take it back.', input: args, effect: 'reversible', honoursKey: true, ...limits, lookUp: found,
      execute: async ({ text }: Args, call) => { once(effects, lineOf('reserve', text, call)); return { text }; },
      undo: async ({ args: { text, undoRetryAfterMs } }, call) => {
        if (undoRetryAfterMs && call.attempt === 1) turned(undoRetryAfterMs);
        once(effects, lineOf('undo', text, call));
        return { undone: true };
      } }),
  ] as unknown as ToolDefinition[];
}
