// What a model is told in a step of type `model`: its prompt (one of the agent's by name, or the text itself) and the
// material that the arguments refer to. No tools, no turns. A model is never given a secret.
import { bytesOf, type Json } from '../core/canonical';
import { ToolError } from '../core/failure';
import type { ArtifactRef } from '../core/run';
import type { Bare } from '../core/wire';
import type { ModelNeed } from '../core/world';
import type { ArtifactsPort } from '../ports/artifacts';
import type { ModelMessage } from '../ports/model';
import type { ToolDefinition } from '../ports/tool';
import { boundArgs, parsedArgs } from './arguments';
import { BYTES_PER_TOKEN, InputTooLarge } from './assemble';
import { isText, textOf } from './results';

/** The messages of the step. Throws ToolError `argument` or `permission`, ArtifactError, or InputTooLarge. */
export async function stepMessages(need: Bare<ModelNeed>, prompts: Readonly<Record<string, string>>, artifacts: ArtifactsPort): Promise<ModelMessage[]> {
  const name = need.prompt ?? '';
  const prompt = Object.prototype.hasOwnProperty.call(prompts, name) ? (prompts[name] ?? name) : name;
  const limit = need.maxInputTokens * BYTES_PER_TOKEN;
  const bound = need.call ? (await boundArgs(artifacts, need.call, false)).args : {};
  const material = await withTexts(await parsedArgs(artifacts, MATERIAL, named(bound), noSecret), artifacts, limit);
  const empty = typeof material === 'object' && material !== null && Object.keys(material).length === 0;
  const system: ModelMessage[] = prompts['system']?.trim() ? [{ role: 'system', text: prompts['system'] }] : [];
  const messages: ModelMessage[] = [...system, { role: 'user', text: empty ? prompt : `${prompt}\n\nMaterial (JSON):\n${JSON.stringify(material)}` }];
  if (bytesOf(messages) > limit) throw new InputTooLarge(`The material of step ${need.stepId ?? ''} does not fit into ${need.maxInputTokens} tokens; raise the agent's maxInputTokens or refer to less.`);
  return messages;
}

/** Material has no schema. */
const MATERIAL = { name: 'the material', input: { parse: (value: unknown): Json => value as Json } } as ToolDefinition<Json>;

const noSecret = (name: string): string => {
  throw new ToolError('permission', 'secret', `The secret ${name.slice(0, 80)} is not given to a model; take $secret out of the step.`);
};

/** A large output that is referred to as a whole is shown as the artifact that holds it, where there is room with its text. */
function named(value: Json): Json {
  if (Array.isArray(value)) return value.map(named);
  if (typeof value !== 'object' || value === null) return value;
  const { $artifact: ref, path } = value;
  if (ref !== undefined && Array.isArray(path) && path.length === 0) return ref;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, named(member)]));
}

/** An artifact among the material is shown with its text; one that is larger than all the room fails later, named by its step. */
async function withTexts(value: Json, artifacts: ArtifactsPort, limit: number): Promise<Json> {
  if (Array.isArray(value)) return Promise.all(value.map((item) => withTexts(item, artifacts, limit)));
  if (typeof value !== 'object' || value === null) return value;
  if (isRef(value) && isText(value.mediaType) && value.bytes <= limit) {
    return { artifact: value as unknown as Json, text: textOf(await artifacts.read(value.sha256), limit).text };
  }
  return Object.fromEntries(await Promise.all(Object.entries(value).map(async ([key, member]) => [key, await withTexts(member, artifacts, limit)] as const)));
}

function isRef(value: object): value is ArtifactRef {
  const ref = value as Partial<ArtifactRef>;
  return typeof ref.sha256 === 'string' && /^[0-9a-f]{64}$/.test(ref.sha256) && typeof ref.bytes === 'number' && typeof ref.mediaType === 'string' && typeof ref.summary === 'string';
}
