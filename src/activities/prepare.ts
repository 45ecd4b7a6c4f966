// Prepares a call with an effect before anybody is asked about it (DESIGN 4, step 0): binds and checks the arguments, digests
// them with secrets as names, reads the resource version, stores the preview and asks policy. Changes nothing outside.
// Never throws: a fault is a failed result with a class.
import { canonical } from '../core/canonical';
import { fitsTerms } from '../core/rules/grants';
import type { ArtifactRef } from '../core/run';
import { withoutSensitive } from '../core/sensitive';
import type { Asked } from '../core/wire';
import type { PrepareNeed, PrepareResult } from '../core/world';
import { redactText } from '../ports/redaction';
import type { PolicyPort } from '../ports/policy';
import type { ToolCall, ToolDefinition } from '../ports/tool';
import { boundArgs, parsedArgs } from './arguments';
import type { HandsDeps } from './deps';
import { failureOf } from './failures';
import { refuseSecrets } from './guard';
import { watched } from './heartbeat';
import { storeOutput } from './outputs';
import { makePolicy } from './pinned-policy';
import { editedFor } from './terms';
import { inputRefOf, toolCallOf, toolOf } from './tool-call';

/** Bytes of a preview that are kept. */
const PREVIEW_BYTES = 64 * 1024;
/** Bytes of arguments that policy reads. */
const POLICY_BYTES = 64 * 1024;

export function makePrepare(deps: HandsDeps): (asked: Asked<PrepareNeed>) => Promise<PrepareResult> {
  const decide = makePolicy(deps);
  return async (asked) => {
    try {
      return await watched(({ signal }) => prepared(deps, decide, asked, signal));
    } catch (error) {
      return { kind: 'failed', failure: failureOf(error) };
    }
  };
}

async function prepared(deps: HandsDeps, decide: PolicyPort['decide'], asked: Asked<PrepareNeed>, signal: AbortSignal): Promise<PrepareResult> {
  const { need, runId } = asked;
  const tool = toolOf(deps, need.tool, need.version);
  const bound = need.edited ? await editedFor(deps, tool, need.call, runId) : await boundArgs(deps.artifacts, need.call, false);
  refuseSecrets(bound.args);
  const args = await parsedArgs(deps.artifacts, tool, bound.args, deps.secret);
  const inputRef = await inputRefOf(deps, runId);
  const call = await toolCallOf(deps, { runId, inputRef, callId: need.callId, attempt: 0, key: need.key, resourceVersion: null, signal });
  const policy = await decide({
    runId, agent: need.agent, owner: need.owner, tool: tool.name, version: tool.version, effect: need.effect, argsDigest: bound.digest,
    args: Buffer.byteLength(canonical(bound.args)) <= POLICY_BYTES ? bound.args : { $digest: bound.digest },
  });
  const resourceVersion = tool.resourceVersion ? redactText(await tool.resourceVersion(args, call)) : null;
  const previewRef = policy.decision === 'ask' ? await preview(deps, tool, args, call) : undefined;
  const fits = (need.grants ?? []).filter(({ where }) => fitsTerms(bound.args, where)).map(({ grantId }) => grantId);
  return {
    kind: 'prepared', argsDigest: bound.digest, resourceVersion, policy, ledgerIncarnation: await deps.ledger.incarnation(),
    ...(tool.version === need.version ? {} : { version: tool.version }),
    ...(tool.carves ? { wants: tool.carves(args) } : {}), ...(previewRef ? { previewRef } : {}), ...(fits.length > 0 ? { fits } : {}),
    args: await storeOutput(deps.artifacts, bound.args, { name: `${need.stepId}-arguments.json`, summary: `arguments of ${tool.name}` }),
  };
}

/** What a person is shown before deciding; without one they see the arguments. */
async function preview(deps: HandsDeps, tool: ToolDefinition, args: unknown, call: ToolCall): Promise<ArtifactRef | undefined> {
  if (!tool.preview) return undefined;
  const text = Buffer.from(withoutSensitive(redactText(await tool.preview(args, call)), args, tool.sensitive), 'utf8');
  const cut = text.length > PREVIEW_BYTES ? Buffer.concat([text.subarray(0, PREVIEW_BYTES), Buffer.from('\n[cut]\n')]) : text;
  return deps.artifacts.write(cut, { mediaType: 'text/plain', summary: `what ${tool.name} is about to do`, name: `${call.callId}-preview.txt` });
}
