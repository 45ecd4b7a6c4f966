// Puts together what came by a callback: reads its events from the journal and makes of them one value, the payload itself or, for a
// batch, a list in the order of its items' keys. Only looks and stores; asked again, it gives the same.
import type { Json } from '../core/canonical';
import type { EventOf } from '../core/events';
import type { CollectResult } from '../core/world';
import { lookAtChild } from './child';
import type { HandsDeps } from './deps';
import { loadOutput, storeOutput } from './outputs';
import type { CollectRequest } from './types';

type Came = EventOf<'CallbackReceived'>['data'];

export function makeCollect({ journal, artifacts, log }: Pick<HandsDeps, 'journal' | 'artifacts' | 'log'>): (request: CollectRequest) => Promise<CollectResult> {
  return async ({ runId, callbackId, since, count, expect, child }) => {
    if (child !== undefined) return lookAtChild({ journal, artifacts, log }, child, `${callbackId}.json`);
    const came: Came[] = [];
    for (let after = since, more = true; more && came.length < count;) {
      const page = await journal.read(runId, after);
      for (const event of page.events) if (event.type === 'CallbackReceived' && event.data.callbackId === callbackId && came.length < count) came.push(event.data);
      after = page.events.at(-1)?.seq ?? after;
      more = page.more && page.events.length > 0;
    }
    if (came.length < count) throw new Error(`The journal of ${runId} holds ${came.length} of ${count} events of ${callbackId}.`);
    const [first] = came;
    if (expect === null && first) return { output: first.payload, summary: 'called back' };
    const summary = `${came.length} of ${expect ?? 1} items`;
    const list = [...came].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const value = { expected: expect ?? 1, came: came.length, complete: came.length >= (expect ?? 1), items: await Promise.all(list.map(async (one) => ({ item: keyOf(one), ...await shown(artifacts, one) }))) };
    return { output: await storeOutput(artifacts, value as unknown as Json, { name: `${callbackId}.json`, summary }), summary };
  };
}

const keyOf = ({ item, eventId }: Came): string => item ?? eventId;

/** A payload in the list: small as it is, large as the reference of its artifact. */
async function shown(artifacts: HandsDeps['artifacts'], { item, eventId, payload }: Came): Promise<{ value: Json } | { artifact: Json }> {
  if ('ref' in payload) return { artifact: payload.ref as unknown as Json };
  const output = await storeOutput(artifacts, await loadOutput(artifacts, payload), { name: `${item ?? eventId}.json`, summary: `what came for ${item ?? eventId}`.slice(0, 300) });
  return 'ref' in output ? { artifact: output.ref as unknown as Json } : { value: output.value };
}
