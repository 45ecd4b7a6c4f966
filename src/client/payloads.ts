// What stands in Temporal's history, read back through the client's own data converter: values, sentences of failures, and the ids
// of the keys that it needs; and whether something could be written. Nothing here writes. A payload whose key is not here is told apart from one that cannot be read.
import type { Client } from '@temporalio/client';
import type { Payload, ProtoFailure } from '@temporalio/common';

/** A payload, decoded and parsed as JSON; `missing` names the key without which it cannot be read. */
export type ReadPayload = { value: unknown } | { missing: string } | null;

/** Reads one payload; null where there is none, or no JSON in it. Throws nothing. */
export async function readPayload(client: Client, payload: Payload | null | undefined): Promise<ReadPayload> {
  if (!payload) return null;
  try {
    let decoded = [payload];
    for (const codec of [...client.options.loadedDataConverter.payloadCodecs].reverse()) decoded = await codec.decode(decoded);
    return { value: JSON.parse(new TextDecoder().decode(decoded[0]?.data ?? undefined)) as unknown };
  } catch (error) {
    const { name, kid } = error as { name?: string; kid?: unknown };
    return name === 'MissingKeyError' && typeof kid === 'string' ? { missing: kid } : null;
  }
}

/** Throws what the codec throws where nothing can be encoded here, before anything is promised. */
export async function tryEncoding(client: Client): Promise<void> {
  for (const codec of client.options.loadedDataConverter.payloadCodecs) await codec.encode([{ metadata: {}, data: new Uint8Array() }]);
}

/** The sentence of a failure that stands in Temporal, decoded where it is encoded. */
export async function sentenceOf(client: Client, failure: ProtoFailure | null | undefined): Promise<string | null> {
  if (!failure) return null;
  const read = await readPayload(client, failure.encodedAttributes);
  if (read && 'missing' in read) return `it is encrypted with the key ${read.missing}, which is not here`;
  const said = read ? (read.value as { message?: unknown } | null)?.message : undefined;
  return typeof said === 'string' ? said : failure.message ?? null;
}

/**
 * The key that a worker lacked, as it said in plain; null where it failed for something else. A worker with keys names the type
 * (adapters/codec/failure-converter.ts), of one without any the stack alone says which error it was.
 */
export function missingKeyIn(failure: ProtoFailure | null | undefined): string | null {
  for (let at = failure; at; at = at.cause) {
    const lacking = at.applicationFailureInfo?.type === 'MissingKeyError' || at.stackTrace?.startsWith('MissingKeyError: ');
    const kid = lacking ? /payload key (p-[0-9a-f]{12}) is missing/.exec(at.message ?? '')?.[1] : undefined;
    if (kid !== undefined) return kid;
  }
  return null;
}

/** Ids of the keys of the payloads in a history that a worker has to read: all but summaries and details for the Web UI, unless `display`. */
export function keysIn(answer: unknown, { display = false }: { display?: boolean } = {}): Set<string> {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
    const id = (value as Payload).metadata?.['encryption-key-id'];
    if (id instanceof Uint8Array) found.add(new TextDecoder().decode(id));
    for (const [name, member] of Object.entries(value)) if (display || name !== 'userMetadata') look(member);
  };
  look(answer);
  return found;
}
