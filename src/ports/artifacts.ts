// Port: artifacts, immutable bytes under their sha256. Contract suite: testing/contracts/artifacts.
// Written before the event that names them (tmp, fsync, rename) and verified on every read: partial data is never handed out.
import type { ArtifactRef } from '../core/run';

/** Thrown by `read`: the bytes are not there, or are not what the id says. */
export class ArtifactError extends Error {
  constructor(readonly code: 'missing' | 'corrupt', readonly sha256: string) {
    super(code === 'missing'
      ? `Artifact ${sha256} is missing from the store; put the file back or restore the store from a copy.`
      : `Artifact ${sha256} does not match its checksum; the stored bytes were changed or damaged.`);
    this.name = 'ArtifactError';
  }
}

export interface ArtifactsPort {
  /** Stores bytes and answers their reference; the same bytes are stored once and count as written now. `summary` is cut to 300 bytes. */
  write(bytes: Uint8Array, about: { mediaType: string; summary: string; name?: string }): Promise<ArtifactRef>;
  /** All bytes, verified. Throws ArtifactError. */
  read(sha256: string): Promise<Uint8Array>;
  /** Bytes [start, end), verified as a whole first. Throws ArtifactError. */
  readRange(sha256: string, start: number, end: number): Promise<Uint8Array>;
  has(sha256: string): Promise<boolean>;
  /** Checks one artifact without handing out bytes. */
  verify(sha256: string): Promise<'ok' | 'missing' | 'corrupt'>;
  /** All ids in the store. */
  list(): AsyncIterable<string>;
  /** Size in bytes, and when it was last written, in ms on the store's clock; null when it is not there. */
  stat(sha256: string): Promise<{ bytes: number; writtenAt: number } | null>;
  /** Removes one that was last written before `writtenBefore` (ms). Who writes the same bytes meanwhile has them stored anew. */
  remove(sha256: string, writtenBefore: number): Promise<'removed' | 'younger' | 'missing'>;
}
