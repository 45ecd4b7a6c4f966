// What a person writes about the arguments of a call, held against the tool's own schema before the law hears of it: edited arguments,
// and the arguments that bound an approval for later calls. A fault leaves what is open as it is. Changes nothing anywhere; what
// cannot be looked at here (a tool of another version, a store that is away) is judged when the call is prepared.
import { argsOfOutput } from '../core/lookups';
import type { Output } from '../core/run';
import { knowsPath, unknownMembers } from '../core/schema-members';
import { editedArgs, parsedArgs, type Bound } from './arguments';
import type { HandsDeps } from './deps';
import { failureOf } from './failures';
import { refuseSecrets } from './guard';
import { namesOf } from './schema-reasons';
import { toolOf } from './tool-call';
import type { Hands, TermsRequest } from './types';
import type { ToolDefinition } from '../ports/tool';
import { ToolError } from '../core/failure';

type Deps = Pick<HandsDeps, 'artifacts' | 'journal' | 'tools' | 'secret' | 'inputSchema'>;

/** Failures that no other moment and no other worker would mend. */
const FINAL: ReadonlySet<string> = new Set(['argument', 'permission', 'artifact']);

export function makeTerms(deps: Deps): Hands['terms'] {
  return async (request) => {
    try {
      const tool = toolOf(deps, request.tool, request.version);
      if ('where' in request) return { fault: faultOfWhere(deps, tool, request.where) };
      await checkedEdit(deps, tool, request);
      return { fault: null };
    } catch (error) {
      const failure = failureOf(error);
      return { fault: FINAL.has(failure.class) ? sentenceOf(failure.message) : null };
    }
  };
}

/** What follows a fault is a sentence of its own, and the reasons of a schema end without a stop. */
const sentenceOf = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

async function checkedEdit(deps: Deps, tool: ToolDefinition, { runId, args }: Extract<TermsRequest, { args: Output }>): Promise<void> {
  const { args: bound } = await editedFor(deps, tool, argsOfOutput(args), runId);
  refuseSecrets(bound);
  await parsedArgs(deps.artifacts, tool, bound, deps.secret);
}

/** Arguments that a person has edited, with no member that the tool would drop in silence. */
export async function editedFor(deps: Pick<Deps, 'artifacts' | 'journal' | 'inputSchema'>, tool: ToolDefinition, call: Parameters<typeof editedArgs>[1], runId: string): Promise<Bound> {
  const bound = await editedArgs(deps.artifacts, call, (sha256) => deps.journal.refersTo(runId, sha256));
  const unknown = unknownMembers(deps.inputSchema(tool), bound.args);
  if (unknown.length > 0) throw new ToolError('argument', 'edited', `The arguments do not fit ${tool.name}: it knows no ${unknown.join(', ')}. ${namesOf(deps.inputSchema(tool))}`.trimEnd());
  return bound;
}

function faultOfWhere(deps: Deps, tool: ToolDefinition, where: Readonly<Record<string, string>>): string | null {
  const schema = deps.inputSchema(tool);
  const unknown = Object.keys(where).filter((path) => !knowsPath(schema, path.split('.')));
  return unknown.length === 0 ? null : `${tool.name} has no argument ${unknown.join(', ')}, so that no call would ever fit. ${namesOf(schema)}`.trimEnd();
}
