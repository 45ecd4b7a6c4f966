// Texts that people write, as values: small ones stand in the message, larger ones become artifacts before it is sent (I11).
import { bytesOf, type Json } from '../core/canonical';
import { LIMITS, type Output } from '../core/run';
import { secretIn } from '../ports/redaction';
import { EXIT, Stop } from './exit';
import type { Place } from './place';

/** A value, or the reference of the artifact that holds it. Throws Stop (2) for what holds the value of a secret: it would be kept. */
export async function outputOf(place: Place, value: Json, summary: string): Promise<Output> {
  await place.secrets();
  const secret = secretIn(value);
  if (secret !== null) throw new Stop(EXIT.usage, `What you wrote holds the value of the secret ${secret}, and what people say is kept: name it as {"$secret": "${secret}"} in the arguments of a plan or of an edited call instead. Nothing was sent.`);
  if (bytesOf(value) <= LIMITS.inlineBytes) return { value };
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const mediaType = typeof value === 'string' ? 'text/plain; charset=utf-8' : 'application/json';
  return { ref: await (await place.stores()).artifacts.write(new TextEncoder().encode(text), { mediaType, summary }) };
}
