// The written form of a token: a JSON Web Token (RFC 7519) as compact JWS (RFC 7515), HMAC with SHA-256 and nothing else, so that a
// door in another language can make and read one with any library. The header's algorithm and type are compared, never followed.
// Times are seconds there and ms here. Owns no key; signatures are compared in constant time.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { canonical } from '../../core/canonical';
import { MAY, type Claims } from '../../core/proof';

/** Characters of a token; messages.ts refuses longer ones. */
const MOST = 4_096;
const TYPE = 'longhaul-decision+jwt';

const name = z.string().min(1).max(200);
const seconds = z.number().int().nonnegative().max(10_000_000_000);
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const header = z.strictObject({ alg: z.literal('HS256'), typ: z.literal(TYPE), kid: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/) });
const payload = z.strictObject({
  v: z.literal(1), jti: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/), sub: name, iss: name, aud: z.string().regex(/^[A-Za-z0-9._-]{1,64}\/[A-Za-z0-9._-]{1,100}$/),
  may: z.array(z.enum(MAY)).min(1).max(MAY.length), binding: digest, iat: seconds, exp: seconds,
  body: digest.optional(), received: z.number().int().nonnegative().optional(),
});

/** A token as it is written, before its signature has been looked at. */
export interface Written { kid: string; claims: Claims; signed: string; signature: Buffer }

/** HMAC-SHA256 of a text. */
export const macOf = (secret: Buffer, text: string): Buffer => createHmac('sha256', secret).update(text, 'utf8').digest();

/** Compares without telling by time where two codes differ. */
export const sameMac = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);

const encoded = (value: unknown): string => Buffer.from(canonical(value), 'utf8').toString('base64url');

export function writeToken(kid: string, secret: Buffer, { run, about, iat, exp, ...rest }: Claims): string {
  const claims = { v: 1, ...rest, aud: `${run}/${about}`, iat: Math.floor(iat / 1000), exp: Math.floor(exp / 1000) };
  const signed = `${encoded({ alg: 'HS256', typ: TYPE, kid })}.${encoded(claims)}`;
  return `${signed}.${macOf(secret, signed).toString('base64url')}`;
}

/** Reads a token without trusting it; null when it has not the form of one. Never throws. */
export function readToken(token: string): Written | null {
  const parts = token.length <= MOST ? token.split('.') : [];
  const [head = '', body = '', mac = ''] = parts;
  if (parts.length !== 3 || !/^[A-Za-z0-9_-]{43}$/.test(mac)) return null;
  const [top, said] = [header.safeParse(decoded(head)), payload.safeParse(decoded(body))];
  if (!top.success || !said.success) return null;
  const { v: _v, aud, iat, exp, ...rest } = said.data;
  const [run = '', about = ''] = aud.split('/');
  return { kid: top.data.kid, claims: { ...rest, run, about, iat: iat * 1000, exp: exp * 1000 }, signed: `${head}.${body}`, signature: Buffer.from(mac, 'base64url') };
}

function decoded(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as unknown;
  } catch {
    return null;
  }
}
