// Which artifacts the bytes of artifacts mention: results that are stored whole may refer to others, so that an event need not name
// each. A mention is any sha256 in the bytes that is an id in question; too many are kept rather than one too few.
import type { ArtifactsPort } from '../../ports/artifacts';

const IDS = /[0-9a-f]{64}/g;

/** Ids among `wanted` that stand in the bytes. A longer run of hex digits is no id and hides none that begins it. */
function mentionsIn(bytes: Uint8Array, wanted: ReadonlySet<string>): string[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  return [...new Set(text.match(IDS) ?? [])].filter((id) => wanted.has(id));
}

/**
 * All of `wanted` that can be reached from the artifacts `from`, by way of each other. What cannot be read mentions nothing: it is
 * missing or damaged, and whoever needs it is told elsewhere.
 */
export async function reached(artifacts: Pick<ArtifactsPort, 'read'>, from: AsyncIterable<string> | Iterable<string>, wanted: ReadonlySet<string>): Promise<Set<string>> {
  const found = new Set<string>();
  const left = new Set(wanted);
  const look = async (id: string): Promise<void> => {
    const bytes = await artifacts.read(id).catch(() => null);
    const next = bytes === null ? [] : mentionsIn(bytes, left);
    for (const one of next) {
      left.delete(one);
      found.add(one);
    }
    for (const one of next) await look(one);
  };
  for await (const id of from) {
    if (left.size === 0) break;
    await look(id);
  }
  return found;
}
