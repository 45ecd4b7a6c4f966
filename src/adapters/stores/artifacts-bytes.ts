// What every store of artifacts does alike: names bytes by their sha256, compares them at every read, and cuts summaries. Knows no
// place where bytes are.
import { createHash } from 'node:crypto';
import { LIMITS } from '../../core/run';
import type { ArtifactRef } from '../../core/run';
import { ArtifactError } from '../../ports/artifacts';
import type { ArtifactsPort } from '../../ports/artifacts';

export const SHA256 = /^[0-9a-f]{64}$/;
/** Bytes hashed without giving the event loop a turn. */
const SLICE = 4 * 1024 * 1024;

export async function hashOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.byteLength; at += SLICE) {
    hash.update(bytes.subarray(at, at + SLICE));
    if (at + SLICE < bytes.byteLength) await new Promise((resolve) => setImmediate(resolve));
  }
  return hash.digest('hex');
}

/** The reading half of the port over `content`, which answers null for what is not there. An id that is no sha256 is never asked for. */
export function reading(content: (sha256: string) => Promise<Uint8Array | null>): Pick<ArtifactsPort, 'read' | 'readRange' | 'verify'> {
  const read = async (sha256: string): Promise<Uint8Array> => {
    const bytes = SHA256.test(sha256) ? await content(sha256) : null;
    if (bytes === null) throw new ArtifactError('missing', sha256);
    if (await hashOf(bytes) !== sha256) throw new ArtifactError('corrupt', sha256);
    return bytes;
  };
  return {
    read,
    readRange: async (sha256, start, end) => (await read(sha256)).subarray(Math.max(0, start), Math.max(0, end)),
    async verify(sha256) {
      try {
        await read(sha256);
        return 'ok';
      } catch (error) {
        if (error instanceof ArtifactError) return error.code;
        throw error;
      }
    },
  };
}

/** The reference to stored bytes; `summary` is cut to its limit. */
export function refTo(sha256: string, bytes: Uint8Array, { mediaType, summary, name }: { mediaType: string; summary: string; name?: string }): ArtifactRef {
  return { sha256, bytes: bytes.byteLength, mediaType, summary: cut(summary, LIMITS.summaryBytes), ...(name === undefined ? {} : { name }) };
}

/** The longest beginning of a text within `limit` bytes of UTF-8, never half a character. */
function cut(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= limit) return text;
  let end = limit;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
