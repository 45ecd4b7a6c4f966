// What every store of artifacts does alike: names bytes by their sha256 and cuts summaries. Pure but for the turns that it gives
// the event loop while it hashes.
import { createHash } from 'node:crypto';
import { LIMITS } from '../../core/run';
import type { ArtifactRef } from '../../core/run';

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
