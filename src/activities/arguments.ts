// Arguments of a call, from what the law hands on to what a tool is given: bound with the outputs of earlier steps, digested
// with references still standing as references, then loaded, filled with secrets and parsed by the tool's own schema.
// The digest never covers a secret's value, only its name. Throws ToolError `argument`, `permission` or `artifact`.
import { canonical, digestOf, type Json } from '../core/canonical';
import { ToolError } from '../core/failure';
import { bind, faultsInEdited, type ArtifactPointer } from '../core/rules/binding';
import type { ArtifactRef, Output } from '../core/run';
import type { ToolDefinition } from '../ports/tool';
import type { CallArgs } from '../core/world';
import { ArtifactError, type ArtifactsPort } from '../ports/artifacts';
import { failureOf } from './failures';
import { loadMember, memberOf, readJson } from './outputs';
import { readRequest } from './requests';
import { schemaReasons } from './schema-reasons';

/** The arguments as they are digested, stored and shown: references and names of secrets in place of bytes. */
export interface Bound { args: Json; digest: string }

/** Reads the arguments of a need. `prepared` ones were bound before and are taken as they are. */
export async function boundArgs(artifacts: ArtifactsPort, call: CallArgs, prepared: boolean): Promise<Bound> {
  const written = await loaded(() => writtenArgs(artifacts, call));
  if (prepared) return { args: written, digest: digestOf(written) };
  const bound = bind(written, call.inputs);
  if ('fault' in bound) throw new ToolError('argument', 'binding', bound.fault);
  return { args: bound.ok, digest: digestOf(bound.ok) };
}

/** Arguments that a person has edited. What they point to must be of this run. */
export async function editedArgs(artifacts: ArtifactsPort, call: CallArgs, known: (sha256: string) => Promise<boolean>): Promise<Bound> {
  const args = await loaded(() => writtenArgs(artifacts, call));
  // Before the digest, which what is nested too deep would run out of stack.
  const { faults, pointers } = faultsInEdited(args);
  if (faults.length > 0) throw new ToolError('argument', 'edited', `The edited arguments cannot be used: ${faults.join('; ')}.`);
  for (const sha256 of pointers) if (!(await known(sha256))) throw new ToolError('argument', 'edited', `The edited arguments point to artifact ${sha256.slice(0, 16)}, which this run does not know.`);
  return { args, digest: digestOf(args) };
}

async function writtenArgs(artifacts: ArtifactsPort, { args, argsRef, at }: CallArgs): Promise<Json> {
  if (argsRef) return at && at.length > 0 ? memberOf(await readRequest(artifacts, argsRef), argsRef, at) : readJson(artifacts, argsRef);
  return args ?? {};
}

/** What the tool's `execute` gets. `secret` throws for a name that is not set. */
export async function parsedArgs<A>(artifacts: ArtifactsPort, tool: ToolDefinition<A>, bound: Json, secret: (name: string) => string): Promise<A> {
  const values = await loaded(() => filled(artifacts, bound, secret, new Map()));
  try {
    return tool.input.parse(values);
  } catch (error) {
    throw new ToolError('argument', 'schema', `The arguments do not fit ${tool.name}: ${schemaReasons(error, tool.sensitive)}`);
  }
}

/** The premise's expected version with references bound, as text. */
export async function expectedVersion(artifacts: ArtifactsPort, version: Json, inputs: Record<string, Output>): Promise<string> {
  const bound = bind({ version }, inputs);
  if ('fault' in bound) throw new ToolError('argument', 'premise', bound.fault);
  const value = await filled(artifacts, (bound.ok as { version: Json }).version, () => '', new Map());
  return typeof value === 'string' ? value : canonical(value);
}

async function filled(artifacts: ArtifactsPort, value: Json, secret: (name: string) => string, seen: Map<string, Promise<Json>>): Promise<Json> {
  if (Array.isArray(value)) return Promise.all(value.map((item) => filled(artifacts, item, secret, seen)));
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value['$secret'] === 'string') return secret(value['$secret']);
  if ('$artifact' in value) return pointed(artifacts, value as unknown as ArtifactPointer, seen);
  return Object.fromEntries(await Promise.all(Object.entries(value).map(async ([key, member]) => [key, await filled(artifacts, member, secret, seen)] as const)));
}

/** What a pointer leads to is data: nothing in it is filled again. */
function pointed(artifacts: ArtifactsPort, pointer: ArtifactPointer, seen: Map<string, Promise<Json>>): Promise<Json> {
  const place = canonical([pointer.$artifact.sha256, pointer.path]);
  const found = seen.get(place) ?? loadMember(artifacts, pointer.$artifact as ArtifactRef, pointer.path);
  seen.set(place, found);
  return found;
}

async function loaded<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (error instanceof ArtifactError) throw new ToolError('artifact', error.code, error.message);
    if (error instanceof ToolError) throw error;
    throw new ToolError('argument', 'unreadable', failureOf(error).message);
  }
}
