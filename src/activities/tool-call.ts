// What a tool is handed for one attempt: its key, its signal, artifacts, named services and secrets, and nothing of Temporal.
// Owns no effect. The run's input is read from the artifact that was stored before the run started; secrets stand in it by name.
import { Context } from '@temporalio/activity';
import type { Json } from '../core/canonical';
import { ToolError } from '../core/failure';
import { callbackIdOf, contractOf } from '../core/keys';
import type { ArtifactRef, Budget } from '../core/run';
import type { ToolCall, ToolDefinition } from '../ports/tool';
import type { HandsDeps } from './deps';
import { failureOf, oneLine } from './failures';
import { learnSecrets } from './guard';
import { readRequest } from './requests';

export interface CallAbout { runId: string; callId: string; attempt: number; key: string; inputRef: Pick<ArtifactRef, 'sha256'>; resourceVersion: string | null; carved?: Budget; signal: AbortSignal }

export async function toolCallOf(deps: HandsDeps, about: CallAbout): Promise<ToolCall> {
  const { inputRef, ...rest } = about;
  const spec = await readRequest(deps.artifacts, inputRef) as { input?: Json };
  // Also after a restart of this worker: what the tool is about to say may hold any of them.
  learnSecrets(spec, deps.secret);
  const names = { runId: about.runId, callId: about.callId, attempt: about.attempt };
  return {
    ...rest,
    callbackId: CALL_ID.test(about.callId) ? callbackIdOf(about.runId, about.callId) : '',
    input: withSecrets(spec.input ?? null, deps.secret),
    artifacts: {
      read: (ref) => deps.artifacts.read(ref.sha256),
      known: (sha256) => deps.journal.refersTo(about.runId, sha256),
      write: (bytes, of) => deps.artifacts.write(typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes, of),
    },
    service: (name) => deps.service(name),
    secret: (name) => deps.secret(name),
    log: (message) => deps.log(oneLine(message, 4_096), names),
  };
}

/** While a step is prepared its call has no number yet. */
const CALL_ID = /^c[1-9][0-9]*$/;

/** A run's input with its `{"$secret": name}` filled in; a secret that is not set here stays a name, and its tool can say so. */
function withSecrets(value: Json, secret: (name: string) => string): Json {
  if (Array.isArray(value)) return value.map((item) => withSecrets(item, secret));
  if (typeof value !== 'object' || value === null) return value;
  const name = value['$secret'];
  if (typeof name !== 'string' || Object.keys(value).length > 1) return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withSecrets(member, secret)]));
  try {
    return secret(name);
  } catch {
    // A copy: what is kept of the request is nobody's to change.
    return { ...value };
  }
}

/**
 * Where the run's input lies. Read from the journal, so that it need not travel with every need. Throws ToolError `network`
 * when the journal does not answer.
 */
export async function inputRefOf({ journal }: Pick<HandsDeps, 'journal'>, runId: string): Promise<ArtifactRef> {
  const row = await journal.row(runId).catch((error: unknown) => { throw new ToolError('network', 'journal', `The journal does not answer: ${failureOf(error).message}`); });
  if (!row) throw new ToolError('network', 'journal', `The journal of this worker does not know run ${runId}; start a worker on the state folder in which the run was accepted.`);
  return row.inputRef;
}

/** The tool under this name in the major version that the run was created with. Throws ToolError `tool-missing`. */
export function toolOf(deps: Pick<HandsDeps, 'tools'>, name: string, version: string): ToolDefinition {
  const contract = contractOf(name, version);
  const tool = deps.tools.get(contract);
  if (!tool) throw new ToolError('tool-missing', 'tool-missing', `This worker does not have the tool ${contract}; start one whose configuration has it, and the run goes on.`);
  return tool;
}

/** The signal of the present activity. */
export const ownSignal = (): AbortSignal => Context.current().cancellationSignal;
