// What runs were asked to do and what their planners proposed, kept parsed while calls are made from it: each call reads its own part of the same
// text. It never changes under its sha256, so one that is kept is as good as one read anew. Nobody may write into what is handed out.
import { LRUCache } from 'lru-cache';
import type { Json } from '../core/canonical';
import type { ArtifactsPort } from '../ports/artifacts';

/** Bytes of text that are kept parsed; what is larger by itself is read each time. */
const KEPT_BYTES = 32 * 1024 * 1024;

const kept = new LRUCache<string, { json: Json }, ArtifactsPort>({
  maxSize: KEPT_BYTES,
  ignoreFetchAbort: true,
  fetchMethod: async (sha256, _, { options, context }) => {
    const bytes = await context.read(sha256);
    options.size = Math.max(bytes.byteLength, 1);
    return { json: JSON.parse(new TextDecoder().decode(bytes)) as Json };
  },
});

/** The JSON of a request or a proposal. Throws ArtifactError, or SyntaxError when the bytes are no JSON. */
export async function readRequest(artifacts: ArtifactsPort, { sha256 }: { sha256: string }): Promise<Json> {
  return (await kept.forceFetch(sha256, { context: artifacts })).json;
}
