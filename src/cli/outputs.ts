// Texts that people write, as values: small ones stand in the message, larger ones become artifacts before it is sent (I11).
import type { ArtifactsPort } from '../ports/artifacts';
import { bytesOf, type Json } from '../core/canonical';
import { LIMITS, type Output } from '../core/run';

/** A value, or the reference of the artifact that holds it. */
export async function outputOf({ artifacts }: { artifacts: ArtifactsPort }, value: Json, summary: string): Promise<Output> {
  if (bytesOf(value) <= LIMITS.inlineBytes) return { value };
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const mediaType = typeof value === 'string' ? 'text/plain; charset=utf-8' : 'application/json';
  return { ref: await artifacts.write(new TextEncoder().encode(text), { mediaType, summary }) };
}
