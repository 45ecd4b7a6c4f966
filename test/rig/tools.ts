// Tools with real effects for tests: every effect is one line in an append-only file, written and synced in one call, so that
// the file is the judge of what happened however the worker died. Each tool has one way to be asked afterwards, or none.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { z } from 'zod';
import { defineTool } from '../../src/adapters/tools/define-tool';
import { ToolError } from '../../src/core/failure';
import type { ToolCall, ToolDefinition } from '../../src/ports/tool';

export interface Line { tool: string; key: string; text: string; runId: string; callId: string; attempt: number }

/** Every effect so far, oldest first. */
export function linesOf(file: string): Line[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as Line);
}

/** The version of a thing outside, `v1` until a test changes it. */
export function versionOf(effects: string, thing: string): string {
  const file = `${effects}.version.${thing}`;
  return existsSync(file) ? readFileSync(file, 'utf8') : 'v1';
}

export function changeVersion(effects: string, thing: string, version: string): void {
  writeFileSync(`${effects}.version.${thing}`, version);
}

function write(file: string, line: Line): void {
  const out = openSync(file, 'a');
  writeSync(out, `${JSON.stringify(line)}\n`);
  fsyncSync(out);
  closeSync(out);
}

/** Waits, unless the call is told to stop. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) { reject(new ToolError('timeout-before-send', 'aborted', 'Stopped before anything was done.')); return; }
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(new ToolError('timeout-before-send', 'aborted', 'Stopped before anything was done.'));
    }, { once: true });
  });
}

const args = z.strictObject({ text: z.string(), before: z.number().optional(), after: z.number().optional(), fail: z.string().optional(), deaf: z.boolean().optional() });
type Args = z.infer<typeof args>;

function effect(file: string, name: string) {
  return async ({ text, before, after, fail, deaf }: Args, call: ToolCall) => {
    if (before) await (deaf ? new Promise((resolve) => { setTimeout(resolve, before); }) : pause(before, call.signal));
    if (fail && call.attempt <= 1) throw new ToolError(fail as 'server', 'asked-to-fail', `It was asked to fail with ${fail}.`);
    write(file, { tool: name, key: call.key, text, runId: call.runId, callId: call.callId, attempt: call.attempt });
    if (after) await new Promise((resolve) => { setTimeout(resolve, after); });
    return { text, key: call.key };
  };
}

/** All tools of the rig over one effects file. */
export function rigTools(file: string): ToolDefinition[] {
  const lookUp = async ({ key }: { key: string }) => {
    const found = linesOf(file).find((line) => line.key === key);
    return found ? { found: true as const, output: { text: found.text, key }, reference: `line of ${found.callId}` } : { found: false as const };
  };
  const limits = { backoffMs: 50, timeoutMs: 60_000, sendWindowMs: 1_000 };
  return [
    defineTool({ name: 'look', version: '1.0.0', description: 'Reads without effect.', input: args, effect: 'none', ...limits,
      execute: async ({ text, before, fail }: Args, call) => {
        if (before) await pause(before, call.signal);
        if (fail && call.attempt <= 1) throw new ToolError(fail as 'server', 'asked-to-fail', `It was asked to fail with ${fail}.`);
        return { text, size: text.length };
      } }),
    defineTool({ name: 'big', version: '1.0.0', description: 'Reads a lot.', input: args, effect: 'none', ...limits,
      execute: async ({ text }: Args) => ({ text: text.repeat(10_000), summary: `a lot of ${text}` }) }),
    defineTool({ name: 'stamp', version: '1.0.0', description: 'Writes a line that can be looked up by key.', input: args, effect: 'manual', ...limits,
      execute: effect(file, 'stamp'), lookUp }),
    defineTool({ name: 'asked', version: process.env['LONGHAUL_ASKED_VERSION'] ?? '1.0.0', description: 'Like stamp, after an approval.', input: args, effect: 'manual', ...limits,
      timeoutMs: Number(process.env['LONGHAUL_ASKED_TIMEOUT_MS'] ?? limits.timeoutMs),
      execute: effect(file, 'asked'), lookUp, preview: async ({ text }: Args) => `will write ${text}`, resourceVersion: async ({ text }: Args) => versionOf(file, text) }),
    defineTool({ name: 'blind', version: '1.0.0', description: 'Writes a line that nobody can look up.', input: args, effect: 'irreversible', ...limits,
      execute: effect(file, 'blind') }),
    defineTool({ name: 'undoable', version: '1.0.0', description: 'Writes a line and can take it back.', input: args, effect: 'reversible', ...limits,
      execute: effect(file, 'undoable'), lookUp,
      undo: async ({ output }, call) => {
        write(file, { tool: 'undo', key: call.key, text: String((output as { text?: string }).text), runId: call.runId, callId: call.callId, attempt: call.attempt });
        return { undone: true };
      } }),
  ] as unknown as ToolDefinition[];
}
