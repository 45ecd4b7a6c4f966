// A tool call for tests of single tools: real artifacts in memory under their sha256, named services, a signal. Owns no tool.
import { createHash } from 'node:crypto';
import type { Json } from '../../src/core/canonical';
import { ToolError } from '../../src/core/failure';
import type { ArtifactRef } from '../../src/core/run';
import type { ToolCall } from '../../src/ports/tool';

export interface Bench {
  input: Json;
  services?: Record<string, string>;
  artifacts?: Map<string, Uint8Array>;
}

/** A ToolCall over a bench; `about` overrides single members. */
export function toolCall({ input, services = {}, artifacts = new Map() }: Bench, about: Partial<ToolCall> = {}): ToolCall {
  return {
    runId: 'run-1', callId: 'c1', attempt: 1, input, key: `k1:${'a'.repeat(64)}`, callbackId: 'cb-1', resourceVersion: null, signal: new AbortController().signal,
    artifacts: {
      async read({ sha256 }) {
        const bytes = artifacts.get(sha256);
        if (!bytes) throw new ToolError('artifact', 'missing', `Artifact ${sha256} is missing.`);
        return bytes;
      },
      async known(sha256) { return artifacts.has(sha256); },
      async write(data, { mediaType, summary, name }) {
        const bytes = typeof data === 'string' ? Buffer.from(data) : data;
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        artifacts.set(sha256, bytes);
        return { sha256, bytes: bytes.length, mediaType, summary, ...(name ? { name } : {}) } satisfies ArtifactRef;
      },
    },
    service(name) {
      const url = services[name];
      if (url === undefined) throw new ToolError('permission', 'service', `No service is called ${name}.`);
      return url;
    },
    secret(name) { throw new ToolError('permission', 'secret', `The secret ${name} is not set.`); },
    log() { /* tests read results, not logs */ },
    ...about,
  };
}
