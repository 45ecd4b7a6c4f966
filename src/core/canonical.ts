// Canonical JSON (RFC 8785) and sha256 over it. Everything that is compared, signed or stored by content goes through here,
// so that the same value has the same bytes in the live run, in a checkpoint and in an offline replay (I10).
// Owns no state, does no I/O.
import canonicalize from 'canonicalize';
import { sha256 } from '@noble/hashes/sha256';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';

/** A JSON value. `undefined` members of objects are dropped by `canonical`, as JSON does. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** RFC 8785 text of a JSON value. Throws for values that JSON cannot carry (NaN, a cycle, a bigint). */
export function canonical(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('This value has no JSON form.');
  return text;
}

/** Lower-case hex sha256 of a UTF-8 text or of bytes. */
export function sha256Hex(data: string | Uint8Array): string {
  return bytesToHex(sha256(typeof data === 'string' ? utf8ToBytes(data) : data));
}

/** sha256 of the canonical JSON of a value: the digest used for inputs, arguments and bindings. */
export function digestOf(value: unknown): string {
  return sha256Hex(canonical(value));
}

/** Size in bytes of the canonical JSON of a value. */
export function bytesOf(value: unknown): number {
  return utf8ToBytes(canonical(value)).length;
}
