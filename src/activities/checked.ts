// A tool's result as JSON that fits its schema. After an effect a result that does not is kept as it is, or as null when it
// cannot be written down at all: the effect took place. A reader's is refused. Values of secrets are taken out. Runs nothing.
import { canonical, type Json } from '../core/canonical';
import { ToolError } from '../core/failure';
import { redactJson } from '../ports/redaction';
import type { ToolDefinition } from '../ports/tool';
import { failureOf } from './failures';

/** @param about `effect`: the call changes the outside. `undo`: the result is that of `undo`, for which no schema is declared. */
export function checkedResult(tool: Pick<ToolDefinition, 'name' | 'output'>, about: { effect: boolean; undo: boolean }, result: unknown): Json {
  let parsed = result;
  try {
    if (tool.output && !about.undo) parsed = tool.output.parse(result);
  } catch (error) {
    if (!about.effect) throw new ToolError('unknown', 'output-schema', `${tool.name} answered what its output schema refuses: ${failureOf(error).message}`);
  }
  try {
    return parsed === undefined ? null : redactJson(JSON.parse(canonical(parsed)) as Json);
  } catch (error) {
    if (about.effect) return null;
    throw new ToolError('unknown', 'output-json', `${tool.name} answered what JSON cannot carry: ${failureOf(error).message}`);
  }
}
