// Values on their way between tools, stores and events: small ones stand inline, larger ones become artifacts (I11).
// Bytes are read and written here only, and verified by the store on every read. Decides nothing about calls.
import { canonical, type Json } from '../core/canonical';
import { memberAt } from '../core/rules/binding';
import { LIMITS, type ArtifactRef, type Output } from '../core/run';
import type { ArtifactsPort } from '../ports/artifacts';
import { oneLine } from './failures';

/** A JSON value as an output: inline up to 512 bytes of canonical JSON, an artifact above. */
export async function storeOutput(artifacts: ArtifactsPort, value: Json, about: { name: string; summary: string }): Promise<Output> {
  const text = canonical(value);
  if (Buffer.byteLength(text) <= LIMITS.inlineBytes) return { value };
  return { ref: await artifacts.write(Buffer.from(text), { mediaType: 'application/json', ...about }) };
}

/** The JSON in an artifact. Throws ArtifactError, or SyntaxError when the bytes are no JSON. */
export async function readJson(artifacts: ArtifactsPort, ref: Pick<ArtifactRef, 'sha256'>): Promise<Json> {
  return JSON.parse(new TextDecoder().decode(await artifacts.read(ref.sha256))) as Json;
}

/** The value of an output, wherever it lies. What people write at length is stored as the text that it is, and no JSON. */
export async function loadOutput(artifacts: ArtifactsPort, output: Output): Promise<Json> {
  if ('value' in output) return output.value;
  const text = new TextDecoder().decode(await artifacts.read(output.ref.sha256));
  try {
    return isText(output.ref) ? text : JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** A sender may have left out what kind of bytes it means. */
const isText = ({ mediaType }: Partial<ArtifactRef>): boolean => mediaType?.startsWith('text/') === true;

/** The member at `path` of the value in an artifact, all of it for an empty path; throws one sentence when there is none. */
export async function loadMember(artifacts: ArtifactsPort, ref: ArtifactRef, path: string[]): Promise<Json> {
  return memberOf(await loadOutput(artifacts, { ref }), ref, path);
}

/** The member at `path` of the value in an artifact; throws one sentence when there is none. */
export function memberOf(json: Json, ref: Pick<ArtifactRef, 'sha256'>, path: string[]): Json {
  const found = memberAt(json, path);
  if (found === undefined) throw new Error(`Artifact ${ref.sha256.slice(0, 12)} has no member ${path.join('.')}.`);
  return found;
}

/** One line about a result: the tool's own `summary` member, its text, or its size. */
export function summaryOf(tool: string, value: Json): string {
  const own = typeof value === 'object' && value !== null && !Array.isArray(value) ? value['summary'] : value;
  if (typeof own === 'string' && own.trim() !== '') return oneLine(own, LIMITS.summaryBytes);
  return `${tool} answered ${canonical(value).length} characters`;
}

/** Every artifact that a result names, with the name of the member that holds it. */
export function artifactsIn(value: Json, role = 'result', depth = 0): { ref: ArtifactRef; role: string }[] {
  if (typeof value !== 'object' || value === null || depth > 8) return [];
  if (Array.isArray(value)) return value.flatMap((item) => artifactsIn(item, role, depth + 1));
  if (isRef(value)) return [{ ref: value, role }];
  return Object.entries(value).flatMap(([name, member]) => artifactsIn(member, name, depth + 1));
}

function isRef(value: object): value is ArtifactRef {
  const ref = value as Partial<ArtifactRef>;
  return typeof ref.sha256 === 'string' && /^[0-9a-f]{64}$/.test(ref.sha256) && typeof ref.bytes === 'number'
    && typeof ref.mediaType === 'string' && typeof ref.summary === 'string';
}
