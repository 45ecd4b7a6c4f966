// Tools whose outside accepts at once and tells later: their effect is the line in the effects file, their result comes by callbacks.
// One can be looked up, and says then that it waits; the other cannot. `after` holds the tool's own answer back.
import { appendFileSync } from 'node:fs';
import { z } from 'zod';
import { defineTool } from '../../src/adapters/tools/define-tool';
import { pending } from '../../src/core/pending';
import type { ToolCall, ToolDefinition } from '../../src/ports/tool';
import { linesOf } from './tools';

const args = z.strictObject({ text: z.string(), expect: z.number().optional(), deadline: z.string().optional(), goOn: z.boolean().optional(), onDeadline: z.enum(['cancel-run', 'fail-step']).optional(), after: z.number().optional() });
type Args = z.infer<typeof args>;

const later = ({ expect, deadline, goOn, onDeadline }: Args, receipt: string) =>
  pending({ receipt, ...(expect === undefined ? {} : { expect }), ...(deadline === undefined ? {} : { deadline }), ...(onDeadline ? { onDeadline } : {}), ...(goOn ? { onDeadline: { then: 'continue' as const, default: 'nothing came' } } : {}) });

export function laterTools(file: string): ToolDefinition[] {
  const order = (name: string) => async (given: Args, call: ToolCall) => {
    const accepted = later(given, call.callbackId);
    appendFileSync(file, `${JSON.stringify({ tool: name, key: call.key, text: given.text, runId: call.runId, callId: call.callId, attempt: call.attempt })}\n`);
    if (given.after) await new Promise((resolve) => { setTimeout(resolve, given.after); });
    return accepted;
  };
  const limits = { effect: 'manual' as const, backoffMs: 50, timeoutMs: 60_000, sendWindowMs: 1_000, input: args };
  return [
    defineTool({ name: 'order', version: '1.0.0', description: 'Orders something that is told later.', ...limits, execute: order('order'),
      lookUp: async ({ key, args: given }, call) => (linesOf(file).some((line) => line.key === key) ? { found: true, output: later(given as Args, call.callbackId) } : { found: false }) }),
    defineTool({ name: 'letter', version: '1.0.0', description: 'Asks by letter; nobody can look it up.', ...limits, execute: order('letter') }),
  ] as unknown as ToolDefinition[];
}
