// The door through which a tool comes in: checks a declaration once, when the module that holds it is loaded, and derives
// from it what a model is shown (the JSON schema of the arguments); what the law pins is core/tool.ts.
// Never runs a tool and never reads configuration. A fault in a declaration is a defect of the tool's author, so it throws.
import { z } from 'zod';
import type { Json } from '../../core/canonical';
import type { Effect } from '../../core/run';
import { TOOL_LIMITS } from '../../core/tool';
import type { ToolDefinition } from '../../ports/tool';
import type { ModelToolSpec } from '../../ports/model';

/** Names that models of all providers accept and that are safe in file names and metric labels. */
const NAME = /^[a-z][a-z0-9_]{0,63}$/;
/** Semantic Versioning 2.0.0, section 9 and 10: core, pre-release, build. */
const SEMVER = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;
const EFFECTS: Effect[] = ['none', 'reversible', 'manual', 'irreversible'];

export { toolManifest } from '../../core/tool';

/**
 * Checks a tool's declaration and answers it unchanged.
 * @throws TypeError with one sentence that names the tool, the fault and what to write instead.
 */
export function defineTool<A, R>(definition: ToolDefinition<A, R>): ToolDefinition<A, R> {
  const fault = faultOf(definition as ToolDefinition);
  if (fault) throw new TypeError(`Tool ${JSON.stringify(definition?.name ?? '(without a name)')}: ${fault}`);
  return definition;
}

function faultOf(tool: ToolDefinition): string | undefined {
  if (typeof tool?.name !== 'string' || !NAME.test(tool.name)) {
    return 'give it a name of lower-case letters, digits and underscores that starts with a letter, at most 64 characters.';
  }
  if (typeof tool.version !== 'string' || !SEMVER.test(tool.version)) return 'give it a semantic version such as "1.0.0".';
  if (typeof tool.description !== 'string' || tool.description.trim() === '') return 'describe in a sentence what it does; the model chooses by it.';
  if (typeof tool.input?.parse !== 'function') return 'declare `input` as a schema with a parse function, e.g. z.strictObject({}).';
  if (tool.output !== undefined && typeof tool.output.parse !== 'function') return 'declare `output` as a schema with a parse function, or leave it out.';
  if (typeof tool.execute !== 'function') return 'give it an `execute` function.';
  if (tool.isolation !== undefined && tool.isolation !== 'process') return '`isolation` must be "process", or be left out.';
  return faultOfEffect(tool) ?? faultOfLimits(tool) ?? faultOfSchema(tool);
}

function faultOfEffect(tool: ToolDefinition): string | undefined {
  const effect = tool.effect ?? 'irreversible';
  if (!EFFECTS.includes(effect)) return `the effect ${JSON.stringify(effect)} is unknown; choose one of ${EFFECTS.join(', ')}.`;
  if (effect === 'reversible' && typeof tool.undo !== 'function') return 'a reversible tool needs `undo`; add it, or declare the effect as manual or irreversible.';
  if (effect === 'none' && (tool.undo || tool.lookUp || tool.honoursKey || tool.resourceVersion || tool.preview)) {
    return 'a tool without effect has nothing to look up, undo, preview or key; declare its effect, or leave these out.';
  }
  for (const member of ['lookUp', 'undo', 'resourceVersion', 'preview'] as const) {
    if (tool[member] !== undefined && typeof tool[member] !== 'function') return `\`${member}\` must be a function.`;
  }
  return undefined;
}

function faultOfLimits(tool: ToolDefinition): string | undefined {
  for (const [member, [least, most]] of Object.entries(TOOL_LIMITS) as [keyof typeof TOOL_LIMITS, readonly [number, number, number]][]) {
    const value = tool[member];
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= most)) {
      return `\`${member}\` must be a whole number from ${least} to ${most}.`;
    }
  }
  if (tool.sensitive !== undefined && !(Array.isArray(tool.sensitive) && tool.sensitive.every((name) => typeof name === 'string'))) {
    return '`sensitive` must be a list of names of arguments.';
  }
  return undefined;
}

function faultOfSchema(tool: ToolDefinition): string | undefined {
  try {
    inputSchema(tool);
    return undefined;
  } catch (error) {
    return `its \`input\` has no JSON schema (${error instanceof Error ? error.message : String(error)}); use zod types that JSON can carry.`;
  }
}

/** Most calls of this tool at once in one worker. */
export function toolConcurrency(tool: ToolDefinition): number {
  return tool.concurrency ?? TOOL_LIMITS.concurrency[2];
}

/**
 * JSON Schema (draft 7, which all providers read) of a tool's arguments. A validator that is not zod's is shown as any object.
 * @throws Error when the schema holds a type that JSON cannot carry.
 */
export function inputSchema(tool: Pick<ToolDefinition, 'input'>): Json {
  if (!isZod(tool.input)) return { type: 'object', additionalProperties: true };
  // The spread leaves zod's own `~standard` member behind, which is not enumerable and cannot be deleted.
  const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { target: 'draft-7', io: 'input' }) as { [member: string]: Json };
  if (schema['type'] !== 'object') throw new TypeError('the arguments must be an object');
  return schema;
}

/** A tool as models see it. */
export function modelToolSpec(tool: ToolDefinition): ModelToolSpec {
  return { name: tool.name, description: tool.description, inputSchema: inputSchema(tool) };
}

function isZod(schema: unknown): schema is z.ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema;
}
