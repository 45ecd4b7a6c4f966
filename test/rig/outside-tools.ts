// Tools whose effects are requests to the effect server (src/testing), one for each way in which an outside can be asked
// afterwards: `keyed` honours keys, `found` can only be looked up, `mute` neither. Each run has things of its own, `TOOL~RUN`, so
// that a test can give trouble to one run. Results are large enough to be stored as artifacts.
import { z } from 'zod';
import { defineTool } from '../../src/adapters/tools/define-tool';
import { ToolError } from '../../src/core/failure';
import type { ToolCall, ToolDefinition } from '../../src/ports/tool';
import type { EffectServer } from '../../src/testing';

export const OUTSIDE_KINDS = ['keyed', 'found', 'mute'] as const;
export type OutsideKind = (typeof OUTSIDE_KINDS)[number];

/** Name of the thing that a tool changes for a run. */
export const thingOf = (kind: OutsideKind, runId: string): string => `${kind}~${runId}`;

/** Tells the server how the things of a run behave. */
export async function prepareOutside(server: EffectServer, runId: string): Promise<void> {
  await server.rules(thingOf('found', runId), { honoursKeys: false });
  await server.rules(thingOf('mute', runId), { honoursKeys: false, lookUp: false });
}

/** How many effects the tool had for the run. */
export const effectsOf = (server: EffectServer, kind: OutsideKind, runId: string): number => server.effects(thingOf(kind, runId)).length;

const args = z.strictObject({ text: z.string(), before: z.number().optional() });
type Args = z.infer<typeof args>;

/** Waits `ms`, deaf to the signal, as code that waits for a lock or a slow disk does. */
const pause = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });

function execute(kind: OutsideKind) {
  return async ({ text, before }: Args, call: ToolCall) => {
    if (before) await pause(before);
    const url = new URL(`/things/${encodeURIComponent(thingOf(kind, call.runId))}`, call.service('outside'));
    const answer = await fetch(url, { method: 'POST', headers: { 'Idempotency-Key': call.key }, body: JSON.stringify({ text }), signal: call.signal });
    const later = Number(answer.headers.get('retry-after') ?? Number.NaN) * 1_000;
    if (answer.status === 422) throw new ToolError('business-refusal', 'refused', await answer.text());
    if (answer.status === 429) throw new ToolError('rate-limited', 'http-429', 'It asks for a pause.', Number.isFinite(later) ? later : undefined);
    if (!answer.ok) throw new ToolError('server', `http-${answer.status}`, 'It failed on its side.', Number.isFinite(later) ? later : undefined);
    return { text, done: await answer.json() as { revision: number }, padding: 'x'.repeat(600) };
  };
}

async function lookUp({ key }: { key: string }, call: ToolCall) {
  const answer = await fetch(new URL(`/keys/${encodeURIComponent(key)}`, call.service('outside')), { signal: call.signal });
  if (answer.status === 404) return { found: false as const };
  if (!answer.ok) return { found: 'cannot-say' as const, why: `It answers ${answer.status}.` };
  return { found: true as const, output: { done: await answer.json() as { revision: number } }, reference: `key ${key.slice(0, 12)}` };
}

/** The three tools. They need the service `outside`: the effect server's URL. */
export function outsideTools(): ToolDefinition[] {
  const shared = { version: '1.0.0', input: args, effect: 'manual' as const, backoffMs: 50, timeoutMs: 60_000, sendWindowMs: 2_000 };
  return [
    defineTool({ ...shared, name: 'keyed', description: 'Has one effect a key.', honoursKey: true, execute: execute('keyed') }),
    defineTool({ ...shared, name: 'found', description: 'Can be looked up by key.', execute: execute('found'), lookUp }),
    defineTool({ ...shared, name: 'mute', description: 'Cannot be asked at all.', execute: execute('mute') }),
  ] as unknown as ToolDefinition[];
}
