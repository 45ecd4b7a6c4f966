// The activity of one model call: assembles the input from references, asks the model that the run is pinned to, and turns
// the answer into a plan patch or a step's output. The answer is stored whole, so that the next call can show it.
// Never retries, never runs a tool, and never throws: a cancelled call is a failure of class `cancelled`.
import { canonical, type Json } from '../core/canonical';
import { ToolError, type ErrorClass, type Failure } from '../core/failure';
import { callSeqOf, contractOf } from '../core/keys';
import { LIMITS, type ArtifactRef, type Output, type RunSpec, type Usage } from '../core/run';
import type { Asked } from '../core/wire';
import type { ModelNeed, ModelResult } from '../core/world';
import { ArtifactError, type ArtifactsPort } from '../ports/artifacts';
import type { JournalPort } from '../ports/journal';
import { ModelError, type ModelAnswer, type ModelPort, type ModelToolSpec } from '../ports/model';
import type { ToolDefinition } from '../ports/tool';
import { assemble, InputTooLarge } from './assemble';
import type { HandsDeps } from './deps';
import { failure, failureOf, oneLine } from './failures';
import { guardedArtifacts, guardedModel } from './guard';
import { TurnedAway } from './admitted-model';
import { timedOut } from './heartbeat';
import { stepMessages } from './model-step';
import { readJson, storeOutput } from './outputs';
import { proposalOf, referred, type Proposal } from './proposal';
import { PROPOSE_PLAN } from './proposed-plan';
import { readTranscript } from './read-transcript';
import { RecentEvents } from './recent-events';
import { StoredAnswers } from './stored-answers';
import type { Transcript } from './transcript';

/** What the composition root hands in. */
export interface ModelDeps {
  journal: JournalPort;
  artifacts: ArtifactsPort;
  log: HandsDeps['log'];
  /** The model with this id, or one sentence on what to set. */
  models(id: string): ModelPort | { missing: string };
  tools(contract: string): ToolDefinition | undefined;
  /** A tool as models see it. */
  spec(tool: ToolDefinition): ModelToolSpec;
}

type Activity = (asked: Asked<ModelNeed>, hands: { signal: AbortSignal }) => Promise<ModelResult>;

/** Makes the activity. The prompts are those pinned in the run: JSON of texts by name; `system` and `plan` are the planner's. */
export function makeModel(given: ModelDeps): Activity {
  const artifacts = guardedArtifacts(given.artifacts);
  const deps = { ...given, artifacts, recent: new RecentEvents(given.journal), answers: new StoredAnswers(artifacts) };
  return async (asked, { signal }) => {
    try {
      const transcript = await readTranscript(deps, asked.runId, asked.need.upTo);
      const port = portOf(deps, transcript);
      const prompts = (await readJson(deps.artifacts, transcript.created.pins.prompts)) as Record<string, string>;
      return asked.need.purpose === 'plan'
        ? await plan(deps, { asked, transcript, prompts, port, signal })
        : await step(deps, { asked, prompts, port, signal });
    } catch (error) {
      return error instanceof TurnedAway ? error.turned : failed(failureFrom(error, signal));
    }
  };
}

interface About { asked: Asked<ModelNeed>; prompts: Record<string, string>; port: ModelPort; signal: AbortSignal }

async function plan(deps: ModelDeps, { asked, transcript, prompts, port, signal }: About & { transcript: Transcript }): Promise<ModelResult> {
  const { need } = asked;
  const tools = toolsOf(deps, transcript);
  const lacks = transcript.created.agent.tools.flatMap(({ name, version }) => (tools.has(name) ? [] : [contractOf(name, version)]));
  if (lacks.length > 0) return { kind: 'no-tool', lacks };
  const specs = [...[...tools.values()].map((tool) => deps.spec(tool)), PROPOSE_PLAN];
  const spec = (await readJson(deps.artifacts, transcript.created.inputRef)) as unknown as RunSpec;
  const sensitive = new Map([...tools.values()].map((tool) => [tool.name, tool.sensitive ?? []]));
  const messages = await assemble({ transcript, sensitive, prompts, spec, tools: specs, rejected: need.rejected, maxInputTokens: need.maxInputTokens }, deps.artifacts);
  const answer = await port.generate({ messages, tools: specs, maxOutputTokens: need.maxOutputTokens, signal });
  const usage = used(answer, 0);
  if (answer.finish === 'content-filter') return failed(filtered(port), usage);
  const callSeq = callSeqOf(need.callId);
  const proposal = proposalOf({ answer, callSeq, transcript, tools });
  return { kind: 'succeeded', usage, text: textOf(answer), ...(await stored(deps, proposal, callSeq)) };
}

/** Stores the answer whole; what is large in the patch then refers to it. */
async function stored({ artifacts }: ModelDeps, { stored: answer, patch, rejected, places }: Proposal, callSeq: number): Promise<Pick<Extract<ModelResult, { kind: 'succeeded' }>, 'output' | 'patch' | 'rejected'>> {
  const ref = await artifacts.write(new TextEncoder().encode(canonical(answer)), { mediaType: 'application/json', name: `answer-${callSeq}.json`, summary: `answer of the model with ${answer.calls.length} calls` });
  const reasons = rejected.length > 0 ? { rejected } : {};
  if (!patch) return { output: { ref }, ...reasons };
  const done = patch.done && { done: { ...patch.done, result: await endResult(artifacts, patch.done.result) } };
  return { output: { ref }, patch: { ...referred(patch, ref, places), ...done }, ...reasons };
}

async function endResult(artifacts: ModelDeps['artifacts'], result: { value: Json } | { ref: ArtifactRef } | undefined): Promise<Output> {
  if (result === undefined || 'ref' in result) return result ?? { value: null };
  if (typeof result.value !== 'string' || canonical(result.value).length <= LIMITS.inlineBytes) return result;
  return { ref: await artifacts.write(new TextEncoder().encode(result.value), { mediaType: 'text/markdown', name: 'answer.md', summary: oneLine(result.value, LIMITS.summaryBytes) }) };
}

/** A step of type `model`: its output is `{text}`, and `json` beside it when the text is one JSON value. */
async function step(deps: ModelDeps, { asked, prompts, port, signal }: About): Promise<ModelResult> {
  const { need } = asked;
  const messages = await stepMessages(need, prompts, deps.artifacts);
  const answer = await port.generate({ messages, tools: [], maxOutputTokens: need.maxOutputTokens, signal });
  const usage = used(answer, 0);
  if (answer.finish === 'content-filter') return failed(filtered(port), usage);
  if (answer.finish === 'length') return failed(failure('model-output', 'cut-off', 'The answer was cut off at the token limit; raise the agent\'s maxOutputTokens or ask for less.'), usage);
  const text = answer.text.trim();
  if (text === '') return failed(failure('model-output', 'empty', 'The model answered nothing.'), usage);
  const json = jsonIn(text);
  const value: Json = json === undefined ? { text } : { text, json };
  return { kind: 'succeeded', usage, text: textOf(answer), output: await storeOutput(deps.artifacts, value, { name: `${need.stepId ?? 'answer'}.json`, summary: textOf(answer) }) };
}

function jsonIn(text: string): Json | undefined {
  const fenced = /^```(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n?```$/.exec(text)?.[1] ?? text;
  if (!/^\s*[[{]/.test(fenced)) return undefined;
  try {
    return JSON.parse(fenced) as Json;
  } catch {
    return undefined;
  }
}

function portOf(deps: ModelDeps, { created }: Transcript): ModelPort {
  const id = created.agent.model;
  if (id === null) throw new ToolError('model-key', 'no-model', `The agent ${created.agent.name} has no model: set OPENAI_API_KEY, ANTHROPIC_API_KEY or LONGHAUL_MODEL, restart the worker and start the run again.`);
  const port = deps.models(id);
  if ('missing' in port) throw new ToolError('model-key', 'missing', port.missing);
  return guardedModel(port);
}

/** The run's tools that this worker has in the same major version. */
function toolsOf(deps: ModelDeps, { created }: Transcript): Map<string, ToolDefinition> {
  return new Map(created.agent.tools.flatMap(({ name, version }) => {
    const tool = deps.tools(contractOf(name, version));
    return tool ? [[name, tool] as const] : [];
  }));
}

function failureFrom(error: unknown, signal: AbortSignal): Failure {
  if (timedOut(signal)) return failure('network', 'timeout', 'The model did not answer in time.');
  if (signal.aborted) return failure('cancelled', 'aborted', 'The model call was cancelled.');
  if (error instanceof ModelError) return { ...error.failure, message: oneLine(error.failure.message, LIMITS.errorBytes) };
  if (error instanceof ArtifactError) return failure('artifact', error.code, error.message);
  if (error instanceof InputTooLarge) return failure('argument', 'input-too-large', error.message);
  return failureOf(error);
}

const NOT_COUNTED: ReadonlySet<ErrorClass> = new Set(['cancelled', 'model-key']);

const failed = (why: Failure, usage?: Usage): ModelResult => {
  const failures = NOT_COUNTED.has(why.class) ? 0 : 1;
  return { kind: 'failed', failure: why, usage: usage ? { ...usage, failures } : { calls: 1, tokens: 0, microUsd: 0, failures } };
};

const filtered = (port: ModelPort): Failure => failure('business-refusal', 'content-filter', `${port.id} refused to answer (content filter).`);
const used = ({ usage }: ModelAnswer, failures: number): Usage => ({ calls: 1, tokens: usage.tokens, microUsd: usage.microUsd, failures });
const textOf = (answer: ModelAnswer): string => oneLine(answer.text, LIMITS.summaryBytes);
