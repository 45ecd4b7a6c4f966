// What the law pins of a tool, read from its declaration with the defaults filled in. Pure; the declaration was checked where
// it came in (`defineTool`). Shared by the worker, which pins it in a run, and by the simulator, which plays it.
import type { Effect, ToolManifest } from './run';

/** Limits of a declaration: [least, most, what stands when nothing is said]. Times in ms. */
export const TOOL_LIMITS = {
  maxAttempts: [1, 20, 3],
  timeoutMs: [100, 3_600_000, 60_000],
  sendWindowMs: [1_000, 3_600_000, 60_000],
  backoffMs: [1, 60_000, 1_000],
  concurrency: [1, 1_000, 16],
} as const;

/** The part of a tool's definition that the law reads; functions count by being there. */
export interface ToolDeclaration {
  name: string;
  version: string;
  effect?: Effect;
  lookUp?: unknown;
  undo?: unknown;
  resourceVersion?: unknown;
  preview?: unknown;
  honoursKey?: boolean;
  sensitive?: string[];
  maxAttempts?: number;
  timeoutMs?: number;
  sendWindowMs?: number;
  backoffMs?: number;
  carves?: unknown;
}

/** What the law needs to know of a tool, with the defaults filled in. */
export function toolManifest(tool: ToolDeclaration): ToolManifest {
  return {
    name: tool.name,
    version: tool.version,
    effect: tool.effect ?? 'irreversible',
    hasLookUp: tool.lookUp !== undefined,
    honoursKey: tool.honoursKey ?? false,
    hasUndo: tool.undo !== undefined,
    hasResourceVersion: tool.resourceVersion !== undefined,
    localPrepare: tool.resourceVersion === undefined && tool.preview === undefined,
    maxAttempts: tool.maxAttempts ?? TOOL_LIMITS.maxAttempts[2],
    timeoutMs: tool.timeoutMs ?? TOOL_LIMITS.timeoutMs[2],
    sendWindowMs: tool.sendWindowMs ?? TOOL_LIMITS.sendWindowMs[2],
    backoffMs: tool.backoffMs ?? TOOL_LIMITS.backoffMs[2],
    ...(tool.sensitive && tool.sensitive.length > 0 ? { sensitive: tool.sensitive } : {}),
    ...(tool.carves === undefined ? {} : { carves: true as const }),
  };
}
