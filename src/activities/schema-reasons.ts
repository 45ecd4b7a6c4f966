// Why a schema refuses arguments, as one line for the planner or for people: where and what, without the values of sensitive
// members, which a schema's own message may repeat. Reads an error of any shape; never throws.
import type { Json } from '../core/canonical';
import type { StepOutline } from '../core/plan';
import { namesSecret } from '../core/rules/binding';
import { lackingNames, topNames, unknownMembers } from '../core/schema-members';
import { isSensitive } from '../core/sensitive';
import type { ToolDefinition } from '../ports/tool';
import { failureOf, oneLine } from './failures';

/** Bytes of one reason. */
const REASON_BYTES = 160;

export function schemaReasons(error: unknown, sensitive: readonly string[] = []): string {
  const issues = (error as { issues?: unknown } | null)?.issues;
  if (!Array.isArray(issues)) return sensitive.length > 0 ? 'they were refused' : oneLine(failureOf(error).message, 200);
  return issues.slice(0, 5).map((issue: { path?: PropertyKey[]; message?: unknown }) => {
    const path = (issue.path ?? []).map(String);
    // A check of the arguments as a whole may speak of any member.
    const hidden = path.length === 0 ? sensitive.length > 0 : isSensitive(sensitive, path);
    return `${path.join('.') || 'the arguments'}: ${hidden || typeof issue.message !== 'string' ? 'does not fit' : oneLine(issue.message, REASON_BYTES)}`;
  }).join('; ');
}

/** Reasons against the arguments of a step that are whole as they are written: nothing is looked up in another step, no secret put in. */
export function misfits(step: StepOutline, tools: ReadonlyMap<string, ToolDefinition>): string[] {
  if (step.action.type !== 'tool' || step.uses.length > 0 || step.action.argsRef !== undefined || namesSecret(step.action.args ?? {})) return [];
  const tool = tools.get(step.action.tool);
  try {
    tool?.input.parse(step.action.args ?? {});
    return [];
  } catch (error) {
    return [`Step ${step.id}, ${step.action.tool}: the arguments do not fit: ${schemaReasons(error, tool?.sensitive)}.`];
  }
}

/** Reasons against the names of arguments, also where their values are still to come: what the tool would drop in silence, and what it needs. */
export function misnamed(step: StepOutline, tools: ReadonlyMap<string, ToolDefinition>, schemaOf: (tool: ToolDefinition) => Json): string[] {
  const tool = step.action.type === 'tool' ? tools.get(step.action.tool) : undefined;
  if (!tool || step.action.type !== 'tool' || step.action.argsRef !== undefined) return [];
  const [schema, args] = [schemaOf(tool), step.action.args ?? {}];
  const [unknown, lacking] = [unknownMembers(schema, args), lackingNames(schema, args)];
  const said = [...(unknown.length > 0 ? [`it knows no ${unknown.join(', ')}`] : []), ...(lacking.length > 0 ? [`it needs ${lacking.join(', ')}`] : [])];
  return said.length === 0 ? [] : [`Step ${step.id}, ${tool.name}: the arguments do not fit: ${said.join('; ')}. ${namesOf(schema)}`.trimEnd()];
}

/** A sentence with the names of the first level; empty where they are open. */
export function namesOf(schema: Json): string {
  const names = topNames(schema);
  return names.length > 0 ? `Its arguments are ${names.join(', ')}.` : '';
}
