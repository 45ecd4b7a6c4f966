// What a model is told of a step: its value, an artifact by its reference with as much text as there is room for, or why
// there is nothing. Denied, expired, cancelled and skipped are told as such, so that the model does not ask again.
import type { Json } from '../core/canonical';
import type { Failure } from '../core/failure';
import type { ArtifactRef } from '../core/run';
import { ArtifactError, type ArtifactsPort } from '../ports/artifacts';
import type { StepEnd } from './transcript';

/** How much is told. `readOn`: the model has the tool `read_artifact`. */
export interface Detail { inlineBytes: number; brief: boolean; readOn: boolean }

/** The result of a step, as JSON for the model. Throws ArtifactError when its bytes are missing or damaged, unless they are what somebody outside said. */
export async function resultOf(end: StepEnd | undefined, detail: Detail, artifacts: Pick<ArtifactsPort, 'read'>): Promise<Json> {
  switch (end?.is) {
    case 'done':
      if ('ref' in end.output) return artifactResult(end.output.ref, detail, end.said ? orUnread(artifacts) : artifacts);
      return detail.brief ? { done: true, note: 'The value is left out here to save room.' } : { value: end.output.value };
    case 'failed': return failedResult(end.failure, detail);
    case 'skipped': return { skipped: true, reason: end.why };
    case 'dropped': return { skipped: true, reason: 'A later proposal dropped this step.' };
    default: return { open: true, note: end?.sent ? IN_DOUBT : WAITS };
  }
}

const WAITS = 'Not done yet: it waits for a person, for a time, for another step or for something outside.';
const IN_DOUBT = 'It is not known whether this was done: it may have been. That is being found out, or a person is asked; do not make it again.';

function failedResult({ class: kind, message }: Failure, { brief }: Detail): Json {
  const reason = brief ? message.slice(0, 80) : message;
  if (kind === 'rejected' || kind === 'policy') return { denied: true, reason };
  if (kind === 'expired') return { expired: true, reason };
  if (kind === 'cancelled') return { cancelled: true, reason };
  return { error: kind, message: reason };
}

/** What people and the outside name may never have been stored: a model is told so, and asks again or goes on. */
const orUnread = (artifacts: Pick<ArtifactsPort, 'read'>): Pick<ArtifactsPort, 'read'> => ({
  read: (sha256) => artifacts.read(sha256).catch((error: unknown) => {
    if (error instanceof ArtifactError) return new TextEncoder().encode(`(This could not be read: artifact ${sha256.slice(0, 16)} is ${error.code}.)`);
    throw error;
  }),
});

async function artifactResult(ref: ArtifactRef, { inlineBytes, brief, readOn }: Detail, artifacts: Pick<ArtifactsPort, 'read'>): Promise<Json> {
  // A sender may have left out what is not looked at when a message comes.
  const { sha256, bytes, mediaType = '', summary = '', name } = ref as Partial<ArtifactRef> & Pick<ArtifactRef, 'sha256' | 'bytes'>;
  const artifact: Json = { sha256, bytes, mediaType, summary: brief ? summary.slice(0, 80) : summary, ...(name === undefined ? {} : { name }) };
  const more = readOn ? ` Read it with read_artifact {"sha256":"${sha256}"}.` : '';
  if (brief || inlineBytes === 0 || !isText(mediaType)) return { artifact, note: `The content is not shown here.${more}` };
  const { text, cut } = textOf(await artifacts.read(sha256), inlineBytes);
  if (cut === null) return { artifact, text };
  return { artifact, text, note: `Cut after ${cut} of ${bytes} bytes.${readOn ? ` Read on with read_artifact ${JSON.stringify({ sha256, from: cut, ...fewer(inlineBytes) })}.` : ''}` };
}

/** Where there is little room, half of it: the answer, with what stands around its text, shall be shown whole. */
const fewer = (room: number): { bytes?: number } => (room < 16 * 1024 ? { bytes: Math.max(1, Math.floor(room / 2)) } : {});

/** Media types whose bytes are text that a model can read. */
export const isText = (mediaType: string): boolean => /^text\/|^application\/(.*\+)?(json|xml|yaml|x-ndjson|sql|javascript)\b/.test(mediaType);

/** The first `limit` bytes as text, cut between characters; `cut` is the number of bytes shown, null when that is all. */
export function textOf(bytes: Uint8Array, limit: number): { text: string; cut: number | null } {
  let end = Math.min(bytes.length, limit);
  if (end === bytes.length) return { text: new TextDecoder().decode(bytes), cut: null };
  // A continuation byte (10xxxxxx) belongs to the character before it.
  while (end > 0 && ((bytes[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end -= 1;
  return { text: new TextDecoder().decode(bytes.subarray(0, end)), cut: end };
}
